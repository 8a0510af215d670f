// Effect's `ChildProcessSpawner` over a container: what its Node layer (@effect/platform-node-shared 4.1.0) does with
// sessions, process groups, pipes and the end of a scope.
import { Duration, Effect, PlatformError, Redacted, type Scope, Sink, Stream } from "effect"
import { type ChildProcess, ChildProcessSpawner, CommandLine } from "effect/process"
import { FileError } from "../files/FileError.ts"
import { may, right } from "../files/Paths.ts"
import type { Lifetime } from "../simulation/Lifetime.ts"
import type { Container } from "./Container.ts"
import { BrokenPipe, type Pipe } from "./Pipe.ts"
import type { Process } from "./Process.ts"
import type { Program } from "./Program.ts"

type Errors = PlatformError.PlatformError

const systemError = (
  tag: PlatformError.SystemErrorTag,
  module: string,
  method: string,
  path: string,
  cause: Error,
) =>
  PlatformError.systemError({
    _tag: tag,
    module,
    method,
    pathOrDescriptor: path,
    cause,
  })

class SpawnError extends Error {
  readonly code: string

  constructor(tag: "NotFound" | "PermissionDenied", command: string) {
    const code = tag === "NotFound" ? "ENOENT" : "EACCES"
    super(`spawn ${command} ${code}`)
    this.code = code
  }
}

/** After this time, and a SIGKILL, the group of a child is not waited for any more. */
const groupGrace = Duration.seconds(1)

const plain = (value: string | Redacted.Redacted<string>): string =>
  Redacted.isRedacted(value) ? Redacted.value(value) : value

const environmentOf = (options: ChildProcess.CommandOptions): Record<string, string> => {
  const environment: Record<string, string> = {}
  for (const [name, value] of Object.entries(options.env ?? {})) {
    if (value !== undefined) environment[name] = plain(value)
  }
  return environment
}

/** The program behind a command: a path, or a name that is looked up on the PATH of its environment. */
const find = (container: Container, command: string, path: string | undefined) => {
  const files = container.filesOf("/")
  const candidates = command.includes("/")
    ? [command]
    : (path ?? "").split(":").map((folder) => `${folder}/${command}`)
  const there = candidates.find((candidate) => files.isFile(candidate))
  if (there === undefined) return "NotFound"
  const real = files.realpath(there)
  const node = files.lstat(real)
  // Root, too, may run only what is executable for somebody.
  if (node === undefined || (node.mode & 0o111) === 0 || !may(container.user, node, right.search)) {
    return "PermissionDenied"
  }
  return container.programAt(real) ?? "NotFound"
}

const inputOf = (options: ChildProcess.CommandOptions) => {
  const { stdin } = options
  if (stdin === undefined) return { stream: "pipe", endOnDone: true } as const
  if (typeof stdin === "string" || Stream.isStream(stdin)) return { stream: stdin, endOnDone: true } as const
  return { stream: stdin.stream, endOnDone: stdin.endOnDone ?? true } as const
}

/** Writes into a child's input; closed when the sink is done. What a child no longer reads is dropped. */
const sinkOf = (pipe: Pipe, endOnDone: boolean): Sink.Sink<void, Uint8Array, never, Errors> => {
  const writeChunk = (chunk: Uint8Array) =>
    Effect.sync(() => {
      try {
        pipe.write(chunk)
      } catch (error) {
        if (!(error instanceof BrokenPipe)) throw error
      }
    })
  const write = Sink.forEach(writeChunk)
  return endOnDone ? Sink.mapEffect(write, () => Effect.sync(() => pipe.closeWriter())) : write
}

const exitCodeOf = (child: Process, command: string): Effect.Effect<ChildProcessSpawner.ExitCode, Errors> =>
  Effect.callback((resume) =>
    child.onEnd(({ code, signal }) =>
      resume(
        code === undefined
          ? Effect.fail(
              systemError(
                "Unknown",
                "ChildProcess",
                "exitCode",
                command,
                new Error(`Process interrupted due to receipt of signal: '${signal}'`),
              ),
            )
          : Effect.succeed(ChildProcessSpawner.ExitCode(code)),
      ),
    ),
  )

