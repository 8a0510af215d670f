// The state of one instance as it travels: copied while no operation writes it, encrypted in the copy under another passphrase,
// and put in its place by one rename. The operator runs beside it, and sees an instance's folder whole or not at all.
import { createHash, randomUUID } from "node:crypto"
import path from "node:path"
import { Clock, Data, DateTime, Effect, Option, type Redacted, Schema } from "effect"
import { formatKey, type InstanceKey } from "../../schema/InstanceKey.ts"
import { restoringWords } from "../../schema/Restoring.ts"
import { formatTime } from "../../schema/Time.ts"
import { Disk, type DiskError, unless } from "../Disk/Disk.ts"
import { type RotationError, rotate } from "../Rotation/Rotate.ts"
import { instanceFolder, instancesIn } from "../StateStore/InstanceFolders.ts"
import { InstanceRecord, OperationMarker, restoringIn } from "../StateStore/StateStore.ts"
import { adaptFile, replaceFile } from "./Adapt.ts"
import type { Files } from "./Archive.ts"

export class StateCopyError extends Data.TaggedError("StateCopyError")<{
  readonly message: string
  /** It may work a little later: an operation of the instance is at work. */
  readonly busy: boolean
}> {}

const failed = (message: string) => new StateCopyError({ message, busy: false })
const onDisk = Effect.mapError((error: DiskError | RotationError) =>
  failed("path" in error ? `${error.path}: ${error.message}` : error.message),
)

const RecordText = Schema.fromJsonString(InstanceRecord)
const busyWith = (what: string) => new StateCopyError({ message: what, busy: true })

/** A file that goes while it is looked at was an operation's. */
const undisturbed = Effect.mapError((error: DiskError) =>
  error.code === "ENOENT" ? busyWith("an operation has begun") : failed(`${error.path}: ${error.message}`),
)

const decodeRecord = Schema.decodeOption(RecordText)
const encodeRecord = Schema.encodeSync(RecordText)
const decodeMarker = Schema.decodeOption(Schema.fromJsonString(OperationMarker))

const RECORD = "instance.json"
const HISTORY = "history.json"
const MARKER = "operation.json"
/** In the folder of an instance that was restored: the id of its backup; in a second line when it had its data back. */
const RESTORED = "restored"

/** Not part of a backup: of an operation at work, of one UID, or written anew by each. */
const isLeftOut = (file: string): boolean =>
  file === MARKER ||
  file === RESTORED ||
  file === "plan.json" ||
  file.endsWith(".tmp") ||
  file.startsWith("backend/.pulumi/locks/")

/** What an operation writes without having begun anything. */
const isAside = (file: string): boolean => file === HISTORY

const isThere = Effect.fnUntraced(function* (each: string) {
  const disk = yield* Disk
  return yield* disk.lstat(each).pipe(Effect.as(true), unless(["ENOENT"], false))
})

/** Every file below a folder, by its path in it; links are none. */
const filesIn = (folder: string, below = ""): Effect.Effect<ReadonlyArray<string>, DiskError, Disk> =>
  Effect.gen(function* () {
    const disk = yield* Disk
    const files: Array<string> = []
    for (const { name, kind } of yield* disk.readdir(path.join(folder, below))) {
      const each = below === "" ? name : `${below}/${name}`
      if (kind === "directory") files.push(...(yield* filesIn(folder, each)))
      if (kind === "file" && !isLeftOut(each)) files.push(each)
    }
    return files.toSorted()
  })

const readText = Effect.fnUntraced(function* (file: string) {
  const disk = yield* Disk
  return yield* disk.readFile(file).pipe(
    Effect.map((content) => Option.some(new TextDecoder().decode(content))),
    unless(["ENOENT"], Option.none<string>()),
  )
})

/** The digest of all that an operation changes: the same before and after, nothing has happened in between. */
const stampOf = Effect.fnUntraced(function* (folder: string) {
  const disk = yield* Disk
  const files = (yield* filesIn(folder)).filter((file) => !isAside(file))
  const digests = yield* disk.sha256All(files.map((file) => path.join(folder, file)))
  return createHash("sha256")
    .update(JSON.stringify(files.map((file, index) => [file, digests[index]])))
    .digest("hex")
})

