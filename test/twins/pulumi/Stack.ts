// What the Automation API does before an operation, a CLI call each: finds or makes the stack, sets its config, exports
// its state.
import { Effect, Random } from "effect"
import type { RunRequest } from "../../../src/services/Pulumi/Protocol.ts"
import { type Backend, ensureMeta, readStateText, stackName, writeStateText } from "./Backend.ts"
import { CliError } from "./Errors.ts"
import { type Keeper, makeKeeper, openKeeper } from "./Passphrase.ts"
import { referenceOf } from "./Run.ts"
import { checkpointText, type Deployment, parseCheckpoint } from "./Snapshot.ts"
import { isSameConfig, readSettings, withConfig, writeSettings } from "./StackSettings.ts"
import type { StackConfig } from "./sdk/Sdk.ts"
import { readText } from "./Volume.ts"

export interface StackContext {
  readonly backend: Backend
  readonly directory: string
  readonly env: Readonly<Record<string, string>>
}

/** Start and end of the CLI, on a small machine. */
export const cliCall = Effect.sleep("300 millis")

/** What an operation says before the words over a passphrase; `config` and `stack` say nothing before them (seen). */
const operating = "getting stack configuration: get stack secrets manager: "

const passphraseOf = ({ env, backend }: StackContext, during: string) =>
  Effect.gen(function* () {
    const file = env.PULUMI_CONFIG_PASSPHRASE_FILE
    const text =
      env.PULUMI_CONFIG_PASSPHRASE ?? (file === undefined ? undefined : readText(backend.volume, file))
    if (text !== undefined && text.trim() !== "") return text.trim()
    return yield* new CliError({
      message: `error: ${during}passphrase must be set with PULUMI_CONFIG_PASSPHRASE or PULUMI_CONFIG_PASSPHRASE_FILE environment variables`,
    })
  })

/** The stack config with what opens it: the salt is the settings', else the state's. */
const openSettings = Effect.fnUntraced(function* (
  context: StackContext,
  stack: string,
  stateSalt: string | undefined,
  during = "",
) {
  const passphrase = yield* passphraseOf(context, during)
  const settings = yield* readSettings(context.backend.volume, context.directory, stack)
  const salt = settings.salt ?? stateSalt
  const keeper = salt === undefined ? undefined : openKeeper(passphrase, salt)
  if (keeper !== undefined) return { keeper, settings }
  return yield* new CliError({
    message: `error: ${during}incorrect passphrase`,
  })
})

const readStored = Effect.fnUntraced(function* ({ backend }: StackContext) {
  const text = yield* readStateText(backend)
  if (text === undefined) {
    return yield* new CliError({ message: `error: no stack named '${backend.stack}' found` })
  }
  const stored = yield* Effect.try({
    try: () => parseCheckpoint(text),
    catch: (error) =>
      new CliError({
        message: `error: failed to load checkpoint: place 1: ${
          error instanceof SyntaxError ? "unexpected end of JSON input" : String(error)
        }`,
      }),
  })
  return { text, stored }
})

/** Each resource hangs on what is there: the CLI refuses any other state (seen). */
const isConsistent = ({ resources }: Deployment): boolean => {
  const urns = new Set(resources.map(({ urn }) => urn))
  const references = new Set(resources.map(referenceOf))
  return resources.every(
    ({ parent, provider, dependencies = [] }) =>
      (parent === undefined || urns.has(parent)) &&
      (provider === undefined || references.has(provider)) &&
      dependencies.every((urn) => urns.has(urn)),
  )
}

export const openStack = Effect.fnUntraced(function* (context: StackContext, stack: string) {
  const { text, stored } = yield* readStored(context)
  const { keeper, settings } = yield* openSettings(context, stack, stored.salt, operating)
  const deployment = stored.open(keeper)
  if (!isConsistent(deployment)) {
    return yield* new CliError({
      message: "error: The Pulumi CLI encountered a snapshot integrity error. This is a bug!",
    })
  }
  return { keeper, settings, deployment, text }
})

/** Makes the stack unless it is there. */
export const createOrSelect = Effect.fnUntraced(function* (context: StackContext, stack: string) {
  const { backend, directory } = context
  yield* cliCall
  if (readText(backend.volume, `${directory}/Pulumi.yaml`) === undefined) {
    return yield* new CliError({ message: "error: no Pulumi.yaml project file found" })
  }
  yield* ensureMeta(backend)
  if ((yield* readStateText(backend)) !== undefined) return
  const passphrase = yield* passphraseOf(context, "")
  const random = yield* Effect.replicateEffect(Random.nextIntBetween(0, 255), 8)
  const settings = yield* readSettings(backend.volume, directory, stack)
  const keeper: Keeper | undefined =
    settings.salt === undefined
      ? makeKeeper(passphrase, Uint8Array.from(random))
      : openKeeper(passphrase, settings.salt)
  if (keeper === undefined) return yield* new CliError({ message: "error: incorrect passphrase" })
  yield* Effect.sleep("1300 millis")
  yield* writeSettings(backend.volume, directory, stack, { ...settings, salt: keeper.salt })
  const empty: Deployment = { resources: [], pending: [] }
  yield* writeStateText(backend, checkpointText(stackName(backend), empty, keeper, "0001-01-01T00:00:00Z"))
})

/** The config of a request, under the names it has in the stack. */
export const wantedConfig = (request: RunRequest): StackConfig =>
  new Map(
    [
      ...Object.entries(request.config).map(([key, value]) => ({ key, value, secret: false })),
      ...Object.entries(request.secretConfig).map(([key, value]) => ({ key, value, secret: true })),
    ].map(({ key, value, secret }) => [`${request.project}:${key}`, { value, secret }]),
  )

/** Makes the stack's config equal to the request's. */
export const setConfig = Effect.fnUntraced(function* (context: StackContext, request: RunRequest) {
  yield* cliCall
  // The state is looked at for its salt alone, when the settings have none.
  const { salt } = yield* readSettings(context.backend.volume, context.directory, request.stack)
  const stateSalt = salt === undefined ? (yield* readStored(context)).stored.salt : undefined
  const { keeper, settings } = yield* openSettings(context, request.stack, stateSalt)
  const next = withConfig(settings, wantedConfig(request), keeper)
  if (isSameConfig(settings, next)) return
  yield* cliCall
  yield* writeSettings(context.backend.volume, context.directory, request.stack, next)
  yield* cliCall
})
