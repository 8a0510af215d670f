// `node <runner> operation` and `node <runner> approved-host-builds <directory>`: the protocol of the operator's own
// runner, with the engine of this folder behind it.
import { Deferred, Effect, Exit, Predicate, Schema, Stream } from "effect"
import { platformPackageName } from "../../../src/services/Pulumi/Layout.ts"
import {
  decodeRequest,
  eventLine,
  Outputs,
  type RunnerEvent,
  type RunRequest,
} from "../../../src/services/Pulumi/Protocol.ts"
import { BrokenPipe } from "../processes/Pipe.ts"
import type { ProcessContext, Program } from "../processes/Program.ts"
import { cliProcess, type Machine, type Result } from "./Cli.ts"
import { CliError, wordsOf } from "./Errors.ts"
import { createOrSelect, type StackContext, setConfig } from "./Stack.ts"
import { makeLoader, resolveModule } from "./sdk/Modules.ts"
import { Secret, unwrapped } from "./sdk/Output.ts"
import { readText, type Volume } from "./Volume.ts"

const StackOutputs = Schema.Struct({
  schemaVersion: Schema.Literal(2),
  namespace: Schema.String,
  endpoints: Schema.optionalKey(Outputs.fields.endpoints),
  tenants: Schema.optionalKey(Schema.Array(Schema.Struct({ name: Schema.String }))),
})
const decodeOutputs = Schema.decodeUnknownEffect(StackOutputs)

export const readOutputs = ({ outputs }: Result) =>
  decodeOutputs(
    Object.fromEntries(
      Object.entries(outputs).flatMap(([key, value]) =>
        value instanceof Secret ? [] : [[key, unwrapped(value)]],
      ),
    ),
  ).pipe(
    Effect.mapError((error) => new CliError({ message: error.message })),
    Effect.map(
      ({ schemaVersion, namespace, endpoints, tenants }): Outputs => ({
        schemaVersion,
        namespace,
        endpoints: endpoints ?? {},
        tenants: (tenants ?? []).map(({ name }) => name),
      }),
    ),
  )

/** As the Automation API tells of a command that failed. */
export const commandFailed = ({ message }: CliError) =>
  new CliError({ message: `code: -2\n stdout: \n stderr: ${message}\n` })

/** The package of a project, and with it the SDK that its program shares with the engine's client. */
const loadPackage = (volume: Volume, directory: string) =>
  Effect.try({
    try: () => {
      const own = `${volume.realpath(directory)}/index.js`
      const platform = resolveModule(volume, `${platformPackageName}/package.json`, own)
      resolveModule(volume, "@pulumi/pulumi/package.json", platform)
    },
    catch: (error) => new CliError({ message: wordsOf(error) }),
  })

