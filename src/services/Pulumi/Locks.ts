// Settles what an earlier operation left behind, before a new one starts: its marker, its processes, its lock
// files. Only what belongs to a holder proven dead is removed, file by file; `pulumi cancel` would remove live
// locks too (read in its source).
import { Data, Effect, FileSystem, Option, Schema } from "effect"
import type { InstanceKey } from "../../schema/InstanceKey.ts"
import { killSession } from "../Process/Session.ts"
import { StateStore, type StateStoreError } from "../StateStore/StateStore.ts"
import { type Identity, type IsPodAlive, judgeLock, judgeMarker, LockContent } from "./Evidence.ts"
import { locksDirectory } from "./Layout.ts"

/** A holder that may be alive. The message names it, and since when. */
export class HeldError extends Data.TaggedError("HeldError")<{ readonly message: string }> {}

export interface Settled {
  /** An operation was cut off: what it began in the target has to be looked at before an `up`. */
  readonly interrupted: boolean
  /** What was removed, a sentence each. */
  readonly notices: ReadonlyArray<string>
}

const decodeLock = Schema.decodeUnknownOption(Schema.fromJsonString(LockContent))

/** /proc/stat's `btime`, seconds since the epoch. */
const bootTimeMillis = Effect.gen(function* () {
  const fs = yield* FileSystem.FileSystem
  const stat = yield* fs.readFileString("/proc/stat").pipe(Effect.orDie)
  return Number(/^btime ([0-9]+)$/m.exec(stat)?.[1] ?? 0) * 1000
})

const held = (holder: string): HeldError =>
  new HeldError({
    message: `Another holder of this instance's state may still be at work: ${holder}. The operator waits for its end and tries again; nothing was changed.`,
  })

/** Fails with `HeldError` while a holder may be alive; then nothing was removed. */
export const settle = Effect.fn("Locks.settle")(function* (
  key: InstanceKey,
  identity: Identity,
  isPodAlive: IsPodAlive,
): Effect.fn.Return<Settled, HeldError | StateStoreError, FileSystem.FileSystem | StateStore> {
  const fs = yield* FileSystem.FileSystem
  const store = yield* StateStore
  const directory = locksDirectory(store.paths(key))
  const marker = yield* store.readOperation(key)
  const notices: Array<string> = []

  if (Option.isSome(marker)) {
    const verdict = yield* judgeMarker(marker.value, identity, isPodAlive)
    if (verdict._tag === "Alive") return yield* held(verdict.holder)
    if (Option.isSome(verdict.orphans)) yield* killSession(verdict.orphans.value)
  }

  const names = yield* fs.readDirectory(directory).pipe(Effect.orElseSucceed((): Array<string> => []))
  const boot = yield* bootTimeMillis
  const dead: Array<{ readonly name: string; readonly holder: string }> = []
  for (const name of names.filter((name) => name.endsWith(".json"))) {
    const content = yield* fs.readFileString(`${directory}/${name}`).pipe(Effect.option)
    if (Option.isNone(content)) continue
    const lock = decodeLock(content.value)
    if (Option.isNone(lock)) return yield* held(`a lock file nobody can read, ${directory}/${name}`)
    const verdict = yield* judgeLock(lock.value, marker, identity, boot, isPodAlive)
    if (verdict._tag === "Alive") return yield* held(verdict.holder)
    const { hostname, pid, timestamp } = lock.value
    dead.push({ name, holder: `pid ${pid} on ${hostname}, written ${timestamp}` })
  }
  for (const { name, holder } of dead) {
    yield* fs.remove(`${directory}/${name}`, { force: true }).pipe(Effect.orDie)
    yield* fs.remove(`${directory}/${name}.attrs`, { force: true }).pipe(Effect.orDie)
    notices.push(`Removed the lock of a holder that has ended: ${holder}.`)
  }
  return { interrupted: Option.isSome(marker) || dead.length > 0, notices }
})
