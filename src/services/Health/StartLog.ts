// What the log says of a start that does not get on. Nothing here ends the process: an API server that is away, or a
// Secret that is, comes back, and deletions need neither this nor a restart.
import { Effect, FileSystem, Option, Ref } from "effect"
import { WatchHealth } from "../Kubernetes/WatchHealth.ts"
import { type SandboxState, shortcomings } from "../Process/Sandbox.ts"
import { CrdCheck } from "./CrdCheck.ts"
import { Ready, waitedFor } from "./Readiness.ts"

/** Every 10 seconds until the caches are complete: each watch that is still waited for, with its state. */
export const logWaiting = Effect.gen(function* () {
  const ready = yield* Ready
  const watches = yield* WatchHealth
  const crd = yield* CrdCheck
  while (true) {
    yield* Effect.sleep("10 seconds")
    if (yield* Ref.get(ready)) return
    const problem = yield* crd.problem
    yield* Effect.logWarning("still waiting for the caches").pipe(
      Effect.annotateLogs({
        waitingFor: waitedFor(yield* watches.statuses),
        ...Option.match(problem, { onNone: () => ({}), onSome: (text) => ({ problem: text }) }),
      }),
    )
  }
})

/** Said at once, and by each install that fails for it; read anew by each, so that it can be put back meanwhile. */
export const warnOfPassphrase = Effect.fnUntraced(function* (file: string) {
  const fs = yield* FileSystem.FileSystem
  const text = yield* Effect.result(fs.readFileString(file))
  const problem =
    text._tag === "Failure" ? text.failure.reason._tag : text.success.trim() === "" ? "empty" : undefined
  if (problem === undefined) return
  yield* Effect.logWarning(
    "the passphrase file cannot be used: installs and repairs fail until the passphrase Secret is put back",
  ).pipe(Effect.annotateLogs({ passphraseFile: file, problem }))
})

/** How programs of packages are run: with what this kernel does not keep from them, or with the reason why nothing is. */
export const tellSandbox = (state: SandboxState) => {
  if (state._tag === "Unavailable") {
    return Effect.logWarning(
      "programs of packages run without a sandbox: they can read and write what the operator can",
    ).pipe(Effect.annotateLogs({ reason: state.reason }))
  }
  const open = shortcomings(state.abi)
  const said = { landlockAbi: state.abi, ...(open.length === 0 ? {} : { notKeptFrom: open }) }
  return (open.length === 0 ? Effect.logInfo : Effect.logWarning)(
    "programs of packages run in a sandbox",
  ).pipe(Effect.annotateLogs(said))
}
