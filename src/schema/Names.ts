// Names of what the operator makes, and the labels, annotations and finalizers it writes. Everything that must be
// found again by a later life of the operator is derived here, from the key or the UID alone.
import { createHash } from "node:crypto"
import { formatKey, type InstanceKey } from "./InstanceKey.ts"

export const GROUP = "platform.di-framework.dev"
export const VERSION = "v1alpha1"
export const KIND = "PlatformInstance"
export const PLURAL = "platforminstances"
export const API_VERSION = `${GROUP}/${VERSION}`
/** The CustomResourceDefinition. */
export const CRD_NAME = `${PLURAL}.${GROUP}`

/** Added before anything is created, removed last, only by the operator. */
export const FINALIZER = `${GROUP}/instance`

/** `"true"` on every host namespace; the admission policy selects by it. */
export const LABEL_HOST_NAMESPACE = `${GROUP}/host-namespace`
/** The name hash of the instance something belongs to: cleanup Jobs and their pods are listed by it. */
export const LABEL_INSTANCE_HASH = `${GROUP}/instance-hash`

/** `<namespace>/<name>` on a host namespace: whose it is. */
export const ANNOTATION_INSTANCE = `${GROUP}/instance`
/** The instance's storage root on a host namespace: its pods may mount that much of the node, and no more. */
export const ANNOTATION_STORAGE_ROOT = `${GROUP}/storage-root`
/** `"true"`, set by a person: the instance is not deleted. */
export const ANNOTATION_PROTECT = `${GROUP}/protect`
/** Which pod's helm is at work on a host namespace's release, and since when; on the host namespace. */
export const ANNOTATION_HELM_WRITER = `${GROUP}/helm-writer`
/** The trace of the newest change: its `traceparent`, the generation it is of, and since when it runs. */
export const ANNOTATION_TRACE = `${GROUP}/trace`
/** `"true"`, set by a person: nothing of the instance is written. */
export const ANNOTATION_PAUSED = `${GROUP}/paused`
/** `"true"`, set by a person: the vCluster and what runs in it are taken down until it goes. */
export const ANNOTATION_SLEEP = `${GROUP}/sleep`
/** On the StatefulSet of a vCluster that was put to sleep: with how many replicas it is woken. */
export const ANNOTATION_ASLEEP = `${GROUP}/asleep`
/** Set by a person: when repairs and upgrades may begin (Windows.ts). */
export const ANNOTATION_WINDOW = `${GROUP}/window`
/** A version, or `spec`, set by a person: what an operation would do is looked at and told (Plan.ts). */
export const ANNOTATION_PLAN = `${GROUP}/plan`
/** `required`, set by a person: no change of version or spec begins without approval. */
export const ANNOTATION_APPROVE = `${GROUP}/approve`
/** A generation, set by a person: that one may begin. */
export const ANNOTATION_APPROVED = `${GROUP}/approved`
/** `detect`, set by a person: repairs look, report and change nothing. */
export const ANNOTATION_DRIFT = `${GROUP}/drift`
/** `"true"`, set by a person: the vCluster's release is moved to the chart that is embedded in the operator. */
export const ANNOTATION_UPGRADE_VCLUSTER = `${GROUP}/upgrade-vcluster`
/** The id of a backup, set by `kubectl pi restore`: nothing is installed until its data is back, and the annotation gone. */
export const ANNOTATION_RESTORE = `${GROUP}/restore`
/** What the operator remembers of the annotations of people: since when, what stood before, what it has told (DayTwo.ts). */
export const ANNOTATION_DAY_TWO = `${GROUP}/day-two`
/** `"true"`, set by a person: leave the default storage root on the node. */
export const ANNOTATION_SKIP_STORAGE_CLEANUP = `${GROUP}/skip-storage-cleanup`
/** Any value, set by a person: one that is new ends the pause after failures, and the next try is made at once. */
export const ANNOTATION_RECONCILE_REQUESTED = `${GROUP}/reconcile-requested-at`
/**
 * The time, set by a person: within a day of it an install may begin without the state that is missing, and take over what
 * is there.
 */
