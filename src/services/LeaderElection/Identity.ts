// Who holds a lease, so that another can tell whether that one has ended: `<pod name>_<pod UID>_<incarnation>`. A
// pod's name holds no underscore.
import { Effect, Option, Schema } from "effect"
import { Pod } from "../Kubernetes/Kinds.ts"
import { Kubernetes } from "../Kubernetes/Kubernetes.ts"

export interface OperatorIdentity {
  readonly podName: string
  /** Of the pod; the same for every process outside of a cluster. */
  readonly podUID: string
  /** Random, one a start of the operator. */
  readonly incarnation: string
}

export const formatIdentity = ({ podName, podUID, incarnation }: OperatorIdentity): string =>
  `${podName}_${podUID}_${incarnation}`

const parseIdentity = (text: string): Option.Option<OperatorIdentity> => {
  const [podName, podUID, incarnation] = text.split("_")
  return podName === undefined || podUID === undefined || incarnation === undefined
    ? Option.none()
    : Option.some({ podName, podUID, incarnation })
}

const Ended = Schema.Struct({
  status: Schema.Struct({
    containerStatuses: Schema.NonEmptyArray(
      Schema.Struct({ state: Schema.Struct({ terminated: Schema.Json }) }),
    ),
  }),
})
const hasEnded = Schema.is(Ended)

/**
 * Whether a holder is proven to have ended: an earlier container of our own pod, for a pod runs one at a time, or a
 * pod all of whose containers have ended as its kubelet says. A pod that is gone proves nothing: it may have been
 * removed by force from a node that cannot be reached and goes on working.
 */
export const holderIsDead = (namespace: string, self: OperatorIdentity) =>
  Effect.map(
    Kubernetes,
    (kubernetes) =>
      (holder: string): Effect.Effect<boolean> =>
        Option.match(parseIdentity(holder), {
          onNone: () => Effect.succeed(false),
          onSome: ({ podName, podUID }) =>
            podUID === self.podUID && podUID !== "outside"
              ? Effect.succeed(true)
              : kubernetes.get(Pod, { namespace, name: podName }).pipe(
                  Effect.map(Option.exists((pod) => pod.metadata.uid === podUID && hasEnded(pod))),
                  Effect.orElseSucceed(() => false),
                ),
        }),
  )