/** The steps of a run in their order, as the runner has them. */
const runProgram = Effect.fnUntraced(function* (
  process: ProcessContext,
  machine: Machine,
  request: RunRequest,
  cancelled: Deferred.Deferred<void>,
  emit: (event: RunnerEvent) => void,
  told: { step: string; changes: Result["changes"] },
) {
  const { env } = process
  const volume = process.files.as({ umask: 0o077 })
  const context: StackContext = {
    directory: request.projectDirectory,
    env,
    backend: {
      volume,
      root: (env.PULUMI_BACKEND_URL ?? "").replace(/^file:\/\//, ""),
      project: request.project,
      stack: request.stack,
      gzip: env.PULUMI_DIY_BACKEND_GZIP === "true",
    },
  }
  const begin = Effect.fnUntraced(function* (step: string) {
    if (yield* Deferred.isDone(cancelled)) return yield* new CliError({ message: "the run was cancelled" })
    told.step = step
    emit({ type: "step", step })
  })
  const operation = Effect.fnUntraced(function* (kind: "refresh" | "up" | "preview") {
    yield* begin(kind)
    const result = yield* Deferred.make<Result, CliError>()
    const cli = process.fork(
      "pulumi",
      cliProcess({ kind, request, context, machine, emit, cancelled, result }, process.pid),
    )
    const gone = Effect.andThen(
      process.ended(cli),
      Effect.fail(new CliError({ message: "error: the pulumi CLI was killed by a signal" })),
    )
    const exit = yield* Effect.result(Effect.raceFirst(Deferred.await(result), gone))
    yield* process.ended(cli)
    if (exit._tag === "Failure") return yield* commandFailed(exit.failure)
    const ended = exit.success
    told.changes = ended.changes
    return ended
  })
  yield* begin("load package")
  // Starting Node and loading the SDK.
  yield* Effect.sleep("700 millis")
  yield* loadPackage(volume, request.projectDirectory)
  yield* begin("select stack")
  yield* Effect.mapError(createOrSelect(context, request.stack), commandFailed)
  yield* begin("set config")
  yield* Effect.mapError(setConfig(context, request), commandFailed)
  if (request.preview === true) {
    const { steps = [] } = yield* operation("preview")
    return { type: "planned", steps } as const
  }
  if (request.refresh) yield* operation("refresh")
  const result = yield* operation("up")
  told.step = "read outputs"
  emit({ type: "step", step: "read outputs" })
  return { type: "outputs", outputs: yield* readOutputs(result) } as const
})

/** Reads requests to the end of its input, which says that the operator is gone. */
const listen = (
  process: ProcessContext,
  emit: (event: RunnerEvent) => void,
  cancelled: Deferred.Deferred<void>,
  request: Deferred.Deferred<RunRequest | undefined>,
) => {
  let taken = false
  const onLine = (line: string) => {
    const decoded = decodeRequest(line)
    if (Exit.isFailure(decoded)) {
      return Effect.sync(() =>
        emit({ type: "refused", message: "a line that is no request of this protocol" }),
      )
    }
    if (decoded.value.type === "cancel") return Deferred.succeed(cancelled, undefined)
    if (taken) {
      return Effect.sync(() =>
        emit({ type: "refused", message: "this process has run its program; a second run needs its own" }),
      )
    }
    taken = true
    return Deferred.succeed(request, decoded.value)
  }
  return Stream.runForEach(process.stdin, onLine).pipe(
    Effect.ignore,
    Effect.andThen(Deferred.succeed(cancelled, undefined)),
    Effect.andThen(Deferred.succeed(request, undefined)),
  )
}

const operation = Effect.fnUntraced(function* (process: ProcessContext, machine: Machine) {
  process.ignoreSignals()
  const emit = (event: RunnerEvent) => {
    try {
      process.stdout(eventLine(event))
    } catch (error) {
      // The operator is gone; the end of stdin says so, too.
      if (!(error instanceof BrokenPipe)) throw error
    }
  }
  if (process.session !== process.pid) {
    emit({ type: "refused", message: "the runner must lead a Unix session of its own" })
    return 2
  }
  const cancelled = yield* Deferred.make<void>()
  const asked = yield* Deferred.make<RunRequest | undefined>()
  yield* Effect.forkChild(listen(process, emit, cancelled, asked))
  const request = yield* Deferred.await(asked)
  if (request === undefined) return 0
  const told: { step: string; changes: Result["changes"] } = { step: "start", changes: {} }
  const exit = yield* Effect.result(runProgram(process, machine, request, cancelled, emit, told))
  const finish = (outcome: "succeeded" | "failed" | "cancelled", message: string) => {
    emit({ type: "outcome", outcome, step: told.step, message, changes: told.changes })
    return 0
  }
  if (exit._tag === "Success") {
    emit(exit.success)
    return finish("succeeded", "")
  }
  return finish((yield* Deferred.isDone(cancelled)) ? "cancelled" : "failed", exit.failure.message)
})

/** Loads the package's main entrypoint as it lies there, and prints what it and the manifest list. */
const hostBuilds = (process: ProcessContext, directory: string) =>
  Effect.sync(() => {
    const volume = process.files
    try {
      const require = makeLoader(volume, () => undefined).requireFrom(`${directory}/index.js`)
      const entrypoint = require(platformPackageName)
      const manifest = JSON.parse(
        readText(volume, require.resolve(`${platformPackageName}/package.json`)) ?? "{}",
      )
      const listed = Predicate.isObject(entrypoint)
        ? Reflect.get(entrypoint, "approvedTenantHostImages")
        : undefined
      process.stdout(
        JSON.stringify({
          entrypoint: listed ?? null,
          manifest: manifest.diFramework?.approvedTenantHostImages ?? null,
        }),
      )
      return 0
    } catch (error) {
      process.stderr(`${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`)
      return 1
    }
  }).pipe(Effect.delay("200 millis"))

/** The program `node`, started with the runner's entry. It minds no SIGINT, SIGTERM or SIGHUP, as the runner does. */
export const runnerProgram =
  (machine: Machine): Program =>
  (process) => {
    const [mode, directory] =
      process.argv.slice(-2)[0] === "approved-host-builds" ? process.argv.slice(-2) : [process.argv.at(-1)]
    if (mode === "approved-host-builds") return hostBuilds(process, directory ?? "")
    if (mode === "operation") return operation(process, machine)
    return Effect.sync(() => {
      process.stderr("the runner is started by the operator: operation | approved-host-builds\n")
      return 2
    })
  }
