// What keeps the operator from being ready, in words: the answer of /readyz, and what the log says meanwhile.
import { Context, Effect, Layer, Option, Ref } from "effect"
import { WatchHealth, type WatchStatus } from "../Kubernetes/WatchHealth.ts"
import { CrdCheck } from "./CrdCheck.ts"

/** Whether the operator takes work: set once its caches are complete, cleared when it begins to stop. */
export class Ready extends Context.Service<Ready, Ref.Ref<boolean>>()("platform-operator/Ready") {
  static readonly layer = Layer.effect(Ready, Ref.make(false))
}

/** Watches that have not listed once, each with its state. */
export const waitedFor = (statuses: ReadonlyArray<WatchStatus>): ReadonlyArray<string> =>
  statuses.filter(({ lastListAt }) => lastListAt === undefined).map(({ name, state }) => `${name} (${state})`)

/** Nothing when the operator is ready. Each line says what to mend, or what is still waited for. */
export const problems = Effect.gen(function* () {
  const crd = yield* (yield* CrdCheck).problem
  const statuses = yield* (yield* WatchHealth).statuses
  const refused = statuses
    .filter(({ state }) => state === "Forbidden")
    .map(({ name }) => `the API server refuses the watch of ${name}; the chart's ClusterRole grants it`)
  const found = [...Option.toArray(crd), ...refused]
  if (yield* Ref.get(yield* Ready)) return found
  const waiting = waitedFor(statuses)
  return [
    ...found,
    waiting.length === 0
      ? "not taking work: starting or stopping"
      : `caches are not complete yet: ${waiting.join(", ")}`,
  ]
})
