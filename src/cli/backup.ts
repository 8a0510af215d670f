// `kubectl pi backup`: an instance in one file. Nothing is stopped: the state is copied while no operation writes it, the vCluster's
// database at one revision, and where an operation has come between the two, both are taken anew.
import { Clock, Console, DateTime, Effect, Option, Schema, Stream } from "effect"
import { Command, Flag } from "effect/cli"
import { formatKey, type InstanceKey } from "../schema/InstanceKey.ts"
import { ANNOTATION_RESTORE, ANNOTATION_SLEEP, hostNamespace } from "../schema/Names.ts"
import { formatTime } from "../schema/Time.ts"
import {
  BACKUP_FORMAT,
  clusterOf,
  type Manifest,
  newId,
  newPassphrase,
  parts,
  STORAGE_FORMAT,
  sealed,
  stampOfState,
} from "./BackupFile.ts"
import { fileFlag, passphraseFlag, passphraseOf, requireNew, STREAM, writeBackup } from "./BackupInput.ts"
import {
  CERTIFICATES,
  CONTROL_PLANE,
  ControlPlane,
  chartVersionOf,
  type KeptInstance,
  keptOf,
  snapshotCommand,
  WholeInstance,
} from "./BackupObjects.ts"
import { findStorage, withStorageRoot } from "./backupStorage.ts"
import { RESOURCE } from "./Instance.ts"
import { cannot, getJson, Kubectl, type Where } from "./Kubectl.ts"
import { operatorNamespaceFlag } from "./logs.ts"
import { exportState, findOperator, findState, getIfThere, type Place } from "./Operator.ts"
import { answer, instanceArgument, root, step, where } from "./root.ts"
import { plain } from "./Words.ts"

/** How often state and database are taken, until no operation has come between. */
const TRIES = 5

export const SecretData = Schema.Struct({ data: Schema.Record(Schema.String, Schema.String) })

/** Of what it holds nothing is said, not even where it is not understood. */
export const readSecret = Effect.fnUntraced(function* (where: Where, name: string) {
  const found = yield* getIfThere(SecretData, where, ["secret", name])
  return Option.isSome(found)
    ? found.value.data
    : yield* cannot(
        `Secret ${where.namespace}/${name} is not there: kubectl pi status says what the instance waits for`,
      )
})

/** The database of its vCluster, and whether it is that of the cluster that the state is of. */
const takeSnapshot = Effect.fnUntraced(function* (inHost: Where, kubeSystemUID: string) {
  const kubectl = yield* Kubectl
  const snapshot = yield* kubectl.pipe(inHost, snapshotCommand, Stream.empty)
  return { snapshot, cluster: yield* clusterOf(Stream.make(snapshot), kubeSystemUID) }
})

/** Of what it has nothing is held. */
export const lookAtCluster = Effect.fnUntraced(function* (inHost: Where, kubeSystemUID: string) {
  const kubectl = yield* Kubectl
  return yield* clusterOf(kubectl.stream(inHost, snapshotCommand, Stream.empty), kubeSystemUID)
})

const checkWhole = Effect.fnUntraced(function* ({ metadata }: WholeInstance) {
  const { namespace, name, annotations = {}, deletionTimestamp } = metadata
  if (deletionTimestamp !== undefined) {
    return yield* cannot(
      `${namespace}/${name} is being deleted, and what is left of it is no backup: back one up before it is deleted. With spec.deletionPolicy Retain, set before, its state and its vCluster stay, and an instance of that name has them back`,
    )
  }
  if (annotations[ANNOTATION_RESTORE] !== undefined) {
    return yield* cannot(`${namespace}/${name} is itself being restored: end that first`)
  }
  if (annotations[ANNOTATION_SLEEP] === "true") {
    return yield* cannot(
      `${namespace}/${name} is asleep, and its database is read through its control plane: take annotation ${ANNOTATION_SLEEP} away, and back it up when it is Ready`,
    )
  }
})

interface Taken {
  readonly instance: KeptInstance
  readonly state: Uint8Array
  readonly snapshot: Uint8Array
  readonly certificates: unknown
  readonly kubeSystemUID: string
  readonly stateFormat: number
  readonly versions: Manifest["versions"]
}

const BEGUN = "an operation has begun"

/** Whether an instance is, as it was asked for, the same that it was. */
const isSame = (one: WholeInstance, other: WholeInstance): boolean =>
  one.metadata.uid === other.metadata.uid &&
  one.metadata.generation === other.metadata.generation &&
  JSON.stringify(keptOf(one)) === JSON.stringify(keptOf(other))

const lookAt = Effect.fnUntraced(function* ({ own, call }: Place) {
  const instance = yield* getJson(WholeInstance, own, [RESOURCE, call.key.name])
  yield* checkWhole(instance)
  return instance
})

