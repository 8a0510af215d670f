// The live layer: composition only. Packages are fetched by fibers of the layer, so that an operation that is
// cut off does not end a fetch that others wait for.
import { createHash } from "node:crypto"
import {
  Clock,
  Context,
  Deferred,
  Duration,
  Effect,
  Exit,
  FileSystem,
  Layer,
  Option,
  Semaphore,
} from "effect"
import { ChildProcessSpawner } from "effect/process"
import { formatKey, type InstanceKey } from "../../schema/InstanceKey.ts"
import { Disk } from "../Disk/Disk.ts"
import { Kubernetes } from "../Kubernetes/Kubernetes.ts"
import { Processes } from "../Process/Processes.ts"
import { StateStore } from "../StateStore/StateStore.ts"
import { exportState } from "./Exports.ts"
import { runOperation } from "./Operation.ts"
import type { PulumiOptions } from "./Options.ts"
import { makePackageStore } from "./PackageStore.ts"
import { makePluginStore } from "./PluginStore.ts"
import { runPreview } from "./Preview.ts"
import { type PlatformPackage, type PreviewRequest, Pulumi, PulumiError } from "./Pulumi.ts"
import { readState, readStateText } from "./StateFile.ts"

/** For the fetch of another version to end. */
const patience = "1 minute"

const make = Effect.fn("Pulumi.make")(function* (options: PulumiOptions) {
  const store = yield* StateStore
  const fs = yield* FileSystem.FileSystem
  // These alone: the layer's whole context would bring its span along, and move every operation's trace there.
  const context = Context.make(StateStore, store).pipe(
    Context.add(Kubernetes, yield* Kubernetes),
    Context.add(FileSystem.FileSystem, fs),
    Context.add(Disk, yield* Disk),
    Context.add(Processes, yield* Processes),
    Context.add(ChildProcessSpawner.ChildProcessSpawner, yield* ChildProcessSpawner.ChildProcessSpawner),
  )
  yield* fs.makeDirectory(options.tmpDir, { recursive: true }).pipe(Effect.orDie)
  const packages = yield* makePackageStore(store.packagesDir, options)
  const plugins = yield* makePluginStore(store.pluginsDir, options)

  const scope = yield* Effect.scope
  const fetches = new Map<string, Deferred.Deferred<PlatformPackage, PulumiError>>()
  const fetchOnce = Effect.fnUntraced(function* (version: string) {
    const platform = yield* packages.fetch(version)
    yield* plugins.fetch(platform)
    return platform
  })
  const verifiedMillis = Duration.toMillis(Duration.fromInputUnsafe(options.verifiedFor ?? "5 minutes"))
  /** What was verified while a target came up is handed on to the install that follows. */
  const recent = new Map<string, { readonly at: number; readonly platform: PlatformPackage }>()
  const running = new Map<string, string>()
  const fetching = yield* Semaphore.make(1)
  /** One at a time, for the memory's sake; but behind one that stands still nobody waits for long. */
  const oneFetch = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
    Effect.acquireUseRelease(
      Effect.timeoutOption(fetching.take(1), patience),
      () => effect,
      (taken) => (Option.isSome(taken) ? fetching.release(1) : Effect.void),
    )

  /** With the instance, and with a package that is as it was when it was verified. */
  const alone = Effect.fnUntraced(function* <A, R>(
    request: PreviewRequest,
    work: Effect.Effect<A, PulumiError, R>,
  ) {
    const key = formatKey(request.key)
    const take = Effect.suspend(() =>
      running.has(key)
        ? Effect.fail(
            new PulumiError({
              step: "check holder",
              version: request.version,
              message: `This operator is still at an earlier operation of ${key}; it waits for its end.`,
              reason: "Locked",
            }),
          )
        : Effect.sync(() => running.set(key, request.version)),
    )
    const verified = packages
      .verify(request.package)
      .pipe(Effect.tapError(() => Effect.sync(() => recent.delete(request.version))))
    return yield* Effect.acquireUseRelease(
      take,
      () => Effect.andThen(verified, work),
      () => Effect.sync(() => running.delete(key)),
    )
  })

  return Pulumi.of({
    fetch: Effect.fn("Pulumi.fetch")((version: string) =>
      Effect.flatMap(Clock.currentTimeMillis, (now) => {
        const running = fetches.get(version)
        if (running !== undefined) return Deferred.await(running)
        const verified = recent.get(version)
        if (verified !== undefined && now - verified.at < verifiedMillis)
          return Effect.succeed(verified.platform)
        const result = Deferred.makeUnsafe<PlatformPackage, PulumiError>()
        fetches.set(version, result)
        return oneFetch(fetchOnce(version)).pipe(
          Effect.onExit((exit) => {
            fetches.delete(version)
            if (Exit.isSuccess(exit)) recent.set(version, { at: now, platform: exit.value })
            else recent.delete(version)
            return Deferred.done(result, exit)
          }),
          Effect.provideContext(context),
          Effect.forkIn(scope),
          Effect.andThen(Deferred.await(result)),
        )
      }),
    ),
    run: (request, onProgress) =>
      Effect.provideContext(alone(request, runOperation(request, onProgress, plugins, options)), context),
    preview: (request, onProgress) =>
      Effect.provideContext(alone(request, runPreview(request, onProgress, plugins, options)), context),
    stateDigest: Effect.fn("Pulumi.stateDigest")(function* (key: InstanceKey, version: string) {
      const text = yield* readStateText(store.paths(key)).pipe(
        Effect.mapError(
          ({ message }) => new PulumiError({ step: "check state", version, message, reason: "Failed" }),
        ),
      )
      return Option.match(text, {
        onNone: () => "",
        onSome: (state) => createHash("sha256").update(state).digest("hex"),
      })
    }, Effect.provideContext(context)),
    exportState: Effect.fn("Pulumi.exportState")(
      (key: InstanceKey, version: string) =>
        // One that is cut off is no state that could be kept.
        Effect.andThen(readState(store.paths(key)), exportState(store.paths(key))).pipe(
          Effect.mapError(
            ({ message }) => new PulumiError({ step: "export state", version, message, reason: "Failed" }),
          ),
        ),
      Effect.provideContext(context),
    ),
    prune: Effect.fn("Pulumi.prune")((needed: ReadonlySet<string>) =>
      // Nothing is fetched meanwhile: what was just fetched, or runs, is needed by somebody who was not asked.
      Effect.gen(function* () {
        const inUse = new Set([...needed, ...fetches.keys(), ...recent.keys(), ...running.values()])
        const now = yield* Clock.currentTimeMillis
        for (const [version, { at }] of recent) {
          if (now - at >= verifiedMillis && !needed.has(version)) {
            recent.delete(version)
            inUse.delete(version)
          }
        }
        const kept = yield* packages.prune((version) => inUse.has(version))
        yield* plugins.prune(kept)
      }).pipe(
        oneFetch,
        Effect.catch((error) =>
          Effect.logWarning("packages and plugins are not tidied up").pipe(
            Effect.annotateLogs({ message: error.message }),
          ),
        ),
        Effect.provideContext(context),
      ),
    ),
  })
})

export const PulumiLive = {
  /** Needs the state directory, `Kubernetes` for its `connect`, and the machine: files, child processes and processes. */
  layer: (options: PulumiOptions) => Layer.effect(Pulumi, make(options)),
}
