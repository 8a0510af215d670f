// The mornings after a loss: the state directory is empty or a day old, the instance has come back without its status, or
// the target is another cluster. Each ends Ready with all that is inside as it was, or is refused with nothing changed.
import { assert, describe, it } from "@effect/vitest"
import { Clock, Duration, Effect } from "effect"
import { FINALIZER } from "../../src/schema/Names.ts"
import * as Kinds from "../../src/services/Kubernetes/Kinds.ts"
import { simulate, until } from "../twins/simulation/Simulation.ts"
import { operatorUser, paths } from "../twins/world/Image.ts"
import { key, makeWorld, type World } from "../twins/world/World.ts"

const patience = "40 minutes"
const ready = (world: World) => until(() => world.isReady(), patience, "the instance is Ready")

const kinds = [Kinds.Namespace, Kinds.ConfigMap, Kinds.Deployment, Kinds.Service, Kinds.Secret] as const

/** Everything inside the instance by kind and name, with its UID; helm's records, of which each upgrade makes one, apart. */
const inside = (world: World): ReadonlyMap<string, string> => {
  const client = world.inner()?.as("kubernetes-admin")
  if (client === undefined) throw new Error("the vCluster does not serve")
  return new Map(
    kinds.flatMap((kind) =>
      client
        .list(kind)
        .filter(({ type }) => type !== "helm.sh/release.v1")
        .map(({ metadata }) => [`${kind.kind} ${metadata.namespace ?? ""}/${metadata.name}`, metadata.uid]),
    ),
  )
}
const versions = (world: World) =>
  kinds.flatMap((kind) =>
    (world.inner()?.as("kubernetes-admin").list(kind) ?? []).map(({ metadata }) => metadata.resourceVersion),
  )
const kept = (world: World, before: ReadonlyMap<string, string>) => {
  const now = inside(world)
  for (const [name, uid] of before) assert.strictEqual(now.get(name), uid, name)
}
const namesInside = (world: World) =>
  (world.inner()?.as("kubernetes-admin").list(Kinds.Namespace) ?? []).map(
    ({ metadata }) => `Namespace ${metadata.name}`,
  )
/** What the records of the platform's Helm release say, newest first. */
const releases = (world: World) =>
  (world.inner()?.as("kubernetes-admin").list(Kinds.Secret) ?? [])
    .filter(({ type, metadata }) => type === "helm.sh/release.v1" && metadata.labels?.name === "wasmcloud")
    .toSorted((a, b) => Number(b.metadata.labels?.version) - Number(a.metadata.labels?.version))
    .map(({ metadata }) => metadata.labels?.status ?? "")
const message = (world: World) =>
  world.status()?.conditions?.find(({ type }) => type === "Installed")?.message ?? ""
const reason = (world: World) => world.status()?.conditions?.find(({ type }) => type === "Installed")?.reason

const instances = `${paths.state}/instances`
const folder = `${instances}/team-a/one`

/** A folder with all in it, as a backup holds it. */
const copyOf = ({ files }: World, from: string): ReadonlyMap<string, Uint8Array | undefined> => {
  const found = new Map<string, Uint8Array | undefined>()
  const walk = (at: string) => {
    for (const name of files.list(`${from}${at}`)) {
      const entry = files.lstat(`${from}${at}/${name}`)
      if (entry?.kind === "directory") {
        found.set(`${at}/${name}`, undefined)
        walk(`${at}/${name}`)
      } else if (entry?.kind === "file") found.set(`${at}/${name}`, files.readFile(`${from}${at}/${name}`))
    }
  }
  walk("")
  return found
}
const putBack = (world: World, to: string, copy: ReadonlyMap<string, Uint8Array | undefined>) => {
  world.files.remove(to)
  const files = world.files.as(operatorUser)
  files.mkdirs(to, 0o700)
  for (const [name, content] of copy) {
    if (content === undefined) files.mkdirs(`${to}${name}`, 0o700)
    else files.writeFile(`${to}${name}`, content, 0o600)
  }
}

const crd = "platforminstances.platform.di-framework.dev"
const anyVersion = {
  op: "replace" as const,
  path: "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/version",
  value: { "x-kubernetes-preserve-unknown-fields": true },
}

const settings = { repairInterval: Duration.minutes(5) }

