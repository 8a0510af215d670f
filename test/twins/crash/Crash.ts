// Plays a workload undisturbed, then again with the operator killed at one of its calls, and compares what the two
// worlds have come to.
import { Effect, type Scope } from "effect"
import { canFork } from "../../support/fork.ts"
import { Unanswered } from "../helm/Session.ts"
import { runSimulation, type Simulation } from "../simulation/Simulation.ts"
import { editByHand, keepInvariants } from "../world/Invariants.ts"
import type { Lost } from "../world/OperatorPod.ts"
import type { Death, Operator, OtherRelease } from "../world/Operators.ts"
import { makeWorld, type World, type WorldOptions } from "../world/World.ts"
import { type Answer, Copies, type Told } from "./Copies.ts"
import type { CrashPlan, EdgeCall, Moment } from "./Edge.ts"
import { differences, type EndState } from "./EndState.ts"
import { type Again, type CrashPoint, formatPoint, spread } from "./Point.ts"

export interface Workload {
  readonly name: string
  readonly world?: WorldOptions
  /** The operator's release that prepares, where it is another one: its successor is the one that dies. */
  readonly before?: OtherRelease
  /** What has happened before, with the operator running and never killed. */
  readonly prepare?: (world: World) => Effect.Effect<void, never, Simulation | Scope.Scope>
  /** Returns when what it began has ended, and nothing will come after it but what is idle. */
  readonly run: (world: World) => Effect.Effect<void, never, Simulation | Scope.Scope>
  /** What may be otherwise after this way to die, beside what may be after any, and why that is right. */
  readonly tolerates?: ReadonlyArray<readonly [death: Death, difference: RegExp, why: string]>
}

/** A moment at which the operator can die, and how far it had come. */
export interface Reached extends Pick<CrashPoint, "call" | "moment"> {
  readonly writes: boolean
  readonly targetReady: boolean
  /** What comes after the end of the workload. */
  readonly aftermath: boolean
}

export interface Played {
  /** Calls of the first operator during the workload, and what its helm asks of the API server to change. */
  readonly calls: ReadonlyArray<EdgeCall>
  /**
   * Before each call, and after each that writes. Of those between which the world has stayed as it was (nothing was
   * written anywhere, no time passed) only the first: whichever of them the operator dies at, the same is left.
   */
  readonly moments: ReadonlyArray<Reached>
  readonly end: EndState
  /** What did not hold at some instant (../world/Invariants.ts), in words. */
  readonly broken: ReadonlyArray<string>
  /** Virtual milliseconds from the beginning of the workload to its end. */
  readonly took: number
  readonly died: boolean
  /** Calls of operators after its death, until the workload has ended. */
  readonly recovery: ReadonlyArray<EdgeCall>
  /** It has died in its recovery, too. */
  readonly diedAgain: boolean
  /** Of all that has happened, when it was asked for. */
  readonly digest: string | undefined
}

const isTargetReady = (world: World) =>
  world.status()?.conditions?.some(({ type, status }) => type === "TargetReady" && status === "True") === true

/** So long nothing may come after the end any more: what was left behind has been tidied up, or stays. */
const aftermath = "3 minutes"
/** And so long after a death in it. */
const toRecover = "6 minutes"

type Phase = "before" | "during" | "after"

/** Whether what is played gives its digest: by default when `make simulate` asks for it. */
export interface PlayOptions {
  readonly digested?: boolean
}

/** Counts the calls of the first operator during the workload, notes the moments, and says where it dies. */
class Script {
  readonly calls: Array<EdgeCall> = []
  readonly moments = new Map<string, Reached>()
  died = false
  readonly recovery: Array<EdgeCall> = []
  /** The call of the recovery after whose effect it dies. */
  private last: EdgeCall | undefined
  diedAgain = false
  phase: Phase = "before"
  world: World | undefined
  point: CrashPoint | undefined
  private readonly copies: Pick<Copies<unknown>, "at" | "inRecovery"> | undefined
  /** By the operator's own count of its calls. */
  private readonly counted = new Map<number, EdgeCall>()

  /** `copies`: of the world at its calls, each with a point of its own. */
  constructor(point: CrashPoint | undefined, copies?: Pick<Copies<unknown>, "at" | "inRecovery">) {
    this.point = point
    this.copies = copies
  }

