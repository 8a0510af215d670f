// Whatever people and the world do to an instance whose changes wait for approval: nothing is installed that nobody has approved,
// and in the end, with everything approved and nothing failing any more, it is Ready with its newest spec.
import { assert, describe, it } from "@effect/vitest"
import { Clock, Effect, Option, Random, Schema } from "effect"
import {
  ANNOTATION_APPROVED,
  ANNOTATION_PAUSED,
  ANNOTATION_PLAN,
  ANNOTATION_SLEEP,
  ANNOTATION_WINDOW,
} from "../../../src/schema/Names.ts"
import { approvalOf, PlansText } from "../../../src/schema/Plan.ts"
import * as Kinds from "../../../src/services/Kubernetes/Kinds.ts"
import { key } from "../support/instances.ts"
import { annotate, changed, grave, readyMessage, required } from "../support/plans.ts"
import { ready } from "../support/readings.ts"
import { pass, type World } from "../support/World.ts"

const among = <A>(values: ReadonlyArray<A>): Effect.Effect<A> => Effect.orDie(Random.choice(values))

interface Operator {
  readonly stop: Effect.Effect<void>
}

const versions = ["6.0.20", "6.0.21", "6.0.22", "6.0.23"]
const generationOf = (world: World): number => world.cluster.instance(key)?.metadata.generation ?? 0

/** Approves the plan that is kept, whichever it is. */
const approve = Effect.fnUntraced(function* (world: World, approved: Set<number>) {
  const plans = Option.flatMap(
    Option.fromUndefinedOr(world.store.plans.get("team-a/one")),
    Schema.decodeOption(PlansText),
  )
  const plan = Option.getOrUndefined(plans)?.spec
  if (plan === undefined) return
  approved.add(plan.generation)
  yield* annotate(world, { [ANNOTATION_APPROVED]: approvalOf(plan) })
})

const restart = Effect.fnUntraced(function* (world: World, operators: Array<Operator>) {
  yield* operators.pop()?.stop ?? Effect.void
  yield* pass(3)
  operators.push(yield* world.startOperator())
})

/** What is done once, by its name. */
const deedsOf = (world: World, approved: Set<number>, operators: Array<Operator>) => ({
  "another version": Effect.flatMap(among(versions), (version) => world.edit({ spec: { version } })),
  "another tenant": Effect.flatMap(among(["a", "b", "c"]), (name) =>
    world.edit({ spec: { platform: { tenants: [{ name }] } } }),
  ),
  approve: approve(world, approved),
  "approve once more": approve(world, approved),
  "approve an older generation": Effect.suspend(() =>
    annotate(world, { [ANNOTATION_APPROVED]: String(Math.max(1, generationOf(world) - 1)) }),
  ),
  "take the approval back": annotate(world, { [ANNOTATION_APPROVED]: null }),
  pause: annotate(world, { [ANNOTATION_PAUSED]: "true" }),
  resume: annotate(world, { [ANNOTATION_PAUSED]: null }),
  sleep: annotate(world, { [ANNOTATION_SLEEP]: "true" }),
  wake: annotate(world, { [ANNOTATION_SLEEP]: null }),
  window: Effect.flatMap(among([null, "Sat 02:00-04:00 UTC"]), (window) =>
    annotate(world, { [ANNOTATION_WINDOW]: window }),
  ),
  "ask for a plan": Effect.flatMap(among([null, "spec", ...versions]), (plan) =>
    annotate(world, { [ANNOTATION_PLAN]: plan }),
  ),
  restart: restart(world, operators),
  "lose the control plane": Effect.sync(() =>
    world.cluster.end(Kinds.Service, { namespace: world.host, name: "vcluster" }),
  ),
  "a look fails": Effect.sync(() => world.pulumi.lookFailures.push("Failed")),
  "an install fails": Effect.sync(() => world.pulumi.failures.push("Failed")),
  "another package": Effect.map(Random.nextIntBetween(0, 999), (digest) => {
    world.pulumi.found.digest = `sha256:${digest}`
  }),
  "another outcome": Effect.map(among([grave, changed]), (steps) => {
    world.pulumi.seen.preview = { steps, drifted: [] }
  }),
  "a write is refused": Effect.sync(() =>
    world.cluster.refusals.push({
      request: "PATCH platforminstances/team-a/one",
      code: 500,
      reason: "InternalError",
    }),
  ),
})

const whole = Effect.fnUntraced(function* () {
  const world = yield* ready()
  yield* annotate(world, required)
  const operators: Array<Operator> = [world.operator]
  const approved = new Set([1])
  const allowed = new Set<string>()
  const log: Array<string> = []
  const check = () => {
    for (const { request } of world.pulumi.runs) {
      const what = `${request.version} ${JSON.stringify([...request.config])}`
      if (approved.has(request.generation)) allowed.add(what)
      // Back to what was approved before is nothing that waits.
      assert.isTrue(
        allowed.has(what),
        `nobody has approved ${request.kind} of ${request.generation}:\n${log.join("\n")}`,
      )
    }
  }
  const deeds = Object.entries<Effect.Effect<unknown, unknown>>(deedsOf(world, approved, operators))
  for (let times = 0; times < 40; times++) {
    const [name, deed] = yield* among(deeds)
    log.push(`${(yield* Clock.currentTimeMillis) / 1000} ${name}, at ${generationOf(world)}`)
    yield* Effect.ignore(deed)
    yield* pass(yield* among([1, 3, 10, 30, 70, 200]))
    check()
  }
  world.pulumi.lookFailures.splice(0)
  world.pulumi.failures.splice(0)
  world.cluster.refusals.splice(0)
  yield* annotate(world, {
    [ANNOTATION_PAUSED]: null,
    [ANNOTATION_SLEEP]: null,
    [ANNOTATION_WINDOW]: null,
    [ANNOTATION_PLAN]: null,
  })
  for (let times = 0; times < 6; times++) {
    yield* pass(400, 2)
    check()
    yield* approve(world, approved)
  }
  yield* pass(600, 2)
  const { phase, observedGeneration } = Option.getOrThrow(world.status())
  assert.deepStrictEqual(
    [phase, observedGeneration],
    ["Ready", generationOf(world)],
    `${readyMessage(world)}\n${log.join("\n")}`,
  )
})

describe("an instance whose changes wait for approval", () => {
  it.effect.each([1, 2, 3, 4, 5, 6, 7, 8])(
    "gets what was approved and nothing else, in the end: seed %i",
    (seed) => Random.withSeed(whole(), seed),
  )
})
