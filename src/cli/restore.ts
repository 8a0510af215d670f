// `kubectl pi restore`: an instance out of a backup, under its name or another one. Everything that could refuse it is looked at
// before anything is changed. What is done is there to be seen in the cluster, so that the same command, given again, goes on.
import { Effect, Option, Redacted, Schema } from "effect"
import { Argument, Command } from "effect/cli"
import { POD_POLICY_NAME } from "../actors/instance/target/AdmissionPolicies.ts"
import { isNewer } from "../schema/ChartVersion.ts"
import { formatKey } from "../schema/InstanceKey.ts"
import {
  ANNOTATION_RESTORE,
  ANNOTATION_SLEEP,
  hostNamespace,
  KUBECONFIG_KEY,
  kubeconfigSecretName,
} from "../schema/Names.ts"
import { restoringWords } from "../schema/Restoring.ts"
import { type Backup, opened, parts } from "./BackupFile.ts"
import { fileFlag, passphraseFlag, passphraseOf, readBackup } from "./BackupInput.ts"
import {
  clientSecretOf,
  KeptInstance,
  notCloned,
  notClonedMetadata,
  restoredInstance,
} from "./BackupObjects.ts"
import { readSecret, SecretData, takeSnapshot } from "./backup.ts"
import { dayTwoOf } from "./dayTwo.ts"
import { conditionOf, getInstance, Instance, RESOURCE } from "./Instance.ts"
import { cannot, Kubectl, type PiError } from "./Kubectl.ts"
import { operatorNamespaceFlag } from "./logs.ts"
import { adaptState, findOperator, findState, getIfThere, importState, isThere } from "./Operator.ts"
import { forgetData, hasData, partOf, putData, type Target } from "./restoreData.ts"
import { AGAIN, answer, instanceNamed, step, where } from "./root.ts"

interface Restore extends Target {
  readonly kept: KeptInstance
  /** The operator. */
  readonly call: Parameters<typeof findState>[0]
}

const objectOf = ({ backup, kept, key, isClone }: Restore): string =>
  JSON.stringify(restoredInstance(kept, key, backup.manifest.id, isClone))

type Found = Effect.Success<ReturnType<typeof findState>>

/** The state is out of this backup, and waits for its data. */
const waits = (found: Found, id: string): boolean =>
  found.restored === id && found.busy === restoringWords(id)

/**
 * Whether this backup is on its way already: its state is in place, and waits for its data, whatever the instance of that name says. What
 * has had it back is left alone.
 */
