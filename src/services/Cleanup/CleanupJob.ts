// The Job that removes a deleted instance's default storage root. Pure: who creates it, watches it and counts its
// failures is the instance's deletion.
import { Duration } from "effect"
import type { InstanceKey } from "../../schema/InstanceKey.ts"
import { formatKey } from "../../schema/InstanceKey.ts"
import {
  ANNOTATION_INSTANCE,
  cleanupJobName,
  GROUP,
  instanceHash,
  LABEL_INSTANCE_HASH,
} from "../../schema/Names.ts"
import { normalisePath } from "../../schema/StorageRoot.ts"
import type { KubeManifest } from "../Kubernetes/Kubernetes.ts"

/** The UID of the life of an instance that a Job and its pods belong to: a successor's cleanup is never theirs. */
export const LABEL_INSTANCE_UID = `${GROUP}/instance-uid`

/**
 * Longer than any removal that makes progress should take. It also counts while no pod starts (a missing image, a node
 * that is down), so that such a cleanup is reported. A removal cut short goes on in the next Job.
 */
export const CLEANUP_DEADLINE = Duration.minutes(10)

export interface CleanupRequest {
  /** The operator's own image. */
  readonly image: string
  /** Where the Job runs: it must admit hostPath pods. */
  readonly cleanupNamespace: string
  /** Under which the instance's data was written. */
  readonly base: string
  /** `--storage-root-base` of now. */
  readonly currentBase: string
  readonly key: InstanceKey
  /** `metadata.uid` of the PlatformInstance. */
  readonly uid: string
}

const MOUNT = "/storage"

/**
 * The Job's manifest. Its pod mounts `<base>/<namespace>` alone. `DirectoryOrCreate`, because a directory that is not
 * there must succeed: `Directory` would keep the pod waiting for it for ever, and no type at all leaves it to the
 * container runtime, which creates it too. What this can leave is an empty `<base>/<namespace>`, which is also what
 * remains of a namespace whose last instance was removed.
 */
export const cleanupJob = (request: CleanupRequest): KubeManifest => {
  const { key } = request
  const base = normalisePath(request.base)
  const metadata = {
    labels: {
      "app.kubernetes.io/name": "platform-operator-storage-cleanup",
      "app.kubernetes.io/managed-by": "platform-operator",
      [LABEL_INSTANCE_HASH]: instanceHash(key),
      [LABEL_INSTANCE_UID]: request.uid,
    },
    annotations: { [ANNOTATION_INSTANCE]: formatKey(key) },
  }
  return {
    apiVersion: "batch/v1",
    kind: "Job",
    metadata: {
      name: cleanupJobName(key, request.uid),
      namespace: request.cleanupNamespace,
      ...metadata,
    },
    spec: {
      // The operator decides when to try again: it counts failures and backs off.
      backoffLimit: 0,
      activeDeadlineSeconds: Duration.toSeconds(CLEANUP_DEADLINE),
      template: {
        metadata,
        spec: {
          restartPolicy: "Never",
          automountServiceAccountToken: false,
          enableServiceLinks: false,
          // A stopped cleanup has nothing to put in order.
          terminationGracePeriodSeconds: 5,
          securityContext: { seccompProfile: { type: "RuntimeDefault" } },
          containers: [
            {
              name: "cleanup",
              image: request.image,
              imagePullPolicy: "IfNotPresent",
              command: ["/usr/bin/tini", "--", "node", "/opt/platform-operator/cleanup.mjs"],
              args: [
                `--base=${base}`,
                `--current-base=${normalisePath(request.currentBase)}`,
                `--namespace=${key.namespace}`,
                `--name=${key.name}`,
                `--mount=${MOUNT}`,
              ],
              terminationMessagePolicy: "FallbackToLogsOnError",
              // Root, because the node's directories belong to root and to whoever the tenants run as; of root's
              // powers only those that make permissions of files no obstacle.
              securityContext: {
                runAsUser: 0,
                runAsGroup: 0,
                allowPrivilegeEscalation: false,
                readOnlyRootFilesystem: true,
                capabilities: { drop: ["ALL"], add: ["DAC_OVERRIDE", "FOWNER"] },
              },
              resources: { requests: { cpu: "50m", memory: "64Mi" }, limits: { memory: "256Mi" } },
              volumeMounts: [{ name: "storage", mountPath: MOUNT }],
            },
          ],
          volumes: [
            {
              name: "storage",
              hostPath: { path: `${base}/${key.namespace}`, type: "DirectoryOrCreate" },
            },
          ],
        },
      },
    },
  }
}
