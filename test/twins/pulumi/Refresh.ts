// `refresh`: each resource as the target has it, which is not always as the program wants it. Pending creates are
// cleared when that is asked for; other pending operations are over with the look at their resource (seen).
import { Effect, Option } from "effect"
import type { CliError } from "./Errors.ts"
import { read } from "./provider/Provider.ts"
import { type Counter, connectionOf, failedUpdate, isProvider, type Run, tell, tellError } from "./Run.ts"
import type { PendingOperation, ResourceState } from "./Snapshot.ts"

/** Pending operations that are still there after it. */
export const keptPending = (pending: ReadonlyArray<PendingOperation>, clearPendingCreates: boolean) =>
  clearPendingCreates ? [] : pending.filter(({ type }) => type === "creating")

const refreshOne = Effect.fnUntraced(function* (run: Run, old: ResourceState, counter: Counter) {
  if (!old.custom || isProvider(old)) {
    counter.add("same")
    return run.ledger.note(old, old)
  }
  tell(run, old, "started", "refresh")
  const connection = connectionOf(run, run.ledger.find(old.provider ?? ""))
  const seen = yield* run.remote(read(connection, old)).pipe(
    Effect.tapError(({ message }) =>
      Effect.sync(() => {
        tell(run, old, "failed", "refresh")
        tellError(run, message)
      }),
    ),
  )
  tell(run, old, "done", "refresh")
  if (Option.isNone(seen)) {
    counter.add("delete")
    return run.ledger.note(old, undefined)
  }
  const { made, lacks } = seen.value
  const { initErrors: _, ...rest } = old
  counter.add(made.inputs === old.inputs ? "same" : "update")
  run.ledger.note(old, { ...rest, ...made, ...(Option.isSome(lacks) ? { initErrors: [lacks.value] } : {}) })
})

/** Every resource is looked at; nothing is written before the end, and nothing is dropped when one look failed. */
export const refresh = Effect.fnUntraced(function* (
  run: Run,
  counter: Counter,
): Effect.fn.Return<void, CliError> {
  const results = yield* Effect.forEach(
    run.ledger.base,
    (old) => Effect.result(refreshOne(run, old, counter)),
    { concurrency: "unbounded" },
  )
  if (results.every(({ _tag }) => _tag === "Success")) return
  tellError(run, "update failed")
  return yield* failedUpdate
})
