// The Kubernetes provider plugin that a package needs. Its version is the package's choice, not the operator's.
// A run installs nothing, so that a plugin must be complete before it: in a folder that is there already (the
// image's), or in the state directory, where each version is downloaded once.
import { Effect, FileSystem, Option, Schema, Semaphore } from "effect"
import { leavingRoom, requireRoom } from "../Disk/FreeSpace.ts"
import { runChild } from "../Process/Child.ts"
import { baseEnvironment } from "./Environment.ts"
import { platformPackageName } from "./Layout.ts"
import { tail } from "./Messages.ts"
import type { PulumiOptions } from "./Options.ts"
import { type PlatformPackage, PulumiError } from "./Pulumi.ts"

/** An npm package of a provider names its plugin's version; it is the package's own when it does not. */
const ProviderManifest = Schema.fromJsonString(
  Schema.Struct({
    version: Schema.String,
    pulumi: Schema.optionalKey(Schema.Struct({ version: Schema.optionalKey(Schema.String) })),
  }),
)
const decodeManifest = Schema.decodeUnknownOption(ProviderManifest)

const pluginName = (version: string): string => `resource-kubernetes-v${version}`

export const makePluginStore = Effect.fn("PluginStore.make")(function* (
  pluginsDir: string,
  options: PulumiOptions,
) {
  const fs = yield* FileSystem.FileSystem
  const oneAtATime = (yield* Semaphore.make(1)).withPermits(1)
  const folders = [...options.pluginDirectories, pluginsDir]

  const server = options.pluginServer === undefined ? [] : ["--server", options.pluginServer]

  const failed = (version: string, step: string, message: string) =>
    new PulumiError({ step, version, message, reason: "Failed" })

  /** The plugin's version, from the provider library that the package itself resolves to. */
  const required = Effect.fn("PluginStore.required")(function* (platform: PlatformPackage, step: string) {
    const modules = `${platform.directory}/node_modules`
    for (const folder of [`${modules}/${platformPackageName}/node_modules`, modules]) {
      const text = yield* fs.readFileString(`${folder}/@pulumi/kubernetes/package.json`).pipe(Effect.option)
      const manifest = Option.flatMap(text, decodeManifest)
      if (Option.isSome(manifest)) {
        return (manifest.value.pulumi?.version ?? manifest.value.version).replace(/^v/, "")
      }
    }
    return yield* failed(
      platform.version,
      step,
      `The package ${platformPackageName} ${platform.version} brings no @pulumi/kubernetes; use another spec.version`,
    )
  })

  /** Removes every plugin that none of these packages needs, and what an earlier operator has left half-way. */
  const prune = Effect.fn("PluginStore.prune")(function* (packages: ReadonlyArray<PlatformPackage>) {
    const needed = yield* Effect.forEach(packages, (platform) => required(platform, "prune plugins"))
    const kept = new Set(needed.map(pluginName))
    const names = yield* fs.readDirectory(pluginsDir).pipe(Effect.orElseSucceed((): Array<string> => []))
    for (const name of names) {
      if (kept.has(name.replace(/\.(partial|lock)$/, ""))) continue
      yield* fs.remove(`${pluginsDir}/${name}`, { recursive: true, force: true }).pipe(Effect.ignore)
      yield* Effect.logInfo("removed a plugin that no instance needs").pipe(Effect.annotateLogs({ name }))
    }
  }, oneAtATime)

  const has = (path: string) => fs.exists(path).pipe(Effect.orElseSucceed(() => false))

  /** The folder that has it whole: pulumi marks one it is still unpacking by a file `….partial` beside it. */
  const find = Effect.fn("PluginStore.find")(function* (version: string) {
    for (const folder of folders) {
      const plugin = `${folder}/${pluginName(version)}`
      if ((yield* has(`${plugin}/pulumi-resource-kubernetes`)) && !(yield* has(`${plugin}.partial`))) {
        return Option.some(folder)
      }
    }
    return Option.none<string>()
  })

  const download = Effect.fn("PluginStore.download")(function* (version: string, platform: PlatformPackage) {
    const fail = (words: string) =>
      failed(
        platform.version,
        "fetch plugin",
        `The Kubernetes provider plugin ${version} that this package needs is in none of ${folders.join(", ")} and could not be downloaded; allow the operator to reach the plugin host, or put the plugin there. ${tail(words)}`,
      )
    yield* fs.makeDirectory(pluginsDir, { recursive: true }).pipe(Effect.mapError((e) => fail(e.message)))
    const home = yield* fs
      .makeTempDirectoryScoped({ directory: pluginsDir, prefix: ".new-" })
      .pipe(Effect.mapError((e) => fail(e.message)))
    yield* requireRoom(pluginsDir, options.minFreeSpace ?? 0).pipe(Effect.mapError((e) => fail(e.message)))
    const result = yield* runChild({
      command: options.pulumiPath,
      args: ["plugin", "install", "resource", "kubernetes", `v${version}`, "--non-interactive", ...server],
      env: {
        ...baseEnvironment(process.env, home),
        PULUMI_HOME: home,
        PULUMI_SKIP_UPDATE_CHECK: "true",
      },
      grace: "5 seconds",
    }).pipe(
      Effect.mapError((error) => fail(error.message)),
      Effect.timeoutOrElse({
        duration: options.fetchTimeout ?? "10 minutes",
        orElse: () => Effect.fail(fail("The download did not end in time")),
      }),
      leavingRoom(pluginsDir, options.minFreeSpace ?? 0),
      Effect.catchTag("NoRoom", (error) => Effect.fail(fail(error.message))),
    )
    if (!Option.contains(result.exitCode, 0)) return yield* fail(result.stderr)
    yield* fs
      .rename(`${home}/plugins/${pluginName(version)}`, `${pluginsDir}/${pluginName(version)}`)
      .pipe(Effect.mapError((error) => fail(error.message)))
  }, Effect.scoped)

  return {
    prune,
    /** Downloads the plugin unless it is there. */
    fetch: Effect.fn("PluginStore.fetch")(function* (platform: PlatformPackage) {
      const version = yield* required(platform, "fetch plugin")
      if (Option.isSome(yield* find(version))) return
      yield* download(version, platform)
    }, oneAtATime),
    /** The folder to run with; fails, naming version and places, when the plugin is not complete in any. */
    check: Effect.fn("PluginStore.check")(function* (platform: PlatformPackage) {
      const version = yield* required(platform, "check plugin")
      const folder = yield* find(version)
      if (Option.isSome(folder)) return folder.value
      return yield* failed(
        platform.version,
        "check plugin",
        `The Kubernetes provider plugin ${version} is missing or incomplete; it was looked for as ${pluginName(version)} in ${folders.join(", ")}`,
      )
    }),
  }
})

export type PluginStore = Effect.Success<ReturnType<typeof makePluginStore>>
