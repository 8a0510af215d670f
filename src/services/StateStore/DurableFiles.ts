// Files and folders that survive a crash at any moment, in a tree no symbolic link can lead out of.
import path from "node:path"
import { Effect, Option, Random } from "effect"
import { Disk, DiskError, unless } from "../Disk/Disk.ts"
import { StateStoreError } from "./StateStore.ts"

const fileMode = 0o600
const folderMode = 0o700
const temporarySuffix = ".tmp"

const describe = ({ code, message }: DiskError): string => {
  switch (code) {
    case "ELOOP":
    case "ENOTDIR":
      return "a symbolic link or a file stands where the operator's own folder should be; remove it"
    case "ENOSPC":
    case "EDQUOT":
      return "the volume of the state directory is full"
    case "EACCES":
    case "EPERM":
    case "EROFS":
      return `the operator may not write here (${code}); the state directory must belong to its user`
    default:
      return message
  }
}

/** Not interruptible: what is made of several steps is left in the middle by a crash alone. */
export const attempt = <A, R>(
  where: string,
  run: () => Effect.Effect<A, DiskError, R>,
): Effect.Effect<A, StateStoreError, R> =>
  run().pipe(
    Effect.mapError((error) => new StateStoreError({ path: where, message: `${where}: ${describe(error)}` })),
    Effect.uninterruptible,
  )

/** What is at this path; undefined when nothing is. A link or a file where a folder should be is an error. */
const folderStat = Effect.fnUntraced(function* (folder: string) {
  const disk = yield* Disk
  const stat = yield* disk.lstat(folder).pipe(unless(["ENOENT"], undefined))
  if (stat === undefined || stat.kind === "directory") return stat
  return yield* new DiskError({ path: folder, code: "ENOTDIR", message: "not a folder" })
})

/** Gives a folder exactly the operator's own permissions, unless `enough` says that it has them. */
const makeOwn = Effect.fnUntraced(function* (folder: string, enough: (mode: number) => boolean) {
  const disk = yield* Disk
  const stat = yield* folderStat(folder)
  if (stat !== undefined && !enough(stat.mode & 0o777)) yield* disk.chmodFolder(folder, folderMode)
})

const foldersBetween = (base: string, folder: string): ReadonlyArray<string> => {
  const segments = path.relative(base, folder).split(path.sep)
  return segments.map((_, index) => path.join(base, ...segments.slice(0, index + 1)))
}

/** Every folder from below `base` down to `folder` is there, and none is a link. `base` itself may be one. */
const isFolderBelow = Effect.fnUntraced(function* (base: string, folder: string) {
  for (const each of foldersBetween(base, folder)) {
    if ((yield* folderStat(each)) === undefined) return false
  }
  return true
})

/** Makes `folder` and its parents below `base`, 0700 each, whatever the umask; existing ones are made so. */
export const makeFolders = (base: string, folder: string) =>
  attempt(
    folder,
    Effect.fnUntraced(function* () {
      const disk = yield* Disk
      for (const each of foldersBetween(base, folder)) {
        const made = yield* disk.mkdir(each, folderMode).pipe(Effect.as(true), unless(["EEXIST"], false))
        yield* makeOwn(each, (mode) => mode === folderMode)
        if (made) yield* disk.syncFolder(path.dirname(each))
      }
    }),
  )

/** True when the folder is there and not empty. */
export const hasEntries = (base: string, folder: string) =>
  attempt(
    folder,
    Effect.fnUntraced(function* () {
      const disk = yield* Disk
      return (yield* isFolderBelow(base, folder)) && (yield* disk.readdir(folder)).length > 0
    }),
  )

/** The text of a file; `None` when there is none. */
export const readText = (base: string, file: string) =>
  attempt(
    file,
    Effect.fnUntraced(function* () {
      const disk = yield* Disk
      if (!(yield* isFolderBelow(base, path.dirname(file)))) return Option.none<string>()
      return yield* disk.readFile(file).pipe(
        Effect.map((content) => Option.some(new TextDecoder().decode(content))),
        unless(["ENOENT"], Option.none<string>()),
      )
    }),
  )

/** 48 bits, in hexadecimal. */
const randomName = Effect.map(Random.nextIntBetween(0, 2 ** 48 - 1), (number) =>
  number.toString(16).padStart(12, "0"),
)