export const ANNOTATION_FRESH_START = `${GROUP}/fresh-start`
/** The UID of the instance whose default storage root was removed; any other value is ignored. */
export const ANNOTATION_STORAGE_CLEANED = `${GROUP}/storage-cleaned`
/** How many cleanup Jobs failed: the backoff outlives the process. */
export const ANNOTATION_STORAGE_CLEANUP_FAILURES = `${GROUP}/storage-cleanup-failures`
/** `<UID of the Job that was counted last> <when>`: it is counted once, and the pause after it outlives the process. */
export const ANNOTATION_STORAGE_CLEANUP_COUNTED = `${GROUP}/storage-cleanup-counted`

/** The key of the kubeconfig in the instance's `<name>-kubeconfig` Secret. */
export const KUBECONFIG_KEY = "kubeconfig"
/** The key of the history in the instance's `<name>-history` ConfigMap. */
export const HISTORY_KEY = "history.json"
/** The key of the newest plan in the same ConfigMap. */
export const PLAN_KEY = "plan.json"
/** The Secret inside the instance, in the platform namespace, that carries the OAuth client secret. */
export const TENANT_AUTH_SECRET_NAME = "platform-operator-tenant-auth"

/** Keeps `service/vcluster`: deleting it would make the garbage collector remove everything the vCluster synced. */
export const VCLUSTER_POLICY_NAME = "platform-operator-protect-vcluster-service"
/** What a pod in a host namespace may not ask for. */
export const POD_POLICY_NAME = "platform-operator-restrict-instance-pods"
/** Keeps instances that are annotated so, and the definition while there are instances: its binding is there for as long. */
export const INSTANCE_POLICY_NAME = "platform-operator-protect-instances"
/** What a Service in a host namespace may not ask for. */
export const SERVICE_POLICY_NAME = "platform-operator-restrict-instance-services"

/** Kubernetes' limit for a name that is a DNS label. */
export const MAX_INSTANCE_NAME = 63

/**
 * The vCluster chart makes cluster-scoped names of a release's name and its namespace and cuts them at 63
 * characters: a longer namespace would lose its hash and collide.
 */
export const MAX_HOST_NAMESPACE = 49

const HASH_LENGTH = 12
const BASE32 = "abcdefghijklmnopqrstuvwxyz234567"

/** The first 60 bits of the SHA-256 of a text as 12 lower-case base32 characters (RFC 4648's alphabet). */
export const shortHash = (text: string): string => {
  let bits = createHash("sha256").update(text, "utf8").digest().readBigUInt64BE(0)
  bits >>= 4n
  let out = ""
  for (let i = 0; i < HASH_LENGTH; i++) {
    out = BASE32.charAt(Number(bits & 31n)) + out
    bits >>= 5n
  }
  return out
}

/** Asked for many times a pass. As many as there are instances, and some that were. */
const hashes = new Map<string, string>()
const mostHashes = 4096

/** The hash of `<namespace>/<name>`: the same in every life of an instance, so that a retained one is found again. */
export const instanceHash = (key: InstanceKey): string => {
  const text = formatKey(key)
  const known = hashes.get(text)
  if (known !== undefined) return known
  if (hashes.size >= mostHashes) hashes.clear()
  const hash = shortHash(text)
  hashes.set(text, hash)
  return hash
}

/** `pi-<namespace>-<name>-<hash>`: a DNS label of at most 49 characters, shortened before the hash. */
export const hostNamespace = (key: InstanceKey): string => {
  const readable = `${key.namespace}-${key.name}`.replaceAll(".", "-")
  const room = MAX_HOST_NAMESPACE - "pi--".length - HASH_LENGTH
  return `pi-${readable.slice(0, room).replace(/-+$/, "")}-${instanceHash(key)}`
}

/** The Secret with the instance's admin kubeconfig, in the instance's own namespace. */
export const kubeconfigSecretName = (key: InstanceKey): string => `${key.name}-kubeconfig`

/** The ConfigMap with the instance's last operations, in the instance's own namespace. */
export const historyConfigMapName = (key: InstanceKey): string => `${key.name}-history`

/** `pi-storage-cleanup-<name hash>-<uid hash>`: 44 characters. One Job for one life of an instance. */
export const cleanupJobName = (key: InstanceKey, uid: string): string =>
  `pi-storage-cleanup-${instanceHash(key)}-${shortHash(uid)}`
