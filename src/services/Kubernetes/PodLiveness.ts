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

/** Whether a pod can be at work that was so at `since` (RFC 3339). Where nobody can tell, it can. */
export type IsPodAlive = (
  podName: string,
  podUID: string | undefined,
  since?: string,
) => Effect.Effect<boolean>

/** Who was at work on something, as it has written down itself. */
export interface Holder {
  readonly podName: string
  /** Unknown where only a host name was written. */
  readonly podUID: string | undefined
  /** RFC 3339. */
  readonly since: string
}

/**
 * Whether it may be at work still: the one judgement of whoever leaves a mark, on a state, a lock or a release. In our own
 * pod it is not: it was an earlier container, or a run of ours that has ended, for nobody asks while one of ours is at it.
 */
export const mayBeAtWork = (
  holder: Holder,
  own: { readonly podUID: string },
  isPodAlive: IsPodAlive,
): Effect.Effect<boolean> =>
  holder.podUID === own.podUID
    ? Effect.succeed(false)
    : isPodAlive(holder.podName, holder.podUID, holder.since)

/**
 * Alive: there (with that UID, when one is given) and with a container that has not ended, nor was started again after
 * `since` (RFC 3339, by the clock of the pod's own node): a process of before is gone with its container. Where nobody
 * can tell, because the API does not answer, the answer is true.
 */
export const podIsAlive = (namespace: string): Effect.Effect<IsPodAlive, never, Kubernetes> =>
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
