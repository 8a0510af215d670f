// How long ago each watch of the host cluster was last told anything: a list, an event or a bookmark.
import { Clock, Effect, Layer } from "effect"
import { WatchHealth } from "../Kubernetes/WatchHealth.ts"
import { Collectors } from "./Collectors.ts"
import { set, unsetAll } from "./Metrics.ts"

const collect = Effect.gen(function* () {
  const health = yield* WatchHealth
  /** Since when each is known: what has not begun yet gets older, too. */
  const known = new Map<string, number>()
  yield* (yield* Collectors).add(
    Effect.gen(function* () {
      const now = yield* Clock.currentTimeMillis
      const statuses = yield* health.statuses
      const names = new Set(statuses.map(({ name }) => name))
      for (const name of known.keys()) if (!names.has(name)) known.delete(name)
      yield* unsetAll("platform_operator_watch_age_seconds")
      for (const { name, state, lastEventAt = 0, lastListAt = 0 } of statuses) {
        if (!known.has(name)) known.set(name, now)
        // There is nothing to be told of: an API server before 1.30 has no admission policies.
        if (state === "NotServed") continue
        const since = Math.max(lastEventAt, lastListAt) || (known.get(name) ?? now)
        yield* set("platform_operator_watch_age_seconds", { watch: name }, Math.max(0, now - since) / 1000)
      }
    }),
  )
})

export const watchAgesLayer = Layer.effectDiscard(collect)
