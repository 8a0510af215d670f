// What could refuse a restore, looked at before anything is changed; and how far it is already.
import { Effect, Option, Redacted, Schema } from "effect"
import { isNewer } from "../schema/ChartVersion.ts"
import { formatKey } from "../schema/InstanceKey.ts"
import { ANNOTATION_RESTORE, kubeconfigSecretName, POD_POLICY_NAME } from "../schema/Names.ts"
import { restoringWords } from "../schema/Restoring.ts"
import { clientSecretOf, type KeptInstance, restoredInstance } from "./BackupObjects.ts"
import { SecretData } from "./backup.ts"
import { annotateInstance, Instance, RESOURCE } from "./Instance.ts"
import { cannot, Kubectl, type PiError } from "./Kubectl.ts"
import { findState, getIfThere, isThere } from "./Operator.ts"
import { hasData } from "./restoreData.ts"
import { checkPlaces } from "./restorePlaces.ts"
import { checkStorage, type Target } from "./restoreStorage.ts"

export interface Restore extends Target {
  readonly kept: KeptInstance
}

export const GO_BACK = "To go back to the backup, delete the instance first"

export const objectOf = ({ backup, kept, key, isClone }: Restore): string =>
  JSON.stringify(restoredInstance(kept, key, backup.manifest.id, isClone))

type Found = Effect.Success<ReturnType<typeof findState>>

/** The state is out of this backup, and waits for its data. */
const waits = (found: Found, id: string): boolean =>
  found.restored === id && found.busy === restoringWords(id)

/** How far this backup is. */
type Standing =
  /** Nothing of it is there. */
  | { readonly _tag: "New" }
  /** Its state is in place, and waits for its data. */
  | { readonly _tag: "Begun" }
  /** All of it is back. */
  | { readonly _tag: "Done"; readonly at?: string }

/** The vCluster that is there now has been given the data, and is the one that was backed up. */
const isWhole = Effect.fnUntraced(function* (restore: Restore, found: Found) {
  return found.kubeSystemUID === restore.backup.manifest.kubeSystemUID && (yield* hasData(restore))
})

/** Whatever the instance of that name says: its state is what counts. What has had its data back is left alone. */
const standingOf = Effect.fnUntraced(function* (
  restore: Restore,
  found: Found,
): Effect.fn.Return<Standing, PiError, Kubectl> {
  const { own, key, backup } = restore
  const { id } = backup.manifest
  const there = Option.getOrUndefined(yield* getIfThere(Instance, own, [RESOURCE, key.name]))
  if (there === undefined) return { _tag: "New" }
  const { annotations = {}, deletionTimestamp } = there.metadata
  const about = formatKey(key)
  if (deletionTimestamp === undefined && waits(found, id)) return { _tag: "Begun" }
  if (deletionTimestamp === undefined && found.restored === id) {
    const isHeld = annotations[ANNOTATION_RESTORE] === id
    // Cut off right before it let go: nothing can have been installed since.
    if (isHeld && there.status?.installedVersion === undefined) return { _tag: "Begun" }
    if (isHeld) {
      return yield* cannot(
        `${about} is restored from this backup already, and has had its data back: annotation ${ANNOTATION_RESTORE} was put on it again, and holds it until it is taken away. ${GO_BACK}`,
      )
    }
    if (yield* isWhole(restore, found)) {
      return { _tag: "Done", ...(found.restoredAt === undefined ? {} : { at: found.restoredAt }) }
    }
    return yield* cannot(
      `${about} was restored from this backup, and has another vCluster by now: nothing is restored over it. ${GO_BACK}`,
    )
  }
  return yield* cannot(
    `${about} is there${deletionTimestamp === undefined ? "" : ", being deleted"}: nothing is restored over it. Name another one for a copy, or delete it first`,
  )
})

export const annotate = ({ own, key }: Restore, annotation: string) =>
  annotateInstance(own, key.name, annotation)

/** What the operator has to be for it. */
const checkOperator = Effect.fnUntraced(function* (
  { key, backup }: Restore,
  found: Found,
  isOnItsWay: boolean,
) {
  const { manifest } = backup
  if (manifest.stateFormat > found.format || isNewer(manifest.versions.vcluster, found.chartVersion)) {
    return yield* cannot(
      `the backup was made with operator ${manifest.versions.operator} and vCluster ${manifest.versions.vcluster}, and here are operator ${found.operatorVersion} and vCluster ${found.chartVersion}: upgrade the operator first`,
    )
  }
  if (found.state === "none" || isOnItsWay || waits(found, manifest.id)) return
  if (found.restored !== undefined && waits(found, found.restored)) {
    return yield* cannot(
      `the operator has a state of ${formatKey(key)} already, of a restore of backup ${found.restored} that was cut off: the same command goes on with that one. To give it up, create that instance with deletionPolicy Delete, and delete it`,
    )
  }
  return yield* cannot(
    `the operator has a state of ${formatKey(key)} already, of an instance that was retained: create that instance to have it back, or remove the folder in the state claim`,
  )
})

