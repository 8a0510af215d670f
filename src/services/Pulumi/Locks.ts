// Settles what an earlier operation left behind, before a new one starts: its marker, its processes, its lock
// files. Only what belongs to a holder proven dead is removed, file by file; `pulumi cancel` would remove live
// locks too (read in its source).
import { Data, Effect, FileSystem, Option, Schema } from "effect"
import type { InstanceKey } from "../../schema/InstanceKey.ts"
import type { IsPodAlive } from "../Kubernetes/PodLiveness.ts"
import { increment } from "../Metrics/Metrics.ts"
import { Processes } from "../Process/Processes.ts"
import { killSession } from "../Process/Session.ts"
import { type OperationMarker, StateStore, type StateStoreError } from "../StateStore/StateStore.ts"
import { type Identity, judgeLock, judgeMarker, LockContent } from "./Evidence.ts"
import { locksDirectory } from "./Layout.ts"

/** A holder that may be alive. The message names it, and since when. */
export class HeldError extends Data.TaggedError("HeldError")<{ readonly message: string }> {}

export interface Settled {
  /** An operation was cut off: what it began in the target has to be looked at before an `up`. */
  readonly interrupted: boolean
  /** Its runner had been started: the engine may have made something. */
  readonly begun: boolean
  /** What was removed, a sentence each. */
  readonly notices: ReadonlyArray<string>
}

const decodeLock = Schema.decodeUnknownOption(Schema.fromJsonString(LockContent))

/**
 * Of a lock that was cut off. Its writer is dead, whoever it was: the CLI writes a lock under another name and renames
 * it (read in its source, 3.274.1), so that nobody ever sees a part of one under its own name, except after a machine
 * has lost its power, and its processes with it. Nor does a runner of this operator live: its marker is on the disk
 * before it starts and goes when nothing of its session is left, and a marker of one that may live is waited for before
 * any lock is looked at.
 */
const holderOfTorn = Effect.fnUntraced(function* (file: string, marker: Option.Option<OperationMarker>) {
  const fs = yield* FileSystem.FileSystem
  const info = yield* fs.stat(file).pipe(Effect.option)
  const written = Option.flatMap(info, ({ mtime }) => mtime).pipe(
    Option.match({ onNone: () => "", onSome: (time) => `, written ${time.toISOString()}` }),
  )
  const whose = Option.match(marker, {
    onNone: () => "its content was lost",
    onSome: ({ kind, version, startedAt, holder }) =>
      `its content was lost; pod ${holder.podName}, ${kind} of ${version}, since ${startedAt}`,
  })
  return `${whose}${written}`
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
): Effect.fn.Return<Settled, HeldError | StateStoreError, FileSystem.FileSystem | Processes | StateStore> {
  const fs = yield* FileSystem.FileSystem
  const store = yield* StateStore
  const processes = yield* Processes
  const directory = locksDirectory(store.paths(key))
  const marker = yield* store.readOperation(key)
  const notices: Array<string> = []

  if (Option.isSome(marker)) {
    const verdict = yield* judgeMarker(marker.value, identity, isPodAlive)
    if (verdict._tag === "Alive") return yield* held(verdict.holder)
    if (Option.isSome(verdict.orphans)) yield* killSession(verdict.orphans.value)
  }

  const names = yield* fs.readDirectory(directory).pipe(Effect.orElseSucceed((): Array<string> => []))
  const boot = yield* processes.bootTimeMillis
  const dead: Array<{ readonly name: string; readonly holder: string }> = []
  for (const name of names.filter((name) => name.endsWith(".json"))) {
    const content = yield* fs.readFileString(`${directory}/${name}`).pipe(Effect.option)
    if (Option.isNone(content)) continue
    const lock = decodeLock(content.value)
    if (Option.isNone(lock)) {
      dead.push({ name, holder: yield* holderOfTorn(`${directory}/${name}`, marker) })
      continue
    }
    const verdict = yield* judgeLock(lock.value, marker, identity, boot, isPodAlive)
    if (verdict._tag === "Alive") return yield* held(verdict.holder)
    const { hostname, pid, timestamp } = lock.value
    dead.push({ name, holder: `pid ${pid} on ${hostname}, written ${timestamp}` })
  }
  for (const { name, holder } of dead) {
    yield* fs.remove(`${directory}/${name}`, { force: true }).pipe(Effect.orDie)
    yield* fs.remove(`${directory}/${name}.attrs`, { force: true }).pipe(Effect.orDie)
    notices.push(`Removed the lock of a holder that has ended: ${holder}.`)
    yield* increment("platform_operator_locks_removed_total", {})
    yield* increment("platforminstance_locks_removed_total", { namespace: key.namespace, name: key.name })
  }
  return {
    interrupted: Option.isSome(marker) || dead.length > 0,
    begun: Option.exists(marker, ({ holder }) => holder.pid !== undefined),
    notices,
  }
})
