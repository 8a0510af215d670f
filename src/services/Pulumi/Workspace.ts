// The temporary folders of one operation: the kubeconfig in memory, and a home for the engine that is thrown
// away with all its logs. Each CLI call leaves some in PULUMI_HOME, for good (contracts: seen).
import { createHash } from "node:crypto"
import { Effect, FileSystem, Redacted } from "effect"
import { formatKey, type InstanceKey } from "../../schema/InstanceKey.ts"
import type { PulumiOptions } from "./Options.ts"

export interface Workspace {
  readonly kubeconfig: string
  /** The engine's, and the program's. */
  readonly home: string
  /** Helm's: what the program leaves in its own is nothing that a program outside of the sandbox may find there. */
  readonly helmHome: string
  readonly pulumiHome: string
}

/**
 * Made anew and removed with the scope. The kubeconfig's path is in the stack config: it is the same in every
 * run of an instance, so that it changes nothing. The folder is removed first, whoever left it there, and made
 * by this process: nobody else's link or file is written to.
 */
export const makeWorkspace = Effect.fn("Workspace.make")(function* (
  key: InstanceKey,
  kubeconfig: Redacted.Redacted,
  pluginDirectory: string,
  options: PulumiOptions,
) {
  const fs = yield* FileSystem.FileSystem
  const name = createHash("sha256").update(formatKey(key)).digest("hex").slice(0, 16)
  yield* fs.makeDirectory(options.memoryDir, { recursive: true })
  const memory = `${options.memoryDir}/platform-instance-${name}`
  yield* Effect.acquireRelease(
    fs
      .remove(memory, { recursive: true, force: true })
      .pipe(Effect.andThen(fs.makeDirectory(memory, { mode: 0o700 }))),
    () => Effect.ignore(fs.remove(memory, { recursive: true, force: true })),
  )
  const file = `${memory}/kubeconfig`
  yield* fs.writeFileString(file, Redacted.value(kubeconfig), { mode: 0o600, flag: "wx" })

  const temporary = yield* fs.makeTempDirectoryScoped({ directory: options.tmpDir, prefix: "operation-" })
  const home = `${temporary}/engine`
  const helmHome = `${temporary}/helm`
  yield* fs.makeDirectory(home, { mode: 0o700 })
  yield* fs.makeDirectory(helmHome, { mode: 0o700 })
  const pulumiHome = `${home}/pulumi`
  yield* fs.makeDirectory(pulumiHome, { mode: 0o700 })
  yield* fs.symlink(pluginDirectory, `${pulumiHome}/plugins`)
  return { kubeconfig: file, home, helmHome, pulumiHome } satisfies Workspace
})
