// The host of provider plugins, and `pulumi plugin install` against it.
import { Effect } from "effect"
import type { Program } from "../processes/Program.ts"

export interface PluginHost {
  /** Whether it answers. */
  reachable: boolean
  readonly plugins: Set<string>
}

/** `plugins`: names as `resource-kubernetes-v4.25.0`. */
export const makePluginHost = (plugins: ReadonlyArray<string>, reachable = true): PluginHost => ({
  reachable,
  plugins: new Set(plugins),
})

/** Waits between its four tries (seen: a warning each). */
const tries = ["2 seconds", "4 seconds", "8 seconds"] as const

/** `pulumi plugin install resource <name> <version>`: unpacks under a mark that says it is not whole yet. */
export const pulumiProgram =
  (host: PluginHost): Program =>
  (process) =>
    Effect.gen(function* () {
      const [kind = "", name = "", version = ""] = process.argv.slice(process.argv.indexOf("install") + 1)
      const plugin = `${kind}-${name}-${version}`
      yield* Effect.sleep("300 millis")
      for (const wait of tries) {
        if (host.reachable) break
        process.stderr(`warning: error downloading plugin: dial tcp: lookup get.pulumi.com: no such host\n`)
        yield* Effect.sleep(wait)
      }
      if (!host.reachable || !host.plugins.has(plugin)) {
        process.stderr(
          `error: [resource plugin ${name}-${version.slice(1)}] downloading from https://get.pulumi.com/releases/plugins: failed to download\n`,
        )
        return 255
      }
      const volume = process.files
      const folder = `${process.env.PULUMI_HOME}/plugins`
      volume.mkdir(folder, 0o755)
      volume.writeFile(`${folder}/${plugin}.partial`, "", 0o600)
      yield* Effect.sleep("5 seconds")
      volume.mkdir(`${folder}/${plugin}`, 0o755)
      volume.writeFile(`${folder}/${plugin}/pulumi-resource-${name}`, "#!plugin", 0o755)
      yield* Effect.sleep("1 second")
      volume.remove(`${folder}/${plugin}.partial`)
      return 0
    })
