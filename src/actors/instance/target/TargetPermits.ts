// How many vClusters start at once, over all instances: each pulls images and boots a control plane. A start counts from
// the install of its release, or from its upgrade, until its target is ready or has failed, and not for ever: one that gets
// nowhere must not keep the others waiting.
import { Clock, Context, Effect, Layer } from "effect"
import { Settings } from "../Settings.ts"
import { longestStart } from "./ControlPlane.ts"

export class TargetPermits extends Context.Service<
  TargetPermits,
  {
    /** True when this instance's vCluster may start now; else `wake` runs when it may be asked again. */
    readonly ask: (key: string, wake: Effect.Effect<void>) => Effect.Effect<boolean>
    /** It has asked, and was not allowed to yet. */
    readonly waits: (key: string) => boolean
    /** It is starting already, whoever allowed it: an operator that was restarted finds it so. */
    readonly starts: (key: string) => Effect.Effect<void>
    /** It is ready, has failed, or is gone. */
    readonly ended: (key: string) => Effect.Effect<void>
  }
>()("platform-operator/TargetPermits") {
  static readonly layer = Layer.effect(
    TargetPermits,
    Effect.gen(function* () {
      const { maxConcurrentTargets } = yield* Settings
      /** Since when each starts: milliseconds since the epoch. */
      const starting = new Map<string, number>()
      /** In the order they have asked. */
      const waiting = new Map<string, Effect.Effect<void>>()

      const starts = (key: string) =>
        Effect.map(Clock.currentTimeMillis, (now) => {
          waiting.delete(key)
          if (!starting.has(key)) starting.set(key, now)
        })
      const free = (now: number) =>
        maxConcurrentTargets - [...starting.values()].filter((since) => now - since < longestStart).length

      return {
        starts,
        waits: (key) => waiting.has(key),
        ask: Effect.fnUntraced(function* (key, wake) {
          if (!starting.has(key)) {
            if (!waiting.has(key)) waiting.set(key, wake)
            const place = [...waiting.keys()].indexOf(key)
            if (place >= free(yield* Clock.currentTimeMillis)) return false
          }
          yield* starts(key)
          return true
        }),
        ended: (key) =>
          Effect.suspend(() => {
            const held = starting.delete(key)
            const waited = waiting.delete(key)
            if (!held && !waited) return Effect.void
            // Those alone whose turn it is: a hundred that wait would each look again at every end.
            return Effect.flatMap(Clock.currentTimeMillis, (now) =>
              Effect.all([...waiting.values()].slice(0, Math.max(0, free(now))), { discard: true }),
            )
          }),
      }
    }),
  )
}
