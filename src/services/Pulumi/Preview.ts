// What an operation would do, without doing it. The engine works on a copy of the state, in a folder that goes away: it could
// not write to the instance's own if it wanted to, where there is a sandbox, and does not know of it where there is none.
import path from "node:path"
import { Effect, FileSystem, Option } from "effect"
import { requireRoom } from "../Disk/FreeSpace.ts"
import { Kubernetes } from "../Kubernetes/Kubernetes.ts"
import { type InstancePaths, StateStore } from "../StateStore/StateStore.ts"
import { engineEnvironment } from "./Environment.ts"
import { driftOfReleases } from "./InnerReleases.ts"
import { backendUrl, settingsFile, stateFile } from "./Layout.ts"
import type { PulumiOptions } from "./Options.ts"
import type { PluginStore } from "./PluginStore.ts"
import { writeProject } from "./Project.ts"
import type { Preview, PreviewRequest } from "./Pulumi.ts"
import { beginRun, type OnProgress } from "./Run.ts"
import { startRunner } from "./Runner.ts"
import { readState } from "./StateFile.ts"
import { otherCluster, programRequest } from "./Subject.ts"
import { makeWorkspace } from "./Workspace.ts"

/** Folders like an instance's own, with its state and the settings that open it. Gone with the workspace. */
const copyOf = Effect.fnUntraced(function* (paths: InstancePaths, home: string) {
  const fs = yield* FileSystem.FileSystem
  const root = `${home}/preview`
  const copy: InstancePaths = { root, project: `${root}/project`, backend: `${root}/backend` }
  yield* fs.makeDirectory(copy.project, { recursive: true, mode: 0o700 })
  yield* fs.makeDirectory(path.dirname(stateFile(copy)), { recursive: true, mode: 0o700 })
  const files = [
    [`${stateFile(paths)}.json.gz`, `${stateFile(copy)}.json.gz`],
    [`${stateFile(paths)}.json`, `${stateFile(copy)}.json`],
    [settingsFile(paths), settingsFile(copy)],
  ] as const
  for (const [from, to] of files) {
    const content = yield* fs.readFile(from).pipe(
      Effect.asSome,
      Effect.catchReason("PlatformError", "NotFound", () => Effect.succeedNone),
    )
    if (Option.isSome(content)) yield* fs.writeFile(to, content.value, { mode: 0o600 })
  }
  return copy
})

/** Makes it. The caller knows that this operator runs nothing else for the instance. */
export const runPreview = Effect.fn("Pulumi.preview")(function* (
  request: PreviewRequest,
  onProgress: OnProgress,
  plugins: PluginStore,
  options: PulumiOptions,
) {
  const store = yield* StateStore
  const kubernetes = yield* Kubernetes
  const { key } = request
  const run = yield* beginRun(request, onProgress, options)
  const { begin, failed, failedBy, said } = run

  yield* begin("check holder")
  const unreadable = failedBy("The state directory cannot be read; look at the operator's state claim")
  const marker = yield* store.readOperation(key).pipe(Effect.mapError(unreadable))
  if (Option.isSome(marker)) {
    return yield* failed(
      `An operation (${marker.value.kind} of version ${marker.value.version}, since ${marker.value.startedAt}) was cut off, or is still at work; what it has left is set right by the next install or repair`,
      "Locked",
    )
  }

  yield* begin("check disk")
  yield* requireRoom(store.packagesDir, options.minFreeSpace ?? 0).pipe(
    Effect.mapError(({ message }) => failed(message)),
  )
  yield* begin("check plugin")
  const pluginDirectory = yield* plugins.check(request.package)

  yield* begin("check state")
  const paths = store.paths(key)
  const state = yield* readState(paths).pipe(
    Effect.mapError(
      failedBy("The state file is damaged; the next install or repair puts a copy in its place"),
    ),
  )
  if (Option.isNone(state)) return yield* failed("There is no state that a preview could be made against")

  const noSpace = failedBy("No temporary space for the preview; look at the operator's volumes")
  const workspace = yield* makeWorkspace(key, request.kubeconfig, pluginDirectory, options).pipe(
    Effect.mapError(noSpace),
  )
  const copy = yield* copyOf(paths, workspace.home).pipe(Effect.mapError(noSpace))
  yield* writeProject(copy, request.package, options.wrapperPath).pipe(Effect.mapError(noSpace))

  const checkTarget = Effect.fnUntraced(function* () {
    yield* begin("check target")
    const other = yield* Effect.mapError(otherCluster(request), said)
    if (Option.isSome(other)) return yield* failed(other.value)
  })
  const engine = Effect.gen(function* () {
    yield* begin("start engine")
    const env = engineEnvironment({
      from: process.env,
      home: workspace.home,
      pulumiHome: workspace.pulumiHome,
      pulumiDirectory: path.dirname(options.pulumiPath),
      backendUrl: backendUrl(copy),
      passphraseFile: path.resolve(options.passphraseFile),
      incarnation: options.identity.incarnation,
    })
    const runner = yield* startRunner(
      { ...programRequest(request, copy, workspace), preview: true },
      env,
      { paths: copy, workspace, packageDirectory: request.package.directory, pluginDirectory },
      options,
    ).pipe(Effect.mapError(failedBy("The runner cannot be started; look at the operator's image")))
    return yield* run.hearOut(runner)
  }).pipe(Effect.scoped, Effect.withSpan("pulumi.engine"))
  const lookInside = Effect.gen(function* () {
    yield* begin("look at releases")
    const client = yield* kubernetes.connect(request.kubeconfig)
    return yield* driftOfReleases(state.value.releases, client)
  }).pipe(Effect.scoped, Effect.mapError(said))

  const whole = Effect.gen(function* () {
    yield* checkTarget()
    const ending = yield* engine
    switch (ending._tag) {
      case "Planned":
        return { steps: ending.steps, ...(yield* lookInside) } satisfies Preview
      case "Succeeded":
        return yield* failed("The runner has ended without a preview")
      default:
        return yield* run.failureOf(ending)
    }
  })
  return yield* run.inTime(whole)
}, Effect.scoped)
