// Pulumi and the state directory in memory: packages that take a while to fetch, operations that take a while and
// then succeed, or fail as they were told to.
import { Clock, Duration, Effect, Layer, Option } from "effect"
import { formatKey } from "../../../src/schema/InstanceKey.ts"
import {
  type OperationProgress,
  type OperationRequest,
  type Preview,
  type PreviewRequest,
  Pulumi,
  PulumiError,
} from "../../../src/services/Pulumi/Pulumi.ts"
import {
  type InstanceRecord,
  type OperationMarker,
  StateStore,
} from "../../../src/services/StateStore/StateStore.ts"

const FETCH_TAKES = Duration.seconds(5)
const RUN_TAKES = Duration.minutes(1)

export const makeStateStore = () => {
  const records = new Map<string, InstanceRecord>()
  const histories = new Map<string, string>()
  const plans = new Map<string, string>()
  /** Of operations that were cut off. */
  const markers = new Map<string, OperationMarker>()
  const states = new Set<string>()
  /** Clusters whose states are kept aside, by instance. */
  const kept = new Map<string, ReadonlyArray<string>>()
  const layer = Layer.mock(StateStore, {
    packagesDir: "/state/packages",
    pluginsDir: "/state/plugins",
    paths: ({ namespace, name }) => {
      const root = `/state/instances/${namespace}/${name}`
      return { root, project: `${root}/project`, backend: `${root}/backend` }
    },
    readRecord: (key) => Effect.sync(() => Option.fromUndefinedOr(records.get(formatKey(key)))),
    writeRecord: (key, record) => Effect.sync(() => void records.set(formatKey(key), record)),
    records: Effect.sync(() =>
      [...records].map(([key, record]) => {
        const [namespace = "", name = ""] = key.split("/")
        return { key: { namespace, name }, record }
      }),
    ),
    readHistory: (key) => Effect.sync(() => Option.fromUndefinedOr(histories.get(formatKey(key)))),
    writeHistory: (key, text) => Effect.sync(() => void histories.set(formatKey(key), text)),
    readOperation: (key) => Effect.sync(() => Option.fromUndefinedOr(markers.get(formatKey(key)))),
    readPlan: (key) => Effect.sync(() => Option.fromUndefinedOr(plans.get(formatKey(key)))),
    writePlan: (key, text) => Effect.sync(() => void plans.set(formatKey(key), text)),
    installedVersions: Effect.sync(
      () => new Set([...records.values()].flatMap(({ installed }) => installed?.version ?? [])),
    ),
    keepsState: (key, { to }) => Effect.sync(() => kept.get(formatKey(key))?.includes(to) === true),
    exchangeState: (key, { from, to }) =>
      Effect.sync(() => {
        const name = formatKey(key)
        const others = (kept.get(name) ?? []).filter((cluster) => cluster !== to)
        const back = kept.get(name)?.includes(to) === true
        kept.set(name, states.has(name) ? [...others, from] : others)
        if (back) states.add(name)
        else states.delete(name)
      }),
    hasState: (key) => Effect.sync(() => states.has(formatKey(key))),
    dropState: (key) => Effect.sync(() => void states.delete(formatKey(key))),
    drop: (key) =>
      Effect.sync(() => {
        states.delete(formatKey(key))
        records.delete(formatKey(key))
        histories.delete(formatKey(key))
        plans.delete(formatKey(key))
      }),
  })
  return { layer, records, histories, plans, markers, states, kept }
}

/** One operation of the engine, as it was asked for and as it ended. */
export interface Run {
  /** Milliseconds since the epoch. */
  readonly at: number
  endedAt: number | undefined
  readonly request: OperationRequest
  outcome: "running" | "succeeded" | "failed" | "interrupted"
}

/** One preview. */
export interface Look {
  readonly request: PreviewRequest
  outcome: "running" | "succeeded" | "failed" | "interrupted"
}

