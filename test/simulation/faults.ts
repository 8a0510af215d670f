// One thing that goes wrong with one call of an operator: what there is, by the kind of call, and a world in which it happens.
import { assert } from "@effect/vitest"
import { Effect, type Scope } from "effect"
import type { EdgeFault } from "../twins/crash/Edge.ts"
import { deaths } from "../twins/crash/Point.ts"
import { Unanswered } from "../twins/helm/Session.ts"
import type { Faults, Trouble } from "../twins/kubernetes/Faults.ts"
import { statusOf } from "../twins/kubernetes/Http.ts"
import { Prng } from "../twins/simulation/Prng.ts"
import { runSimulation, type Simulation, until } from "../twins/simulation/Simulation.ts"
import { replayCommand } from "../twins/simulation/seeds.ts"
import type { Death, Operator } from "../twins/world/Operators.ts"
import type { WorldOptions } from "../twins/world/World.ts"
import { type CheckedWorld, makeChecked, writesNothing } from "./checked.ts"

const answers = [401, 403, 404, 409, 410, 422, 429, 500, 503] as const
const errors = ["ENOSPC", "EIO", "EACCES"] as const

/** By its name, in which a failed run is told. */
type Fault =
  | { readonly _tag: "Request"; readonly trouble: Trouble }
  | { readonly _tag: "Edge"; readonly fault: EdgeFault }
  /** To helm, whose request gets no answer, or this one. */
  | { readonly _tag: "Helm"; readonly refuse: () => never }
  /** The child is gone a moment after its start, as by the kernel when memory is short. */
  | { readonly _tag: "Killed" }
  /** The operator itself is gone before this call. */
  | { readonly _tag: "Dies"; readonly death: Death }
  /** The wall clock goes so many years forward or back, and comes right when the instance has settled. */
  | { readonly _tag: "Clock"; readonly years: number }
  /** The volume of the state directory is full, for three minutes. */
  | { readonly _tag: "Full" }

const raise = (error: unknown) => (): never => {
  throw error
}

const ofRequests: ReadonlyArray<readonly [string, Trouble]> = [
  ...answers.map(
    (code) => [String(code), { _tag: "Answer", code, retryAfter: code === 429 ? 7 : undefined }] as const,
  ),
  ["reset-before", { _tag: "Reset", when: "before" }],
  ["reset-after", { _tag: "Reset", when: "after" }],
  ["hang", { _tag: "Hang" }],
  ["late", { _tag: "Late", millis: 20_000 }],
  ["twice", { _tag: "Twice" }],
  ["half", { _tag: "Half" }],
]

const everywhere: ReadonlyArray<readonly [string, Fault]> = [
  ["clock+10y", { _tag: "Clock", years: 10 }],
  ["clock-10y", { _tag: "Clock", years: -10 }],
  ["disk-full", { _tag: "Full" }],
]
const late: readonly [string, Fault] = ["late", { _tag: "Edge", fault: { _tag: "Late", millis: 20_000 } }]

const isHttp = (what: string) => /^(GET|POST|PATCH|DELETE|inside:) /.test(what)
const isOutput = (what: string) => what.startsWith("output of ")

/** What can go wrong with this call, by name. */
export const faultsOf = (what: string): ReadonlyMap<string, Fault> => {
  if (isHttp(what))
    return new Map([
      ...ofRequests.map(([name, trouble]) => [name, { _tag: "Request", trouble }] as const),
      ...everywhere,
    ])
  if (what.startsWith("helm: "))
    return new Map<string, Fault>([
      ...answers.map((code) => [String(code), { _tag: "Helm", refuse: raise(statusOf(code)) }] as const),
      ["hang", { _tag: "Helm", refuse: raise(new Unanswered()) }],
      ...everywhere,
    ])
  if (isOutput(what) || /^(signal|kill|stat|environment|processes|boot) ?/.test(what))
    return new Map([late, ...everywhere])
  const fails = errors.map((code) => [code, { _tag: "Edge", fault: { _tag: "Fails", code } }] as const)
  return new Map<string, Fault>([
    ...fails,
    late,
    ...(what.startsWith("spawn ") ? [["killed", { _tag: "Killed" }] as const] : []),
    ...everywhere,
  ])
}

/** `355:503`: this goes wrong with the 355th call. */
export interface FaultPoint {
  readonly call: number
  readonly fault: string
}

export const formatFault = ({ call, fault }: FaultPoint) => `${call}:${fault}`

