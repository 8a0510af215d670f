// One run: reads the request, does its steps, says how it ended. SIGINT and SIGTERM are ignored, because the
// operator cancels in one way only, by a line.
import type { RunnerRequest, RunRequest } from "../Protocol.ts"
import { Cancelled, makeCancellation } from "./Cancellation.ts"
import { emit, leadsSession, listen } from "./Channel.ts"
import { runProgram } from "./Engine.ts"
import { makeProgress } from "./Progress.ts"

export const operation = async (): Promise<void> => {
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => {})
  if (!leadsSession()) {
    emit({ type: "refused", message: "the runner must lead a Unix session of its own" })
    process.exit(2)
  }
  const cancellation = makeCancellation()
  const request = await new Promise<RunRequest | undefined>((resolve) => {
    let taken = false
    listen((incoming: RunnerRequest | undefined) => {
      if (incoming === undefined || incoming.type === "cancel") {
        cancellation.cancel()
        if (incoming === undefined) resolve(undefined)
      } else if (taken) {
        // A second program of this process would find its modules cached, register nothing, and the engine
        // would delete everything (contracts: seen).
        emit({ type: "refused", message: "this process has run its program; a second run needs its own" })
      } else {
        taken = true
        resolve(incoming)
      }
    })
  })
  if (request === undefined) process.exit(0)

  const progress = makeProgress()
  const finish = (outcome: "succeeded" | "failed" | "cancelled", message: string) => {
    emit({ type: "outcome", outcome, step: progress.step(), message, changes: progress.changes() })
    process.exit(0)
  }
  try {
    emit(await runProgram(request, cancellation, progress))
    finish("succeeded", "")
  } catch (error) {
    const cancelled = error instanceof Cancelled || cancellation.signal.aborted
    finish(cancelled ? "cancelled" : "failed", error instanceof Error ? error.message : String(error))
  }
}