/** What the state directory knows of an instance. */
export const StateFound = Schema.Struct({
  /** `restored`: it came out of that backup. */
  state: Schema.Literals(["none", "there"]),
  restored: Schema.optionalKey(Schema.String),
  /** RFC 3339: when it had its data back. */
  restoredAt: Schema.optionalKey(Schema.String),
  /** What is at work in it, in words: an operation, or a restore that is not at its end. */
  busy: Schema.optionalKey(Schema.String),
  /** Changes with every operation. */
  stamp: Schema.optionalKey(Schema.String),
  /** Of the instance that has begun with it last. */
  uid: Schema.optionalKey(Schema.String),
  /** Of the platform that is installed. */
  version: Schema.optionalKey(Schema.String),
  /** Of the vCluster that it is installed in. */
  kubeSystemUID: Schema.optionalKey(Schema.String),
})
export type StateFound = typeof StateFound.Type

const busyOf = Effect.fnUntraced(function* (folder: string) {
  const marker = yield* readText(path.join(folder, MARKER))
  return Option.map(marker, (text) =>
    Option.match(decodeMarker(text), {
      onNone: () => "an operation",
      onSome: ({ kind, version, startedAt }) => `${kind} of ${version} (since ${startedAt})`,
    }),
  )
})

/** What is known of the backup that it came out of. */
const restoredIn = Effect.fnUntraced(function* (
  folder: string,
): Effect.fn.Return<Pick<StateFound, "restored" | "restoredAt">, DiskError, Disk> {
  const text = yield* readText(path.join(folder, RESTORED))
  if (Option.isNone(text)) return {}
  const [restored = "", restoredAt = ""] = text.value.trim().split("\n")
  return { restored, ...(restoredAt === "" ? {} : { restoredAt }) }
})

export const recordIn = Effect.fnUntraced(function* (folder: string) {
  return Option.flatMap(yield* readText(path.join(folder, RECORD)), decodeRecord)
})

/** Of the record: what of it is told. */
const toldOf = (record: Option.Option<InstanceRecord>): Partial<StateFound> =>
  Option.match(record, {
    onNone: () => ({}),
    onSome: ({ uid, installed, kubeSystemUID }) => ({
      uid,
      ...(installed === undefined ? {} : { version: installed.version }),
      ...(kubeSystemUID === undefined ? {} : { kubeSystemUID }),
    }),
  })

const lookAt = Effect.fnUntraced(function* (folder: string) {
  if (!(yield* isThere(folder))) return { state: "none" } satisfies StateFound as StateFound
  const record = yield* recordIn(folder)
  const restoring = Option.map(restoringIn(record), restoringWords)
  const busy = Option.isSome(restoring) ? restoring : yield* busyOf(folder)
  // Nothing is read of what is being written.
  const stamp = Option.isSome(busy) ? undefined : yield* stampOf(folder)
  const found: StateFound = {
    state: "there",
    ...(Option.isSome(busy) ? { busy: busy.value } : {}),
    ...(yield* restoredIn(folder)),
    ...toldOf(record),
    ...(stamp === undefined ? {} : { stamp }),
  }
  return found
})

const folderOf = Effect.fnUntraced(function* (stateDir: string, key: InstanceKey) {
  const disk = yield* Disk
  return instanceFolder(yield* disk.realpath(stateDir), key)
})

export const findState = Effect.fn("Backup.findState")(function* (stateDir: string, key: InstanceKey) {
  const folder = yield* onDisk(folderOf(stateDir, key))
  return yield* undisturbed(lookAt(folder))
})

const makeFolder = Effect.fnUntraced(function* (folder: string) {
  const disk = yield* Disk
  yield* disk.mkdir(folder, 0o700).pipe(unless(["EEXIST"], undefined))
})

/** Milliseconds. What is older was left by a process that died. */
const staleMillis = 60 * 60 * 1000

