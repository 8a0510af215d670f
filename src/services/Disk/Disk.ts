// Files as the state directory and the package store need them: links that are seen, not followed, writes that are
// on the disk when they say so, and errors by their code. Everything else uses Effect's FileSystem.
import { Context, Data, Effect } from "effect"

export class DiskError extends Data.TaggedError("DiskError")<{
  readonly path: string
  /** As the system names it: `ENOENT`, `ENOSPC`, `ELOOP`, `EACCES`… */
  readonly code: string
  readonly message: string
}> {}

export type EntryKind = "file" | "directory" | "link" | "other"

export interface DiskEntry {
  readonly name: string
  readonly kind: EntryKind
}

export interface DiskStat {
  readonly kind: EntryKind
  /** Permission bits: `0o755`. */
  readonly mode: number
  readonly size: number
  readonly mtimeMs: number
  readonly ctimeMs: number
  readonly ino: number
}

/** Of the volume that a path lies on: bytes. */
export interface DiskSpace {
  readonly size: number
  /** For whoever asks: what is kept back for root is not free. */
  readonly free: number
}

/**
 * None of these is interruptible, and as far as a crash is concerned each is one step, but for `writeNew` (a file that
 * was cut short may be left) and `removeTree` (so may a part of the folder).
 */
export class Disk extends Context.Service<
  Disk,
  {
    /** Of the entry itself, not of what a link leads to. */
    readonly lstat: (path: string) => Effect.Effect<DiskStat, DiskError>
    /** The same of many, in their order: of thousands of entries for a third of the time. */
    readonly lstatAll: (paths: ReadonlyArray<string>) => Effect.Effect<ReadonlyArray<DiskStat>, DiskError>
    readonly realpath: (path: string) => Effect.Effect<string, DiskError>
    /** In no order. */
    readonly readdir: (path: string) => Effect.Effect<ReadonlyArray<DiskEntry>, DiskError>
    readonly readlink: (path: string) => Effect.Effect<string, DiskError>
    /** Fails with `ELOOP` on a link. */
    readonly readFile: (path: string) => Effect.Effect<Uint8Array, DiskError>
    /**
     * SHA-256 of the content of each, in hexadecimal digits and in their order. Reads every byte, and has a megabyte of
     * them in memory at most, whatever their sizes. Fails with `ELOOP` on a link.
     */
    readonly sha256All: (paths: ReadonlyArray<string>) => Effect.Effect<ReadonlyArray<string>, DiskError>
    /** A new file with exactly these permissions, its content synced; `EEXIST` when something is there. */
    readonly writeNew: (path: string, content: Uint8Array, mode: number) => Effect.Effect<void, DiskError>
    /** One folder, of these permissions less the umask; `EEXIST` when something is there. */
    readonly mkdir: (path: string, mode: number) => Effect.Effect<void, DiskError>
    /** Follows a link, for a link has no permissions. */
    readonly chmod: (path: string, mode: number) => Effect.Effect<void, DiskError>
    /** Of a folder; fails with `ELOOP` or `ENOTDIR` on anything else, a link among it. */
    readonly chmodFolder: (path: string, mode: number) => Effect.Effect<void, DiskError>
    readonly rename: (from: string, to: string) => Effect.Effect<void, DiskError>
    /** A file or a link. */
    readonly unlink: (path: string) => Effect.Effect<void, DiskError>
    /** An empty folder. */
    readonly rmdir: (path: string) => Effect.Effect<void, DiskError>
    /** A folder and all in it; links are removed, not followed. Nothing there is no failure. */
    readonly removeTree: (path: string) => Effect.Effect<void, DiskError>
    /** The content of a file is on the disk afterwards, whoever wrote it; `ELOOP` on a link. */
    readonly syncFile: (path: string) => Effect.Effect<void, DiskError>
    /** What was made, renamed or removed in this folder is on the disk afterwards. */
    readonly syncFolder: (path: string) => Effect.Effect<void, DiskError>
    readonly space: (path: string) => Effect.Effect<DiskSpace, DiskError>
  }
>()("platform-operator/Disk") {}

/** Succeeds with `value` on an error of these codes. */
export const unless =
  <B>(codes: ReadonlyArray<string>, value: B) =>
  <A, R>(effect: Effect.Effect<A, DiskError, R>): Effect.Effect<A | B, DiskError, R> =>
    Effect.catchIf(
      effect,
      (error) => codes.includes(error.code),
      () => Effect.succeed(value),
    )