const checkClientSecret = Effect.fnUntraced(function* ({ own, kept, key }: Restore) {
  const ref = clientSecretOf(kept)
  if (ref === undefined) return
  const found = yield* getIfThere(SecretData, own, ["secret", ref.name])
  if (Option.exists(found, ({ data }) => data[ref.key] !== undefined)) return
  return yield* cannot(
    `Secret ${key.namespace}/${ref.name} with key ${ref.key}, which the instance has its client secret from, is not there, and is not in the backup: make it first`,
  )
})

const Binding = Schema.Struct({
  spec: Schema.Struct({ policyName: Schema.String, validationActions: Schema.Array(Schema.String) }),
})

/**
 * What a copy wakes with is the database of the first one, whose pods name its storage root: until the first install only this policy
 * keeps them from it.
 */
const checkPodPolicy = Effect.fnUntraced(function* ({ isClone, call }: Restore) {
  if (!isClone) return
  const found = yield* getIfThere(Binding, call.place, ["validatingadmissionpolicybinding", POD_POLICY_NAME])
  const isInForce = Option.exists(
    found,
    ({ spec }) => spec.policyName === POD_POLICY_NAME && spec.validationActions.includes("Deny"),
  )
  if (isInForce) return
  return yield* cannot(
    `the admission policy ${POD_POLICY_NAME} is not in force here, and without it a copy would write into the storage root of the first one until it is installed: let the operator run without --allow-privileged-instances, on Kubernetes 1.30 or later; or restore it under its own name, in another cluster if the first one is to stay`,
  )
})

/** What is needed at the very end: whoever may not do it would stop with an instance half-way. */
const checkRights = Effect.fnUntraced(function* ({ own, key }: Restore) {
  const kubectl = yield* Kubectl
  const last = [
    ["get", `secret/${kubeconfigSecretName(key)}`],
    ["patch", `${RESOURCE}/${key.name}`],
  ]
  for (const right of last) {
    yield* kubectl
      .run(own, ["auth", "can-i", ...right])
      .pipe(
        Effect.mapError(() =>
          cannot(
            `you may not ${right.join(" ")} in namespace ${key.namespace}, which the end of a restore needs: ask whoever runs the cluster for that right; docs/kubectl-pi.md lists all that it needs`,
          ),
        ),
      )
  }
})

/** Nothing is changed by any of these, but that what is on its way is held again where somebody has taken that away. */
export const check = Effect.fnUntraced(function* (restore: Restore) {
  const { own, key, call, inHost } = restore
  const kubectl = yield* Kubectl
  const { id } = restore.backup.manifest
  const found = yield* findState(call)
  const standing = yield* standingOf(restore, found)
  if (standing._tag === "Done") return standing
  yield* checkOperator(restore, found, standing._tag === "Begun")
  yield* checkPodPolicy(restore)
  if (standing._tag === "Begun") {
    yield* annotate(restore, `${ANNOTATION_RESTORE}=${id}`)
    return standing
  }
  if (!(yield* isThere(own, ["namespace", key.namespace]))) {
    return yield* cannot(
      `namespace ${key.namespace} is not there: kubectl create namespace ${key.namespace} makes it`,
    )
  }
  const host = inHost.namespace ?? ""
  // One that was given up with Retain has left its own.
  if (!waits(found, id) && (yield* isThere(call.place, ["namespace", host]))) {
    return yield* cannot(
      `host namespace ${host} is there, without an instance: whatever is in it is left alone. Remove it if nobody needs it`,
    )
  }
  yield* checkClientSecret(restore)
  yield* checkRights(restore)
  yield* checkPlaces(restore, restore.kept)
  yield* checkStorage(restore)
  yield* kubectl
    .feed(own, ["create", "--dry-run=server", "--filename=-"], Redacted.make(objectOf(restore)))
    .pipe(
      Effect.mapError(({ message }) => cannot(`the instance would not be taken by this cluster: ${message}`)),
    )
  return standing
})