/** Ready at this version, with the operator stopped, and a watch on what goes inside. */
const night = Effect.fnUntraced(function* (version = "6.0.22") {
  const world = yield* makeWorld({ traced: false, settings })
  const operator = yield* world.startOperator()
  world.apply({ version })
  yield* ready(world)
  yield* Effect.sleep("2 minutes")
  const gone: Array<string> = []
  world.inner()?.subscribe(({ type, object }) => {
    if (type === "DELETED" && object.kind !== "Event") gone.push(`${object.kind} ${object.metadata.name}`)
  })
  return { world, operator, gone }
})

const annotate = (world: World, value: string) =>
  world.edit({ metadata: { annotations: { "platform.di-framework.dev/fresh-start": value } } })

const now = Effect.map(Clock.currentTimeMillis, (millis) => new Date(millis).toISOString())

/** What is refused stays refused, and changes nothing inside. */
const refused = Effect.fnUntraced(function* (world: World, words: RegExp) {
  const before = versions(world)
  yield* world.startOperator()
  yield* until(() => reason(world) === "InstallFailed", patience, "it is refused")
  yield* Effect.sleep("20 minutes")
  assert.strictEqual(reason(world), "InstallFailed")
  assert.match(message(world), words)
  assert.deepStrictEqual(versions(world), before)
})