/** A state directory of its own with one instance in it, for as long as `use` runs. */
const inStaging = <A, E, R>(
  stateDir: string,
  key: InstanceKey,
  files: Files,
  use: (staged: { readonly stateDir: string; readonly folder: string }) => Effect.Effect<A, E, R>,
) =>
  Effect.gen(function* () {
    const disk = yield* Disk
    const base = yield* disk.realpath(stateDir)
    const staging = path.join(base, "staging")
    yield* makeFolder(staging)
    for (const { name } of yield* disk.readdir(staging)) {
      // Another backup's goes at its end.
      const { mtimeMs } = yield* disk
        .lstat(path.join(staging, name))
        .pipe(unless(["ENOENT"], { mtimeMs: Number.POSITIVE_INFINITY }))
      if (mtimeMs < Date.now() - staleMillis) yield* disk.removeTree(path.join(staging, name))
    }
    const own = path.join(staging, randomUUID())
    const folder = instanceFolder(own, key)
    const fill = Effect.gen(function* () {
      for (const each of [own, instancesIn(own), path.dirname(folder), folder]) yield* makeFolder(each)
      for (const [file, content] of files) {
        const steps = path.dirname(file).split("/")
        for (const [index] of steps.entries())
          yield* makeFolder(path.join(folder, ...steps.slice(0, index + 1)))
        yield* disk.writeNew(path.join(folder, file), content, 0o600)
      }
    })
    return yield* Effect.ensuring(
      Effect.andThen(fill, use({ stateDir: own, folder })),
      Effect.ignore(disk.removeTree(own)),
    )
  })

const readAll = Effect.fnUntraced(function* (folder: string) {
  const disk = yield* Disk
  const files = new Map<string, Uint8Array>()
  for (const file of yield* filesIn(folder)) files.set(file, yield* disk.readFile(path.join(folder, file)))
  return files
})

export interface Passphrases {
  /** The operator's. */
  readonly own: Redacted.Redacted
  /** The backup's. */
  readonly backup: Redacted.Redacted
}

/** The files of an instance, under the passphrase of the backup; and the stamp of what they are a copy of. */
export const copyOut = Effect.fn("Backup.copyOut")(function* (
  stateDir: string,
  key: InstanceKey,
  { own, backup }: Passphrases,
) {
  const folder = yield* onDisk(folderOf(stateDir, key))
  const before = yield* undisturbed(lookAt(folder))
  if (before.state === "none") return yield* failed(`there is no state of ${formatKey(key)}`)
  if (before.busy !== undefined) return yield* busyWith(`${before.busy} is at work`)
  const files = yield* undisturbed(readAll(folder))
  const after = yield* undisturbed(lookAt(folder))
  if (after.busy !== undefined || after.stamp !== before.stamp)
    return yield* busyWith("an operation has begun")
  const copied = yield* onDisk(
    inStaging(stateDir, key, files, (staged) =>
      Effect.andThen(rotate({ stateDir: staged.stateDir, from: [own], to: backup }), readAll(staged.folder)),
    ),
  )
  return { files: copied, stamp: before.stamp ?? "" }
})

type Installed = NonNullable<InstanceRecord["installed"]>

/** Without its port, which another one may have by now; of a clone without where it was reached at all. */
const withoutPlace = ({ httpNodePort: _, ...rest }: Installed, isClone: boolean): Installed =>
  isClone ? { ...rest, endpoints: {} } : rest

/** What of a record holds in another life: nothing that names an object of the host cluster it was written in. */
export const recordFor = (record: InstanceRecord, isClone: boolean, id: string): InstanceRecord => {
  const { format, uid, storageRoot, tenantHostImage, installed, kubeSystemUID } = record
  return {
    format,
    // Another one than that of any instance there is: whoever begins with it picks it up as from a retained one.
    uid,
    // A custom one is in the spec, and another one may have it by now: it is looked at as a new instance's is.
    ...(storageRoot?.base === undefined || isClone ? {} : { storageRoot }),
    ...(tenantHostImage === undefined ? {} : { tenantHostImage }),
    ...(installed === undefined ? {} : { installed: withoutPlace(installed, isClone) }),
    ...(kubeSystemUID === undefined ? {} : { kubeSystemUID }),
    // Nothing is applied before it was looked at what is there.
    behind: true,
    restoring: id,
  }
}

/** Every folder of a copy; its files are on the disk already. */
const syncBelow = (folder: string): Effect.Effect<void, DiskError, Disk> =>
  Effect.gen(function* () {
    const disk = yield* Disk
    for (const { name, kind } of yield* disk.readdir(folder)) {
      if (kind === "directory") yield* syncBelow(path.join(folder, name))
    }
    yield* disk.syncFolder(folder)
  })

export interface CopyIn {
  readonly files: Files
  /** Of the backup. */
  readonly id: string
  /** It gets another name than it had. */
  readonly isClone: boolean
}

