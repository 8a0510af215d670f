// Whether a pod can still be at work: asked before anything it left behind is taken over.
import { Effect, Option, Schema } from "effect"
import { Pod } from "./Kinds.ts"
import { Kubernetes } from "./Kubernetes.ts"

const PodStatus = Schema.Struct({
  status: Schema.optionalKey(
    Schema.Struct({
      containerStatuses: Schema.optionalKey(
        Schema.Array(
          Schema.Struct({
            state: Schema.optionalKey(
              Schema.Struct({
                terminated: Schema.optionalKey(Schema.Json),
                running: Schema.optionalKey(Schema.Struct({ startedAt: Schema.optionalKey(Schema.String) })),
              }),
            ),
          }),
        ),
      ),
    }),
  ),
})
const decode = Schema.decodeUnknownOption(PodStatus)

/** NaN where it is not said. */
const startedAt = (state: { readonly running?: { readonly startedAt?: string } } | undefined): number =>
  Date.parse(state?.running?.startedAt ?? "")

/**
 * Alive: there (with that UID, when one is given) and with a container that has not ended, nor was started again after
 * `since` (RFC 3339, by the clock of the pod's own node): a process of before is gone with its container. Where nobody
 * can tell, because the API does not answer, the answer is true.
 */
export const podIsAlive = (
  namespace: string,
): Effect.Effect<
  (name: string, uid: string | undefined, since?: string) => Effect.Effect<boolean>,
  never,
  Kubernetes
> =>
  Effect.map(
    Kubernetes,
    (kubernetes) => (name, uid, since) =>
      kubernetes.get(Pod, { namespace, name }).pipe(
        Effect.map(
          Option.match({
            onNone: () => false,
            onSome: (pod) => {
              if (uid !== undefined && pod.metadata.uid !== uid) return false
              const containers = Option.getOrUndefined(decode(pod))?.status?.containerStatuses ?? []
              return (
                containers.length === 0 ||
                containers.some(
                  ({ state }) =>
                    state?.terminated === undefined && !(startedAt(state) > Date.parse(since ?? "")),
                )
              )
            },
          }),
        ),
        Effect.orElseSucceed(() => true),
      ),
  )
