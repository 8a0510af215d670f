// What an operation and a preview go through alike: how a step is begun and a failure of it is put, and the engine followed to
// its last word, within its time and memory.
import { Duration, Effect } from "effect"
import { logOutput } from "../Process/ToolOutput.ts"
import { awaitedNames, type Ending, type Followed, follow, makeFollowed } from "./Follow.ts"
import { exceeds } from "./MemoryBudget.ts"
import { failureMessage, tail } from "./Messages.ts"
import type { PulumiOptions } from "./Options.ts"
import { type OperationProgress, type PreviewRequest, PulumiError } from "./Pulumi.ts"
import type { Runner } from "./Runner.ts"
import { redactionFor } from "./Subject.ts"

export type OnProgress = (progress: OperationProgress) => Effect.Effect<void>

/** An ending that is no success. */
type Unsuccessful = Extract<Ending, { readonly _tag: "Failed" | "Hangs" }>

const hangMessage = ({ hang }: PulumiOptions): string =>
  `The platform's program hangs and was cancelled: nothing was registered, awaited or heard of for ${Duration.format(Duration.fromInputUnsafe(hang ?? "5 minutes"))}; look at spec.version`

export const timeoutMessage = ({ timeout }: Pick<PreviewRequest, "timeout">, followed: Followed): string => {
  const awaited = awaitedNames(followed)
  const what = awaited === "" ? "" : ` It was waiting for ${awaited}.`
  return `The operation did not end within ${Duration.format(timeout)} and was cancelled; look at what it waits for in the instance, or raise --install-timeout.${what}`
}

/** Begins with the passphrase: without one nothing can be told without secrets. */
export const beginRun = Effect.fnUntraced(function* (
  request: PreviewRequest,
  onProgress: OnProgress,
  options: PulumiOptions,
) {
  const { version } = request
  const followed = makeFollowed()
  const begin = (step: string): Effect.Effect<void> => {
    followed.step = step
    return onProgress({ step })
  }
  const failed = (message: string, reason: PulumiError["reason"] = "Failed"): PulumiError =>
    new PulumiError({ step: followed.step, version, message, reason })

  yield* begin("read passphrase")
  const redact = yield* redactionFor(request, options).pipe(Effect.mapError(({ message }) => failed(message)))
  followed.hear = (words) => logOutput("pulumi", words, redact)

  const following = (runner: Runner) =>
    follow(runner.events, followed, options.hang ?? "5 minutes", onProgress)
  return {
    followed,
    redact,
    begin,
    /** By a sentence of ours. */
    failed,
    /** By a sentence of ours, with the words of what failed behind it. */
    failedBy: (sentence: string) => (error: { readonly message: string }) =>
      failed(`${sentence}. ${tail(error.message)}`),
    /** By the words of the target, or of a program. */
    said: ({ message: words }: { readonly message: string }) =>
      failed(failureMessage({ step: followed.step, version, words, redact })),
    /** Follows it to its last word; fails where its processes take more memory than they may. */
    hearOut: (runner: Runner) =>
      options.operationMemory === undefined
        ? following(runner)
        : Effect.raceFirst(
            following(runner),
            exceeds(runner.pid, options.operationMemory).pipe(
              Effect.flatMap((message) => Effect.fail(failed(message))),
            ),
          ),
    /** What such an ending is told as. */
    failureOf: (ending: Unsuccessful): PulumiError => {
      if (ending._tag === "Hangs") return failed(hangMessage(options), "Cancelled")
      const { step, words } = ending
      const sandboxed = options.sandbox !== undefined
      const locked = /stack is currently locked/i.test(words)
      return new PulumiError({
        step,
        version,
        message: failureMessage({ step, version, words, redact, sandboxed }),
        reason: ending.cancelled ? "Cancelled" : locked ? "Locked" : "Failed",
      })
    },
    /** Cuts off what does not end in the time of the request, and says what it was waiting for. */
    inTime: <A, R>(whole: Effect.Effect<A, PulumiError, R>): Effect.Effect<A, PulumiError, R> =>
      Effect.timeoutOrElse(whole, {
        duration: request.timeout,
        orElse: () => Effect.fail(failed(timeoutMessage(request, followed), "Cancelled")),
      }),
  }
})
