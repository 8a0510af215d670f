// Runs a program in virtual time, from its start to its end in one synchronous call. The same seed is the same run.
import { Cause, Context, Duration, Effect, Exit, Random, type Scope } from "effect"
import { areWorldsAsked, noteWorld } from "../../support/figures.ts"
import { Kernel } from "./Kernel.ts"
import { Lifetime } from "./Lifetime.ts"
import { Prng } from "./Prng.ts"
import { nameOfTest, replayCommand } from "./seeds.ts"
import { Trace } from "./Trace.ts"

/** What a simulated program can ask of the simulation. */
export class Simulation extends Context.Service<
  Simulation,
  {
    readonly seed: number
    readonly trace: Trace
    /** Whole milliseconds since the epoch, and since the beginning: for what is no effect. */
    readonly now: () => number
    readonly elapsed: () => number
    /** So many steps the world has made: for figures. */
    readonly steps: () => number
    /** Sets the wall clock forward or back. */
    readonly shiftWallClock: (by: Duration.Input) => void
    /** Returns when nothing can run any more at this moment. */
    readonly atRest: Effect.Effect<void>
    /** The same, but only after something has run: at this moment, or at the next one. */
    readonly nextRest: Effect.Effect<void>
    /** Something that can be killed. */
    readonly lifetime: () => Lifetime
  }
>()("test/Simulation") {}

export interface SimulateOptions {
  readonly seed: number
  /** What the wall clock says at the beginning. Default: 2026-01-01T00:00:00Z. */
  readonly start?: Date
  /** So many steps without time moving are a livelock. Default: 1,000,000. */
  readonly maxSteps?: number
  /** Whether errors and spans know where they come from, which takes a tenth of the time. Default: true. */
  readonly stacks?: boolean
  /** Whether the run gives a digest of all that has happened in it. Default: when `make simulate` asks for it. */
  readonly digested?: boolean
}

const defaultStart = new Date("2026-01-01T00:00:00Z")

/** So many of the last lines of the trace stand in a failure. */
const shownLines = 40

export class SimulationFailure extends Error {
  override readonly name = "SimulationFailure"
}

const explain = (error: Error, kernel: Kernel, trace: Trace): Error => {
  const tail = trace.lines.slice(-shownLines)
  const { seed } = kernel.options
  const message = [
    error.message,
    "",
    `seed ${seed}; to replay it: ${replayCommand(seed)}`,
    ...(tail.length === 0 ? [] : [`the last ${tail.length} of ${trace.lines.length} lines:`, ...tail]),
  ].join("\n")
  // Defined, not assigned: the message of a typed error may be computed.
  return Object.defineProperty(error, "message", { value: message })
}

const asError = (thrown: unknown): Error =>
  thrown instanceof Error ? thrown : new SimulationFailure(String(thrown))

export const stuck = (how: "deadlock" | "livelock", kernel: Kernel): Error => {
  const when = `at ${new Date(kernel.now).toISOString()}`
  return new SimulationFailure(
    how === "deadlock"
      ? `deadlock ${when}: nothing can run, nobody sleeps, and the program has not ended. Usually something awaits a real promise, timer or socket (Effect.promise, Effect.tryPromise): none of them exists in here.`
      : `livelock ${when}: ${kernel.options.maxSteps} steps without time moving. Busy: ${kernel.busiest().join(", ")}`,
  )
}

const randomOf = (seed: number) => {
  const prng = new Prng(seed, 2)
  const span = Number.MAX_SAFE_INTEGER - Number.MIN_SAFE_INTEGER + 1
  return Random.Random.of({
    nextDoubleUnsafe: () => prng.double(),
    nextIntUnsafe: () => Math.floor(prng.double() * span) + Number.MIN_SAFE_INTEGER,
  })
}

