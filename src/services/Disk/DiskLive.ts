// The disk of this machine, by node's own `fs` and not Effect's FileSystem: this needs lstat, O_NOFOLLOW and the fsync
// of a folder.
import { constants } from "node:fs"
import {
  chmod,
  type FileHandle,
  lstat,
  mkdir,
  open,
  readdir,
  readlink,
  realpath,
  rename,
  rm,
  rmdir,
  statfs,
  unlink,
} from "node:fs/promises"
import { Effect, Layer } from "effect"
import { Disk, DiskError, type EntryKind } from "./Disk.ts"

const codeOf = (cause: unknown): string =>
  cause instanceof Error && "code" in cause && typeof cause.code === "string" ? cause.code : "UNKNOWN"

/** Not interruptible: a promise given up half-way would go on writing behind its caller's back. */
const attempt = <A>(path: string, run: () => Promise<A>): Effect.Effect<A, DiskError> =>
  Effect.tryPromise({
    try: run,
    catch: (cause) =>
      new DiskError({
        path,
        code: codeOf(cause),
        message: cause instanceof Error ? cause.message : String(cause),
      }),
  }).pipe(Effect.uninterruptible)

const kindOf = (entry: {
  isFile(): boolean
  isDirectory(): boolean
  isSymbolicLink(): boolean
}): EntryKind => {
  if (entry.isFile()) return "file"
  if (entry.isDirectory()) return "directory"
  return entry.isSymbolicLink() ? "link" : "other"
}

const withFile = async <A>(file: Promise<FileHandle>, use: (file: FileHandle) => Promise<A>): Promise<A> => {
  const handle = await file
  try {
    return await use(handle)
  } finally {
    await handle.close()
  }
}

const newFile = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW
const folder = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW

const live = Disk.of({
  lstat: (path) =>
    attempt(path, async () => {
      const stat = await lstat(path)
      return {
        kind: kindOf(stat),
        mode: stat.mode & 0o7777,
        size: stat.size,
        mtimeMs: stat.mtimeMs,
        ctimeMs: stat.ctimeMs,
        ino: stat.ino,
      }
    }),
  realpath: (path) => attempt(path, () => realpath(path)),
  readdir: (path) =>
    attempt(path, async () =>
      (await readdir(path, { withFileTypes: true })).map((entry) => ({
        name: entry.name,
        kind: kindOf(entry),
      })),
    ),
  readlink: (path) => attempt(path, () => readlink(path)),
  readFile: (path) =>
    attempt(path, () =>
      withFile(open(path, constants.O_RDONLY | constants.O_NOFOLLOW), (file) => file.readFile()),
    ),
  writeNew: (path, content, mode) =>
    attempt(path, () =>
      withFile(open(path, newFile, mode), async (file) => {
        // The umask may have taken some of it.
        await file.chmod(mode)
        await file.writeFile(content)
        await file.sync()
      }),
    ),
  mkdir: (path, mode) => attempt(path, () => mkdir(path, { mode })),
  chmod: (path, mode) => attempt(path, () => chmod(path, mode)),
  chmodFolder: (path, mode) => attempt(path, () => withFile(open(path, folder), (file) => file.chmod(mode))),
  rename: (from, to) => attempt(from, () => rename(from, to)),
  unlink: (path) => attempt(path, () => unlink(path)),
  rmdir: (path) => attempt(path, () => rmdir(path)),
  removeTree: (path) => attempt(path, () => rm(path, { recursive: true, force: true })),
  syncFile: (path) =>
    attempt(path, () =>
      withFile(open(path, constants.O_RDONLY | constants.O_NOFOLLOW), (file) => file.sync()),
    ),
  syncFolder: (path) => attempt(path, () => withFile(open(path, folder), (file) => file.sync())),
  space: (path) =>
    attempt(path, async () => {
      const { bsize, blocks, bavail } = await statfs(path)
      return { size: blocks * bsize, free: bavail * bsize }
    }),
})

export const DiskLive = { layer: Layer.succeed(Disk, live) }