describe("the morning after", { timeout: 600_000 }, () => {
  it("the state directory was emptied: refused, and begun anew when somebody asks for it today", () =>
    simulate(
      Effect.gen(function* () {
        const { world, operator } = yield* night()
        const before = inside(world)
        yield* operator.stop
        world.files.remove(instances)
        yield* refused(
          world,
          /^check state .*no Pulumi state in \/var\/lib\/platform-operator\/instances\/team-a\/one\/backend, but its status says .* Put back \/var\/lib\/platform-operator\/instances\/team-a\/one from a backup/,
        )
        for (const name of ["backend", "project", "instance.json"]) {
          assert.isFalse(world.files.exists(`${folder}/${name}`), name)
        }
        annotate(world, "2020-01-01T00:00:00Z")
        yield* Effect.sleep("5 minutes")
        assert.strictEqual(reason(world), "InstallFailed")
        annotate(world, yield* now)
        yield* ready(world)
        const after = inside(world)
        for (const name of ["Namespace /wasmcloud", "Deployment wasmcloud/di-platform-controller"]) {
          assert.isDefined(before.get(name), name)
          assert.strictEqual(after.get(name), before.get(name), name)
        }
      }),
      { seed: 1 },
    ))

  it("the state directory was put back a day old: the next operation looks before it changes anything", () =>
    simulate(
      Effect.gen(function* () {
        const { world, operator, gone } = yield* night("6.0.21")
        yield* operator.stop
        const backup = copyOf(world, instances)
        const second = yield* world.startOperator()
        world.edit({ spec: { version: "6.0.22" } })
        yield* until(
          () => world.isReady() && world.status()?.installedVersion === "6.0.22",
          patience,
          "the new version is installed",
        )
        yield* until(() => world.status()?.lastRepair !== undefined, patience, "it was repaired")
        yield* second.stop
        const before = inside(world)
        gone.length = 0
        putBack(world, instances, backup)
        yield* world.startOperator()
        yield* until(() => reason(world) === "VersionChanged" && world.isReady(), patience, "it is Ready")
        assert.strictEqual(world.status()?.installedVersion, "6.0.22")
        kept(world, before)
        assert.deepStrictEqual(
          gone.filter((name) => !name.includes("sh.helm.release")),
          [],
        )
        const warnings = world.events().filter((event) => event.reason === "StateOlder")
        assert.lengthOf(warnings, 1)
        assert.notInclude(world.files.readText(`${folder}/instance.json`), "behind")
      }),
      { seed: 1 },
    ))

  const moments = [
    {
      moment: "before its Helm release was begun",
      is: (world: World) =>
        namesInside(world).includes("Namespace wasmcloud") && releases(world).length === 0,
    },
    {
      moment: "while its Helm release was being made",
      is: (world: World) => releases(world).includes("pending-install"),
    },
  ]
  it.each(
    moments.flatMap((moment) => [
      { ...moment, and: "", statusLost: false },
      { ...moment, and: ", and the instance came back without its status", statusLost: true },
    ]),
  )(
    "the state directory was put back as it was in the first install, $moment$and: all is taken over",
    ({ is, statusLost }) =>
      simulate(
        Effect.gen(function* () {
          const world = yield* makeWorld({ traced: false, settings })
          const operator = yield* world.startOperator()
          world.apply()
          yield* until(() => is(world), patience, "it is being installed")
          const backup = copyOf(world, instances)
          yield* ready(world)
          yield* Effect.sleep("20 minutes")
          yield* operator.stop
          const before = inside(world)
          const gone: Array<string> = []
          world.inner()?.subscribe(({ type, object }) => {
            if (type === "DELETED" && object.kind !== "Event")
              gone.push(`${object.kind} ${object.metadata.name}`)
          })
          putBack(world, instances, backup)
          if (statusLost) {
            world.edit({ metadata: { finalizers: null } })
            world.remove()
            world.apply()
          }
          yield* world.startOperator()
          const taken = () =>
            world
              .events()
              .filter(({ note }) => /taken over as it is/.test(typeof note === "string" ? note : ""))
          yield* until(() => taken().length > 0, patience, "the release is taken over")
          yield* ready(world)
          kept(world, before)
          assert.deepStrictEqual(gone, [])
          assert.lengthOf(taken(), 1)
          const { lastRepair } = world.status() ?? {}
          yield* until(() => world.status()?.lastRepair !== lastRepair, patience, "it was repaired")
          kept(world, before)
          assert.strictEqual(releases(world)[0], "deployed")
        }),
        { seed: 1 },
      ),
  )

  it("the instance came back without its status, as backup tools do it", () =>
    simulate(
      Effect.gen(function* () {
        const { world, operator, gone } = yield* night()
        const before = inside(world)
        yield* operator.stop
        world.edit({ metadata: { finalizers: null } })
        world.remove()
        world.apply()
        yield* world.startOperator()
        yield* ready(world)
        kept(world, before)
        assert.deepStrictEqual(gone, [])
      }),
      { seed: 1 },
    ))

  it.each(["its record cannot be read", "its spec cannot be read by this version"])(
    "%s: a finalizer that somebody takes away comes back, and nothing else changes",
    (what) =>
      simulate(
        Effect.gen(function* () {
          const { world, operator, gone } = yield* night()
          const before = inside(world)
          yield* operator.stop
          if (what.includes("record")) world.files.writeText(`${folder}/instance.json`, "{")
          else {
            // As a CRD of a later release may have it.
            world.admin.patch(
              Kinds.CustomResourceDefinition,
              { name: crd },
              { type: "json", operations: [anyVersion] },
            )
            world.edit({ spec: { version: 7 } })
          }
          yield* world.startOperator()
          // Its spec may not be readable here, either.
          const object = () => world.admin.get(Kinds.PlatformInstance, key) ?? assert.fail("it is gone")
          const isTold = () => JSON.stringify(object()).includes('"reason":"InstallFailed"')
          yield* until(isTold, patience, "it is told")
          world.edit({ metadata: { finalizers: null } })
          yield* until(
            () => object().metadata.finalizers?.includes(FINALIZER) === true,
            patience,
            "it is back",
          )
          assert.isTrue(isTold())
          kept(world, before)
          assert.deepStrictEqual(gone, [])
        }),
        { seed: 1 },
      ),
  )

  it("both are gone, and only the target tells that something is installed: refused", () =>
    simulate(
      Effect.gen(function* () {
        const { world, operator } = yield* night()
        yield* operator.stop
        world.files.remove(instances)
        world.edit({ metadata: { finalizers: null } })
        world.remove()
        world.apply()
        yield* refused(world, /^check state .*but namespace \S+ in it, which an engine has made, shows that/)
      }),
      { seed: 1 },
    ))

  it("the target is another cluster: the old state is kept, and the platform installed anew", () =>
    simulate(
      Effect.gen(function* () {
        const { world, operator } = yield* night()
        yield* operator.stop
        const uid = JSON.parse(world.files.readText(`${folder}/instance.json`)).kubeSystemUID
        world.admin.delete(Kinds.Namespace, { name: world.hostNamespace() })
        yield* world.startOperator()
        yield* until(() => reason(world) === "Resync" && world.isReady(), patience, "it is Ready")
        const record = JSON.parse(world.files.readText(`${folder}/instance.json`))
        assert.notStrictEqual(record.kubeSystemUID, uid)
        assert.isUndefined(record.anew)
        const [name = ""] = world.files.list(`${folder}/kept`)
        assert.isTrue(
          world.files.exists(`${folder}/kept/${name}/.pulumi/stacks/platform-instance/instance.json.gz`),
        )
        const warnings = world.events().filter((event) => event.reason === "ClusterReplaced")
        assert.deepStrictEqual(
          warnings.map(({ type }) => type),
          ["Warning"],
        )
      }),
      { seed: 1 },
    ))
})
