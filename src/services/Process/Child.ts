// One child process from its start to its end: an environment that is written out, an input that is not in argv,
// both pipes drained while it runs, and an end that is asked for once, awaited, and forced only after a grace.
import { basename } from "node:path"
import { Data, type Duration, Effect, Option, type PlatformError, Stream } from "effect"
import { ChildProcess, ChildProcessSpawner } from "effect/process"
import { Processes } from "./Processes.ts"
import { killSession } from "./Session.ts"

export class ChildError extends Data.TaggedError("ChildError")<{
  readonly command: string
  /** Why it could not be started, or its pipes not be read; never with its arguments or its input. */
  readonly message: string
}> {}

export interface ChildOptions {
  readonly command: string
  /** Visible to every user of the machine: no secrets. */
  readonly args: ReadonlyArray<string>
  readonly cwd?: string
  /** The whole environment (`childEnvironment`); nothing is inherited beside it. */
  readonly env: Readonly<Record<string, string>>
  /** How long it may take to end after it was asked to, before its whole session gets SIGKILL. */
  readonly grace: Duration.Input
  /** How it is asked to end, once. Default: one SIGTERM to the child itself, never to its process group. */
  readonly ask?: (child: ChildProcessSpawner.ChildProcessHandle) => Effect.Effect<void>
}

export interface ChildResult {
  /** `None` when a signal ended it. */
  readonly exitCode: Option.Option<number>
  readonly stdout: string
  readonly stderr: string
}

/** How much of each output is kept, in characters. What comes after is read and dropped. */
const outputLimit = 1024 * 1024

const childError = (command: string) => (error: PlatformError.PlatformError) =>
  // Only the kind of error (`NotFound`, `PermissionDenied`…): its text repeats the arguments.
  new ChildError({ command, message: `${command} could not be run: ${error.reason._tag}` })

/**
 * Starts a child as leader of a session of its own. When the scope closes it is asked to end (if it still runs),
 * awaited for `grace`, and then no process of its session is left alive.
 */
export const spawnChild = Effect.fn("Process.spawnChild")(function* (
  options: ChildOptions & { readonly stdin?: ChildProcess.StdinConfig | ChildProcess.CommandInput },
) {
  const spawner = yield* ChildProcessSpawner.ChildProcessSpawner
  const processes = yield* Processes
  return yield* Effect.acquireRelease(
    spawner
      .spawn(
        ChildProcess.make(options.command, options.args, {
          ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
          env: options.env,
          extendEnv: false,
          stdin: options.stdin ?? "ignore",
          detached: true,
          // The spawner's own finalizer signals the process group. It runs after ours, and finds nobody.
          forceKillAfter: 0,
        }),
      )
      .pipe(Effect.mapError(childError(options.command))),
    (child) =>
      Effect.gen(function* () {
        if (yield* Effect.orElseSucceed(child.isRunning, () => true)) {
          yield* options.ask?.(child) ?? processes.signal(child.pid, "SIGTERM")
          yield* Effect.ignore(child.exitCode).pipe(Effect.timeoutOption(options.grace))
        }
        yield* killSession(child.pid)
      }),
  )
})

/** The text of a pipe, at most `outputLimit` characters of it, read to its end. */
const drain = (pipe: Stream.Stream<Uint8Array, PlatformError.PlatformError>) =>
  pipe.pipe(
    Stream.decodeText(),
    Stream.runFold(
      () => "",
      (text, chunk) => (text.length < outputLimit ? (text + chunk).slice(0, outputLimit) : text),
    ),
  )

/**
 * Runs a child to its end. An exit code other than 0 is a result, not a failure. Interruption returns when the
 * child and its session are gone.
 */
export const runChild = Effect.fn("Process.runChild")(function* (
  options: ChildOptions & { readonly input?: string },
) {
  yield* Effect.annotateCurrentSpan("process.executable.name", basename(options.command))
  const child = yield* spawnChild({
    ...options,
    ...(options.input === undefined ? {} : { stdin: Stream.make(options.input).pipe(Stream.encodeText) }),
  })
  yield* Effect.annotateCurrentSpan("process.pid", Number(child.pid))
  const failed = Effect.mapError(childError(options.command))
  const [stdout, stderr, exitCode] = yield* Effect.all(
    // A signal is the one way in which `exitCode` fails once the child has started.
    [failed(drain(child.stdout)), failed(drain(child.stderr)), Effect.option(child.exitCode)],
    { concurrency: "unbounded" },
  )
  if (Option.isSome(exitCode)) yield* Effect.annotateCurrentSpan("process.exit.code", Number(exitCode.value))
  return { exitCode: Option.map(exitCode, Number), stdout, stderr } satisfies ChildResult
}, Effect.scoped)
