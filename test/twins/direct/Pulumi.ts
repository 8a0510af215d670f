// The operator's `Pulumi` service, straight on the engine twin: packages are fetched as in the live layer, once; an
// operation is the engine's refresh and up on a state in memory. Helm releases inside are looked after by the operator's
// own code. Not here: passphrases, locks, the backend's files, runners; for these is the world at the operator's edge.
import { createHash } from "node:crypto"
import { Clock, Context, Deferred, Effect, Fiber, Layer, Option, Redacted } from "effect"
import { ChildProcessSpawner } from "effect/process"
import { formatKey, type InstanceKey } from "../../../src/schema/InstanceKey.ts"
import { Kubernetes } from "../../../src/services/Kubernetes/Kubernetes.ts"
import { Processes } from "../../../src/services/Process/Processes.ts"
import { deedOf, makeFollowed, wordsOf } from "../../../src/services/Pulumi/Follow.ts"
import {
  type Done,
  driftOfReleases,
  makeWayForUpgrades,
  restoreReleases,
} from "../../../src/services/Pulumi/InnerReleases.ts"
import { failureMessage } from "../../../src/services/Pulumi/Messages.ts"
import type { PulumiOptions } from "../../../src/services/Pulumi/Options.ts"
import type { RunnerEvent } from "../../../src/services/Pulumi/Protocol.ts"
import {
  type OperationOutputs,
  type OperationProgress,
  type OperationRequest,
  type PreviewRequest,
  Pulumi,
  PulumiError,
} from "../../../src/services/Pulumi/Pulumi.ts"
import { PulumiLive } from "../../../src/services/Pulumi/PulumiLive.ts"
import { kubeconfigSecrets, redaction } from "../../../src/services/Pulumi/Redact.ts"
import { timeoutMessage } from "../../../src/services/Pulumi/Run.ts"
import { StateStore } from "../../../src/services/StateStore/StateStore.ts"
import type { Files } from "../files/Files.ts"
import type { ApiClient, ApiServer } from "../kubernetes/ApiServer.ts"
import { CliError } from "../pulumi/Errors.ts"
import { commandFailed, readOutputs } from "../pulumi/Runner.ts"
import { type EngineOptions, enginePreview, engineRefresh, engineUp } from "./Engine.ts"
import { configOf, kubeconfigFile, writeProject } from "./Project.ts"
import { releasesIn } from "./Releases.ts"
import { findStack, makeStack } from "./Stacks.ts"

export interface Machine {
  /** The operator's container, as its user sees it. */
  readonly files: Files
  /** From the operator's pod, as ../kubernetes/Network.ts has it. */
  readonly open: (kubeconfig: string, manager: string) => ApiClient
  readonly server: (kubeconfig: string) => ApiServer | undefined
}

/** Node, the SDK, and the CLI's calls before an operation, as ../pulumi/Stack.ts has them. */
const startTime = "1600 millis"
/** How long a cancelled engine may take to end by itself. */
const grace = "8 seconds"

/** Runs it; when interrupted, it is told so, and ends by itself. */
const cancellable = <A, E>(work: Effect.Effect<A, E>, cancelled: Deferred.Deferred<void>) =>
  Effect.gen(function* () {
    const fiber = yield* Effect.forkIn(work, yield* Effect.scope)
    const stop = Effect.andThen(Deferred.succeed(cancelled, undefined), Fiber.await(fiber))
    return yield* Effect.onInterrupt(Fiber.join(fiber), () => Effect.timeoutOption(stop, grace))
  }).pipe(Effect.scoped)

/** A client finds its way anew at each request, and belongs to a kubeconfig and a field manager. */
const keepClients = (open: Machine["open"]): Machine["open"] => {
  const clients = new Map<string, Map<string, ApiClient>>()
  return (kubeconfig, manager) => {
    const own = clients.get(kubeconfig) ?? new Map<string, ApiClient>()
    clients.set(kubeconfig, own)
    const client = own.get(manager) ?? open(kubeconfig, manager)
    own.set(manager, client)
    return client
  }
}

