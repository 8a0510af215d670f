// A container, or a machine without one: a table of processes, the programs that can be run in it, and its files. A
// container that is started again is another one, whose pids start small again.
import { Cause, type Context, Effect, Exit, Queue, Stream } from "effect"
import { Processes, type ProcessStat } from "../../../src/services/Process/Processes.ts"
import type { Files, FilesTwin } from "../files/Files.ts"
import type { User } from "../files/Paths.ts"
import { Simulation } from "../simulation/Simulation.ts"
import { BrokenPipe, Pipe } from "./Pipe.ts"
import { Process, type ProcessFacts } from "./Process.ts"
import type { ForkOptions, ProcessContext, Program } from "./Program.ts"

export interface ContainerOptions {
  /** For the trace. */
  readonly name: string
  readonly files: FilesTwin
  /** Whose processes these are. Default: 1000. */
  readonly uid?: number
  /** How long the machine has been up when the simulation begins, in milliseconds. Default: an hour. */
  readonly upMillis?: number
}

/** tini is 1 and the operator 7; node's threads take numbers, too. */
const firstPid = 18
const tickMillis = 10

export interface StartOptions {
  readonly argv: ReadonlyArray<string>
  readonly env: Readonly<Record<string, string>>
  readonly cwd: string
  readonly session?: number
  readonly group?: number
  readonly parent?: number
  readonly stdin?: Pipe
  readonly stdout?: Pipe
  readonly stderr?: Pipe
}

export class Container {
  readonly name: string
  readonly files: FilesTwin
  readonly user: User
  private readonly simulation: Simulation["Service"]
  private readonly context: Context.Context<never>
  private readonly upMillis: number
  private readonly programs = new Map<string, Program>()
  private readonly table = new Map<number, Process>()
  private nextPid = firstPid
  private alive = true

  constructor(options: ContainerOptions, simulation: Simulation["Service"], context: Context.Context<never>) {
    this.name = options.name
    this.files = options.files
    const uid = options.uid ?? 1000
    this.user = { uid, gid: uid, umask: 0o022 }
    this.upMillis = options.upMillis ?? 3_600_000
    this.simulation = simulation
    this.context = context
  }

  /** Puts an executable file there, if none is, that runs the program. */
  install(path: string, program: Program): void {
    const { files } = this.files
    if (!files.exists(path)) {
      files.mkdirs(path.slice(0, path.lastIndexOf("/")) || "/")
      files.writeFile(path, "", 0o755)
    }
    this.programs.set(files.realpath(path), program)
  }

  /** The program behind a path without links. */
  programAt(path: string): Program | undefined {
    return this.programs.get(path)
  }

  /** The living. */
  get processes(): ReadonlyArray<Process> {
    return [...this.table.values()]
  }

  get isAlive(): boolean {
    return this.alive
  }

  /** All of its processes end at this moment, and no other ever starts. */
  kill(): void {
    if (!this.alive) return
    this.alive = false
    this.simulation.trace.add(`container killed: ${this.name}`)
    for (const process of this.processes) process.life.end()
    for (const process of this.processes) process.end({ code: undefined, signal: "SIGKILL" })
  }

  signal(pid: number, signal: NodeJS.Signals): void {
    this.table.get(pid)?.signal(signal)
  }

  signalGroup(group: number, signal: NodeJS.Signals): void {
    for (const process of this.processes) if (process.facts.group === group) process.signal(signal)
  }

  hasGroup(group: number): boolean {
    return this.processes.some((process) => process.facts.group === group)
  }

  /** When the machine started, as the wall clock has it now. */
  bootMillis(): number {
    const up = this.upMillis + this.simulation.elapsed()
    return Math.floor((this.simulation.now() - up) / 1000) * 1000
  }

  makePipe(): Pipe {
    // Not `runSync`, whose scheduler is a real one: a queue wakes its readers through the scheduler it was made under.
    const made = Effect.runForkWith(this.context)(Queue.unbounded<Uint8Array, Cause.Done>()).pollUnsafe()
    if (made === undefined || Exit.isFailure(made)) throw new Error("a queue is made at once")
    return new Pipe(made.value)
  }

  /** Starts a program as a process of the container. */
  start(program: Program, options: StartOptions): Process {
    const pid = this.nextPid++
    const facts: ProcessFacts = {
      pid,
      session: options.session ?? pid,
      group: options.group ?? pid,
      parent: options.parent ?? 1,
      startTime: String(Math.floor((this.upMillis + this.simulation.elapsed()) / tickMillis)),
      argv: options.argv,
      env: options.env,
      cwd: options.cwd,
    }
    const pipes = {
      stdin: options.stdin ?? this.closedPipe(),
      stdout: options.stdout ?? this.makePipe(),
      stderr: options.stderr ?? this.makePipe(),
    }
    const process = new Process(facts, this.simulation.lifetime(), pipes)
    const label = `${this.name}/${pid}`
    this.table.set(pid, process)
    this.simulation.trace.add(`process ${label} started: ${facts.argv.join(" ")}`)
    process.onEnd(({ code, signal }) => {
      this.table.delete(pid)
      this.simulation.trace.add(`process ${label} ended: ${signal ?? `code ${code}`}`)
    })
    if (this.alive) this.run(process, program)
    else process.end({ code: undefined, signal: "SIGKILL" })
    return process
  }

