// What an install or a repair makes of an instance: what stops it before anything is applied, and what is told of it.
import { assert, describe, it } from "@effect/vitest"
import { Effect, Option } from "effect"
import type { PlatformInstanceStatus } from "../../../src/schema/PlatformStatus.ts"
import * as Kinds from "../../../src/services/Kubernetes/Kinds.ts"
import { decoded, key, tenantAuth } from "../support/instances.ts"
import { condition, passUntil, phase, ready, reasons, repairDue } from "../support/readings.ts"
import { hostImage, makeWorld, pass, type World } from "../support/World.ts"

const started = Effect.fnUntraced(function* (
  spec: Readonly<Record<string, unknown>>,
  choices?: Parameters<typeof makeWorld>[0],
) {
  const world = yield* makeWorld(choices)
  yield* world.startOperator()
  world.apply(spec)
  yield* pass(120)
  return world
})

const told = (world: World) =>
  (["TargetReady", "Installed", "ConfigApplied", "Ready"] as const).map((type) => {
    const { status, reason } = condition(world, type) ?? { status: "-", reason: "-" }
    return `${type} ${status} ${reason}`
  })
const stoppedBy = (reason: string, configApplied: string) => [
  "TargetReady True Ready",
  `Installed False ${reason}`,
  `ConfigApplied ${configApplied}`,
  `Ready False ${reason}`,
]
const lastConfig = (world: World, name: string) => world.pulumi.runs.at(-1)?.request.config.get(name)

describe("a custom storage root that a cleanup could reach", () => {
  for (const [what, storageRoot, storageRootBase] of [
    ["inside the base", "/srv/instances/../instances//team-a/x/", "/srv/instances/"],
    ["the base itself", "/srv//./instances/", "/srv/instances"],
    ["the root of the node", "//srv/..//", "/srv/instances"],
    ["with the base in its di-tenants tree", "/srv/.//", "/srv//di-tenants/acme/../instances"],
    ["with the base as its di-framework tree", "/srv", "/srv/di-framework/"],
  ] as const) {
    it.effect(`(${what}) is refused, and nothing is installed`, () =>
      Effect.gen(function* () {
        const world = yield* started({ platform: { storageRoot } }, { storageRootBase })
        assert.strictEqual(phase(world), "Failed")
        assert.deepStrictEqual(told(world), stoppedBy("InvalidStorageRoot", "- -"))
        assert.include(condition(world, "Installed")?.message ?? "", storageRoot)
        assert.isEmpty(world.pulumi.runs)
        assert.isUndefined(world.store.records.get("team-a/one")?.storageRoot)
      }),
    )
  }

  it.effect("is none when it is a plain parent of the base, and it is handed on as it was written", () =>
    Effect.gen(function* () {
      const world = yield* started(
        { platform: { storageRoot: "/srv/" } },
        { storageRootBase: "/srv/instances" },
      )
      assert.strictEqual(phase(world), "Ready")
      assert.strictEqual(lastConfig(world, "storageRoot"), "/srv/")
      // Without a base: what is named by its user is never removed.
      assert.deepStrictEqual(world.store.records.get("team-a/one")?.storageRoot, { path: "/srv/" })
    }),
  )

  it.effect("is looked for before the first install alone", () =>
    Effect.gen(function* () {
      const world = yield* started({ platform: { storageRoot: "/srv/x" } }, { storageRootBase: "/other" })
      assert.strictEqual(phase(world), "Ready")
      world.store.records.set("team-a/one", {
        ...(world.store.records.get("team-a/one") ?? assert.fail()),
        storageRoot: { path: "/base/x" },
      })
      yield* world.edit({ spec: { platform: { tenants: [{ name: "acme" }] } } })
      yield* pass(90)
      assert.strictEqual(phase(world), "Ready")
    }),
  )
})

