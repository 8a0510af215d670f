// Files and folders that survive a crash at any moment, in a tree no symbolic link can lead out of. node's own
// `fs` and not Effect's FileSystem: this needs lstat, O_NOFOLLOW and the fsync of a folder.
import { randomBytes } from "node:crypto"
import { constants } from "node:fs"
import { lstat, mkdir, open, readdir, rename, rm, rmdir } from "node:fs/promises"
import path from "node:path"
import { Effect, Option } from "effect"
import { StateStoreError } from "./StateStore.ts"

const fileMode = 0o600
const folderMode = 0o700
const temporarySuffix = ".tmp"

const codeOf = (cause: unknown): string | undefined =>
  cause instanceof Error && "code" in cause && typeof cause.code === "string" ? cause.code : undefined

const describe = (cause: unknown): string => {
  switch (codeOf(cause)) {
    case "ELOOP":
    case "ENOTDIR":
      return "a symbolic link or a file stands where the operator's own folder should be; remove it"
    case "ENOSPC":
    case "EDQUOT":
      return "the volume of the state directory is full"
    case "EACCES":
    case "EPERM":
    case "EROFS":
      return `the operator may not write here (${codeOf(cause)}); the state directory must belong to its user`
    default:
      return cause instanceof Error ? cause.message : String(cause)
  }
}

/** Not interruptible: a promise given up half-way would go on writing behind its caller's back. */
const attempt = <A>(where: string, run: () => Promise<A>): Effect.Effect<A, StateStoreError> =>
  Effect.tryPromise({
    try: run,
    catch: (cause) => new StateStoreError({ path: where, message: `${where}: ${describe(cause)}` }),
  }).pipe(Effect.uninterruptible)

/** An entry of a folder (made, renamed, removed) is on the disk when the folder itself was synced. */
const syncFolder = async (folder: string): Promise<void> => {
  const handle = await open(folder, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW)
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

/** True when it is there, as a real folder. A link or a file in its place is an error. */
const isFolder = async (folder: string): Promise<boolean> => {
  try {
    if ((await lstat(folder)).isDirectory()) return true
  } catch (cause) {
    if (codeOf(cause) === "ENOENT") return false
    throw cause
  }
  throw Object.assign(new Error("not a folder"), { code: "ENOTDIR" })
}

const foldersBetween = (base: string, folder: string): ReadonlyArray<string> => {
  const segments = path.relative(base, folder).split(path.sep)
  return segments.map((_, index) => path.join(base, ...segments.slice(0, index + 1)))
}

/** Every folder from below `base` down to `folder` is there, and none is a link. `base` itself may be one. */
const isFolderBelow = async (base: string, folder: string): Promise<boolean> => {
  for (const each of foldersBetween(base, folder)) {
    if (!(await isFolder(each))) return false
  }
  return true
}

/** Makes `folder` and its parents below `base`, 0700 each, whatever the umask; existing ones are made so. */
export const makeFolders = (base: string, folder: string) =>
  attempt(folder, async () => {
    for (const each of foldersBetween(base, folder)) {
      const made = await mkdir(each, { mode: folderMode }).then(
        () => true,
        (cause: unknown) => {
          if (codeOf(cause) === "EEXIST") return false
          throw cause
        },
      )
      if (!made && !(await isFolder(each))) continue
      const handle = await open(each, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW)
      try {
        if (((await handle.stat()).mode & 0o777) !== folderMode) await handle.chmod(folderMode)
      } finally {
        await handle.close()
      }
      if (made) await syncFolder(path.dirname(each))
    }
  })

/** True when the folder is there and not empty. */
export const hasEntries = (base: string, folder: string) =>
  attempt(folder, async () => (await isFolderBelow(base, folder)) && (await readdir(folder)).length > 0)

/** The text of a file; `None` when there is none. */
export const readText = (base: string, file: string) =>
  attempt(file, async () => {
    if (!(await isFolderBelow(base, path.dirname(file)))) return Option.none<string>()
    try {
      const handle = await open(file, constants.O_RDONLY | constants.O_NOFOLLOW)
      try {
        return Option.some(await handle.readFile("utf8"))
      } finally {
        await handle.close()
      }
    } catch (cause) {
      if (codeOf(cause) === "ENOENT") return Option.none<string>()
      throw cause
    }
  })

/**
 * Replaces a file, 0600: afterwards it has the old text or the new one, never a part of it, whenever the power
 * fails. Its folder must be there.
 */
export const writeText = (file: string, text: string) =>
  attempt(file, async () => {
    const temporary = `${file}.${randomBytes(6).toString("hex")}${temporarySuffix}`
    try {
      const handle = await open(
        temporary,
        constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW,
        fileMode,
      )
      try {
        await handle.chmod(fileMode)
        await handle.writeFile(text, "utf8")
        await handle.sync()
      } finally {
        await handle.close()
      }
      await rename(temporary, file)
    } catch (cause) {
      await rm(temporary, { force: true })
      throw cause
    }
    await syncFolder(path.dirname(file))
  })

/** Removes a file; succeeds when there is none. A link is removed, not followed. */
export const removeFile = (base: string, file: string) =>
  attempt(file, async () => {
    if (!(await isFolderBelow(base, path.dirname(file)))) return
    await rm(file, { force: true })
    await syncFolder(path.dirname(file))
  })

/** Removes what a write left behind that a crash cut short. */
export const removeTemporaries = (folder: string) =>
  attempt(folder, async () => {
    for (const entry of await readdir(folder, { withFileTypes: true })) {
      if (entry.isFile() && entry.name.endsWith(temporarySuffix)) await rm(path.join(folder, entry.name))
    }
  })

/** Moves a folder aside in one step, so that what is removed next is never seen in half. */
export const moveAside = (base: string, folder: string, aside: string) =>
  attempt(folder, async () => {
    if (!(await isFolderBelow(base, folder))) return
    await rename(folder, aside)
    await syncFolder(path.dirname(folder))
  })

/** Removes a folder if it is empty, and says nothing if it is not, or not there. */
export const removeIfEmpty = (base: string, folder: string) =>
  attempt(folder, async () => {
    if (!(await isFolderBelow(base, folder))) return
    try {
      await rmdir(folder)
      await syncFolder(path.dirname(folder))
    } catch (cause) {
      if (codeOf(cause) !== "ENOTEMPTY" && codeOf(cause) !== "ENOENT") throw cause
    }
  })

/** Removes a folder and all in it. Links in it are removed, not followed. Succeeds when there is none. */
export const removeTree = (folder: string) =>
  attempt(folder, async () => {
    await makeWritable(folder)
    await rm(folder, { recursive: true, force: true })
  })

/** A folder without its write bit (a package made read-only) keeps its entries even from its owner. */
const makeWritable = async (folder: string): Promise<void> => {
  try {
    const handle = await open(folder, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW)
    try {
      if (((await handle.stat()).mode & folderMode) !== folderMode) await handle.chmod(folderMode)
    } finally {
      await handle.close()
    }
    for (const entry of await readdir(folder, { withFileTypes: true })) {
      if (entry.isDirectory()) await makeWritable(path.join(folder, entry.name))
    }
  } catch (cause) {
    if (codeOf(cause) !== "ENOENT") throw cause
  }
}
