// Plans and approval, with the whole operator: what is looked at is not touched, and what waits is kept as it was agreed on.
import { assert, describe, it, vi } from "@effect/vitest"
import { Duration, Effect } from "effect"
import {
  ANNOTATION_APPROVE,
  ANNOTATION_APPROVED,
  ANNOTATION_DRIFT,
  ANNOTATION_PLAN,
} from "../../src/schema/Names.ts"
import { approvalOf, objectsOf } from "../../src/schema/Plan.ts"
import * as Kinds from "../../src/services/Kubernetes/Kinds.ts"
import { simulate, until } from "../twins/simulation/Simulation.ts"
import { paths } from "../twins/world/Image.ts"
import { key, type World } from "../twins/world/World.ts"
import { assertHeld, makeChecked, well } from "./checked.ts"
import { planned, plansOf } from "./plans.ts"
import { drifted, findInside, takeDrifted } from "./workloads.ts"

vi.setConfig({ testTimeout: 600_000 })

const annotate = (world: World, annotations: Readonly<Record<string, string | null>>) =>
  Effect.sync(() => void world.edit({ metadata: { annotations } }))

/** Everything that can be there inside, as it was last written; what writes by itself is left out. */
const inside = (world: World): ReadonlyArray<string> => {
  const inner = world.inner()?.as("kubernetes-admin")
  return [
    ...[Kinds.Namespace, Kinds.ConfigMap, Kinds.Secret, Kinds.Service, Kinds.Deployment, Kinds.StatefulSet],
  ]
    .flatMap((kind) => inner?.list(kind) ?? [])
    .map(
      ({ kind, metadata }) =>
        `${kind} ${metadata.name} ${metadata.uid} ${metadata.generation ?? metadata.resourceVersion}`,
    )
}

/** Files of the instance in the state directory, with what is in them. */
const kept = (world: World): ReadonlyArray<string> => {
  const root = `${paths.state}/instances/${key.namespace}/${key.name}`
  const walk = (folder: string): ReadonlyArray<string> =>
    world.files.list(folder).flatMap((name) => {
      const path = `${folder}/${name}`
      if (world.files.lstat(path)?.kind === "directory") return walk(path)
      if (world.files.lstat(path)?.kind === "link") return [`${path} ${world.files.readlink(path)}`]
      return [`${path} ${Buffer.from(world.files.readFile(path)).toString("base64")}`]
    })
  return walk(root).filter((line) => !/\/(history|plan)\.json /.test(line))
}

const tenants = (...names: ReadonlyArray<string>) => ({
  platform: { tenants: names.map((name) => ({ name })) },
})

