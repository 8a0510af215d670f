// Plans and approval, with the whole operator: what is looked at is not touched, and whoever dies in it has changed nothing of
// what comes of it.
import { assert, describe, it, vi } from "@effect/vitest"
import { Effect, Option, Schema } from "effect"
import { ANNOTATION_APPROVE, ANNOTATION_APPROVED, ANNOTATION_PLAN, PLAN_KEY } from "../../src/schema/Names.ts"
import { PlanText } from "../../src/schema/Plan.ts"
import * as Kinds from "../../src/services/Kubernetes/Kinds.ts"
import { scaled } from "../support/figures.ts"
import type { Workload } from "../twins/crash/Crash.ts"
import { simulate, until } from "../twins/simulation/Simulation.ts"
import { paths } from "../twins/world/Image.ts"
import { key, type World } from "../twins/world/World.ts"
import { assertHeld, makeChecked, well } from "./checked.ts"
import { assertSameEnd, crashTimeout, full, once, sampled } from "./crashes.ts"
import { takeDrifted } from "./workloads.ts"

vi.setConfig({ testTimeout: 600_000 })

const decodeData = Schema.decodeUnknownOption(Schema.Record(Schema.String, Schema.String))
const decodePlan = Schema.decodeOption(PlanText)

const planOf = (world: World) => {
  const map = world.admin.get(Kinds.ConfigMap, { ...key, name: `${key.name}-history` })
  const text = Option.flatMap(decodeData(map?.data), (data) => Option.fromUndefinedOr(data[PLAN_KEY]))
  return Option.getOrUndefined(Option.flatMap(text, decodePlan))
}
const planned = (world: World, version: string, generation: number) =>
  until(
    () => {
      const plan = planOf(world)
      return plan?.version === version && plan.generation === generation && plan.unreadable === undefined
    },
    "30 minutes",
    "there is a plan",
  )
const annotate = (world: World, annotations: Readonly<Record<string, string | null>>) =>
  Effect.sync(() => void world.edit({ metadata: { annotations } }))
const installed = (world: World, version: string) =>
  until(
    () => world.isReady() && world.status()?.installedVersion === version,
    "30 minutes",
    `version ${version} is installed`,
  )

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
        const plan = planOf(world) ?? assert.fail("there is a plan")
        // One of what was taken away is the program's own, and is to be made; the other is a release's.
        assert.deepStrictEqual(plan.create, { ConfigMap: 1 })
        assert.deepStrictEqual([plan.replaced, plan.deleted, plan.data], [[], [], []])
        assert.isAbove(Object.keys(plan.update).length, 0)
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
        assert.deepStrictEqual(planOf(world)?.deleted.toSorted(), [
          "Namespace di-runtime-beta",
          "Namespace di-tenant-beta",
          "Tenant beta",
        ])
        assert.deepStrictEqual(planOf(world)?.data, [])
        yield* until(() => world.status()?.observedGeneration === 2, "20 minutes", "it is applied")
        assertHeld(world)
        yield* operator.stop
      }),
      { seed: 1 },
    ))
})

const plan: Workload = {
  name: "a plan",
  prepare: Effect.fnUntraced(function* (world) {
    world.apply({ version: "6.0.21" })
    yield* installed(world, "6.0.21")
  }),
  run: Effect.fnUntraced(function* (world) {
    yield* annotate(world, { [ANNOTATION_PLAN]: "6.0.22" })
    yield* planned(world, "6.0.22", 1)
    yield* until(() => world.isReady(), "30 minutes", "it is Ready")
  }),
}

const approval: Workload = {
  name: "an upgrade that is approved",
  prepare: Effect.fnUntraced(function* (world) {
    world.apply({ version: "6.0.21" })
    yield* installed(world, "6.0.21")
    yield* annotate(world, { [ANNOTATION_APPROVE]: "required" })
  }),
  run: Effect.fnUntraced(function* (world) {
    world.edit({ spec: { version: "6.0.22" } })
    yield* planned(world, "6.0.22", 2)
    if (world.status()?.installedVersion !== "6.0.21") throw new Error("it has not waited")
    yield* annotate(world, { [ANNOTATION_APPROVED]: "2" })
    yield* installed(world, "6.0.22")
  }),
}

describe.each([plan, approval].map((workload) => ({ ...workload, workload })))("$name", ({ workload }) => {
  it("comes to the same end wherever the operator dies", { timeout: crashTimeout }, () =>
    assertSameEnd(workload, ({ moments }, seed) =>
      full ? once(moments, seed) : sampled(moments, scaled(6)),
    ),
  )
})
