// `kubectl pi restore`: an instance out of a backup, under its name or another one. Everything that could refuse it is looked at
// before anything is changed. What is done is there to be seen in the cluster, so that the same command, given again, goes on.
import { Effect, Option, Redacted, Schema } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { formatKey } from "../schema/InstanceKey.ts"
import {
  ANNOTATION_RESTORE,
  ANNOTATION_SLEEP,
  hostNamespace,
  KUBECONFIG_KEY,
  kubeconfigSecretName,
} from "../schema/Names.ts"
import { parts } from "./BackupFile.ts"
import { fileFlag, passphraseFlag, passphraseOf, readBackup } from "./BackupInput.ts"
import { KeptInstance, notCloned, notClonedMetadata } from "./BackupObjects.ts"
import { type Backup, opened } from "./BackupReader.ts"
import { lookAtCluster, readSecret } from "./backup.ts"
import { getInstance } from "./Instance.ts"
import { cannot, Kubectl } from "./Kubectl.ts"
import { operatorNamespaceFlag } from "./logs.ts"
import { adaptState, findOperator, importState } from "./Operator.ts"
import { annotate, check, GO_BACK, objectOf, type Restore } from "./restoreChecks.ts"
import { forgetData, hasData, heldOf, putData } from "./restoreData.ts"
import { storageRootFor, tidyStorage } from "./restoreStorage.ts"
import { AGAIN, answer, instanceNamed, step, where } from "./root.ts"
import { isAsleep, isUp, untilIs } from "./untilIs.ts"
import { plain } from "./Words.ts"

/** Puts the state in place, and makes the instance, which waits for its data. */
const begin = Effect.fnUntraced(function* (restore: Restore) {
  const { backup, key, call, own, isClone } = restore
  const { id, statePassphrase } = backup.manifest
  const kubectl = yield* Kubectl
  yield* importState(call, { id, isClone, statePassphrase, state: backup.part(parts.state) })
  yield* step(`the state of ${formatKey(key)} is in place`)
  yield* kubectl.feed(own, ["create", "--filename=-"], Redacted.make(objectOf(restore)))
  yield* step(`${formatKey(key)} is made; the operator makes its vCluster`)
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
    yield* tidyStorage(restore)
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
  const cluster = yield* lookAtCluster(inHost, backup.manifest.kubeSystemUID)
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
  yield* step(
    "a copy, with certificates and addresses of its own: passwords, keys and tokens that are kept inside are those of the first one, and open it",
  )
  if (lost.length > 0) yield* step(`left out, because the first one has it: ${lost.join(", ")}`)
  const foreign = notClonedMetadata(kept)
  if (foreign.length > 0)
    yield* step(
      `left out, because whoever set it would take the copy for the first one: ${foreign.join(", ")}`,
    )
})

const readKept = (backup: Backup) =>
  Schema.decodeEffect(Schema.fromJsonString(KeptInstance))(heldOf(backup, parts.instance)).pipe(
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
    withoutStorage: Flag.Boolean("without-storage").pipe(
      Flag.withDefault(false),
      Flag.withDescription("Leave the storage root on the node as it is, though the backup has one"),
    ),
  },
  Effect.fnUntraced(function* ({ name, file, passphraseFile, operatorNamespace, withoutStorage }) {
    const given = yield* where
    const passphrase = yield* passphraseOf(passphraseFile, file, false)
    const backup = yield* opened(yield* readBackup(file), passphrase)
    const { instance: from, id, createdAt } = backup.manifest
    const key = {
      namespace: given.namespace ?? from.namespace,
      name: Option.getOrElse(name, () => from.name),
    }
    const place = { ...given, namespace: operatorNamespace }
    const operator = yield* findOperator(place, "restore the state claim by hand")
    const kept = yield* readKept(backup)
    const isClone = formatKey(key) !== formatKey(from)
    const restore: Restore = {
      backup,
      kept,
      key,
      isClone,
      storageRoot: withoutStorage ? undefined : storageRootFor(backup, key, operator, isClone),
      own: { ...given, namespace: key.namespace },
      inHost: { ...given, namespace: hostNamespace(key) },
      call: { place, operator, key },
    }
    const { namespace, name: got } = key
    const standing = yield* check(restore)
    if (standing._tag === "Done") {
      const since = standing.at === undefined ? "" : ` since ${standing.at}`
      return yield* answer(
        { namespace, name: got, id, ...(standing.at === undefined ? {} : { restoredAt: standing.at }) },
        () =>
          `${formatKey(key)}: its data is back${plain(since)}, from this backup: nothing is left to do. ${GO_BACK}`,
      )
    }
    const isOnItsWay = standing._tag === "Begun"
    yield* step(
      `backup ${id} of ${formatKey(from)}, made ${createdAt}${isOnItsWay ? ", is on its way already" : ""}`,
    )
    if (restore.isClone) yield* tellClone(restore)
    const restoring = isOnItsWay ? finish(restore) : Effect.andThen(begin(restore), finish(restore))
    yield* restoring.pipe(
      Effect.onInterrupt(() => step(`interrupted: ${formatKey(key)} is not restored yet; ${AGAIN}`)),
      Effect.tapError(({ message }) =>
        message.includes(AGAIN) ? Effect.void : step(`it is not at its end yet: ${AGAIN}`),
      ),
    )
    yield* answer(
      { namespace, name: got, id },
      () => `${formatKey(key)}: its data is back, and the operator goes on with it`,
    )
    yield* step(
      `what tenants had on ${restore.storageRoot === undefined ? "volumes" : "claims' volumes"} was not in the backup; kubectl pi status ${got} -n ${namespace} says when it is Ready`,
    )
  }, Effect.scoped),
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