/** Puts the files of a backup in place as this instance's, under the operator's passphrase. Once more is no failure. */
export const copyIn = Effect.fn("Backup.copyIn")(function* (
  stateDir: string,
  key: InstanceKey,
  { files, id, isClone }: CopyIn,
  { own, backup }: Passphrases,
) {
  const disk = yield* Disk
  const folder = yield* onDisk(folderOf(stateDir, key))
  const found = yield* onDisk(lookAt(folder))
  const text = new TextDecoder().decode(files.get(RECORD))
  const record = Option.getOrUndefined(decodeRecord(text))
  if (found.state === "there") {
    // Whoever has begun with it meanwhile has installed nothing.
    if (found.restored === id && found.busy === restoringWords(id)) return { again: true }
    return yield* failed(
      `there is a state of ${formatKey(key)} already: of an instance that was retained, or of another restore. Nothing was changed`,
    )
  }
  if (record === undefined) {
    return yield* failed(
      "the backup has no record that this operator reads: it was made by a newer one. Nothing was changed",
    )
  }
  const written = new Map([
    // What was done to the first one was not done to a copy.
    ...[...files].filter(([file]) => !isClone || file !== HISTORY),
    [RECORD, new TextEncoder().encode(`${encodeRecord(recordFor(record, isClone, id))}\n`)] as const,
    [RESTORED, new TextEncoder().encode(`${id}\n`)] as const,
  ])
  yield* onDisk(
    inStaging(stateDir, key, written, (staged) =>
      Effect.gen(function* () {
        yield* rotate({ stateDir: staged.stateDir, from: [backup], to: own })
        const namespace = path.dirname(folder)
        yield* makeFolder(namespace)
        yield* syncBelow(staged.folder)
        yield* disk.rename(staged.folder, folder)
        yield* disk.syncFolder(namespace)
        yield* disk.syncFolder(path.dirname(namespace))
      }),
    ),
  )
  return { again: false }
})

/** What the engine begins with; its copies and exports are not. */
const isState = (file: string): boolean => /^backend\/\.pulumi\/stacks\/.*\.json(\.gz)?$/.test(file)

/** From now on the operator may install. */
const endRestoring = Effect.fnUntraced(function* (folder: string, id: string) {
  const disk = yield* Disk
  const record = Option.getOrUndefined(yield* recordIn(folder))
  if (record?.restoring === undefined) return
  const { restoring: _, ...rest } = record
  const now = formatTime(DateTime.makeUnsafe(yield* Clock.currentTimeMillis))
  yield* replaceFile(path.join(folder, RESTORED), new TextEncoder().encode(`${id}\n${now}\n`))
  yield* replaceFile(path.join(folder, RECORD), new TextEncoder().encode(`${encodeRecord(rest)}\n`))
  yield* disk.syncFolder(folder)
})

/**
 * Lets the restored state reach the vCluster that it is restored into, while nothing begins, and lets go of it then. Gives how many
 * files were changed.
 */
export const adapt = Effect.fn("Backup.adapt")(function* (
  stateDir: string,
  key: InstanceKey,
  {
    id,
    kubeconfig,
    own,
  }: { readonly id: string; readonly kubeconfig: string; readonly own: Redacted.Redacted },
) {
  const disk = yield* Disk
  const folder = yield* onDisk(folderOf(stateDir, key))
  const found = yield* onDisk(lookAt(folder))
  if (found.restored !== id)
    return yield* failed(`the state of ${formatKey(key)} is not that of backup ${id}`)
  const busy = Option.getOrUndefined(yield* onDisk(busyOf(folder)))
  if (busy !== undefined) return yield* new StateCopyError({ message: busy, busy: true })
  let changed = 0
  for (const file of yield* onDisk(filesIn(folder))) {
    if (!/\.json/.test(file) || file.endsWith(".attrs") || isAside(file) || file === RECORD) continue
    const { changed: isChanged, unopened } = yield* onDisk(
      adaptFile(path.join(folder, file), kubeconfig, own),
    )
    if (unopened > 0 && isState(file)) {
      return yield* failed(
        `${unopened} of the providers in ${file} have a kubeconfig that the operator's passphrase does not open: the engine would look into another cluster with it. Nothing is installed`,
      )
    }
    if (isChanged) {
      yield* onDisk(disk.syncFolder(path.dirname(path.join(folder, file))))
      changed += 1
    }
  }
  yield* onDisk(endRestoring(folder, id))
  return { changed }
})
