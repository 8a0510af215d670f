// Follows a kind that the role of an earlier release does not let the operator see. A watch that is refused keeps it from being
// ready; of this kind nothing is wanted then but what it can do without.
import { Effect, Option, Schedule, Stream } from "effect"
import {
  type KubeError,
  type KubeObject,
  Kubernetes,
  type ListOptions,
  type ResourceKind,
} from "./Kubernetes.ts"
import { makeStore, type StoreChange } from "./Store.ts"

/** What may not be seen, or is not served, is asked for again after this long. */
const patience = "10 minutes"

export const isUnavailable = ({ code }: KubeError): boolean => code === 403 || code === 404

/** What there is, asked for until there is an answer; `None` where it may not be seen. */
const listed = Effect.fnUntraced(function* (kind: ResourceKind, options: ListOptions) {
  const kubernetes = yield* Kubernetes
  return yield* Effect.asSome(kubernetes.list(kind, options)).pipe(
    Effect.catchIf(isUnavailable, () => Effect.succeedNone),
    Effect.retry(Schedule.spaced("10 seconds")),
    Effect.orElseSucceed(() => Option.none<ReadonlyArray<KubeObject>>()),
  )
})

/** As `Store.changes`, once the server answers a list. Never ends, and never fails. */
export const changesWhereAllowed = (
  kind: ResourceKind,
  options: ListOptions,
): Stream.Stream<StoreChange, never, Kubernetes> =>
  Stream.unwrap(
    Effect.gen(function* () {
      yield* listed(kind, options).pipe(
        Effect.repeat({ until: Option.isSome, schedule: Schedule.spaced(patience) }),
      )
      const store = yield* makeStore(kind, options)
      return store.changes
    }),
  )

/** What there is; nothing of what may not be seen. */
export const listWhereAllowed = (kind: ResourceKind, options: ListOptions) =>
  Effect.map(
    listed(kind, options),
    Option.getOrElse((): ReadonlyArray<KubeObject> => []),
  )
