// One side of the comparison: a machine with the runner on it, and a target. Both sides are driven by the operator's own
// code over the same services; only what stands behind them differs.

import { gunzipSync } from "node:zlib"
import { type Context, Deferred, Effect, Exit, FileSystem, Queue, Schema, Scope, Stream } from "effect"
import type { ChildProcessSpawner } from "effect/process"
import type { Disk } from "../../../src/services/Disk/Disk.ts"
import type { KubernetesClient } from "../../../src/services/Kubernetes/Kubernetes.ts"
import { spawnChild } from "../../../src/services/Process/Child.ts"
import { Processes } from "../../../src/services/Process/Processes.ts"
import { sessionProcesses } from "../../../src/services/Process/Session.ts"
import { engineEnvironment } from "../../../src/services/Pulumi/Environment.ts"
import {
  backendUrl,
  locksDirectory,
  projectName,
  stackName,
  stateFile,
} from "../../../src/services/Pulumi/Layout.ts"
import { firstSentence } from "../../../src/services/Pulumi/Messages.ts"
import type { PulumiOptions } from "../../../src/services/Pulumi/Options.ts"
import { writeProject } from "../../../src/services/Pulumi/Project.ts"
import {
  decodeEvent,
  type RunnerEvent,
  type RunRequest,
  requestLine,
} from "../../../src/services/Pulumi/Protocol.ts"
import type { InstancePaths } from "../../../src/services/StateStore/StateStore.ts"
import { saidBy } from "./Words.ts"

export type Services = FileSystem.FileSystem | Processes | Disk | ChildProcessSpawner.ChildProcessSpawner

/** Of the target; `user` and `server` are free names in it. `bundled`: another text says which CA is trusted. */
export interface OwnKubeconfig {
  readonly user?: string
  readonly server?: string
  readonly bundled?: boolean
}

export interface EngineSide {
  /** Everything of this side lies below it. */
  readonly root: string
  readonly services: Context.Context<Services>
  /** An administrator's client of the target. */
  readonly client: KubernetesClient
  readonly kubeconfig: (own?: OwnKubeconfig) => string
  readonly options: PulumiOptions
  readonly pluginDirectory: string
  /** The folder that holds this version's `node_modules`. */
  readonly packageOf: (version: string) => string
}

export interface RunOptions {
  readonly version?: string
  readonly config?: Readonly<Record<string, string>>
  readonly secretConfig?: Readonly<Record<string, string>>
  readonly refresh?: boolean
  readonly kubeconfig?: OwnKubeconfig
  readonly clusterIdentifier?: string
  readonly env?: Readonly<Record<string, string | undefined>>
}

export const pathsOf = ({ root }: EngineSide): InstancePaths => ({
  root: `${root}/instance`,
  project: `${root}/instance/project`,
  backend: `${root}/instance/backend`,
})

const version = "6.0.22"

const environmentOf = (side: EngineSide, { env = {} }: RunOptions): Record<string, string> => {
  const whole: Record<string, string | undefined> = {
    ...engineEnvironment({
      from: process.env,
      home: `${side.root}/tmp`,
      pulumiHome: `${side.root}/tmp/pulumi`,
      pulumiDirectory: side.options.pulumiPath.replace(/\/[^/]*$/, ""),
      backendUrl: backendUrl(pathsOf(side)),
      passphraseFile: side.options.passphraseFile,
      incarnation: "first",
    }),
    ...env,
  }
  return Object.fromEntries(
    Object.entries(whole).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  )
}

const requestOf = (side: EngineSide, options: RunOptions): RunRequest => ({
  type: "run",
  projectDirectory: pathsOf(side).project,
  project: projectName,
  stack: stackName,
  config: {
    networkPolicyEngine: "existing",
    kubernetesEndpoint: "https://instance:443",
    tenants: JSON.stringify([{ name: "acme" }]),
    fixtureSkipAwait: "true",
    ...options.config,
    kubeconfig: `${side.root}/memory/kubeconfig`,
    clusterIdentifier: options.clusterIdentifier ?? "uid-1",
  },
  secretConfig: { ...options.secretConfig },
  refresh: options.refresh ?? false,
})

export interface Running {
  readonly pid: number
  readonly events: ReadonlyArray<RunnerEvent>
  /** When it has said everything, and is gone. */
  readonly ended: Effect.Effect<void>
  /** Asks it to stop, in the one way there is. */
  readonly cancel: Effect.Effect<void>
  /** Returns when nothing of its session is left. */
  readonly close: Effect.Effect<void>
}

