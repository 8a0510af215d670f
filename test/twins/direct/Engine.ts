// The engine of ../pulumi on one stack, without its processes, its protocol and its files.
import { type Deferred, Duration, Effect, Random } from "effect"
import { projectName, stackName } from "../../../src/services/Pulumi/Layout.ts"
import type { RunnerEvent } from "../../../src/services/Pulumi/Protocol.ts"
import type { ApiClient } from "../kubernetes/ApiServer.ts"
import { makeLedger } from "../pulumi/Ledger.ts"
import { preview } from "../pulumi/Preview.ts"
import { RoundTrip } from "../pulumi/provider/Objects.ts"
import { keptPending, refresh } from "../pulumi/Refresh.ts"
import { makeCounter, type Run } from "../pulumi/Run.ts"
import { startProgram } from "../pulumi/sdk/Program.ts"
import type { StackConfig } from "../pulumi/sdk/Sdk.ts"
import { up } from "../pulumi/Up.ts"
import type { Volume } from "../pulumi/Volume.ts"
import type { StackState } from "./Stacks.ts"

export interface EngineOptions {
  readonly stack: StackState
  readonly volume: Volume
  /** The project's. */
  readonly directory: string
  readonly config: StackConfig
  readonly open: (kubeconfig: string, manager: string) => ApiClient
  readonly emit: (event: RunnerEvent) => void
  readonly cancelled: Deferred.Deferred<void>
}

/** Start and end of the CLI and of the provider's process, as ../pulumi/Cli.ts has them. */
const startTime = Duration.millis(300)
const leastEnd = 20
const mostEnd = 400

/** Of a refresh of one resource: the API's schema, the object, what it lacks. All are looked at side by side. */
const lookTime = Duration.millis(60)

const runOf = Effect.fnUntraced(function* (options: EngineOptions, clearPendingCreates: boolean) {
  const { stack, volume, cancelled, emit, open } = options
  const { resources, pending } = stack.deployment
  const before = { resources, pending: clearPendingCreates ? keptPending(pending, true) : pending }
  const ledger = yield* makeLedger(before, (deployment) =>
    Effect.sync(() => {
      stack.deployment = deployment
      return ""
    }),
  )
  const run: Run = {
    project: projectName,
    stack: stackName,
    ledger,
    emit,
    remote: (asked) => asked,
    cancelled,
    connect: (kubeconfig) => ({ kubeconfig, open, volume, patchForce: true, cancelled }),
  }
  return run
})

/** What would be done, and nothing is. */
export const enginePreview = Effect.fnUntraced(function* (options: EngineOptions) {
  yield* Effect.sleep(Duration.sum(startTime, lookTime))
  const run = yield* runOf(options, false)
  const { volume, directory, config, stack } = options
  const steps = yield* preview(
    stack.deployment,
    (ledger) => ({ ...run, ledger }),
    () => startProgram(volume, directory, projectName, config, true),
  ).pipe(Effect.provideService(RoundTrip, Duration.zero))
  yield* Effect.sleep(yield* endTime)
  return steps
})

const endTime = Effect.map(Random.nextIntBetween(leastEnd, mostEnd), Duration.millis)

/** Each resource as the target has it. One that failed has dropped nothing. */
export const engineRefresh = Effect.fnUntraced(function* (options: EngineOptions) {
  yield* Effect.sleep(Duration.sum(startTime, lookTime))
  const run = yield* runOf(options, true)
  yield* refresh(run, makeCounter()).pipe(Effect.provideService(RoundTrip, Duration.zero))
  yield* run.ledger.save
  yield* Effect.sleep(yield* endTime)
})

/** The program, once; its outputs and what was done. */
export const engineUp = Effect.fnUntraced(function* (options: EngineOptions) {
  yield* Effect.sleep(startTime)
  const run = yield* runOf(options, false)
  const counter = makeCounter()
  const { volume, directory, config } = options
  const outputs = yield* up(run, () => startProgram(volume, directory, projectName, config), counter).pipe(
    Effect.ensuring(Effect.ignore(run.ledger.save)),
  )
  yield* Effect.sleep(yield* endTime)
  return { outputs, changes: { ...counter.counts } }
})
