// npm as a child: installs one exact version of the platform package into an empty folder. Install scripts
// never run (the Kubernetes provider's package has one that downloads a plugin).
import path from "node:path"
import { Effect, FileSystem, Option } from "effect"
import { withoutSecrets } from "../../schema/Secrets.ts"
import { runChild } from "../Process/Child.ts"
import { logOutput } from "../Process/ToolOutput.ts"
import { baseEnvironment } from "./Environment.ts"
import { platformPackageName } from "./Layout.ts"
import { npmFailure, withoutCredentials } from "./NpmFailure.ts"
import type { PulumiOptions } from "./Options.ts"
import { PulumiError } from "./Pulumi.ts"

const manifest = (version: string): string =>
  JSON.stringify(
    { name: "platform-package", private: true, dependencies: { [platformPackageName]: version } },
    null,
    2,
  )

export const fetchError = (version: string, message: string): PulumiError =>
  new PulumiError({ step: "fetch package", version, message, reason: "Failed" })

/**
 * Fills `directory` with package.json, lock file and node_modules. A lock that is there already (`isKnown`) is followed,
 * and what differs from it is refused.
 */
export const npmInstall = Effect.fn("Npm.install")(function* (
  directory: string,
  version: string,
  isKnown: boolean,
  options: PulumiOptions,
) {
  const fs = yield* FileSystem.FileSystem
  yield* fs
    .writeFileString(`${directory}/package.json`, manifest(version))
    .pipe(
      Effect.mapError((error) =>
        fetchError(version, `The state directory cannot be written to: ${error.message}`),
      ),
    )
  const home = `${options.tmpDir}/npm`
  yield* fs
    .makeDirectory(home, { recursive: true })
    .pipe(Effect.mapError((error) => fetchError(version, `No temporary space for npm: ${error.message}`)))
  const env = baseEnvironment(process.env, home)
  const args = [
    "install",
    "--ignore-scripts",
    "--omit=dev",
    "--no-audit",
    "--no-fund",
    "--no-update-notifier",
    "--loglevel=error",
    "--logs-max=0",
    `--cache=${home}/cache`,
    // Files that are not there: nothing of the machine's own npm settings. npm refuses one path for both.
    `--globalconfig=${home}/no-global-npmrc`,
    `--userconfig=${options.npmrc ?? `${home}/no-user-npmrc`}`,
    "--fetch-retries=2",
    "--fetch-retry-factor=2",
    "--fetch-retry-mintimeout=1000",
    "--fetch-retry-maxtimeout=10000",
    "--fetch-timeout=60000",
    ...(options.registry === undefined ? [] : [`--registry=${options.registry}`]),
  ]
  const result = yield* runChild({
    command: options.npmPath,
    args,
    cwd: directory,
    // npm is a script of whichever node comes first.
    env: { ...env, PATH: `${path.dirname(options.nodePath)}:${env.PATH ?? ""}` },
    grace: "5 seconds",
  }).pipe(
    Effect.mapError((error) => fetchError(version, error.message)),
    Effect.timeoutOrElse({
      duration: options.fetchTimeout ?? "10 minutes",
      orElse: () =>
        Effect.fail(fetchError(version, "npm did not end in time; check the registry and the way to it")),
    }),
  )
  yield* logOutput("npm", `${result.stdout}\n${result.stderr}`, (text) =>
    withoutSecrets(withoutCredentials(text)),
  )
  if (Option.contains(result.exitCode, 0)) {
    // What was fetched lies in the store; the next version would share little of it.
    yield* Effect.ignore(fs.remove(`${home}/cache`, { recursive: true, force: true }))
    return
  }
  return yield* new PulumiError({
    step: "fetch package",
    version,
    ...npmFailure(`${result.stderr}\n${result.stdout}`, { version, registry: options.registry, isKnown }),
    reason: "Failed",
  })
})