const make = Effect.fnUntraced(function* (options: PulumiOptions, machine: Machine) {
  const live = yield* Pulumi
  const store = yield* StateStore
  const kubernetes = yield* Kubernetes
  // Of the helm that sets a release right.
  const processes = Context.make(
    ChildProcessSpawner.ChildProcessSpawner,
    yield* ChildProcessSpawner.ChildProcessSpawner,
  ).pipe(Context.add(Processes, yield* Processes))
  const clock = yield* Clock.Clock
  const { files } = machine
  const open = keepClients(machine.open)
  /** Where the releases inside were all well, and the target has not changed since: there is nothing to look at. */
  const well = new Map<string, { readonly api: ApiServer | undefined; readonly state: string }>()

  const operate = Effect.fnUntraced(function* (
    request: OperationRequest,
    onProgress: (progress: OperationProgress) => Effect.Effect<void>,
  ) {
    const { key, version } = request
    const kubeconfig = Redacted.value(request.kubeconfig)
    const followed = makeFollowed()
    const errors: Array<string> = []
    const cancelled = yield* Deferred.make<void>()
    const redact = (text: string) =>
      redaction([
        ...kubeconfigSecrets(kubeconfig),
        ...[...request.secretConfig.values()].map(Redacted.value),
      ])(text)
    const failed = (message: string, reason: PulumiError["reason"] = "Failed") =>
      new PulumiError({ step: followed.step, version, message, reason })
    const said = (words: string, reason: PulumiError["reason"] = "Failed") =>
      failed(failureMessage({ step: followed.step, version, words, redact }), reason)
    const begin = (step: string) => {
      followed.step = step
      followed.awaited.clear()
      return onProgress({ step })
    }

    yield* begin("write project")
    const paths = store.paths(key)
    const unwritable = ({ message }: { readonly message: string }) => failed(message)
    if (findStack(files, paths.backend) === undefined) {
      yield* Effect.mapError(store.prepare(key), unwritable)
    }
    const stack = findStack(files, paths.backend) ?? makeStack(files, paths.backend)
    writeProject(files, paths, request.package, options.wrapperPath)
    const file = kubeconfigFile(files, options.memoryDir, key, kubeconfig)

    let toldAt = Number.NaN
    const context = yield* Effect.context<never>()
    const hear = (event: RunnerEvent) => {
      if (event.type === "diagnostic" && event.severity === "error") errors.push(event.message)
      if (event.type !== "resource") return
      if (event.state === "started") followed.awaited.set(event.urn, event.operation)
      else followed.awaited.delete(event.urn)
      if (followed.step === "up" && event.state === "done") {
        followed.changed.push(...Option.toArray(deedOf(event.urn, event.operation)))
      }
      // Once a moment: what is told is that it moves.
      const now = clock.currentTimeMillisUnsafe()
      if (now === toldAt) return
      toldAt = now
      Effect.runSyncWith(context)(onProgress({ step: followed.step, moved: true }))
    }
    const engine: EngineOptions = {
      stack,
      volume: files,
      directory: paths.project,
      config: configOf(request, file),
      open,
      emit: hear,
      cancelled,
    }

    const stateOf = (api: ApiServer | undefined) =>
      `${api?.revision()} ${releasesIn(stack.deployment).map(({ namespace, name }) => `${namespace}/${name}`)}`
    const restore = Effect.fnUntraced(
      function* (when: "before engine" | "after engine" | "before upgrade", recover: boolean) {
        const releases = releasesIn(stack.deployment)
        const api = machine.server(kubeconfig)
        const state = stateOf(api)
        const known = well.get(formatKey(key))
        if (releases.length === 0 || (api !== undefined && known?.api === api && known.state === state))
          return
        yield* begin("restore releases")
        const client = yield* kubernetes.connect(request.kubeconfig)
        let quiet = true
        const workspace = {
          kubeconfig: file,
          home: options.tmpDir,
          helmHome: options.tmpDir,
          pulumiHome: options.tmpDir,
        }
        const tell = (done: Done) => {
          quiet = false
          return onProgress({ step: followed.step, moved: true, ...done })
        }
        const tools = { client, workspace, options }
        if (when === "before upgrade") return yield* makeWayForUpgrades(releases, tools, tell)
        yield* restoreReleases(releases, tools, { when, recover }, tell)
        if (quiet && stateOf(api) === state) well.set(formatKey(key), { api, state })
      },
      Effect.scoped,
      Effect.provideContext(processes),
      Effect.mapError(({ message }) => said(message)),
    )

    const recover = stack.running || stack.deployment.pending.length > 0
    const restoring = (request.refresh || recover) && stack.deployment.resources.length > 0
    const run = Effect.gen(function* () {
      yield* Effect.sleep(startTime)
      if (restoring) {
        yield* begin("refresh")
        yield* Effect.mapError(engineRefresh(engine), commandFailed)
      }
      if (yield* Deferred.isDone(cancelled)) return yield* new CliError({ message: "the run was cancelled" })
      yield* begin("up")
      const result = yield* Effect.mapError(engineUp(engine), commandFailed)
      yield* begin("read outputs")
      return { outputs: yield* readOutputs(result), changes: result.changes }
    })
    const whole = Effect.gen(function* () {
      if (restoring) yield* restore("before engine", recover)
      else yield* Effect.ignore(restore("before upgrade", false))
      yield* begin("start engine")
      const result = yield* cancellable(run, cancelled).pipe(
        Effect.onExit(() =>
          followed.changed.length === 0
            ? Effect.void
            : onProgress({ step: followed.step, moved: true, changed: followed.changed }),
        ),
        Effect.catchTag("CliError", ({ message }) =>
          Effect.flatMap(Deferred.isDone(cancelled), (isCancelled) =>
            Effect.fail(said(wordsOf(errors, message), isCancelled ? "Cancelled" : "Failed")),
          ),
        ),
      )
      if (restoring) yield* restore("after engine", false)
      return result
    })

    stack.running = true
    const { outputs, changes } = yield* whole.pipe(
      Effect.timeoutOrElse({
        duration: request.timeout,
        orElse: () => Effect.fail(failed(timeoutMessage(request, followed), "Cancelled")),
      }),
      Effect.onExit(() =>
        Effect.sync(() => {
          stack.running = false
        }),
      ),
    )
    return { endpoints: outputs.endpoints, namespace: outputs.namespace, changes } satisfies OperationOutputs
  })

  const look = Effect.fnUntraced(function* (
    request: PreviewRequest,
    onProgress: (progress: OperationProgress) => Effect.Effect<void>,
  ) {
    const { key, version } = request
    const kubeconfig = Redacted.value(request.kubeconfig)
    const followed = makeFollowed()
    const errors: Array<string> = []
    const cancelled = yield* Deferred.make<void>()
    const redact = redaction([
      ...kubeconfigSecrets(kubeconfig),
      ...[...request.secretConfig.values()].map(Redacted.value),
    ])
    const failed = (message: string, reason: PulumiError["reason"] = "Failed") =>
      new PulumiError({ step: followed.step, version, message, reason })
    const said = (words: string, reason: PulumiError["reason"] = "Failed") =>
      failed(failureMessage({ step: followed.step, version, words, redact }), reason)
    const begin = (step: string) => {
      followed.step = step
      return onProgress({ step })
    }
    yield* begin("check state")
    const stack = findStack(files, store.paths(key).backend)
    if (stack === undefined) return yield* failed("There is no state that a preview could be made against")
    if (stack.running) return yield* failed("An operation was cut off", "Locked")
    const root = `${options.tmpDir}/preview-${formatKey(key).replace("/", "-")}`
    const project = `${root}/project`
    const whole = Effect.gen(function* () {
      files.mkdirs(project, 0o700)
      writeProject(files, { root, project, backend: root }, request.package, options.wrapperPath)
      yield* begin("preview")
      yield* Effect.sleep(startTime)
      const steps = yield* enginePreview({
        stack,
        volume: files,
        directory: project,
        config: configOf(request, kubeconfigFile(files, options.memoryDir, key, kubeconfig)),
        open,
        emit: (event) => {
          if (event.type === "diagnostic" && event.severity === "error") errors.push(event.message)
        },
        cancelled,
      }).pipe(Effect.mapError(commandFailed))
      const client = yield* kubernetes.connect(request.kubeconfig)
      return { steps, ...(yield* driftOfReleases(releasesIn(stack.deployment), client)) }
    }).pipe(
      Effect.scoped,
      Effect.mapError(({ message }) => said(wordsOf(errors, message))),
      Effect.ensuring(Effect.sync(() => files.remove(root))),
    )
    return yield* whole.pipe(
      Effect.timeoutOrElse({
        duration: request.timeout,
        orElse: () => Effect.fail(failed(timeoutMessage(request, followed), "Cancelled")),
      }),
    )
  })

  const stateDigest = (key: InstanceKey) =>
    Effect.sync(() => {
      const stack = findStack(files, store.paths(key).backend)
      return stack === undefined
        ? ""
        : createHash("sha256").update(JSON.stringify(stack.deployment)).digest("hex")
    })

  return Pulumi.of({
    fetch: live.fetch,
    prune: live.prune,
    run: operate,
    preview: look,
    stateDigest,
    // Its state is in memory, and nothing tears it.
    exportState: () => Effect.void,
  })
})

/** Needs what the live layer needs. */
export const DirectPulumi = (options: PulumiOptions, machine: Machine) =>
  Layer.effect(Pulumi, make(options, machine)).pipe(
    // What was verified once stays as it is.
    Layer.provide(PulumiLive.layer({ ...options, verifiedFor: "36500 days" })),
  )
