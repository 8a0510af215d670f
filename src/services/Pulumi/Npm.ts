// npm as a child: installs one exact version of the platform package into an empty folder. Install scripts
// never run (the Kubernetes provider's package has one that downloads a plugin).
import path from "node:path"
import { Effect, FileSystem, Option } from "effect"
import { withoutSecrets } from "../../schema/Secrets.ts"
import { runChild } from "../Process/Child.ts"
import { logOutput } from "../Process/ToolOutput.ts"
import { baseEnvironment } from "./Environment.ts"
import { platformPackageName } from "./Layout.ts"
import { tail } from "./Messages.ts"
import type { PulumiOptions } from "./Options.ts"
import { PulumiError } from "./Pulumi.ts"

/** What Node calls a certificate that it does not take (read in its documentation: `tls`, "X509 certificate error codes"). */
const certificateTrouble =
  /\bcode ((?:UNABLE_TO_[A-Z_]+|SELF_SIGNED_CERT_IN_CHAIN|DEPTH_ZERO_SELF_SIGNED_CERT|CERT_[A-Z_]+|INVALID_CA|ERR_TLS_CERT_ALTNAME_INVALID))\b/

/** First sentence by npm's error code; the words themselves follow. */
const meaning = (words: string, version: string, isKnown: boolean): string => {
  const certificate = certificateTrouble.exec(words)?.[1]
  if (certificate !== undefined) {
    return `The certificate of the registry is not trusted (${certificate}); give the certificate of its authority to the operator (npm.caBundle of its chart, or cafile in its npmrc), or correct the registry's`
  }
  const code = /\bcode (E[A-Z0-9_]+)/.exec(words)?.[1] ?? /\b(ENOSPC|EDQUOT)\b/.exec(words)?.[1]
  switch (code) {
    case "E404":
    case "ETARGET":
    case "ENOVERSIONS":
      return `The registry has no ${platformPackageName} ${version}; correct spec.version, or publish that version`
    case "E401":
    case "E403":
      return `The registry refuses to hand out ${platformPackageName} ${version}; check the credentials of the operator's npmrc`
    case "ENOSPC":
    case "EDQUOT":
      return "The disk is full; make room in the operator's state claim or its temporary folders"
    case "EINTEGRITY":
      if (isKnown) {
        return `The registry has another content for ${platformPackageName} ${version}, or for what it needs, than when this version was first fetched; it is not used. A version never changes: publish it under another one, or look at the registry`
      }
      return "What the registry sent differs from what it promised; clear what is between, a proxy for one"
    case "ENOTFOUND":
    case "ECONNREFUSED":
    case "ECONNRESET":
    case "ETIMEDOUT":
    case "EAI_AGAIN":
      return "The registry does not answer; check --npm-registry and the operator's egress to it"
    default:
      return `npm could not install ${platformPackageName} ${version}`
  }
}

const manifest = (version: string): string =>
  JSON.stringify(
    { name: "platform-package", private: true, dependencies: { [platformPackageName]: version } },
    null,
    2,
  )

export const fetchError = (version: string, message: string): PulumiError =>
  new PulumiError({ step: "fetch package", version, message, reason: "Failed" })

/** Where npm keeps its log: nobody outside of the pod can open it. */
const logFile = /^npm error (A complete log of this run can be found in:|Log files were not written).*$/gm

/** Credentials that npm may repeat: those in an address. The ones of an npmrc it never prints (it masks them). */
const withoutCredentials = (words: string): string => words.replaceAll(/\/\/[^/@\s]+@/g, "//[redacted]@")

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
  const words = withoutCredentials(`${result.stderr}\n${result.stdout}`).replaceAll(logFile, "")
  return yield* new PulumiError({
    step: "fetch package",
    version,
    message: `${meaning(words, version, isKnown)}. ${tail(words)}`,
    reason: "Failed",
    final: /\b(ETARGET|E404)\b/.test(words),
  })
})
