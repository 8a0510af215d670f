// The live layer: composition only. Packages are fetched by fibers of the layer, so that an operation that is
// cut off does not end a fetch that others wait for.
import { Clock, Context, Deferred, Duration, Effect, Exit, FileSystem, Layer } from "effect"
import { ChildProcessSpawner } from "effect/process"
import { formatKey } from "../../schema/InstanceKey.ts"
import { Kubernetes } from "../Kubernetes/Kubernetes.ts"
import { StateStore } from "../StateStore/StateStore.ts"
import { runOperation } from "./Operation.ts"
import type { PulumiOptions } from "./Options.ts"
import { makePackageStore } from "./PackageStore.ts"
import { makePluginStore } from "./PluginStore.ts"
import { type PlatformPackage, Pulumi, PulumiError } from "./Pulumi.ts"

const make = Effect.fn("Pulumi.make")(function* (options: PulumiOptions) {
  const store = yield* StateStore
  const fs = yield* FileSystem.FileSystem
  // These alone: the layer's whole context would bring its span along, and move every operation's trace there.
  const context = Context.make(StateStore, store).pipe(
    Context.add(Kubernetes, yield* Kubernetes),
    Context.add(FileSystem.FileSystem, fs),
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
  const running = new Set<string>()

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
        return fetchOnce(version).pipe(
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
    run: (request, onProgress) => {
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
          : Effect.sync(() => running.add(key)),
      )
      return Effect.acquireUseRelease(
        take,
        () => runOperation(request, onProgress, plugins, options).pipe(Effect.provideContext(context)),
        () => Effect.sync(() => running.delete(key)),
      )
    },
  })
})

export const PulumiLive = {
  /** Needs the state directory, `Kubernetes` for its `connect`, the file system and child processes (`NodeServices.layer`). */
  layer: (options: PulumiOptions) => Layer.effect(Pulumi, make(options)),
}
