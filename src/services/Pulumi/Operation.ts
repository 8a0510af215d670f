// One operation on an instance, from the proof that nobody else is at it to the removal of its marker. The
// order matters: nothing is written before an earlier holder is proven dead, the marker is there before
// anything starts, and it goes when nothing of the session is left.

import path from "node:path"
import { DateTime, Effect, Option } from "effect"
import { HttpTraceContext } from "effect/http"
import { requireRoom } from "../Disk/FreeSpace.ts"
import { Kubernetes } from "../Kubernetes/Kubernetes.ts"
import { type InstancePaths, type OperationMarker, StateStore } from "../StateStore/StateStore.ts"
import { adoptReleases, type UnmadeRelease, useOf } from "./Adoption.ts"
import { mendBackend, pruneHistory, syncBackend } from "./Backend.ts"
import { collectSpans } from "./EngineTraces.ts"
import { engineEnvironment } from "./Environment.ts"
import { exportState } from "./Exports.ts"
import { type Done, makeWayForUpgrades, restoreReleases, type Tools } from "./InnerReleases.ts"
import { backendUrl } from "./Layout.ts"
import { settle } from "./Locks.ts"
import type { PulumiOptions } from "./Options.ts"
import type { PluginStore } from "./PluginStore.ts"
import { writeProject } from "./Project.ts"
import type { RunRequest } from "./Protocol.ts"
import type { OperationOutputs, OperationRequest } from "./Pulumi.ts"
import { releasesInTheWay } from "./ReleasesInTheWay.ts"
import { beginRun, type OnProgress } from "./Run.ts"
import { startRunner } from "./Runner.ts"
import { type InnerRelease, readState, type StateSummary } from "./StateFile.ts"
import { endRecovery, forgetSettings, isRecovering, restoreState } from "./StateRestore.ts"
import { otherCluster, programRequest } from "./Subject.ts"
import { makeWorkspace, type Workspace } from "./Workspace.ts"

const marker = (request: OperationRequest, options: PulumiOptions, startedAt: string): OperationMarker => ({
  format: 1,
  kind: request.kind,
  version: request.version,
  generation: request.generation,
  startedAt,
  holder: {
    podUID: options.identity.podUID,
    podName: options.identity.podName,
    incarnation: options.identity.incarnation,
  },
})

const runRequest = (
  request: OperationRequest,
  paths: InstancePaths,
  workspace: Workspace,
  recover: boolean,
): RunRequest => ({
  ...programRequest(request, paths, workspace),
  refresh: request.refresh || recover,
})