  /** `/dev/null`. */
  private closedPipe(): Pipe {
    const pipe = this.makePipe()
    pipe.closeWriter()
    return pipe
  }

  private run(process: Process, program: Program): void {
    const exit = (ended: Exit.Exit<number, unknown>) => {
      if (Exit.isFailure(ended)) this.say(process, ended.cause)
      process.end({ code: Exit.isSuccess(ended) ? ended.value : 1, signal: undefined })
    }
    const body = Effect.yieldNow.pipe(
      Effect.andThen(Effect.suspend(() => program(this.contextOf(process)))),
      Effect.exit,
      Effect.map(exit),
    )
    Effect.runForkWith(this.context)(process.life.run(body))
  }

  /** What a program that fails leaves on stderr. A defect is in the trace, too: the program itself may be wrong. */
  private say(process: Process, cause: Cause.Cause<unknown>): void {
    const error = Cause.squash(cause)
    if (error instanceof BrokenPipe) return
    const words = error instanceof Error ? error.message : String(error)
    this.simulation.trace.add(`process ${this.name}/${process.facts.pid} failed: ${words}`)
    try {
      process.stderr.write(new TextEncoder().encode(`${words}\n`))
    } catch (broken) {
      if (!(broken instanceof BrokenPipe)) throw broken
    }
  }

  private contextOf(process: Process): ProcessContext {
    const { argv, cwd, env, pid, session } = process.facts
    const text = process.stdin.stream.pipe(Stream.decodeText())
    const encoder = new TextEncoder()
    return {
      argv,
      env,
      cwd,
      pid,
      session,
      stdin: Stream.splitLines(text),
      readStdin: Stream.mkString(text),
      stdout: (words) => process.stdout.write(encoder.encode(words)),
      stderr: (words) => process.stderr.write(encoder.encode(words)),
      signalled: Effect.callback<NodeJS.Signals>((resume) => {
        const forget = process.awaitSignal((signal) => resume(Effect.succeed(signal)))
        return Effect.sync(forget)
      }),
      ignoreSignals: () => process.ignoreSignals(),
      fork: (name, program, options) => this.fork(process, name, program, options).facts.pid,
      signal: (other, signal) => this.signal(other, signal),
      ended: (other) =>
        Effect.callback<void>((resume) => {
          const found = this.table.get(other)
          if (found === undefined) resume(Effect.void)
          else found.onEnd(() => resume(Effect.void))
        }),
      files: this.filesOf(cwd),
    }
  }

  filesOf(folder: string): Files {
    return this.files.files.as(this.user, folder)
  }

  private fork(parent: Process, name: string, program: Program, options: ForkOptions = {}): Process {
    const { cwd, env, group, pid, session } = parent.facts
    const inherit = options.inheritOutput === true
    if (inherit) {
      parent.stdout.addWriter()
      parent.stderr.addWriter()
    }
    return this.start(program, {
      argv: [name],
      env,
      cwd,
      session,
      parent: pid,
      ...(options.ownGroup === true ? {} : { group }),
      ...(inherit ? { stdout: parent.stdout, stderr: parent.stderr } : {}),
    })
  }

  /** The operator's `Processes`: what `/proc` shows in here. */
  readonly processesService = (): Processes["Service"] => {
    const statOf = ({ facts }: Process): ProcessStat => ({
      pid: facts.pid,
      state: "S",
      session: facts.session,
      startTime: facts.startTime,
      residentBytes: 0,
    })
    const find = (pid: number) => this.table.get(pid)
    return Processes.of({
      stat: (pid) =>
        Effect.sync(() => {
          const process = find(pid)
          return process === undefined ? undefined : statOf(process)
        }),
      all: Effect.sync(() => this.processes.map(statOf)),
      environment: (pid) =>
        Effect.sync(() =>
          Object.entries(find(pid)?.facts.env ?? {}).map(([name, value]) => `${name}=${value}`),
        ),
      bootTimeMillis: Effect.sync(() => this.bootMillis()),
      signal: (pid, signal) => Effect.sync(() => this.signal(pid, signal)),
    })
  }
}

/** Another container, or the same one started again. */
export const makeContainer = Effect.fnUntraced(function* (options: ContainerOptions) {
  const simulation = yield* Simulation
  return new Container(options, simulation, yield* Effect.context<never>())
})
