// The operator's `Disk` over the file system twin. What takes several system calls in the live layer takes several steps
// here, so that a death may come between them.
import { createHash } from "node:crypto"
import { Effect } from "effect"
import { Disk, DiskError, type DiskStat, type EntryKind } from "../../../src/services/Disk/Disk.ts"
import { FileError } from "./FileError.ts"
import { type FilesTwin, removal } from "./Files.ts"
import type { User } from "./Paths.ts"
import { sizeOf } from "./Volume.ts"

const asDiskError =
  (path: string) =>
  (error: unknown): DiskError => {
    if (!(error instanceof FileError)) throw error
    return new DiskError({ path, code: error.code, message: error.message })
  }

/** For a service that runs as this user. */
export const diskOf = ({ tree }: FilesTwin, user: User): Disk["Service"] => {
  const attempt = <A>(path: string, run: () => A): Effect.Effect<A, DiskError> =>
    Effect.try({ try: run, catch: asDiskError(path) })
  const lstat = (path: string): Effect.Effect<DiskStat, DiskError> =>
    attempt(path, () => {
      const node = tree.stat(user, path, { follow: false })
      return {
        kind: node.kind satisfies EntryKind,
        mode: node.mode,
        size: sizeOf(node),
        mtimeMs: node.mtimeMs,
        ctimeMs: node.ctimeMs,
        ino: node.ino,
      }
    })
  const sha256 = (path: string) =>
    attempt(path, () =>
      createHash("sha256")
        .update(tree.read(user, path, { follow: false }))
        .digest("hex"),
    )
  return Disk.of({
    lstat,
    lstatAll: (paths) => Effect.forEach(paths, lstat),
    realpath: (path) => attempt(path, () => tree.realpath(user, path)),
    readdir: (path) =>
      attempt(path, () => tree.readdir(user, path).map(([name, node]) => ({ name, kind: node.kind }))),
    readlink: (path) => attempt(path, () => tree.readlink(user, path)),
    readFile: (path) => attempt(path, () => tree.read(user, path, { follow: false }).slice()),
    sha256All: (paths) => Effect.forEach(paths, sha256),
    writeNew: (path, content, mode) =>
      Effect.gen(function* () {
        const file = yield* attempt(path, () => tree.create(user, path, { exclusive: true, mode }))
        file.mode = mode
        yield* Effect.yieldNow
        yield* attempt(path, () => tree.append(file, content))
        yield* Effect.yieldNow
        file.volume.sync(file)
      }).pipe(Effect.uninterruptible),
    mkdir: (path, mode) => attempt(path, () => tree.mkdir(user, path, mode)),
    chmod: (path, mode) => attempt(path, () => tree.chmod(user, path, mode)),
    chmodFolder: (path, mode) => attempt(path, () => tree.chmodFolder(user, path, mode)),
    rename: (from, to) => attempt(from, () => tree.rename(user, from, to)),
    unlink: (path) => attempt(path, () => tree.unlink(user, path)),
    rmdir: (path) => attempt(path, () => tree.rmdir(user, path)),
    removeTree: (path) =>
      Effect.gen(function* () {
        const steps = removal(tree, user, path)
        while (yield* attempt(path, () => nextStep(steps))) yield* Effect.yieldNow
      }).pipe(Effect.uninterruptible),
    syncFile: (path) => attempt(path, () => tree.syncFile(user, path)),
    syncFolder: (path) => attempt(path, () => tree.syncFolder(user, path)),
    space: (path) => attempt(path, () => tree.stat(user, path, { follow: true }).volume.space),
  })
}

/** False when there was none. */
export const nextStep = (steps: Iterator<() => void>): boolean => {
  const step = steps.next()
  if (step.done === true) return false
  step.value()
  return true
}
