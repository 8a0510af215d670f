// `up`: runs the program once, makes what it registers as soon as what it depends on is made, and deletes what it no
// longer registers, but only when the program has returned (seen: a program that throws deletes nothing).
import { Deferred, Effect, Exit, Option, type Scope } from "effect"
import { deleteRest } from "./Deletions.ts"
import type { CliError } from "./Errors.ts"
import { type Counter, failedUpdate, type Run, stackType, stackUrn, tell, tellError, urnOf } from "./Run.ts"
import type { Properties, ResourceState } from "./Snapshot.ts"
import { makeStep } from "./Step.ts"
import { dependenciesOf, type Goal, isEndless, resolve, unwrapped } from "./sdk/Output.ts"
import type { Halt, Program } from "./sdk/Program.ts"

interface Started {
  readonly program: Program
  readonly first: Halt
}

/** Loads and starts the program; throws what it throws. */
export type Start = () => Started

const programFailed = (run: Run, error: unknown) => {
  const text = error instanceof Error ? (error.stack?.split("\n    at ")[0] ?? error.message) : String(error)
  // By the program's own process first, then by the engine's client, which has it as the end of the program.
  tellError(run, `Unhandled exception: ${text}`)
  tellError(run, error instanceof Error ? error.message : String(error))
  return failedUpdate
}

const waitForAll = (results: Iterable<Deferred.Deferred<ResourceState>>) =>
  Effect.forEach(results, (one) => Deferred.await(one), { discard: true })

export const up = Effect.fnUntraced(function* (
  run: Run,
  start: Start,
  counter: Counter,
): Effect.fn.Return<Properties, CliError, Scope.Scope> {
  const scope = yield* Effect.scope
  const results = new Map<Goal, Deferred.Deferred<ResourceState>>()
  /** Steps under way: the engine never leaves before they have ended. */
  const steps = new Set<Deferred.Deferred<void>>()
  /** Something failed or the engine was told to stop: nothing more is begun. */
  const stopped = yield* Deferred.make<void>()
  let failed = false
  yield* Deferred.await(run.cancelled).pipe(
    Effect.andThen(Deferred.succeed(stopped, undefined)),
    Effect.forkIn(scope),
  )
  const step = makeStep(run, counter, (goal) => results.get(goal))

  const stack = run.ledger.base.find(({ type }) => type === stackType)
  const stackState: ResourceState = {
    ...stack,
    urn: stackUrn(run),
    custom: false,
    type: stackType,
  }
  tell(run, stackState, "started", stack === undefined ? "create" : "same")
  counter.add(stack === undefined ? "create" : "same")
  if (stack === undefined) yield* run.ledger.end(undefined, undefined, stackState)
  else run.ledger.note(stack, stackState)

  const follow = Effect.fnUntraced(function* (goal: Goal, result: Deferred.Deferred<ResourceState>) {
    yield* waitForAll([...goal.dependencies].flatMap((one) => results.get(one) ?? []))
    if (yield* Deferred.isDone(stopped)) return
    const over = yield* Deferred.make<void>()
    steps.add(over)
    const exit = yield* Effect.exit(step(goal))
    steps.delete(over)
    if (Exit.isSuccess(exit)) yield* Deferred.succeed(result, exit.value)
    else {
      failed = true
      yield* Deferred.succeed(stopped, undefined)
    }
    yield* Deferred.succeed(over, undefined)
  })
  const register = Effect.fnUntraced(function* (goals: ReadonlyArray<Goal>) {
    const fresh = goals.filter((goal) => !results.has(goal))
    for (const goal of fresh) results.set(goal, yield* Deferred.make<ResourceState>())
    for (const goal of fresh) {
      const result = results.get(goal)
      if (result !== undefined) yield* Effect.forkIn(follow(goal, result), scope)
    }
  })
  const awaited = (value: unknown) =>
    isEndless(value)
      ? Effect.never
      : waitForAll([...dependenciesOf(value)].flatMap((goal) => results.get(goal) ?? []))

  /** The program to its end; dies never, fails with what it threw. */
  const drive = Effect.gen(function* () {
    const attempt = <A>(run: () => A) => Effect.try({ try: run, catch: (thrown) => ({ thrown }) })
    const { program, first } = yield* attempt(start)
    let halt = first
    yield* register(program.goals)
    while (halt._tag === "Waits") {
      const { value } = halt
      yield* awaited(value)
      const resolved = yield* Effect.result(attempt(() => unwrapped(resolve(value))))
      halt = yield* attempt(() =>
        resolved._tag === "Success" ? program.next(resolved.success) : program.fail(resolved.failure.thrown),
      )
      yield* register(program.goals)
    }
    const { outputs } = halt
    yield* waitForAll(results.values())
    yield* awaited(outputs)
    const resolved = yield* attempt(() => resolve(outputs))
    return typeof resolved === "object" && resolved !== null ? { ...resolved } : {}
  })

  const ended = yield* Effect.raceFirst(
    Effect.asSome(Effect.result(drive)),
    Effect.as(Deferred.await(stopped), Option.none()),
  )
  yield* Deferred.succeed(stopped, undefined)
  yield* Effect.forEach([...steps], (over) => Deferred.await(over), { discard: true })
  if (Option.isNone(ended)) {
    // What failed counts for more than that it was cancelled (read in 3.274.1).
    tellError(run, failed ? "update failed" : "update canceled")
    return yield* failedUpdate
  }
  if (ended.value._tag === "Failure") return yield* programFailed(run, ended.value.failure.thrown)
  const outputs: Properties = ended.value.success

  yield* deleteRest(
    run,
    counter,
    new Set([...results.keys()].map(({ type, name }) => urnOf(run, type, name))),
  )
  run.ledger.note(stackState, { ...stackState, outputs })
  tell(run, stackState, "done", "same")
  return outputs
}, Effect.scoped)