describe("the tenant host image of a new instance", () => {
  const pinned = "ghcr.io/di-framework/wash@sha256:another"
  for (const [what, defaultTenantHostImage, why] of [
    [
      "is not approved by the package",
      Option.some(pinned),
      `does not approve the default tenant host image ${pinned}`,
    ],
    ["is not pinned by this build", Option.none<string>(), "this build of the operator pins no digest"],
  ] as const) {
    it.effect(`that ${what} stops its install before anything is applied; naming one mends it`, () =>
      Effect.gen(function* () {
        const world = yield* started({}, { defaultTenantHostImage })
        assert.strictEqual(phase(world), "Failed")
        const reason = "TenantHostImageUnsupported"
        assert.deepStrictEqual(told(world), stoppedBy(reason, `False ${reason}`))
        assert.include(condition(world, "ConfigApplied")?.message ?? "", why)
        assert.isEmpty(world.pulumi.runs)
        yield* world.edit({ spec: { platform: { tenantHostImage: "mine:1" } } })
        yield* pass(70)
        assert.strictEqual(phase(world), "Ready")
        assert.strictEqual(lastConfig(world, "tenantHostImage"), "mine:1")
        assert.strictEqual(Option.getOrThrow(world.status()).applied?.tenantHostImage, "mine:1")
        // Empty again, it keeps what is recorded.
        yield* world.edit({ spec: { platform: null } })
        yield* pass(70)
        assert.strictEqual(phase(world), "Ready")
        assert.strictEqual(lastConfig(world, "tenantHostImage"), "mine:1")
      }),
    )
  }

  it.effect("is kept by an upgrade, and by an install after its record was lost", () =>
    Effect.gen(function* () {
      const world = yield* ready()
      yield* world.edit({ spec: { version: "6.0.23" } })
      yield* pass(90)
      assert.strictEqual(lastConfig(world, "tenantHostImage"), hostImage)
      yield* world.operator.stop
      world.store.records.clear()
      const image = "ghcr.io/di-framework/wash@sha256:of-before"
      const live = world.cluster.instance(key) ?? assert.fail()
      const status = Option.getOrThrow(world.status())
      world.cluster.put(Kinds.PlatformInstance, live, {
        ...live,
        status: { ...status, applied: { generation: 2, tenants: 0, users: 0, tenantHostImage: image } },
      })
      yield* world.startOperator()
      yield* pass(120)
      assert.strictEqual(phase(world), "Ready")
      assert.strictEqual(lastConfig(world, "tenantHostImage"), image)
    }),
  )
})

describe("a client secret that is not there", () => {
  it.effect("stops a first install before anything is applied, and says which", () =>
    Effect.gen(function* () {
      const world = yield* started({
        platform: {
          tenantAuth,
        },
      })
      const reason = "TenantAuthSecretUnavailable"
      assert.deepStrictEqual(told(world), stoppedBy(reason, `False ${reason}`))
      assert.include(
        condition(world, "ConfigApplied")?.message ?? "",
        "key clientSecret of Secret team-a/oauth, named by spec.platform.tenantAuth.clientSecretRef, is missing",
      )
      assert.isEmpty(world.pulumi.runs)
      assert.isUndefined(world.store.records.get("team-a/one")?.storageRoot)
    }),
  )
})

describe("the first repair", () => {
  const changed = (before: PlatformInstanceStatus, after: PlatformInstanceStatus) => {
    const flat = (value: unknown, path: string): ReadonlyArray<readonly [string, unknown]> =>
      typeof value === "object" && value !== null
        ? Object.entries(value).flatMap(([name, inner]) => flat(inner, `${path}.${name}`))
        : [[path, value]]
    const old = new Map(flat(before, "status"))
    const now = new Map(flat(after, "status"))
    return [...new Set([...old.keys(), ...now.keys()])]
      .filter((path) => old.get(path) !== now.get(path))
      .map((path) => `${path}: ${old.get(path)} -> ${path.endsWith("lastRepair") ? "now" : now.get(path)}`)
  }

  it.effect(
    "makes the reason RepairDue; each one more that finds nothing writes lastRepair, its line of the history and nothing else",
    () =>
      Effect.gen(function* () {
        const world = yield* ready()
        const repaired = Effect.fnUntraced(function* () {
          const before = Option.getOrThrow(world.status())
          const events = world.events.length
          const statusWrites = world.cluster.statusWrites()
          const { length } = world.cluster.writes
          yield* passUntil(repairDue(world) - 5)
          yield* pass(67)
          return {
            changed: changed(before, Option.getOrThrow(world.status())),
            statusWrites: world.cluster.statusWrites() - statusWrites,
            writes: world.cluster.writes.slice(length).map((write) => write.split(" ")[1]),
            events: world.events.slice(events).map(({ reason }) => reason),
          }
        })
        const index = Option.getOrThrow(world.status()).conditions?.findIndex(
          ({ type }) => type === "Installed",
        )
        assert.deepStrictEqual(yield* repaired(), {
          changed: [
            `status.conditions.${index}.reason: FirstInstall -> RepairDue`,
            "status.lastRepair: undefined -> now",
          ],
          statusWrites: 1,
          writes: ["configmaps/team-a/one-history", "platforminstances/team-a/one"],
          events: [],
        })
        for (let more = 0; more < 3; more++) {
          const last = Option.getOrThrow(world.status()).lastRepair
          assert.deepStrictEqual(yield* repaired(), {
            changed: [`status.lastRepair: ${last} -> now`],
            statusWrites: 1,
            writes: ["configmaps/team-a/one-history", "platforminstances/team-a/one"],
            events: [],
          })
        }
        assert.deepStrictEqual(reasons(world), [
          "FirstInstall",
          ...Array.from({ length: 4 }, () => "RepairDue"),
        ])
      }),
  )
})