/** Waits for a child and its group, at most so long. */
const awaitGroup = (container: Container, child: Process, limit: Duration.Duration) =>
  Effect.sleep("10 millis").pipe(
    Effect.repeat({
      while: () => child.ended === undefined || container.hasGroup(child.facts.group),
    }),
    Effect.timeoutOption(limit),
    Effect.when(Effect.sync(() => child.ended === undefined || container.hasGroup(child.facts.group))),
  )

const awaitEnd = (child: Process) => Effect.callback<void>((resume) => child.onEnd(() => resume(Effect.void)))

const terminate = Effect.fnUntraced(function* (
  container: Container,
  child: Process,
  options: ChildProcess.KillOptions | undefined,
) {
  container.signalGroup(child.facts.group, options?.killSignal ?? "SIGTERM")
  if (options?.forceKillAfter === undefined) {
    yield* awaitEnd(child)
    yield* awaitGroup(container, child, groupGrace)
  } else {
    yield* awaitGroup(container, child, Duration.fromInputUnsafe(options.forceKillAfter))
    container.signalGroup(child.facts.group, "SIGKILL")
    yield* awaitGroup(container, child, groupGrace)
  }
  yield* awaitEnd(child)
})

/** The spawner of a process of the container: its children lose their pipes when it ends, and live on. */
export const spawnerOf = (
  container: Container,
  parent: Lifetime,
): ChildProcessSpawner.ChildProcessSpawner["Service"] => {
  const start = (command: ChildProcess.StandardCommand) =>
    Effect.suspend(() => {
      const { options } = command
      const cwd = options.cwd ?? "/"
      if (!container.filesOf("/").exists(cwd)) {
        return Effect.fail(
          systemError("NotFound", "FileSystem", "access", cwd, new FileError("ENOENT", "access", cwd)),
        )
      }
      const env = environmentOf(options)
      const program: Program | "NotFound" | "PermissionDenied" = find(container, command.command, env.PATH)
      const said = CommandLine.display([command.command, ...command.args], { format: "posix" })
      if (typeof program === "string") {
        return Effect.fail(
          systemError(program, "ChildProcess", "spawn", said, new SpawnError(program, command.command)),
        )
      }
      const stdin = container.makePipe()
      const child = container.start(program, {
        argv: [command.command, ...command.args.map(plain)],
        env,
        cwd,
        stdin,
        ...(options.detached === false ? { session: 1, group: 1 } : {}),
      })
      // It is the parent that ends the group of a leader that has failed.
      child.onEnd(({ code }) => {
        const leads = options.detached !== false && parent.isAlive()
        if (leads && code !== undefined && code !== 0) container.signalGroup(child.facts.group, "SIGTERM")
      })
      // The kernel closes what a dead parent had open.
      const forget = parent.onEnd(() => {
        stdin.closeWriter()
        child.stdout.closeReader()
        child.stderr.closeReader()
      })
      child.onEnd(forget)
      return Effect.succeed({ child, said })
    })

  const spawn = Effect.fnUntraced(function* (
    command: ChildProcess.Command,
  ): Effect.fn.Return<ChildProcessSpawner.ChildProcessHandle, Errors, Scope.Scope> {
    if (command._tag !== "StandardCommand") return yield* Effect.die("pipelines are not simulated")
    const { options } = command
    const { child, said } = yield* Effect.acquireRelease(start(command), ({ child }) =>
      child.ended !== undefined && options.detached === false
        ? Effect.void
        : terminate(container, child, options),
    )
    const input = inputOf(options)
    const stdin = sinkOf(child.stdin, input.endOnDone)
    if (Stream.isStream(input.stream)) yield* Effect.forkScoped(Stream.run(input.stream, stdin))
    else if (input.stream !== "pipe") child.stdin.closeWriter()
    const { stderr, stdout } = child
    return ChildProcessSpawner.makeHandle({
      pid: ChildProcessSpawner.ProcessId(child.facts.pid),
      exitCode: exitCodeOf(child, said),
      isRunning: Effect.sync(() => child.ended === undefined),
      kill: (own) => terminate(container, child, own),
      stdin,
      stdout: stdout.stream,
      stderr: stderr.stream,
      all: Stream.merge(stdout.stream, stderr.stream),
      getInputFd: () => Sink.drain,
      getOutputFd: () => Stream.empty,
      unref: Effect.die("unref is not simulated"),
    })
  })
  return ChildProcessSpawner.make(spawn)
}