/** Runs it. The caller knows that this operator runs nothing else for the instance. */
export const runOperation = Effect.fn("Pulumi.run")(function* (
  request: OperationRequest,
  onProgress: OnProgress,
  plugins: PluginStore,
  options: PulumiOptions,
) {
  const store = yield* StateStore
  const kubernetes = yield* Kubernetes
  const { key } = request
  const run = yield* beginRun(request, onProgress, options)
  const { followed, redact, begin, failed, failedBy, said } = run
  const unwritable = failedBy("The state directory cannot be written to; look at the operator's state claim")

  yield* begin("check holder")
  const settled = yield* settle(key, options.identity, options.isPodAlive).pipe(
    Effect.catchTags({
      HeldError: (error) => Effect.fail(failed(error.message, "Locked")),
      StateStoreError: (error) => Effect.fail(unwritable(error)),
    }),
  )
  yield* Effect.forEach(settled.notices, (notice) => onProgress({ step: followed.step, notice }), {
    discard: true,
  })

  yield* begin("check disk")
  const low = yield* requireRoom(store.packagesDir, options.minFreeSpace ?? 0).pipe(
    Effect.mapError(({ message }) => failed(message)),
  )
  if (low !== undefined) yield* onProgress({ step: followed.step, low })

  yield* begin("check plugin")
  const pluginDirectory = yield* plugins.check(request.package)

  yield* begin("write project")
  const paths = yield* store.prepare(key).pipe(Effect.mapError(unwritable))
  yield* writeProject(paths, request.package, options.wrapperPath).pipe(Effect.mapError(unwritable))

  const written = marker(request, options, DateTime.formatIso(yield* DateTime.now))
  // Without a marker, everything an operation has written is on the disk.
  yield* Effect.acquireRelease(store.writeOperation(key, written).pipe(Effect.mapError(unwritable)), () =>
    Effect.ignore(exportState(paths), { log: true }).pipe(
      Effect.andThen(syncBackend(paths)),
      Effect.andThen(store.removeOperation(key)),
      Effect.catch((error) => Effect.logWarning("operation marker stays behind", error)),
    ),
  )
  const workspace = yield* makeWorkspace(key, request.kubeconfig, pluginDirectory, options).pipe(
    Effect.mapError(failedBy("No temporary space for the operation; look at the operator's volumes")),
  )

  yield* mendBackend(paths).pipe(
    Effect.tap((mended) =>
      mended.length === 0
        ? Effect.void
        : Effect.logWarning("removed files of the backend that were cut off").pipe(
            Effect.annotateLogs({ mended }),
          ),
    ),
    Effect.mapError(unwritable),
  )

  yield* begin("check state")
  const damaged = failedBy(
    `The state file is damaged and no copy of it can be read; put back the folder ${paths.backend} from a backup of the state directory. Nothing was changed`,
  )
  const record = yield* store.readRecord(key).pipe(Effect.mapError(unwritable))
  const installed =
    request.state === undefined
      ? Option.exists(record, (known) => known.installed !== undefined)
      : request.state !== "lost"
  const putBack = yield* restoreState(paths, {
    clusterIdentifier: request.clusterIdentifier,
    installed,
    begun: settled.begun || request.state === "lost",
  }).pipe(Effect.mapError(damaged))
  if (Option.isSome(putBack)) yield* onProgress({ step: followed.step, notice: putBack.value })
  yield* begin("export state")
  yield* exportState(paths).pipe(Effect.mapError(unwritable))
  const recovering = Option.isSome(putBack) || (yield* isRecovering(paths))
  const interrupted = settled.interrupted || recovering
  const older = recovering || request.state === "older"
  if (interrupted) yield* forgetSettings(paths).pipe(Effect.mapError(unwritable))
  const currentState = readState(paths).pipe(Effect.mapError(damaged))
  const tellDone = (done: Done) => onProgress({ step: followed.step, moved: true, ...done })
  const inReleases = Effect.fn("Pulumi.releases")(function* <E, R>(
    releases: ReadonlyArray<InnerRelease>,
    work: (tools: Tools) => Effect.Effect<void, E, R>,
  ) {
    if (releases.length === 0) return
    yield* begin("restore releases")
    const client = yield* kubernetes.connect(request.kubeconfig)
    yield* work({ client, workspace, options })
  }, Effect.scoped)
  const restore = (
    releases: ReadonlyArray<InnerRelease>,
    when: "before engine" | "after engine",
    recover: boolean,
  ) =>
    inReleases(releases, (tools) => restoreReleases(releases, tools, { when, recover }, tellDone)).pipe(
      Effect.mapError(said),
    )
  // It fails at nothing: the engine meets the same target, and says what is wrong with it.
  const makeWay = (releases: ReadonlyArray<InnerRelease>) =>
    Effect.ignore(inReleases(releases, (tools) => makeWayForUpgrades(releases, tools, tellDone)))
  const checkTarget = Effect.fnUntraced(function* () {
    yield* begin("check target")
    const other = yield* Effect.mapError(otherCluster(request), said)
    if (Option.isSome(other)) return yield* failed(`${other.value}; nothing was refreshed or applied`)
  })
  const engine = Effect.fnUntraced(
    function* (state: Option.Option<StateSummary>, recover: boolean) {
      if ((request.refresh || recover) && Option.exists(state, ({ inTarget }) => inTarget)) {
        yield* checkTarget()
      }
      yield* begin("start engine")
      const span = yield* Effect.orDie(Effect.currentSpan)
      const traceparent = span.sampled ? HttpTraceContext.toHeaders(span).traceparent : undefined
      const traces = yield* collectSpans(workspace.home, span, redact)
      const env = engineEnvironment({
        from: process.env,
        home: workspace.home,
        pulumiHome: workspace.pulumiHome,
        pulumiDirectory: path.dirname(options.pulumiPath),
        backendUrl: backendUrl(paths),
        passphraseFile: path.resolve(options.passphraseFile),
        incarnation: options.identity.incarnation,
        ...(traceparent === undefined ? {} : { traceparent }),
        ...Option.match(traces, { onNone: () => ({}), onSome: (folder) => ({ traces: folder }) }),
      })
      // A stack without a state has nothing that could be refreshed, and nothing to recover.
      const asked = runRequest(request, paths, workspace, recover)
      const runner = yield* startRunner(
        Option.isSome(state) ? asked : { ...asked, refresh: false },
        env,
        { paths, workspace, packageDirectory: request.package.directory, pluginDirectory },
        options,
      ).pipe(Effect.mapError(failedBy("The runner cannot be started; look at the operator's image")))
      yield* store
        .writeOperation(key, {
          ...written,
          holder: {
            ...written.holder,
            pid: runner.pid,
            ...(runner.startTime === undefined ? {} : { startTime: runner.startTime }),
          },
        })
        .pipe(Effect.mapError(unwritable))
      yield* Effect.annotateCurrentSpan({
        "process.executable.name": path.basename(options.nodePath),
        "process.pid": runner.pid,
      })
      return yield* run.hearOut(runner)
    },
    Effect.scoped,
    // Until nothing of it is left.
    Effect.withSpan("pulumi.engine"),
  )

  const lookAtUse = Effect.fnUntraced(
    function* (release: UnmadeRelease) {
      const client = yield* kubernetes.connect(request.kubeconfig)
      return yield* useOf(client, release)
    },
    Effect.scoped,
    Effect.mapError(said),
  )
  const clearWay = releasesInTheWay({
    unmade: followed.unmade,
    older,
    directory: paths.root,
    lookAtUse,
    restore: (releases) => restore(releases, "before engine", true),
    adopt: (releases, names) =>
      begin("adopt releases").pipe(
        Effect.andThen(adoptReleases(paths, releases)),
        Effect.mapError(
          failedBy(`Helm release ${names} inside the instance cannot be taken over into the state`),
        ),
      ),
    tell: (notice) => onProgress({ step: followed.step, notice }),
    refuse: failed,
    again: Effect.suspend(() => Effect.flatMap(currentState, (state) => engine(state, true))),
  })

  const whole = Effect.gen(function* () {
    const state = yield* currentState
    const recover = interrupted || Option.exists(state, ({ pendingOperations }) => pendingOperations > 0)
    const restoring = request.refresh || recover
    // Before the engine, because it waits for pods that wait for what a release has lost.
    if (restoring && Option.isSome(state)) yield* restore(state.value.releases, "before engine", recover)
    else if (Option.isSome(state)) yield* makeWay(state.value.releases)
    const ending = yield* engine(state, recover).pipe(
      Effect.flatMap(clearWay),
      // What was done is done, however the run ends.
      Effect.ensuring(
        Effect.suspend(() =>
          followed.changed.length > 0
            ? onProgress({ step: followed.step, moved: true, changed: followed.changed })
            : Effect.void,
        ),
      ),
    )
    // And after it: a release may have needed what the engine has put back, and an owner's garbage is collected slowly.
    if (restoring && ending._tag === "Succeeded") {
      const after = yield* currentState
      if (Option.isSome(after)) yield* restore(after.value.releases, "after engine", false)
    }
    return ending
  })
  const ending = yield* run.inTime(whole)
  switch (ending._tag) {
    case "Succeeded":
      if (yield* isRecovering(paths)) yield* Effect.ignore(endRecovery(paths), { log: true })
      yield* Effect.ignore(pruneHistory(paths), { log: true })
      return {
        endpoints: ending.outputs.endpoints,
        namespace: ending.outputs.namespace,
        changes: ending.changes,
      } satisfies OperationOutputs
    case "Planned":
      return yield* failed("The runner has made a preview in the place of an operation")
    default:
      return yield* run.failureOf(ending)
  }
}, Effect.scoped)