describe("what an operation proves", () => {
  it.effect(
    "is in the record before it is in a status, and in neither before the operation has succeeded",
    () =>
      Effect.gen(function* () {
        const world = yield* makeWorld()
        const early: Array<string> = []
        const proofs = new Set<string>()
        world.cluster.listeners.push(({ kind, object, deleted }) => {
          if (kind !== Kinds.PlatformInstance || deleted) return
          const { installedVersion, applied, endpoints, lastRepair, target } = decoded(object).status ?? {}
          const record = world.store.records.get("team-a/one")
          const installed = record?.installed
          if (installed !== undefined) proofs.add(installed.finishedAt)
          const succeeded = world.pulumi.runs.filter(({ outcome }) => outcome === "succeeded")
          if (succeeded.length < proofs.size) early.push("a record before its operation has succeeded")
          for (const [field, said, recorded] of [
            ["installedVersion", installedVersion, installed?.version],
            ["applied.generation", applied?.generation, installed?.generation],
            ["applied.tenants", applied?.tenants, installed?.tenants],
            ["endpoints.http", endpoints?.http, installed?.endpoints.http],
            ["lastRepair", lastRepair, installed?.lastRepair],
            ["target.serviceUID", target?.serviceUID, record?.serviceUID],
          ] as const) {
            if (said !== undefined && said !== recorded) early.push(`${field} ${said}, recorded ${recorded}`)
          }
          if (
            installedVersion !== undefined &&
            !succeeded.some(({ request }) => request.version === installedVersion)
          )
            early.push(`${installedVersion} before it was installed`)
        })
        world.pulumi.failures.push("Failed")
        yield* world.startOperator()
        world.apply({ platform: { tenants: [{ name: "acme" }] } })
        yield* pass(60)
        assert.doesNotHaveAnyKeys(Option.getOrThrow(world.status()), [
          "installedVersion",
          "applied",
          "endpoints",
          "target",
        ])
        yield* pass(150)
        assert.strictEqual(phase(world), "Ready")
        // An upgrade that fails first, a repair that fails first, a change of settings.
        for (const change of [{ version: "6.0.23" }, { platform: { tenants: [] } }]) {
          world.pulumi.failures.push("Failed")
          yield* world.edit({ spec: change })
          yield* pass(200)
          assert.strictEqual(phase(world), "Ready")
        }
        world.pulumi.failures.push("Failed")
        yield* passUntil(repairDue(world) - 5)
        yield* pass(200)
        assert.strictEqual(phase(world), "Ready")
        assert.deepStrictEqual(early, [])
        assert.strictEqual(proofs.size, 4)
      }),
  )
})

describe("an install that fails", () => {
  const message = (world: World) => condition(world, "Installed")?.message ?? ""

  it.effect("of a defect names its version, and is tried again", () =>
    Effect.gen(function* () {
      const world = yield* makeWorld()
      const { records } = world.store
      const { set } = records
      records.set = () => {
        throw new Error("planted defect")
      }
      yield* world.startOperator()
      world.apply()
      yield* pass(60)
      assert.match(message(world), /^install \(version 6\.0\.22\): internal error/)
      assert.notInclude(message(world), "planted")
      records.set = set
      yield* pass(120)
      assert.strictEqual(phase(world), "Ready")
    }),
  )
})