/** Instance, state and database of one moment: nothing; where an operation has come between, in words. */
const takeOnce = Effect.fnUntraced(function* (place: Place, statePassphrase: string) {
  const { call, inHost } = place
  const about = formatKey(call.key)
  const instance = yield* lookAt(place)
  const controlPlane = yield* getJson(ControlPlane, inHost, ["statefulset", CONTROL_PLANE])
  const certificates = yield* readSecret(inHost, CERTIFICATES)
  const before = yield* findState(call)
  const { kubeSystemUID } = before
  if (before.state === "none" || before.version === undefined || kubeSystemUID === undefined) {
    return yield* cannot(`${about} has nothing installed yet that could be backed up`)
  }
  if (before.busy !== undefined) return before.busy
  const state = yield* exportState(call, statePassphrase).pipe(
    Effect.catchTag("StateBusy", ({ what }) => Effect.succeed(what)),
  )
  if (typeof state === "string") return state
  const stamp = yield* stampOfState(state)
  if (stamp === undefined) return "its state came cut off"
  if (stamp !== before.stamp) return BEGUN
  const { snapshot, cluster } = yield* takeSnapshot(inHost, kubeSystemUID)
  const after = yield* findState(call)
  if (after.busy !== undefined || after.stamp !== before.stamp) return after.busy ?? BEGUN
  if (!isSame(instance, yield* lookAt(place))) return BEGUN
  if (cluster !== "same") {
    return yield* cannot(
      `what came of the vCluster's database is cut off, or is not that of the cluster that ${about} is installed in: give the command again`,
    )
  }
  const taken: Taken = {
    ...{ instance: keptOf(instance), state, snapshot, certificates, kubeSystemUID },
    stateFormat: after.format,
    versions: {
      operator: after.operatorVersion,
      platform: after.version ?? before.version,
      vcluster: chartVersionOf(controlPlane),
    },
  }
  return taken
})

const take = Effect.fnUntraced(function* (place: Place, statePassphrase: string) {
  const about = formatKey(place.call.key)
  let why = ""
  for (let tries = 0; tries < TRIES; tries++) {
    const taken = yield* takeOnce(place, statePassphrase)
    if (typeof taken !== "string") return taken
    why = taken
    yield* Console.error(`${about}: ${plain(why)}; it is taken anew in a moment`)
    yield* Effect.sleep("10 seconds")
  }
  return yield* cannot(
    `${about} does not come whole and of one moment (${plain(why)}): give the command again when nothing is at work in it, or hold it up with a pause`,
  )
})

export const backup = Command.make(
  "backup",
  {
    name: instanceArgument,
    file: fileFlag("Write it there, readable by its owner alone; - is standard output"),
    passphraseFile: passphraseFlag,
    operatorNamespace: operatorNamespaceFlag,
    withStorage: Flag.Boolean("storage").pipe(
      Flag.withDefault(false),
      Flag.withDescription(
        "With the storage root on the node: the instance is put to sleep for as long as that is read",
      ),
    ),
  },
  Effect.fnUntraced(function* ({ name, file, passphraseFile, operatorNamespace, withStorage }) {
    const given = yield* where
    yield* requireNew(file)
    const passphrase = yield* passphraseOf(passphraseFile, file, true)
    const found = yield* getJson(WholeInstance, given, [RESOURCE, name])
    const key: InstanceKey = { namespace: found.metadata.namespace, name }
    const place = { ...given, namespace: operatorNamespace }
    const inHost = { ...given, namespace: hostNamespace(key) }
    const operator = yield* findOperator(place, "back up the state claim by hand")
    const own = { ...given, namespace: key.namespace }
    const statePassphrase = newPassphrase()
    const at: Place = { call: { place, operator, key }, own, inHost }
    yield* checkWhole(found)
    const storage = withStorage ? yield* findStorage(at, found) : undefined
    const tellInterrupted = <A, E, R>(work: Effect.Effect<A, E, R>) =>
      Effect.onInterrupt(work, () => step(`interrupted: there is no backup of ${formatKey(key)}`))
    const taken = yield* tellInterrupted(take(at, statePassphrase))
    const { versions, stateFormat, kubeSystemUID } = taken
    const about: Omit<Manifest, "parts"> = {
      format: storage === undefined ? BACKUP_FORMAT : STORAGE_FORMAT,
      id: newId(),
      createdAt: formatTime(DateTime.makeUnsafe(yield* Clock.currentTimeMillis)),
      instance: key,
      ...{ versions, stateFormat, kubeSystemUID, statePassphrase },
      ...(storage === undefined ? {} : { storage }),
    }
    const contents = new Map<string, Uint8Array>([
      [parts.instance, Buffer.from(JSON.stringify(taken.instance))],
      [parts.state, taken.state],
      [parts.vcluster, taken.snapshot],
      [parts.certificates, Buffer.from(JSON.stringify(taken.certificates))],
    ])
    const size = yield* tellInterrupted(
      storage === undefined
        ? writeBackup(file, sealed(about, contents, passphrase))
        : withStorageRoot(at, storage, (content) =>
            writeBackup(file, sealed(about, contents, passphrase, content)),
          ),
    )
    const told = `backup ${about.id} of ${formatKey(key)}, platform ${versions.platform}: ${size} bytes`
    const rest =
      storage === undefined
        ? "what tenants have on volumes is not in it"
        : `the storage root ${storage.root} is in it; what tenants have on claims' volumes elsewhere is not`
    if (file === STREAM) return yield* Console.error(`${told}; ${rest}`)
    yield* answer({ file, id: about.id, size }, () => `${file}: ${told}`)
    if ((yield* root).output === "text") yield* Console.error(rest)
  }),
).pipe(
  Command.withDescription(
    "Writes an instance into one encrypted file: its settings, its state, and everything in its vCluster but the volumes of tenants",
  ),
  Command.withExamples([
    { command: "kubectl pi backup one -n team-a -f one.age" },
    { command: "kubectl pi backup one -n team-a -f one.age --storage" },
    {
      command:
        "kubectl pi backup one -n team-a -f - --passphrase-file backup.pass | rclone rcat remote:backups/one.age",
    },
  ]),
)
