// The operator's side of a runner: starts it, sends its request, reads its events, and ends it. It is asked to
// end by one line, awaited for the grace, and then nothing of its session is left alive.
import { Effect, Exit, Option, Queue, Scope, Stream } from "effect"
import { spawnChild } from "../Process/Child.ts"
import { processStartTime } from "../Process/Session.ts"
import { type OperationFiles, operationCommand } from "./Confinement.ts"
import type { PulumiOptions } from "./Options.ts"
import { decodeEvent, type RunnerEvent, type RunRequest, requestLine } from "./Protocol.ts"

export interface Runner {
  readonly pid: number
  readonly startTime: string | undefined
  /** What it says, in order; `Ended` comes once, when it will say nothing more. */
  readonly events: Queue.Dequeue<RunnerEvent | Ended>
}

export interface Ended {
  readonly type: "ended"
  /** `None`: a signal ended it. */
  readonly exitCode: Option.Option<number>
  /** The end of what it printed beside the protocol; not redacted, and so not cut to what is told of it. */
  readonly words: string
}

/** How much of what it prints is kept, in characters: enough for a tail after redaction. */
const keep = 16_384

/**
 * The engine's client makes much garbage and keeps little, 50 MB for 240 resources: left to itself, Node lets its heap
 * grow by the memory of the machine, to 250 MiB and more. In MiB.
 * (`--optimize-for-size` would save 25 more, for an eighth of an operation's CPU time.)
 */
const frugal = ["--max-old-space-size=512", "--max-semi-space-size=4"]

/** Lives as long as the scope. Fails when the process cannot be started. */
export const startRunner = Effect.fn("Runner.start")(function* (
  request: RunRequest,
  env: Readonly<Record<string, string>>,
  files: OperationFiles,
  options: PulumiOptions,
) {
  const events = yield* Queue.unbounded<RunnerEvent | Ended>()
  const input = yield* Queue.unbounded<string>()
  // Closed after the child has ended: a runner whose events nobody reads stops at a full pipe and never ends.
  const readers = yield* Effect.acquireRelease(Scope.make(), (scope) => Scope.close(scope, Exit.void))
  const child = yield* spawnChild({
    ...operationCommand(
      { command: options.nodePath, args: [...frugal, options.runnerPath, "operation"] },
      files,
      options,
      env,
    ),
    cwd: request.projectDirectory,
    env,
    grace: options.grace ?? "8 seconds",
    stdin: Stream.fromQueue(input).pipe(Stream.encodeText),
    ask: () => Effect.asVoid(Queue.offer(input, requestLine({ type: "cancel" }))),
  })

  let words = ""
  const remember = (text: string) => {
    words += text
    // From the beginning of a line: a secret that is cut in two is not recognised.
    if (words.length > keep) words = words.slice(-keep).replace(/^.*\n?/, "")
  }
  const readEvents = child.stdout.pipe(
    Stream.decodeText(),
    Stream.splitLines,
    Stream.runForEach((line) => {
      const event = decodeEvent(line)
      return Exit.isSuccess(event)
        ? Effect.asVoid(Queue.offer(events, event.value))
        : Effect.sync(() => remember(`${line}\n`))
    }),
    Effect.ignore,
  )
  const readWords = child.stderr.pipe(
    Stream.decodeText(),
    Stream.runForEach((text) => Effect.sync(() => remember(text))),
    Effect.ignore,
  )
  yield* Effect.all([readEvents, readWords], { concurrency: "unbounded" }).pipe(
    Effect.andThen(Effect.option(child.exitCode)),
    Effect.flatMap((exitCode) =>
      Queue.offer(events, { type: "ended", exitCode: Option.map(exitCode, Number), words }),
    ),
    Effect.forkIn(readers),
  )

  yield* Queue.offer(input, requestLine(request))
  return { pid: child.pid, startTime: yield* processStartTime(child.pid), events } satisfies Runner
})