const servicesOf = (kernel: Kernel, trace: Trace) => {
  const rest = (progress: boolean) =>
    Effect.callback<void>((resume) => kernel.onRest(() => resume(Effect.void), progress))
  return Context.make(Simulation, {
    seed: kernel.options.seed,
    trace,
    now: () => kernel.now,
    elapsed: () => kernel.elapsed,
    steps: () => kernel.stepsMade,
    shiftWallClock: (by) => kernel.shiftWallClock(Duration.toMillis(Duration.fromInputUnsafe(by))),
    atRest: rest(false),
    nextRest: rest(true),
    lifetime: () => new Lifetime(kernel),
  }).pipe(Context.add(Random.Random, randomOf(kernel.options.seed)))
}

/** A world in which nothing has run yet, and what its program can ask of it. */
export const prepare = (options: SimulateOptions) => {
  const kernel = new Kernel({
    seed: options.seed,
    start: (options.start ?? defaultStart).getTime(),
    maxSteps: options.maxSteps ?? 1_000_000,
  })
  const trace = new Trace(kernel, options.digested)
  const begin = <A, E>(effect: Effect.Effect<A, E, Simulation | Scope.Scope>) =>
    new Lifetime(kernel)
      .run(Effect.scoped(effect))
      .pipe(Effect.provideContext(servicesOf(kernel, trace)), Effect.runFork)
  return { kernel, trace, begin }
}

/** What a run that has ended looks like from outside. */
export interface SimulationRun<A> {
  readonly result: A
  readonly trace: Trace
  /** Virtual time that has passed, in milliseconds. */
  readonly elapsed: number
  readonly steps: number
  /** Of all that has happened, when it was asked for. */
  readonly digest: string | undefined
}

/** The same as `simulate`, with what is known of the run. */
export const runSimulation = <A, E>(
  effect: Effect.Effect<A, E, Simulation | Scope.Scope>,
  options: SimulateOptions,
): SimulationRun<A> => {
  const { kernel, trace, begin } = prepare({ ...options, digested: options.digested ?? areWorldsAsked() })
  let exit: Exit.Exit<A, E> | undefined
  let digest: string | undefined
  const { stackTraceLimit } = Error
  if (options.stacks === false) Error.stackTraceLimit = 0
  try {
    begin(effect).addObserver((ended) => {
      exit = ended
    })
    const how = kernel.run(() => exit !== undefined)
    if (how !== "ended") throw stuck(how, kernel)
  } catch (thrown) {
    throw explain(asError(thrown), kernel, trace)
  } finally {
    Error.stackTraceLimit = stackTraceLimit
    trace.digest(() => `${kernel.stepsMade} steps`)
    digest = trace.digested()
    if (digest !== undefined) noteWorld(nameOfTest(), digest)
  }
  if (exit === undefined) throw stuck("deadlock", kernel)
  if (Exit.isFailure(exit)) throw explain(asError(Cause.squash(exit.cause)), kernel, trace)
  return { result: exit.value, trace, elapsed: kernel.elapsed, steps: kernel.stepsMade, digest }
}

/** Runs the program to its end and gives its result. Throws what it failed with, and how to replay it. */
export const simulate = <A, E>(
  effect: Effect.Effect<A, E, Simulation | Scope.Scope>,
  options: SimulateOptions,
): A => runSimulation(effect, options).result

/**
 * Waits until the condition holds, looking whenever the world has come to rest. Dies when it does not hold within
 * that time.
 */
export const until = <E = never, R = never>(
  condition: (() => boolean) | Effect.Effect<boolean, E, R>,
  within: Duration.Input,
  what: string,
): Effect.Effect<void, E, R | Simulation> =>
  Effect.gen(function* () {
    const { atRest, elapsed, nextRest } = yield* Simulation
    const check = Effect.isEffect(condition) ? condition : Effect.sync(condition)
    const limit = Duration.fromInputUnsafe(within)
    const deadline = elapsed() + Duration.toMillis(limit)
    // Nothing but this may be asleep: time has to reach the deadline all the same.
    yield* Effect.forkScoped(Effect.sleep(limit), { startImmediately: true })
    yield* atRest
    while (!(yield* check)) {
      if (elapsed() >= deadline) {
        return yield* Effect.die(
          new SimulationFailure(`not within ${Duration.format(limit)} of virtual time: ${what}`),
        )
      }
      yield* nextRest
    }
  }).pipe(Effect.scoped)