/** The `POINT` of the environment: the one to play again. */
export const replayedFault = (): FaultPoint | undefined => {
  const text = process.env.POINT
  if (text === undefined || text === "") return undefined
  const [number, fault = ""] = text.split(":")
  const call = Number(number)
  if (!Number.isSafeInteger(call) || call < 1 || fault === "")
    throw new Error(`not a point like 355:503: ${text}`)
  return { call, fault }
}

/** What users do, and when it has come to its end. */
export interface Errand {
  readonly name: string
  readonly world?: WorldOptions
  /** Before anything goes wrong, with the operator at work. */
  readonly prepare?: (world: CheckedWorld) => Effect.Effect<void, never, Simulation | Scope.Scope>
  readonly act: (world: CheckedWorld) => void
  /** What is done after that, when the operator has come so far. */
  readonly goOn?: (world: CheckedWorld) => Effect.Effect<void, never, Simulation | Scope.Scope>
  readonly isDone: (world: CheckedWorld) => boolean
  /** Operators, with a Lease between them when there are several. Default: 1. */
  readonly replicas?: number
  /** So long nothing is written at the most, where something is due later. */
  readonly quiet?: "1 hour"
}

/** Says what goes wrong with a call, if anything does; `since`: milliseconds of virtual time since the first. */
export type Plan = (number: number, what: string, since: number) => Fault | undefined

/** At most so long after the last fault: the longest pause between two tries, and the install after it. */
const bound = "60 minutes"
const year = 365 * 24 * 3_600_000

export interface Endured {
  /** The calls, from 1, in their order. */
  readonly calls: ReadonlyArray<string>
  readonly broken: ReadonlyArray<string>
  /** Milliseconds of virtual time from the last fault until all was well. */
  readonly recovered: number
}

const methods: Readonly<Record<string, string>> = {
  create: "POST",
  apply: "PATCH",
  patch: "PATCH",
  delete: "DELETE",
}

/** The very request that a call is about to make meets the trouble. */
const arm = (world: CheckedWorld, what: string, trouble: Trouble) => {
  const [verb = "", second = "", third = ""] = what.split(" ")
  if (verb !== "inside:") return world.host.faults.next(trouble, { method: verb, path: second })
  const faults: Faults | undefined = world.inner()?.faults
  const resource = second === "GET" ? third : (third.split(" ")[0] ?? "")
  return faults?.next(trouble, { method: methods[second] ?? "GET", path: resource })
}

/** Lets the plan's faults happen while the errand runs, then waits until all is well, and stays so. */
export const endure = (errand: Errand, seed: number, plan: Plan, quiet: "24 hours" | "1 hour"): Endured =>
  runSimulation(
    Effect.gen(function* () {
      const { replicas = 1 } = errand
      const calls: Array<string> = []
      let counting = false
      const operators: Array<Operator> = []
      let last = 0
      let began = 0
      let clock = 0
      let full: number | undefined
      const doomed: Array<{
        readonly at: number
        readonly pids: ReadonlySet<number>
        readonly by: Operator | undefined
      }> = []
      const made: { world?: CheckedWorld } = {}

      /** `by`: the operator that makes the call; the only one that has started to work, for what its helm asks. */
      const happens = (what: string, by = operators[0]): Fault | undefined => {
        const { world } = made
        if (!counting || world === undefined) return undefined
        calls.push(what)
        const fault = plan(calls.length, what, world.simulation.elapsed() - began)
        if (fault === undefined) return undefined
        last = world.simulation.elapsed()
        if (fault._tag === "Request") arm(world, what, fault.trouble)
        if (fault._tag === "Clock") {
          clock += fault.years
          world.simulation.shiftWallClock(fault.years * year)
        }
        if (fault._tag === "Full") {
          world.state.free(0)
          full = last + 180_000
        }
        if (fault._tag === "Killed") {
          const pids = new Set(by?.container()?.processes.map(({ facts }) => facts.pid))
          doomed.push({ at: last + 50, pids, by })
        }
        if (fault._tag === "Dies") by?.killNow(fault.death)
        return fault
      }
      const world = yield* makeChecked({
        ...errand.world,
        onHelm: (method, path) => {
          const fault = happens(`helm: ${method} ${path}`)
          if (fault?._tag === "Helm") fault.refuse()
        },
      })
      made.world = world
      /** What needs time to pass. */
      const hand = Effect.gen(function* () {
        for (;;) {
          yield* Effect.sleep("200 millis")
          const now = world.simulation.elapsed()
          if (full !== undefined && now >= full) {
            full = undefined
            world.state.free(undefined)
          }
          for (const { at, pids, by } of doomed.splice(0)) {
            if (now < at) doomed.push({ at, pids, by })
            const container = by?.container()
            for (const { facts } of container?.processes ?? [])
              if (now >= at && !pids.has(facts.pid)) container?.signal(facts.pid, "SIGKILL")
          }
          if (!counting && full === undefined && doomed.length === 0) return
        }
      })
      const start = Effect.gen(function* () {
        const faultOf = new Map<number, EdgeFault>()
        let own: Operator | undefined
        own = yield* world.operate({
          leaderElect: replicas > 1,
          onCall: ({ number, what }) => {
            const fault = happens(what, own)
            if (fault?._tag === "Edge") faultOf.set(number, fault.fault)
          },
          fault: ({ number }) => {
            const found = faultOf.get(number)
            faultOf.delete(number)
            return found
          },
        })
        operators.push(own)
      })
      const begin = Effect.gen(function* () {
        counting = true
        began = world.simulation.elapsed()
        yield* Effect.forkScoped(hand)
        errand.act(world)
      })
      // Without a past it is the operator's start that is disturbed, too.
      if (errand.prepare === undefined) yield* begin
      for (let index = 0; index < replicas; index += 1) yield* start
      if (errand.prepare !== undefined) yield* Effect.andThen(errand.prepare(world), begin)
      if (errand.goOn !== undefined) yield* errand.goOn(world)
      const phase = () => world.status()?.phase
      // With a clock that is years off, certificates are not valid: what is told of that is no less stable.
      const settled = () => errand.isDone(world) || (clock !== 0 && phase() === "Failed")
      yield* until(settled, bound, errand.name)
      if (clock !== 0) {
        yield* Effect.sleep("1 hour")
        world.simulation.shiftWallClock(-clock * year)
        clock = 0
        last = world.simulation.elapsed()
      }
      counting = false
      yield* until(
        () => full === undefined && errand.isDone(world),
        bound,
        `${errand.name}, after the last fault`,
      )
      const recovered = world.simulation.elapsed() - last
      // What was left behind is tidied up, and what was decided before is told.
      yield* Effect.sleep("30 minutes")
      assert.isTrue(errand.isDone(world), `${errand.name}, and it stays so`)
      yield* writesNothing(world, errand.quiet ?? quiet)
      assert.isTrue(errand.isDone(world), `${errand.name}, and it stays so`)
      return { calls, broken: world.invariants.broken(), recovered }
    }),
    { seed, stacks: false, maxSteps: 20_000_000 },
  ).result

