// An instance that had its kubeconfig Secret, and has it no more: whoever deleted it is told when it is back.
import { refusedInEnding } from "../schema/EndingNamespace.ts"
import { ANNOTATION_PAUSED, ANNOTATION_SLEEP, kubeconfigSecretName } from "../schema/Names.ts"
import { dayTwoOf } from "./dayTwo.ts"
import { conditionOf, type Instance } from "./Instance.ts"

/** A target is Ready, and a platform installed, only after the operator has stored the kubeconfig. */
export const hasLostKubeconfig = (instance: Instance): boolean =>
  instance.metadata.deletionTimestamp === undefined &&
  instance.status?.kubeconfigSecretRef === undefined &&
  (instance.status?.installedVersion !== undefined || conditionOf(instance, "TargetReady")?.status === "True")

/** `now`: milliseconds since the epoch. */
export const lostKubeconfig = (instance: Instance, now: number): string => {
  const { namespace, name } = instance.metadata
  const secret = `Secret ${namespace}/${kubeconfigSecretName({ namespace, name })} is missing`
  if (conditionOf(instance, "TargetReady")?.message?.includes(refusedInEnding(namespace)) === true) {
    return `${secret}: it cannot be written again, because namespace ${namespace} is being deleted`
  }
  const { pausedSince, sleeps } = dayTwoOf(instance, now)
  const holds = pausedSince === undefined ? sleeps && ANNOTATION_SLEEP : ANNOTATION_PAUSED
  const when = holds === undefined ? "once the control plane answers" : `when annotation ${holds} goes`
  return `${secret}: the operator writes it again ${when}`
}
