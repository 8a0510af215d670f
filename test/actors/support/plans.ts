// What the tests of plans and approval ask and say.
import { assert } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { ANNOTATION_APPROVE } from "../../../src/schema/Names.ts"
import { type PlannedStep, PlansText } from "../../../src/schema/Plan.ts"
import * as Kinds from "../../../src/services/Kubernetes/Kinds.ts"
import { key } from "./instances.ts"
import { condition, ready, reasons } from "./readings.ts"
import { pass, type World } from "./World.ts"

export const annotate = (world: World, annotations: Readonly<Record<string, string | null>>) =>
  world.edit({ metadata: { annotations } })
export const told = (world: World) =>
  world.events.filter(({ reason }) => ["Planned", "PlanFailed", "ApprovalPending"].includes(reason))
export const looks = (world: World) => world.pulumi.looks.map(({ request }) => request.version)
export const kept = (world: World) =>
  Schema.decodeSync(PlansText)(world.store.plans.get("team-a/one") ?? assert.fail("there is a plan"))
export const ofSpec = (world: World) => kept(world).spec ?? assert.fail("there is a plan of the spec")
export const ofVersion = (world: World) => kept(world).version ?? assert.fail("there is a plan of a version")
export const readyMessage = (world: World) => condition(world, "Ready")?.message ?? ""
export const failing = (world: World, times = 500) =>
  void world.pulumi.lookFailures.push(...Array.from({ length: times }, () => "Failed" as const))
/** Generation 2, whose plan takes data, waits. */
export const upgrading = Effect.fnUntraced(function* (annotations: Readonly<Record<string, string>>) {
  const world = yield* ready()
  world.pulumi.seen.preview = { steps: grave, drifted: [] }
  yield* world.edit({ metadata: { annotations }, spec: { version: "6.0.21" } })
  yield* pass(120)
  assert.deepStrictEqual([looks(world), reasons(world)], [["6.0.21"], ["FirstInstall"]])
  return world
})
export const required = { [ANNOTATION_APPROVE]: "required" }
export const shown = (world: World) => {
  const map = world.cluster.find(Kinds.ConfigMap, { ...key, name: `${key.name}-history` })
  const data = map?.data
  return typeof data === "object" && data !== null ? Object.keys(data).toSorted() : []
}

export const changed: ReadonlyArray<PlannedStep> = [
  { deed: "create", type: "kubernetes:core/v1:ConfigMap", namespace: "wasmcloud", name: "new" },
  { deed: "update", type: "kubernetes:apps/v1:Deployment", namespace: "wasmcloud", name: "gateway" },
]
export const grave: ReadonlyArray<PlannedStep> = [
  ...changed,
  { deed: "delete", type: "kubernetes:core/v1:PersistentVolumeClaim", namespace: "wasmcloud", name: "data" },
]

/** What was run, in order: `VersionChanged 6.0.21 of 2`. */
export const runs = (world: World): ReadonlyArray<string> =>
  world.pulumi.runs.map(({ request }) => `${request.kind} ${request.version} of ${request.generation}`)
