// A folder on the real disk and the same folder in the file system twin, and what a step on one of them has observed.
import { chown, mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import path from "node:path"
import { NodeServices } from "@effect/platform-node"
import { Context, Effect, FileSystem, Layer, PlatformError } from "effect"
import { Disk, DiskError } from "../../src/services/Disk/Disk.ts"
import { DiskLive } from "../../src/services/Disk/DiskLive.ts"
import { diskOf } from "../twins/files/DiskTwin.ts"
import { fileSystemOf } from "../twins/files/FileSystemTwin.ts"
import { makeFiles } from "../twins/files/Files.ts"

export interface FileMachine {
  readonly disk: Disk["Service"]
  readonly fs: FileSystem.FileSystem
  /** An empty folder of the user's own. The same path on both sides. */
  readonly root: string
}

/** An ordinary user, whom permissions bind, when the test runs as root; else whoever runs it. */
const ordinary = 1000
const isRoot = process.geteuid?.() === 0

/** Runs as an ordinary user for the length of the scope. */
const asOrdinaryUser = isRoot
  ? Effect.acquireRelease(
      Effect.sync(() => process.seteuid?.(ordinary)),
      () => Effect.sync(() => process.seteuid?.(0)),
    )
  : Effect.void

/** Both sides over the same path. `ordinary`: permissions bind the user (they do not bind root). */
export const makeFileMachines = Effect.fnUntraced(function* (options: { readonly ordinary: boolean }) {
  const root = yield* Effect.acquireRelease(
    Effect.promise(() => mkdtemp(path.join(tmpdir(), "files-"))),
    (folder) => Effect.promise(() => rm(folder, { recursive: true, force: true })),
  )
  const euid = process.geteuid?.() ?? 0
  const uid = isRoot && options.ordinary ? ordinary : euid
  const user = { uid, gid: process.getegid?.() ?? 0, umask: process.umask() }
  if (uid !== euid) yield* Effect.promise(() => chown(root, uid, user.gid))
  const live = yield* Layer.build(Layer.merge(DiskLive.layer, NodeServices.layer))
  const twin = yield* makeFiles
  twin.mount(root, twin.makeVolume({ uid, mode: 0o700 }))
  if (options.ordinary) yield* asOrdinaryUser
  return {
    real: {
      disk: Context.get(live, Disk),
      fs: Context.get(live, FileSystem.FileSystem),
      root,
    } satisfies FileMachine,
    twin: { disk: diskOf(twin, user), fs: fileSystemOf(twin, user), root } satisfies FileMachine,
  }
})

const codeOf = (cause: unknown): unknown =>
  cause instanceof Error && "code" in cause ? cause.code : undefined

/** Everything of a failure that the operator can tell apart. Texts name paths: the root of both sides is the same. */
const failureOf = (error: unknown) => {
  if (error instanceof DiskError) return { code: error.code, path: error.path, message: error.message }
  if (!(error instanceof PlatformError.PlatformError)) return { failed: String(error) }
  const { reason } = error
  return {
    reason: reason._tag,
    method: reason.method,
    message: reason.message,
    code: codeOf(reason.cause),
    text: reason.cause instanceof Error ? reason.cause.message : undefined,
  }
}

/** The result of an operation as plain JSON, or its failure. */
export const observed = <A, E>(effect: Effect.Effect<A, E>) =>
  effect.pipe(
    Effect.map((value): unknown => value ?? "done"),
    Effect.catch((error) => Effect.succeed(failureOf(error))),
  )
