// The processes of one operation: the CLI, which holds the lock and the state, and the provider's, which speaks to the
// target. Both are in the runner's session. The CLI ends with the runner; the provider lives on when the two are killed,
// and ends what it was doing (seen).
import { Clock, Deferred, Effect, Exit, Queue, Random } from "effect"
import type { PlannedStep } from "../../../src/schema/Plan.ts"
import type { RunnerEvent, RunRequest } from "../../../src/services/Pulumi/Protocol.ts"
import type { ApiClient } from "../kubernetes/ApiServer.ts"
import type { ProcessContext, Program as ProcessProgram } from "../processes/Program.ts"
import { lock, unlock, writeHistory } from "./Backend.ts"
import type { CliError } from "./Errors.ts"
import { checkpointWriter, makeLedger } from "./Ledger.ts"
import { preview } from "./Preview.ts"
import { ProviderError } from "./provider/Objects.ts"
import { keptPending, refresh } from "./Refresh.ts"
import { makeCounter, type Run } from "./Run.ts"
import type { Properties } from "./Snapshot.ts"
import { cliCall, openStack, type StackContext } from "./Stack.ts"
import { openConfig } from "./StackSettings.ts"
import { startProgram } from "./sdk/Program.ts"
import { up } from "./Up.ts"

export interface Target {
  /** What a process of this pod finds at the server of a kubeconfig. Its calls throw `ApiStatus`. */
  readonly open: (kubeconfig: string, manager: string) => ApiClient
}

export interface Machine extends Target {
  /** What the kernel says, and the CLI writes into its locks. */
  readonly hostname: string
}

export interface Result {
  readonly outputs: Properties
  readonly changes: Readonly<Record<string, number>>
  /** Of a preview. */
  readonly steps?: ReadonlyArray<PlannedStep>
}

type Work = Effect.Effect<void>

/** Does what it is asked, any number of things at a time, until it is told to end. */
const providerProcess =
  (work: Queue.Dequeue<Work>, end: Deferred.Deferred<void>): ProcessProgram =>
  () =>
    Effect.gen(function* () {
      yield* Effect.forkChild(
        Effect.forever(Effect.flatMap(Queue.take(work), (one) => Effect.forkChild(one))),
      )
      yield* Deferred.await(end)
      return 0
    })

export interface CliCall {
  readonly kind: "refresh" | "up" | "preview"
  readonly request: RunRequest
  readonly context: StackContext
  readonly machine: Machine
  readonly emit: (event: RunnerEvent) => void
  /** Completed when the runner's caller cancels; a signal to the CLI does the same. */
  readonly cancelled: Deferred.Deferred<void>
  readonly result: Deferred.Deferred<Result, CliError>
}