const isBegun = Effect.fnUntraced(function* ({ own, key, backup }: Restore, found: Found) {
  const { id } = backup.manifest
  const there = Option.getOrUndefined(yield* getIfThere(Instance, own, [RESOURCE, key.name]))
  if (there === undefined) return false
  const { annotations = {}, deletionTimestamp } = there.metadata
  const about = formatKey(key)
  if (deletionTimestamp === undefined && waits(found, id)) return true
  if (deletionTimestamp === undefined && found.restored === id) {
    const isHeld = annotations[ANNOTATION_RESTORE] === id
    // Cut off right before it let go: nothing can have been installed since.
    if (isHeld && there.status?.installedVersion === undefined) return true
    return yield* cannot(
      `${about} is restored from this backup already, and has had its data back${isHeld ? `: annotation ${ANNOTATION_RESTORE} was put on it again, and holds it until it is taken away` : ": nothing is left to do"}. To go back to the backup, delete the instance first`,
    )
  }
  return yield* cannot(
    `${about} is there${deletionTimestamp === undefined ? "" : ", being deleted"}: nothing is restored over it. Name another one for a copy, or delete it first`,
  )
})

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
const check = Effect.fnUntraced(function* (restore: Restore) {
  const { own, key, call, inHost } = restore
  const kubectl = yield* Kubectl
  const { id } = restore.backup.manifest
  const found = yield* findState(call)
  const isOnItsWay = yield* isBegun(restore, found)
  yield* checkOperator(restore, found, isOnItsWay)
  yield* checkPodPolicy(restore)
  if (isOnItsWay) {
    yield* annotate(restore, `${ANNOTATION_RESTORE}=${id}`)
    return true
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
  yield* kubectl
    .feed(own, ["create", "--dry-run=server", "--filename=-"], Redacted.make(objectOf(restore)))
    .pipe(
      Effect.mapError(({ message }) => cannot(`the instance would not be taken by this cluster: ${message}`)),
    )
  return false
})

/** Puts the state in place, and makes the instance, which waits for its data. */
const begin = Effect.fnUntraced(function* (restore: Restore) {
  const { backup, key, call, own, isClone } = restore
  const { id, statePassphrase } = backup.manifest
  const kubectl = yield* Kubectl
  yield* importState(call, { id, isClone, statePassphrase, state: partOf(backup, parts.state) })
  yield* step(`the state of ${formatKey(key)} is in place`)
  yield* kubectl.feed(own, ["create", "--filename=-"], Redacted.make(objectOf(restore)))
  yield* step(`${formatKey(key)} is made; the operator makes its vCluster`)
})

/** Longer than a control plane may take to come up, images and all. */
const patience = "30 minutes"

const untilIs = Effect.fnUntraced(function* (
  { own, key }: Restore,
  what: string,
  is: (instance: Instance, now: number) => boolean,
) {
  const look: Effect.Effect<void, PiError, Kubectl> = Effect.gen(function* () {
    while (true) {
      const { instance } = yield* getInstance(own, key.name)
      if (is(instance, Date.now())) return
      yield* Effect.sleep("2 seconds")
    }
  })
  yield* Effect.timeoutOrElse(look, {
    duration: patience,
    orElse: () =>
      Effect.fail(
        cannot(
          `${formatKey(key)} is not ${what} after ${patience}: kubectl pi status ${key.name} -n ${key.namespace} says why. Once that is mended, ${AGAIN}`,
        ),
      ),
  })
})

const isUp = (instance: Instance): boolean => conditionOf(instance, "TargetReady")?.status === "True"
const isAsleep = (instance: Instance, now: number): boolean =>
  dayTwoOf(instance, now).asleepSince !== undefined

const annotate = Effect.fnUntraced(function* ({ own, key }: Restore, annotation: string) {
  const kubectl = yield* Kubectl
  yield* kubectl.run(own, ["annotate", RESOURCE, key.name, "--overwrite", annotation])
})

/** The engine refreshes with the kubeconfig in the state: it gets that of this vCluster. */
const putAccess = Effect.fnUntraced(function* ({ own, key, call, backup }: Restore) {
  const data = yield* readSecret(own, kubeconfigSecretName(key))
  const kubeconfig = Buffer.from(data[KUBECONFIG_KEY] ?? "", "base64").toString("utf8")
  if (kubeconfig === "") return yield* cannot(`${formatKey(key)} has no kubeconfig: ${AGAIN}`)
  yield* adaptState(call, backup.manifest.id, kubeconfig)
})

/** From wherever it was left. */
const finish = Effect.fnUntraced(function* (restore: Restore) {
  const { own, inHost, key, backup } = restore
  if (yield* hasData(restore)) {
    yield* step(`the vCluster of ${formatKey(key)} has its data back already: it is left as it is`)
  } else {
    const { instance } = yield* getInstance(own, key.name)
    if (instance.metadata.annotations?.[ANNOTATION_SLEEP] !== "true") {
      yield* untilIs(restore, "up", isUp)
      yield* annotate(restore, `${ANNOTATION_SLEEP}=true`)
    }
    yield* untilIs(restore, "asleep", isAsleep)
    yield* putData(restore)
  }
  yield* annotate(restore, `${ANNOTATION_SLEEP}-`)
  yield* untilIs(
    restore,
    "awake",
    (now) => now.metadata.annotations?.[ANNOTATION_SLEEP] === undefined && isUp(now),
  )
  const { cluster } = yield* takeSnapshot(inHost, backup.manifest.kubeSystemUID)
  if (cluster === "unknown") {
    return yield* cannot(`what came of the vCluster's database of ${formatKey(key)} is cut off: ${AGAIN}`)
  }
  if (cluster === "another") {
    yield* forgetData(restore)
    return yield* cannot(
      `the vCluster of ${formatKey(key)} has come up without its data: nothing is installed in it; ${AGAIN}`,
    )
  }
  yield* putAccess(restore)
  yield* annotate(restore, `${ANNOTATION_RESTORE}-`)
})

const tellClone = Effect.fnUntraced(function* ({ kept }: Restore) {
  const lost = notCloned(kept)
  yield* step("a copy: it shares nothing with the first one, and has certificates and addresses of its own")
  if (lost.length > 0) yield* step(`left out, because the first one has it: ${lost.join(", ")}`)
  const foreign = notClonedMetadata(kept)
  if (foreign.length > 0)
    yield* step(
      `left out, because whoever set it would take the copy for the first one: ${foreign.join(", ")}`,
    )
})

const readKept = (backup: Backup) =>
  Schema.decodeEffect(Schema.fromJsonString(KeptInstance))(
    new TextDecoder().decode(partOf(backup, parts.instance)),
  ).pipe(
    Effect.mapError(() =>
      cannot(
        "the instance in the backup is not understood here: use the kubectl-pi of the release that made it",
      ),
    ),
  )

export const restore = Command.make(
  "restore",
  {
    name: instanceNamed("Name that it gets; that of the backup when not set").pipe(Argument.optional),
    file: fileFlag("The backup; - is standard input"),
    passphraseFile: passphraseFlag,
    operatorNamespace: operatorNamespaceFlag,
  },
  Effect.fnUntraced(function* ({ name, file, passphraseFile, operatorNamespace }) {
    const given = yield* where
    const passphrase = yield* passphraseOf(passphraseFile, file, false)
    const backup = yield* opened(file, yield* readBackup(file), passphrase)
    const { instance: from, id, createdAt } = backup.manifest
    const key = {
      namespace: given.namespace ?? from.namespace,
      name: Option.getOrElse(name, () => from.name),
    }
    const place = { ...given, namespace: operatorNamespace }
    const operator = yield* findOperator(place, "restore the state claim by hand")
    const restore: Restore = {
      backup,
      kept: yield* readKept(backup),
      key,
      isClone: formatKey(key) !== formatKey(from),
      own: { ...given, namespace: key.namespace },
      inHost: { ...given, namespace: hostNamespace(key) },
      call: { place, operator, key },
    }
    const isOnItsWay = yield* check(restore)
    yield* step(
      `backup ${id} of ${formatKey(from)}, made ${createdAt}${isOnItsWay ? ", is on its way already" : ""}`,
    )
    if (restore.isClone) yield* tellClone(restore)
    if (!isOnItsWay) yield* begin(restore)
    yield* finish(restore).pipe(
      Effect.tapError(({ message }) =>
        message.includes(AGAIN) ? Effect.void : step(`it is not at its end yet: ${AGAIN}`),
      ),
    )
    const { namespace, name: got } = key
    yield* answer(
      { namespace, name: got, id },
      () => `${formatKey(key)}: its data is back, and the operator goes on with it`,
    )
    yield* step(
      `what tenants had on volumes was not in the backup; kubectl pi status ${got} -n ${namespace} says when it is Ready`,
    )
  }),
).pipe(
  Command.withDescription(
    "Makes an instance out of a backup, under its name or as a copy under another one; interrupted, the same command goes on",
  ),
  Command.withExamples([
    { command: "kubectl pi restore -f one.age" },
    { command: "kubectl pi restore two -n team-b -f one.age" },
    {
      command: "rclone cat remote:backups/one.age | kubectl pi restore -f - --passphrase-file backup.pass",
    },
  ]),
)