/** One fault, at one call. */
export const at =
  ({ call, fault }: FaultPoint): Plan =>
  (number, what) => {
    if (number !== call) return undefined
    const found = faultsOf(what).get(fault)
    if (found === undefined) throw new Error(`${fault} cannot happen to ${what}`)
    return found
  }

/** So long a storm lasts at most. */
const stormMillis = 15 * 60_000
/** One in so many of its faults is the operator's death, and it has so many deaths at most. */
const oneInDies = 8
const deathsAStorm = 4

/** Of the first calls so many in a thousand go wrong, in any way. */
export const storm = (seed: number, perMille: number, calls: number): Plan => {
  const prng = new Prng(seed, 7)
  let died = 0
  return (number, what, since) => {
    if (number > calls || since > stormMillis || prng.below(1000) >= perMille) return undefined
    // What helm asks goes on by itself when the operator that has started it is gone.
    if (died < deathsAStorm && !what.startsWith("helm: ") && prng.below(oneInDies) === 0) {
      died += 1
      return { _tag: "Dies", death: deaths[prng.below(deaths.length)] ?? "container" }
    }
    // A clock that goes years there and back has a test of its own.
    const all = [...faultsOf(what)].filter(([, { _tag }]) => _tag !== "Clock")
    return all[prng.below(all.length)]?.[1]
  }
}

/** Plays one, and gives what was wrong with it, with the command that plays it again. */
export const failureAt = (
  errand: Errand,
  seed: number,
  calls: ReadonlyArray<string>,
  point: FaultPoint,
  quiet: "24 hours" | "1 hour",
): ReadonlyArray<string> => {
  const told = (found: ReadonlyArray<string>) => [
    [
      `${formatFault(point)} (${calls[point.call - 1] ?? "?"})`,
      `to replay it: ${replayCommand(seed, { POINT: formatFault(point) })}`,
      ...found,
    ].join("\n  "),
  ]
  try {
    const { broken } = endure(errand, seed, at(point), quiet)
    return broken.length === 0 ? [] : told(broken)
  } catch (error) {
    return told([error instanceof Error ? error.message : String(error)])
  }
}

/** All points there are. */
export const pointsOf = (calls: ReadonlyArray<string>): ReadonlyArray<FaultPoint> =>
  calls.flatMap((what, index) => [...faultsOf(what).keys()].map((fault) => ({ call: index + 1, fault })))
