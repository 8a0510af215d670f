// The disk of this machine, by node's own `fs` and not Effect's FileSystem: this needs lstat, O_NOFOLLOW and the fsync
// of a folder.
import { createHash } from "node:crypto"
import { close, constants, open as openFile, read } from "node:fs"
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
import { Disk, DiskError, type DiskStat, type EntryKind } from "./Disk.ts"

const codeOf = (cause: unknown): string =>
  cause instanceof Error && "code" in cause && typeof cause.code === "string" ? cause.code : "UNKNOWN"

const diskError = (path: string, cause: unknown): DiskError =>
  new DiskError({
    path,
    code: codeOf(cause),
    message: cause instanceof Error ? cause.message : String(cause),
  })

/** Not interruptible: a promise given up half-way would go on writing behind its caller's back. */
const attempt = <A>(path: string, run: () => Promise<A>): Effect.Effect<A, DiskError> =>
  Effect.tryPromise({ try: run, catch: (cause) => diskError(path, cause) }).pipe(Effect.uninterruptible)

/** Paths at a time: each waits for one of the four threads of `fs`, or for the disk. */
const together = 16

function* each(paths: ReadonlyArray<string>) {
  yield* paths.entries()
}

/**
 * Of each path in its order, by workers that `make` gives, each at one path at a time. After a failure none begins
 * another one: whoever leaves the loop ends the generator that all of them share.
 */
const attemptAll = <A>(paths: ReadonlyArray<string>, make: () => (path: string) => Promise<A>) => {
  const run = async (): Promise<Array<A>> => {
    const found = new Array<A>(paths.length)
    const rest = each(paths)
    const work = async (one: (path: string) => Promise<A>) => {
      for (const [index, path] of rest) {
        found[index] = await one(path).catch((cause) => Promise.reject(diskError(path, cause)))
      }
    }
    const ends = await Promise.allSettled(Array.from({ length: together }, () => work(make())))
    for (const end of ends) if (end.status === "rejected") throw end.reason
    return found
  }
  return Effect.tryPromise({
    try: run,
    catch: (cause) => (cause instanceof DiskError ? cause : diskError("", cause)),
  }).pipe(Effect.uninterruptible)
}

/** By the callbacks of `fs`: a promise a call would cost as much as the call. */
const sha256 = (buffer: Buffer) => (path: string) =>
  new Promise<string>((resolve, reject) => {
    openFile(path, constants.O_RDONLY | constants.O_NOFOLLOW, (error, file) => {
      if (error) return reject(error)
      const hash = createHash("sha256")
      const next = () =>
        read(file, buffer, 0, buffer.length, null, (failure, size) => {
          if (!failure && size > 0) {
            hash.update(buffer.subarray(0, size))
            return next()
          }
          close(file, () => (failure ? reject(failure) : resolve(hash.digest("hex"))))
        })
      next()
    })
  })

const statOf = async (path: string): Promise<DiskStat> => {
  const stat = await lstat(path)
  return {
    kind: kindOf(stat),
    mode: stat.mode & 0o7777,
    size: stat.size,
    mtimeMs: stat.mtimeMs,
    ctimeMs: stat.ctimeMs,
    ino: stat.ino,
  }
}

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
  lstat: (path) => attempt(path, () => statOf(path)),
  lstatAll: (paths) => attemptAll(paths, () => statOf),
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
  sha256All: (paths) => attemptAll(paths, () => sha256(Buffer.allocUnsafeSlow(2 ** 16))),
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
