// What the watches are doing, for readiness and metrics. Not for liveness: an API server that is away must not
// restart the operator.
import { Context, Effect, type Scope } from "effect"
import { increment } from "../Metrics/Metrics.ts"

export type WatchState =
  | "Listing"
  | "Watching"
  | "BackingOff"
  /** The server refuses the list or the watch (401, 403). */
  | "Forbidden"
  /** The server does not know the kind (404): its definition is not installed, or no longer. */
  | "NotServed"

export interface WatchStatus {
  /** `<plural>.<group>`, with namespace and selectors when there are any. */
  readonly name: string
  readonly state: WatchState
  /** Milliseconds since the epoch; undefined before the first. An event or a bookmark. */
  readonly lastEventAt: number | undefined
  /** Milliseconds since the epoch of the last complete list; undefined before the first. */
  readonly lastListAt: number | undefined
}

/** Of the host cluster's watches, those that are running now. */
export class WatchHealth extends Context.Service<
  WatchHealth,
  { readonly statuses: Effect.Effect<ReadonlyArray<WatchStatus>> }
>()("platform-operator/WatchHealth") {}

export type WatchReporter = (change: Partial<Omit<WatchStatus, "name">>) => Effect.Effect<void>

/** Where watches report themselves; each is forgotten when its scope closes. */
export interface WatchRegistry {
  readonly register: (name: string) => Effect.Effect<WatchReporter, never, Scope.Scope>
  readonly statuses: Effect.Effect<ReadonlyArray<WatchStatus>>
}

export const makeWatchRegistry: Effect.Effect<WatchRegistry> = Effect.sync(() => {
  const watches = new Map<symbol, WatchStatus>()
  return {
    register: (name) =>
      Effect.acquireRelease(
        Effect.sync(() => {
          const id = Symbol(name)
          watches.set(id, { name, state: "Listing", lastEventAt: undefined, lastListAt: undefined })
          const report: WatchReporter = (change) =>
            Effect.sync(() => {
              const status = watches.get(id)
              if (status !== undefined) watches.set(id, { ...status, ...change })
            })
          return { id, report }
        }),
        ({ id }) => Effect.sync(() => watches.delete(id)),
      ).pipe(Effect.map(({ report }) => report)),
    statuses: Effect.sync(() => [...watches.values()]),
  }
})

/** How a watch ended: `closed` (by the server, as agreed), `idle` (fell silent), `gone`, `broken`, `refused`. */
export const countWatchEnd = (resource: string, outcome: string): Effect.Effect<void> =>
  increment("platform_operator_watch_ends_total", { resource, outcome })