/** Starts a runner in a project that is written as the operator writes it. */
export const start = Effect.fnUntraced(function* (side: EngineSide, options: RunOptions = {}) {
  const fs = yield* FileSystem.FileSystem
  const { project, backend } = pathsOf(side)
  for (const folder of [project, backend]) yield* fs.makeDirectory(folder, { recursive: true })
  yield* fs.writeFileString(`${side.root}/memory/kubeconfig`, side.kubeconfig(options.kubeconfig))
  const own = options.version ?? version
  const platform = { version: own, directory: side.packageOf(own), digest: "", approvedHostBuilds: [] }
  yield* writeProject(pathsOf(side), platform, side.options.wrapperPath)
  const scope = yield* Scope.make()
  const input = yield* Queue.unbounded<string>()
  const child = yield* spawnChild({
    command: side.options.nodePath,
    args: [side.options.runnerPath, "operation"],
    cwd: project,
    env: environmentOf(side, options),
    grace: "60 seconds",
    stdin: Stream.fromQueue(input).pipe(Stream.encodeText),
  }).pipe(Scope.provide(scope))
  yield* Queue.offer(input, requestLine(requestOf(side, options)))
  const events: Array<RunnerEvent> = []
  const ended = yield* Deferred.make<void>()
  const hear = child.stdout.pipe(
    Stream.decodeText(),
    Stream.splitLines,
    Stream.runForEach((line) =>
      Effect.sync(() => {
        const event = decodeEvent(line)
        if (Exit.isSuccess(event)) events.push(event.value)
      }),
    ),
  )
  yield* Effect.all([hear, Stream.runDrain(child.stderr), Effect.exit(child.exitCode)], {
    concurrency: "unbounded",
  }).pipe(Effect.ignore, Effect.andThen(Deferred.succeed(ended, undefined)), Effect.forkChild)
  return {
    pid: child.pid,
    events,
    ended: Deferred.await(ended),
    cancel: Effect.asVoid(Queue.offer(input, requestLine({ type: "cancel" }))),
    close: Scope.close(scope, Exit.void),
  } satisfies Running
})

/** What a run came to: its last word, the way the operator reads it, and what the engine said. */
export const verdict = ({ root }: EngineSide, events: ReadonlyArray<RunnerEvent>, own: string = version) => {
  const last = events.find((event) => event.type === "outcome")
  const refused = events.filter((event) => event.type === "refused").length
  if (last === undefined) return { outcome: "none", refused }
  const errors = events.flatMap((event) =>
    event.type === "diagnostic" && event.severity === "error" ? [event.message] : [],
  )
  const words = errors.length > 0 ? errors.join("\n") : last.message
  const { outcome, step, changes } = last
  return outcome === "succeeded"
    ? { outcome, step, changes, outputs: events.find((event) => event.type === "outputs")?.outputs }
    : { outcome, step, says: firstSentence(words, step, own), words: saidBy(events, root) }
}

/** A whole run. */
export const run = Effect.fnUntraced(function* (side: EngineSide, options: RunOptions = {}) {
  const running = yield* start(side, options)
  yield* running.ended
  yield* running.close
  if (process.env.CONFORMANCE_DEBUG !== undefined) {
    for (const event of running.events) {
      if (event.type === "diagnostic" || event.type === "outcome") console.error(JSON.stringify(event))
    }
  }
  return verdict(side, running.events, options.version)
})

/** Until the runner has begun this step. */
export const reaches = Effect.fnUntraced(function* ({ events }: Running, name: string) {
  while (!events.some((event) => event.type === "step" && event.step === name))
    yield* Effect.sleep("50 millis")
})

/** SIGKILL to every process of the session, children first, as when memory runs out. */
export const killAll = Effect.fnUntraced(function* (session: number) {
  const { signal } = yield* Processes
  for (const pid of (yield* sessionProcesses(session)).toReversed()) yield* signal(pid, "SIGKILL")
})

const Resource = Schema.Struct({
  urn: Schema.String,
  initErrors: Schema.optionalKey(Schema.Array(Schema.String)),
})
const State = Schema.fromJsonString(
  Schema.Struct({
    checkpoint: Schema.Struct({
      latest: Schema.Struct({
        resources: Schema.optionalKey(Schema.NullOr(Schema.Array(Resource))),
        pending_operations: Schema.optionalKey(
          Schema.NullOr(Schema.Array(Schema.Struct({ type: Schema.String, resource: Resource }))),
        ),
      }),
    }),
  }),
)
const decodeState = Schema.decodeSync(State)

export const shortName = (urn: string): string => urn.split("::").slice(2).join(" ")

const stateText = Effect.fnUntraced(function* (side: EngineSide) {
  const fs = yield* FileSystem.FileSystem
  const content = yield* fs.readFile(`${stateFile(pathsOf(side))}.json.gz`).pipe(Effect.option)
  return content._tag === "Some" ? gunzipSync(content.value).toString("utf8") : undefined
})

export const locks = Effect.fnUntraced(function* (side: EngineSide) {
  const fs = yield* FileSystem.FileSystem
  const names = yield* fs
    .readDirectory(locksDirectory(pathsOf(side)))
    .pipe(Effect.orElseSucceed((): Array<string> => []))
  return names.filter((name) => name.endsWith(".json")).sort()
})

/** What the state has: resources, what was begun, and how often it is locked. */
export const stateOf = Effect.fnUntraced(function* (side: EngineSide) {
  const text = yield* stateText(side)
  const held = (yield* locks(side)).length
  if (text === undefined) return { resources: [], pending: [], unready: [], held }
  const { latest } = decodeState(text).checkpoint
  const resources = latest.resources ?? []
  return {
    resources: resources.map(({ urn }) => shortName(urn)).sort(),
    pending: (latest.pending_operations ?? [])
      .map(({ type, resource }) => `${type} ${shortName(resource.urn)}`)
      .sort(),
    unready: resources
      .filter(({ initErrors = [] }) => initErrors.length > 0)
      .map(({ urn }) => shortName(urn))
      .sort(),
    held,
  }
})

/** Whether a text stands anywhere in the state, the stack config or the project in the clear. */
export const isWritten = Effect.fnUntraced(function* (side: EngineSide, secret: string) {
  const fs = yield* FileSystem.FileSystem
  const config = yield* fs.readFileString(`${pathsOf(side).project}/Pulumi.${stackName}.yaml`)
  const state = (yield* stateText(side)) ?? ""
  const encoded = Buffer.from(secret).toString("base64")
  return [config, state].some((text) => text.includes(secret) || text.includes(encoded))
})
