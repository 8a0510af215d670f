// The end of an `up`: what the program no longer registers, and what was replaced, is deleted, last made first. What is
// to be retained is only forgotten.
import { Effect } from "effect"
import { destroy } from "./provider/Provider.ts"
import {
  type Counter,
  connectionOf,
  failedUpdate,
  isProvider,
  type Run,
  stackUrn,
  tell,
  tellError,
} from "./Run.ts"
import type { PendingOperation } from "./Snapshot.ts"

export const deleteRest = Effect.fnUntraced(function* (
  run: Run,
  counter: Counter,
  kept: ReadonlySet<string>,
) {
  const surplus = run.ledger
    .deployment()
    .resources.filter((one) => one.delete === true || (!kept.has(one.urn) && one.urn !== stackUrn(run)))
    .toReversed()
  for (const old of surplus) {
    const operation = old.delete === true ? "delete-replaced" : "delete"
    tell(run, old, "started", operation)
    const isLeft = run.dry !== undefined || !old.custom || isProvider(old) || old.retainOnDelete === true
    const pending: PendingOperation = { resource: old, type: "deleting" }
    yield* run.ledger.begin(pending)
    const work = isLeft
      ? Effect.void
      : run.remote(destroy(connectionOf(run, run.ledger.find(old.provider ?? "")), old))
    yield* work.pipe(
      Effect.catch(({ message }) =>
        run.ledger.end(pending, old, old).pipe(
          Effect.andThen(
            Effect.sync(() => {
              tell(run, old, "failed", operation)
              tellError(run, message)
            }),
          ),
          Effect.andThen(Effect.fail(failedUpdate)),
        ),
      ),
    )
    yield* run.ledger.end(pending, old, undefined)
    tell(run, old, "done", operation)
    if (old.delete !== true) counter.add("delete")
  }
})