export const makePulumi = (states: Set<string>, approved: ReadonlyArray<string>) => {
  const runs: Array<Run> = []
  const looks: Array<Look> = []
  /** Errors that the next previews end with. */
  const lookFailures: Array<PulumiError["reason"] | "Defect"> = []
  /** What previews find, and how long they take. */
  const seen: { preview: Preview; takes: Duration.Duration } = {
    preview: { steps: [], drifted: [] },
    takes: Duration.seconds(20),
  }
  const fetches: Array<string> = []
  /** Errors that the next operations end with. */
  const failures: Array<PulumiError["reason"]> = []
  /** Instances whose operations end by their timeout alone. */
  const endless = new Set<string>()
  /** Of the packages that are found from now on. */
  const found = { digest: "sha256:0" }
  /** What the next operations say of themselves once they run. */
  const sayings: Array<Omit<OperationProgress, "step">> = []

  const run = Effect.fnUntraced(function* (
    request: OperationRequest,
    onProgress: (progress: OperationProgress) => Effect.Effect<void>,
  ) {
    const key = formatKey(request.key)
    if (runs.some((each) => each.outcome === "running" && formatKey(each.request.key) === key))
      return yield* Effect.die(new Error(`two operations at once on ${key}`))
    const at = yield* Clock.currentTimeMillis
    const run: Run = { at, endedAt: undefined, request, outcome: "running" }
    runs.push(run)
    states.add(key)
    const { version } = request
    yield* onProgress({ step: "up" })
    for (const said of sayings.splice(0)) yield* onProgress({ step: "up", moved: true, ...said })
    const failed = (message: string, reason: PulumiError["reason"]) =>
      new PulumiError({ step: "up", version, message, reason })
    return yield* (endless.has(key) ? Effect.never : Effect.sleep(RUN_TAKES)).pipe(
      Effect.timeoutOrElse({
        duration: request.timeout,
        orElse: () => Effect.fail(failed("The operation did not end in time", "Cancelled")),
      }),
      Effect.andThen(
        Effect.suspend(() => {
          const reason = failures.shift()
          return reason === undefined
            ? Effect.succeed({
                endpoints: {
                  http: "http://apps.example",
                  kubernetes: request.config.get("kubernetesEndpoint") ?? "",
                },
                namespace: "di-framework",
                changes: {},
              })
            : Effect.fail(failed("the program throws", reason))
        }),
      ),
      Effect.onExit((exit) =>
        Effect.map(Clock.currentTimeMillis, (now) => {
          run.endedAt = now
          const interrupted =
            exit._tag === "Failure" && exit.cause.reasons.some(({ _tag }) => _tag === "Interrupt")
          run.outcome = exit._tag === "Success" ? "succeeded" : interrupted ? "interrupted" : "failed"
        }),
      ),
    )
  })

  const preview = Effect.fnUntraced(function* (request: PreviewRequest) {
    const key = formatKey(request.key)
    if (runs.some((each) => each.outcome === "running" && formatKey(each.request.key) === key))
      return yield* Effect.die(new Error(`a preview during an operation on ${key}`))
    const look: Look = { request, outcome: "running" }
    looks.push(look)
    return yield* Effect.sleep(seen.takes).pipe(
      Effect.timeoutOrElse({
        duration: request.timeout,
        orElse: () =>
          Effect.fail(
            new PulumiError({
              step: "preview",
              version: request.version,
              message: "It did not end in time",
              reason: "Cancelled",
            }),
          ),
      }),
      Effect.andThen(
        Effect.suspend(() => {
          const reason = lookFailures.shift()
          if (reason === "Defect") return Effect.die(new Error("a defect in a preview"))
          return reason === undefined
            ? Effect.succeed(seen.preview)
            : Effect.fail(
                new PulumiError({
                  step: "preview",
                  version: request.version,
                  message: "the program throws; check spec.version",
                  reason,
                }),
              )
        }),
      ),
      Effect.onExit((exit) =>
        Effect.sync(() => {
          const interrupted =
            exit._tag === "Failure" && exit.cause.reasons.some(({ _tag }) => _tag === "Interrupt")
          look.outcome = exit._tag === "Success" ? "succeeded" : interrupted ? "interrupted" : "failed"
        }),
      ),
    )
  })

  /** The copies that were kept, and errors that the next ones end with. */
  const exports: Array<string> = []
  const exportFailures: Array<string> = []
  const layer = Layer.mock(Pulumi, {
    preview,
    // Each operation changes it.
    stateDigest: (key) =>
      Effect.sync(() => {
        const own = runs.filter(({ request }) => formatKey(request.key) === formatKey(key))
        return `${own.length}`
      }),
    exportState: (key) =>
      Effect.suspend(() => {
        const message = exportFailures.shift()
        if (message !== undefined)
          return Effect.fail(
            new PulumiError({ step: "export state", version: "", message, reason: "Failed" }),
          )
        exports.push(formatKey(key))
        return Effect.void
      }),
    prune: () => Effect.void,
    fetch: (version) =>
      Effect.gen(function* () {
        if (!fetches.includes(version)) yield* Effect.sleep(FETCH_TAKES)
        fetches.push(version)
        return {
          version,
          directory: `/packages/${version}`,
          digest: found.digest,
          approvedHostBuilds: approved,
        }
      }),
    run,
  })
  return {
    layer,
    runs,
    looks,
    lookFailures,
    seen,
    failures,
    endless,
    sayings,
    found,
    fetches,
    exports,
    exportFailures,
  }
}