/**
 * Replaces a file, 0600: afterwards it has the old text or the new one, never a part of it, whenever the power
 * fails. Its folder must be there.
 */
export const writeText = (file: string, text: string) =>
  attempt(
    file,
    Effect.fnUntraced(function* () {
      const disk = yield* Disk
      const temporary = `${file}.${yield* randomName}${temporarySuffix}`
      yield* disk.writeNew(temporary, new TextEncoder().encode(text), fileMode).pipe(
        Effect.andThen(disk.rename(temporary, file)),
        Effect.tapError(() => disk.unlink(temporary).pipe(unless(["ENOENT"], undefined))),
      )
      yield* disk.syncFolder(path.dirname(file))
    }),
  )

/** Removes a file; succeeds when there is none. A link is removed, not followed. */
export const removeFile = (base: string, file: string) =>
  attempt(
    file,
    Effect.fnUntraced(function* () {
      const disk = yield* Disk
      if (!(yield* isFolderBelow(base, path.dirname(file)))) return
      yield* disk.unlink(file).pipe(unless(["ENOENT"], undefined))
      yield* disk.syncFolder(path.dirname(file))
    }),
  )

/** Removes what a write left behind that a crash cut short. */
export const removeTemporaries = (folder: string) =>
  attempt(
    folder,
    Effect.fnUntraced(function* () {
      const disk = yield* Disk
      for (const { kind, name } of yield* disk.readdir(folder)) {
        if (kind === "file" && name.endsWith(temporarySuffix)) yield* disk.unlink(path.join(folder, name))
      }
    }),
  )

/** Moves a folder aside in one step, so that what is removed next is never seen in half. */
export const moveAside = (base: string, folder: string, aside: string) =>
  attempt(
    folder,
    Effect.fnUntraced(function* () {
      const disk = yield* Disk
      if (!(yield* isFolderBelow(base, folder))) return
      yield* disk.rename(folder, aside)
      yield* disk.syncFolder(path.dirname(folder))
    }),
  )

/** What was made or moved in this folder is on the disk afterwards. */
export const syncFolder = (base: string, folder: string) =>
  attempt(
    folder,
    Effect.fnUntraced(function* () {
      const disk = yield* Disk
      if (yield* isFolderBelow(base, folder)) yield* disk.syncFolder(folder)
    }),
  )

/** The folders in a folder by their last change, oldest first. */
export const oldestFirst = (base: string, folder: string) =>
  attempt(
    folder,
    Effect.fnUntraced(function* () {
      const disk = yield* Disk
      if (!(yield* isFolderBelow(base, folder))) return []
      const found: Array<{ readonly path: string; readonly mtimeMs: number }> = []
      for (const { name } of yield* disk.readdir(folder)) {
        const each = path.join(folder, name)
        found.push({ path: each, mtimeMs: (yield* disk.lstat(each)).mtimeMs })
      }
      return found.sort((a, b) => a.mtimeMs - b.mtimeMs).map((each) => each.path)
    }),
  )

/** Removes a folder if it is empty, and says nothing if it is not, or not there. */
export const removeIfEmpty = (base: string, folder: string) =>
  attempt(
    folder,
    Effect.fnUntraced(function* () {
      const disk = yield* Disk
      if (!(yield* isFolderBelow(base, folder))) return
      yield* disk
        .rmdir(folder)
        .pipe(
          Effect.andThen(disk.syncFolder(path.dirname(folder))),
          unless(["ENOTEMPTY", "ENOENT"], undefined),
        )
    }),
  )

/** Removes a folder and all in it. Links in it are removed, not followed. Succeeds when there is none. */
export const removeTree = (folder: string) =>
  attempt(
    folder,
    Effect.fnUntraced(function* () {
      const disk = yield* Disk
      yield* makeWritable(folder)
      yield* disk.removeTree(folder)
    }),
  )

/** A folder without its write bit (a package made read-only) keeps its entries even from its owner. */
const makeWritable = (folder: string): Effect.Effect<void, DiskError, Disk> =>
  Effect.gen(function* () {
    const disk = yield* Disk
    yield* makeOwn(folder, (mode) => (mode & folderMode) === folderMode)
    for (const { kind, name } of yield* disk.readdir(folder)) {
      if (kind === "directory") yield* makeWritable(path.join(folder, name))
    }
  }).pipe(unless(["ENOENT"], undefined))
