// The database of a backup in place of the one that a vCluster has, while nothing of it runs. That it is there whole is written on the
// claim that holds it: from then on it is its tenants', and no command overwrites it again.
import { Effect, Option, Redacted, Schema, Stream } from "effect"
import { formatKey } from "../schema/InstanceKey.ts"
import { ANNOTATION_SLEEP } from "../schema/Names.ts"
import { newId, parts } from "./BackupFile.ts"
import {
  ANNOTATION_RESTORED,
  CERTIFICATES,
  CLAIM,
  CONTROL_PLANE,
  ControlPlane,
  chartVersionOf,
  LABEL_RUN,
  RESTORE_POD,
  restoreCommand,
  restorePod,
  SYNCED,
} from "./BackupObjects.ts"
import type { Backup } from "./BackupReader.ts"
import { getInstance } from "./Instance.ts"
import { cannot, getJson, Kubectl, type Where } from "./Kubectl.ts"
import { getIfThere, isThere } from "./Operator.ts"
import { putStorage, type Target, tidyStorage } from "./restoreStorage.ts"
import { AGAIN, step } from "./root.ts"

export const heldOf = ({ held }: Backup, name: string): string => new TextDecoder().decode(held.get(name))

const Claim = Schema.Struct({
  metadata: Schema.Struct({
    resourceVersion: Schema.optionalKey(Schema.String),
    annotations: Schema.optionalKey(Schema.Record(Schema.String, Schema.String)),
  }),
})

const annotateClaim = Effect.fnUntraced(function* (
  inHost: Where,
  annotation: string,
  more: ReadonlyArray<string> = [],
) {
  const kubectl = yield* Kubectl
  yield* kubectl.run(inHost, ["annotate", "persistentvolumeclaim", CLAIM, "--overwrite", ...more, annotation])
})

const lookAtClaim = Effect.fnUntraced(function* (inHost: Where) {
  const claim = yield* getIfThere(Claim, inHost, ["persistentvolumeclaim", CLAIM])
  const { annotations, resourceVersion = "" } = Option.getOrUndefined(claim)?.metadata ?? {}
  return { mark: annotations?.[ANNOTATION_RESTORED], resourceVersion }
})

/** Whether the data of this backup is in place, whole. */
export const hasData = ({ inHost, backup }: Target) =>
  Effect.map(lookAtClaim(inHost), ({ mark }) => mark === backup.manifest.id)

/** Only as the claim was when it was looked at: of two commands at once, one gets no further. */
const markClaim = (target: Target, mark: string, resourceVersion: string) =>
  annotateClaim(target.inHost, `${ANNOTATION_RESTORED}=${mark}`, [
    `--resource-version=${resourceVersion}`,
  ]).pipe(
    Effect.mapError(({ message }) =>
      /\(Conflict\)|has been modified/.test(message)
        ? cannot(`another command restores ${formatKey(target.key)}, too: when none is at work, ${AGAIN}`)
        : cannot(message),
    ),
  )

/** Two programs over one database would leave neither's. */
const requireAsleep = Effect.fnUntraced(function* ({ own, inHost, key }: Target) {
  const { instance } = yield* getInstance(own, key.name)
  const runs = yield* isThere(inHost, ["pod", `${CONTROL_PLANE}-0`])
  if (instance.metadata.annotations?.[ANNOTATION_SLEEP] === "true" && !runs) return
  return yield* cannot(
    `${formatKey(key)} was woken while its data was put back, by somebody else: nothing is installed in it; ${AGAIN}`,
  )
})

/** What is there is not the data of the backup: the next command puts it there again. */
export const forgetData = ({ inHost }: Target) => annotateClaim(inHost, `${ANNOTATION_RESTORED}-`)

const removePods = Effect.fnUntraced(function* (inHost: Where, which: ReadonlyArray<string>) {
  const kubectl = yield* Kubectl
  yield* kubectl.run(inHost, ["delete", "pod", ...which, "--ignore-not-found", "--timeout=120s"])
})

/** The same authorities and keys as before: what they have signed is good again. A copy gets its own. */
const putCertificates = Effect.fnUntraced(function* ({ backup, inHost }: Target) {
  const kubectl = yield* Kubectl
  const data: unknown = JSON.parse(heldOf(backup, parts.certificates))
  const secret = {
    apiVersion: "v1",
    kind: "Secret",
    metadata: { namespace: inHost.namespace, name: CERTIFICATES },
    data,
  }
  yield* kubectl.feed(
    inHost,
    ["apply", "--server-side", "--force-conflicts", "--field-manager=kubectl-pi", "--filename=-"],
    Redacted.make(JSON.stringify(secret)),
  )
})

/** While nothing of the vCluster runs, and no other command does the same. */
export const putData = Effect.fnUntraced(function* (target: Target) {
  const { inHost, backup, key, isClone } = target
  const kubectl = yield* Kubectl
  const run = newId()
  const controlPlane = yield* getJson(ControlPlane, inHost, ["statefulset", CONTROL_PLANE])
  const pod = restorePod(controlPlane, run)
  if (pod === undefined)
    return yield* cannot(`statefulset/${CONTROL_PLANE} in ${inHost.namespace} is not vCluster's`)
  const was = backup.manifest.versions.vcluster
  const is = chartVersionOf(controlPlane)
  if (was !== is) {
    yield* step(`the data is of vCluster ${was}, and goes into one of ${is}, as it would in an upgrade`)
  }
  const before = yield* lookAtClaim(inHost)
  // Another command has just done it.
  if (before.mark === backup.manifest.id) return
  const own = `begun-${run}`
  yield* markClaim(target, own, before.resourceVersion)
  // Nothing of the instance runs that would write there.
  yield* putStorage(target)
  // One of a command that was interrupted may be at work.
  yield* removePods(inHost, [RESTORE_POD])
  yield* kubectl.run(inHost, ["delete", ...SYNCED, "--timeout=300s"])
  yield* kubectl.feed(inHost, ["create", "--filename=-"], Redacted.make(JSON.stringify(pod)))
  yield* kubectl.run(inHost, ["wait", `pod/${RESTORE_POD}`, "--for=condition=Ready", "--timeout=600s"])
  yield* requireAsleep(target)
  yield* Stream.runDrain(kubectl.stream(inHost, restoreCommand(run), backup.part(parts.vcluster)))
  yield* removePods(inHost, [`--selector=${LABEL_RUN}=${run}`])
  if (!isClone) yield* putCertificates(target)
  yield* requireAsleep(target)
  const after = yield* lookAtClaim(inHost)
  if (after.mark !== own) {
    return yield* cannot(`another command restores ${formatKey(key)}, too: when none is at work, ${AGAIN}`)
  }
  yield* markClaim(target, backup.manifest.id, after.resourceVersion)
  yield* tidyStorage(target)
  yield* step(`the vCluster of ${formatKey(key)} has its data back`)
})