const operate = Effect.fnUntraced(function* (call: CliCall, remote: Run["remote"]) {
  const { request, context, cancelled, emit } = call
  const { project, stack } = request
  const { keeper, settings, deployment } = yield* openStack(context, stack)
  const config = openConfig(settings, keeper)
  const pending = call.kind === "refresh" ? keptPending(deployment.pending, true) : deployment.pending
  const ledger = yield* makeLedger({ ...deployment, pending }, checkpointWriter(context.backend, keeper))
  const startTime = yield* Clock.currentTimeMillis
  const counter = makeCounter()
  // A client finds its way anew at each request; reading the kubeconfig is the dear part.
  const clients = new Map<string, ApiClient>()
  const open: Target["open"] = (kubeconfig, manager) => {
    const key = `${manager}\n${kubeconfig}`
    const client = clients.get(key) ?? call.machine.open(kubeconfig, manager)
    clients.set(key, client)
    return client
  }
  const runOn = (on: Run["ledger"]): Run => ({
    project,
    stack,
    ledger: on,
    emit,
    remote,
    cancelled,
    connect: (kubeconfig) => ({
      kubeconfig,
      open,
      volume: context.backend.volume,
      patchForce: context.env.PULUMI_K8S_ENABLE_PATCH_FORCE === "true",
      cancelled,
    }),
  })
  const run = runOn(ledger)
  const start = () =>
    startProgram(context.backend.volume, context.directory, project, config, call.kind === "preview")
  if (call.kind === "preview") {
    const steps = yield* preview(deployment, runOn, start)
    emit({ type: "engine", event: "summary" })
    return { outputs: {}, changes: {}, steps } satisfies Result
  }
  const exit: Exit.Exit<Properties, CliError> = yield* Effect.exit(
    call.kind === "up" ? up(run, start, counter) : Effect.as(refresh(run, counter), {}),
  )
  // A refresh that failed has dropped nothing: its state is the one from before.
  const text = Exit.isFailure(exit) && call.kind === "refresh" ? "" : yield* ledger.save
  if (text !== "") {
    yield* writeHistory(
      context.backend,
      {
        kind: call.kind === "up" ? "update" : "refresh",
        startTime: Math.floor(startTime / 1000),
        endTime: Math.floor((yield* Clock.currentTimeMillis) / 1000),
        result: Exit.isSuccess(exit) ? "succeeded" : "failed",
        resourceChanges: counter.counts,
      },
      text,
    )
  }
  emit({ type: "engine", event: "summary" })
  return { outputs: yield* exit, changes: { ...counter.counts } } satisfies Result
})

/** Has the provider's process do something; over when that process is gone. */
const makeRemote =
  (process: ProcessContext, work: Queue.Enqueue<Work>, provider: number): Run["remote"] =>
  (asked) =>
    Effect.gen(function* () {
      const answer = yield* Deferred.make<Effect.Success<typeof asked>, ProviderError>()
      yield* Queue.offer(work, Effect.asVoid(Deferred.completeWith(answer, asked)))
      const gone = Effect.andThen(
        process.ended(provider),
        Effect.fail(
          new ProviderError({
            message: "rpc error: code = Unavailable desc = error reading from server: EOF",
          }),
        ),
      )
      return yield* Effect.raceFirst(Deferred.await(answer), gone)
    })

/** `pulumi refresh` or `pulumi up`, as a process. `runner` is the process that hosts the program. */
export const cliProcess =
  (call: CliCall, runner: number): ProcessProgram =>
  (process) =>
    Effect.gen(function* () {
      const { backend, env } = call.context
      const work = yield* Queue.unbounded<Work>()
      const end = yield* Deferred.make<void>()
      // Without its host it dies at once, and tidies nothing up (seen).
      yield* process
        .ended(runner)
        .pipe(Effect.andThen(Effect.sync(() => process.signal(process.pid, "SIGKILL"))), Effect.forkChild)
      yield* process.signalled.pipe(
        Effect.andThen(Deferred.succeed(call.cancelled, undefined)),
        Effect.forkChild,
      )
      const exit = yield* Effect.exit(
        Effect.gen(function* () {
          yield* cliCall
          const holder = { pid: process.pid, username: env.USER ?? "root", hostname: call.machine.hostname }
          // A preview takes none (read in 3.274.1).
          const file = call.kind === "preview" ? undefined : yield* lock(backend, holder)
          const provider = process.fork("pulumi-resource-kubernetes", providerProcess(work, end), {
            ownGroup: true,
          })
          return yield* operate(call, makeRemote(process, work, provider)).pipe(
            Effect.ensuring(file === undefined ? Effect.void : Effect.ignore(unlock(backend, file))),
          )
        }),
      )
      // The end of the engine; what the provider has not ended by itself ends with it. How far Helm comes by then with
      // a second rollback is chance: a real one was left pending in two of four runs.
      yield* Effect.sleep(yield* Random.nextIntBetween(20, 400))
      yield* Deferred.succeed(end, undefined)
      yield* Deferred.done(call.result, exit)
      return Exit.isSuccess(exit) ? 0 : 255
    })