describe("a plan", () => {
  it("says what an upgrade does, and touches nothing", () =>
    simulate(
      Effect.gen(function* () {
        const world = yield* makeChecked()
        const operator = yield* world.operate()
        world.apply({ version: "6.0.21", ...tenants("acme") })
        yield* well(world)
        takeDrifted(world)
        const before = [...inside(world), ...kept(world)]
        yield* annotate(world, { [ANNOTATION_PLAN]: "6.0.22" })
        yield* planned(world, "6.0.22", 1)
        assert.deepStrictEqual([...inside(world), ...kept(world)], before)
        const plan = plansOf(world)?.version ?? assert.fail("there is a plan")
        // One of what was taken away is the program's own, and is to be made; the other is a release's.
        assert.deepStrictEqual(plan.create, { ConfigMap: 1 })
        assert.deepStrictEqual([plan.replaced, plan.deleted, plan.data], [[], [], []])
        assert.isAbove(Object.keys(plan.update).length, 0)
        assert.deepStrictEqual(plan.restored, ["Deployment wasmcloud/wasmcloud-hosts (missing)"])
        assertHeld(world)
        yield* operator.stop
      }),
      { seed: 1 },
    ))

  it("that takes data has its change wait, a tenant that was taken out of the spec has not", () =>
    simulate(
      Effect.gen(function* () {
        const world = yield* makeChecked()
        const operator = yield* world.operate()
        world.apply(tenants("acme", "beta"))
        yield* well(world)
        world.edit({ metadata: { annotations: { [ANNOTATION_PLAN]: "spec" } }, spec: tenants("acme") })
        yield* planned(world, "6.0.22", 2)
        assert.deepStrictEqual(plansOf(world)?.spec?.deleted.toSorted(), [
          "Namespace di-runtime-beta",
          "Namespace di-tenant-beta",
          "Tenant beta",
        ])
        assert.deepStrictEqual(plansOf(world)?.spec?.data, [])
        yield* until(() => world.status()?.observedGeneration === 2, "20 minutes", "it is applied")
        assertHeld(world)
        yield* operator.stop
      }),
      { seed: 1 },
    ))

  it("is waited for beside repairs, which put back what was agreed on", () =>
    simulate(
      Effect.gen(function* () {
        const world = yield* makeChecked({ settings: { repairInterval: Duration.minutes(10) } })
        const operator = yield* world.operate()
        world.apply({ version: "6.0.21", ...tenants("acme") })
        yield* well(world)
        yield* annotate(world, { [ANNOTATION_APPROVE]: "required" })
        world.edit({ spec: { version: "6.0.22", ...tenants("acme", "beta") } })
        yield* planned(world, "6.0.22", 2)
        takeDrifted(world)
        yield* until(
          () => drifted.every(([kind, name]) => findInside(world, kind, name) !== undefined),
          "30 minutes",
          "what was removed is back",
        )
        assert.isUndefined(findInside(world, Kinds.Namespace, "di-tenant-beta"))
        assert.deepStrictEqual(
          [world.status()?.installedVersion, world.status()?.observedGeneration],
          ["6.0.21", 1],
        )
        const again = yield* planned(world, "6.0.22", 2)
        yield* annotate(world, { [ANNOTATION_APPROVED]: approvalOf(again) })
        yield* until(() => world.status()?.observedGeneration === 2, "30 minutes", "it is applied")
        assert.isDefined(findInside(world, Kinds.Namespace, "di-tenant-beta"))
        assertHeld(world)
        yield* operator.stop
      }),
      { seed: 1 },
    ))
})

describe("where repairs look and do nothing", () => {
  it("what differs is told, left as it is, and put back when they repair again", () =>
    simulate(
      Effect.gen(function* () {
        const world = yield* makeChecked({ settings: { repairInterval: Duration.minutes(10) } })
        const operator = yield* world.operate()
        world.apply(tenants("acme"))
        yield* well(world)
        yield* annotate(world, { [ANNOTATION_DRIFT]: "detect" })
        const report = () => plansOf(world)?.drift ?? assert.fail("it was looked at")
        const looked = (from: string | undefined) =>
          until(
            () => plansOf(world)?.drift?.madeAt !== from && plansOf(world)?.drift !== undefined,
            "30 minutes",
            "it is looked at",
          )
        yield* looked(undefined)
        assert.strictEqual(objectsOf(report()), 0)
        takeDrifted(world)
        const before = [...inside(world), ...kept(world)]
        yield* looked(report().madeAt)
        assert.deepStrictEqual(
          [report().create, report().update, report().restored],
          // Services that lead nowhere without what was removed: the engine would wait for them.
          [{ ConfigMap: 1 }, { Service: 2 }, ["Deployment wasmcloud/wasmcloud-hosts (missing)"]],
        )
        yield* looked(report().madeAt)
        assert.deepStrictEqual([...inside(world), ...kept(world)], before)
        assert.isUndefined(world.status()?.lastRepair)
        const events = world.admin
          .list(Kinds.Event, { namespace: key.namespace })
          .filter((event) => String(Object(event).reason).startsWith("Drift"))
        assert.deepStrictEqual(
          events.map((event) => [Object(event).type, Object(event).reason, Object(event).note]),
          [
            [
              "Warning",
              "DriftFound",
              "4 objects differ inside the instance; a repair would: create 1 (ConfigMap 1), update 2 (Service 2); put back: Deployment wasmcloud/wasmcloud-hosts (missing)",
            ],
          ],
        )
        yield* annotate(world, { [ANNOTATION_DRIFT]: null })
        yield* until(
          () => drifted.every(([kind, name]) => findInside(world, kind, name) !== undefined),
          "5 minutes",
          "what was removed is back",
        )
        yield* until(() => plansOf(world)?.drift?.outdated === true, "5 minutes", "the report is outdated")
        assertHeld(world)
        yield* operator.stop
      }),
      { seed: 1 },
    ))
})