  private reach(call: EdgeCall, moment: Moment): void {
    const { world } = this
    if (this.point !== undefined || this.copies !== undefined || world === undefined) return
    const left = world.moment()
    if (this.moments.has(left)) return
    this.moments.set(left, {
      call: call.number,
      moment,
      writes: call.writes,
      targetReady: isTargetReady(world),
      aftermath: this.phase === "after",
    })
  }

  private next(what: string, writes: boolean): EdgeCall | undefined {
    if (this.phase === "before" || this.died) return undefined
    const call = { number: this.calls.length + 1, what, writes }
    this.calls.push(call)
    return call
  }

  private dies(call: EdgeCall): Moment | undefined {
    this.point ??= this.copies?.at(call.number)
    const { point } = this
    if (call.number !== point?.call) return undefined
    this.died = true
    this.world?.simulation.trace.add(
      `dies ${point.moment} call ${call.number}: ${call.what} (${point.death})`,
    )
    return point.moment
  }

  /** Before a call of the recovery; gives of what the operator dies at this moment. */
  readonly recovers = (call: EdgeCall): Death | undefined => {
    if (!this.died || this.diedAgain || this.phase === "after") return undefined
    const number = this.recovery.length + 1
    this.recovery.push({ ...call, number })
    if (this.point?.again === undefined) this.point = this.copies?.inRecovery(number) ?? this.point
    const { again } = this.point ?? {}
    if (again === undefined || again.call !== number) return undefined
    if (again.moment === "before") return this.diesAgain(again, call)
    this.last = call
    return undefined
  }

  /** After the effect of a call of the recovery. */
  readonly recovered = (call: EdgeCall): Death | undefined => {
    const { again } = this.point ?? {}
    return again === undefined || this.last !== call || this.diedAgain
      ? undefined
      : this.diesAgain(again, call)
  }

  private diesAgain({ call, moment, death }: Again, { what }: EdgeCall): Death {
    this.diedAgain = true
    this.world?.simulation.trace.add(`dies again ${moment} call ${call}: ${what} (${death})`)
    return death
  }

  /** Before a call of the operator. */
  readonly plan: CrashPlan = ({ number, what, writes }) => {
    const call = this.next(what, writes)
    if (call === undefined) return undefined
    this.counted.set(number, call)
    this.reach(call, "before")
    return this.dies(call)
  }

  /** After its effect. */
  readonly answered = ({ number }: EdgeCall): void => {
    const call = this.counted.get(number)
    if (call?.writes === true) this.reach(call, "after")
  }

  /** Before a request of the operator's helm that changes something; true when the operator dies at it. */
  readonly asked = (method: string, path: string): boolean => {
    const call = method === "GET" ? undefined : this.next(`helm: ${method} ${path}`, true)
    if (call === undefined) return false
    this.reach(call, "before")
    return this.dies(call) !== undefined
  }
}

export const play = (
  workload: Workload,
  seed: number,
  point?: CrashPoint,
  options: PlayOptions = {},
): Played => perform(workload, seed, new Script(point), options)

const perform = (workload: Workload, seed: number, script: Script, options: PlayOptions): Played => {
  let operator: Operator | undefined
  const onHelm = (method: string, path: string) => {
    if (!script.asked(method, path) || script.point === undefined) return
    operator?.killNow(script.point.death)
    // It lives on when the operator alone has died.
    if (script.point.death !== "process") throw new Unanswered()
  }
  const program = Effect.gen(function* () {
    const made = yield* makeWorld({
      traced: false,
      tenantAuth: true,
      onHelm,
      powerCutTakes: (): Lost => script.point?.lost ?? "some",
      ...workload.world,
    })
    const invariants = keepInvariants(made)
    const world = { ...made, edit: editByHand(made, invariants) }
    script.world = world
    const { elapsed } = world.simulation
    if (workload.before !== undefined) {
      const earlier = yield* world.startOperator({ release: workload.before })
      if (workload.prepare !== undefined) yield* workload.prepare(world)
      yield* earlier.stop
    }
    operator = yield* world.startOperator({
      death: () => script.point?.death ?? "container",
      plan: script.plan,
      onAnswer: (call) => {
        script.answered(call)
        const death = script.recovered(call)
        if (death !== undefined) operator?.killNow(death)
      },
      onCall: (call) => {
        invariants.onCall(call, { processes: operator?.container()?.processes ?? [] })
        const death = script.recovers(call)
        if (death !== undefined) operator?.killNow(death)
      },
    })
    if (workload.prepare !== undefined && workload.before === undefined) yield* workload.prepare(world)
    script.phase = "during"
    const began = elapsed()
    yield* workload.run(world)
    const took = elapsed() - began
    script.phase = "after"
    const diedBefore = script.died
    yield* Effect.sleep(aftermath)
    // A machine that has lost its power takes a minute to come back, and the vCluster on it another.
    if (script.died && !diedBefore) yield* Effect.sleep(toRecover)
    const end = world.end()
    yield* operator.stop
    return { end, took, broken: invariants.broken() }
  })
  // Thousands are played, and what fails in one is told by its words.
  const { result, digest } = runSimulation(program, { seed, stacks: false, ...options })
  const { calls, moments, died, recovery, diedAgain } = script
  return { calls, moments: [...moments.values()], died, recovery, diedAgain, digest, ...result }
}

const wordsOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))

/** Plays one anew, from its beginning. */
const answerAnew = <A>(
  workload: Workload,
  seed: number,
  point: CrashPoint,
  judge: (played: Played, point: CrashPoint) => A,
  options: PlayOptions,
): Told<A> => {
  try {
    return { is: "found", found: judge(play(workload, seed, point, options), point) }
  } catch (error) {
    return { is: "thrown", message: wordsOf(error) }
  }
}

export interface EachOptions<A> extends PlayOptions {
  /** Told of each at once, by the text of the point. */
  readonly tell: (point: string, answer: Told<A>) => void
  /** Whether there is time for one more. Default: as much as it takes. */
  readonly isTime?: () => boolean
  /** So many are played from their beginning first, spread over all: a copy runs what its original has compiled. Default: 8. */
  readonly warm?: number
}

/**
 * Plays each of the points, and has it judged; what is said of it is JSON. In a process that can be copied from copies of one world,
 * which comes to the same as each from its beginning.
 */
export const playEach = <A>(
  workload: Workload,
  seed: number,
  points: ReadonlyArray<CrashPoint>,
  judge: (played: Played, point: CrashPoint) => A,
  { tell, isTime = () => true, warm = 8, ...options }: EachOptions<A>,
): void => {
  const answered = new Set<string>()
  const hear = (point: string, answer: Answer<A>): void => {
    if (answer.is === "lost") return
    answered.add(point)
    tell(point, answer)
  }
  const left = () => points.filter((point) => !answered.has(formatPoint(point)))
  const anew = (some: ReadonlyArray<CrashPoint>) => {
    for (const point of some)
      if (isTime()) hear(formatPoint(point), answerAnew(workload, seed, point, judge, options))
  }
  if (canFork) {
    anew(spread(points, warm))
    const copies = new Copies<A>(left(), hear, isTime)
    try {
      const played = perform(workload, seed, new Script(undefined, copies), options)
      copies.finish((point) => ({ is: "found", found: judge(played, point) }))
    } catch (error) {
      copies.finish(() => ({ is: "thrown", message: wordsOf(error) }))
    }
    const lost = isTime() ? left().length : 0
    if (lost > 0)
      console.error(`${workload.name}: ${lost} copies were lost, and are played from the beginning`)
  }
  anew(left())
}

export const describePoint = (
  calls: ReadonlyArray<EdgeCall>,
  { call, moment, death, lost, again }: CrashPoint,
): string => {
  const first = `${death}${lost === undefined ? "" : ` (${lost} is lost)`} dies ${moment} call ${call} (${calls[call - 1]?.what ?? "?"})`
  return again === undefined
    ? first
    : `${first}, and ${again.death} ${again.moment} call ${again.call} of the recovery`
}

/** Each difference that a death at this point has made, and what it has broken, in words. */
export const compare = (
  undisturbed: Pick<Played, "end">,
  disturbed: Played,
  point: CrashPoint,
): ReadonlyArray<string> => {
  const found = [...differences(undisturbed.end, disturbed.end), ...disturbed.broken]
  if (!disturbed.died) return [`it has not died: the call was not made again`, ...found]
  return point.again === undefined || disturbed.diedAgain
    ? found
    : [`it has not died again: the recovery has ${disturbed.recovery.length} calls`, ...found]
}
