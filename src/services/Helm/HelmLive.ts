// The real `helm` as a child process. What a release is, is read from its records through the Kubernetes API:
// that takes one request and no process, and shows what no Helm process will say (a release left pending by
// one that was killed).
import { Duration, Effect, FileSystem, Layer, Option, Result, Schema } from "effect"
import { ChildProcessSpawner } from "effect/process"
import { parse } from "yaml"
import { Disk } from "../Disk/Disk.ts"
import { Secret } from "../Kubernetes/Kinds.ts"
import { type KubeError, Kubernetes } from "../Kubernetes/Kubernetes.ts"
import { runChild } from "../Process/Child.ts"
import { childEnvironment } from "../Process/Environment.ts"
import { Processes } from "../Process/Processes.ts"
import { logOutput } from "../Process/ToolOutput.ts"
import { checkChartDigest } from "./ChartDigest.ts"
import { Helm, HelmError, type ReleaseRef } from "./Helm.ts"
import { firstCause, redact } from "./HelmMessage.ts"
import { recordName, recordSelector, releaseState, storedRevision } from "./ReleaseRecord.ts"
import { removeUnreadable } from "./UnreadableRecords.ts"

export interface HelmOptions {
  /** The program: a path, or `helm` to look it up in PATH. */
  readonly helm: string
  /** What `install` and `upgrade` take. Without a digest the chart is taken as it is. */
  readonly chart: { readonly path: string; readonly digest: Option.Option<string> }
  /** A file; only for an operator outside of the cluster. Inside, helm uses the pod's service account. */
  readonly kubeconfig?: string
  /** How long one run of helm may take (it waits for no object to be ready). Default: 5 minutes. */
  readonly timeout?: Duration.Input
}

/** What helm may need after SIGTERM to write its release's record; the loss of a lease leaves 12 s for all. */
const grace = Duration.seconds(8)

/** Revisions kept: enough to look back, and each is a Secret of more than 10 kB. */
const history = ["--history-max", "5"]
/**
 * Server-side apply whatever the release was made with, taking over fields that somebody else has set since:
 * the release says what its objects are (helm's `auto` would keep to client-side apply for old releases, and
 * a conflict would end the operation).
 */
const apply = ["--server-side=true", "--force-conflicts"]

/**
 * JSON that YAML 1.1 reads as the same: to it, some characters are ends of lines that are folded, and others are not
 * allowed. Escaped they are what they are.
 */
const asYaml = (values: Readonly<Record<string, unknown>>): string =>
  JSON.stringify(values).replaceAll(
    /[\u007f-\u009f\u2028\u2029\ufffe\uffff]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  )

const ChartYaml = Schema.Struct({ name: Schema.String, version: Schema.String })

const readError = (message: string) => new HelmError({ operation: "read", message, exitCode: Option.none() })
const kubeError = (error: KubeError) => readError(`${error.request}: ${error.message}`)

const make = Effect.fn("Helm.make")(function* (options: HelmOptions) {
  const kubernetes = yield* Kubernetes
  const spawner = yield* ChildProcessSpawner.ChildProcessSpawner
  const processes = yield* Processes
  const disk = yield* Disk
  const fs = yield* FileSystem.FileSystem
  const chart = options.chart.path
  const timeout = Duration.fromInputUnsafe(options.timeout ?? "5 minutes")
  // Everything helm keeps for itself, the API's discovery among it, in temporary space.
  const home = yield* fs.makeTempDirectoryScoped({ prefix: "helm-" }).pipe(Effect.orDie)
  const env = childEnvironment(process.env, {
    HOME: home,
    HELM_CACHE_HOME: `${home}/cache`,
    HELM_CONFIG_HOME: `${home}/config`,
    HELM_DATA_HOME: `${home}/data`,
    HELM_DRIVER: "secret",
    ...(options.kubeconfig === undefined ? {} : { KUBECONFIG: options.kubeconfig }),
  })

  /** One run of helm: its standard output, or its first cause. */
  const run = Effect.fnUntraced(function* (
    operation: HelmError["operation"],
    args: ReadonlyArray<string>,
    input?: string,
  ) {
    const failure = (message: string, exitCode: Option.Option<number> = Option.none()) =>
      new HelmError({ operation, message, exitCode })
    const result = yield* runChild({
      command: options.helm,
      args,
      env,
      grace,
      ...(input === undefined ? {} : { input }),
    }).pipe(
      Effect.provideService(ChildProcessSpawner.ChildProcessSpawner, spawner),
      Effect.provideService(Processes, processes),
      Effect.mapError((error) => failure(error.message)),
      Effect.timeoutOrElse({
        duration: timeout,
        orElse: () => Effect.fail(failure(`helm did not end within ${Duration.format(timeout)}`)),
      }),
    )
    yield* logOutput("helm", `${result.stdout}\n${result.stderr}`, redact)
    if (Option.isNone(result.exitCode)) {
      return yield* failure(`helm was ended by a signal ${firstCause(result.stderr)}`.trimEnd())
    }
    if (result.exitCode.value !== 0) return yield* failure(firstCause(result.stderr), result.exitCode)
    return result.stdout
  })

  const checkChart = Option.match(options.chart.digest, {
    onNone: () => Effect.void,
    onSome: (digest) => checkChartDigest(chart, digest).pipe(Effect.provideService(Disk, disk)),
  })
  const shown = yield* Effect.andThen(checkChart, run("chart", ["show", "chart", chart]))
  const { version } = yield* Effect.try((): unknown => parse(shown)).pipe(
    Effect.flatMap(Schema.decodeUnknownEffect(ChartYaml)),
    Effect.mapError(
      () =>
        new HelmError({
          operation: "chart",
          message: `chart ${chart} has no name and version`,
          exitCode: Option.none(),
        }),
    ),
  )

  const state = Effect.fn("Helm.state")(function* (release: ReleaseRef) {
    const records = yield* kubernetes
      .list(Secret, {
        namespace: release.namespace,
        labelSelector: recordSelector(release),
        metadataOnly: true,
      })
      .pipe(Effect.mapError(kubeError))
    return releaseState(records)
  })

  const lastDeployed = Effect.fnUntraced(function* (release: ReleaseRef) {
    const revision = Option.flatMap(yield* state(release), (it) => it.lastDeployed)
    if (Option.isSome(revision)) return revision.value
    return yield* readError(`release ${release.name} in ${release.namespace} has no deployed revision`)
  })

  /**
   * Helm's rollback applies the stored manifest of a revision as it is: it needs no chart, renders nothing
   * again, creates what is missing and puts back what was edited, and takes a release that a killed process
   * left pending. It has no handler for SIGTERM: interrupted, it leaves `pending-rollback`.
   */
  const rollback = Effect.fn("Helm.rollback")(function* (release: ReleaseRef, revision: number) {
    yield* run("rollback", [
      "rollback",
      release.name,
      String(revision),
      ...["--namespace", release.namespace, ...history, ...apply],
      ...["--timeout", goDuration(timeout)],
    ])
  })

  /** Whether Helm says so of a revision: of its answers only the one about the record itself counts. */
  const isUndecodable = (release: ReleaseRef) => (revision: number) =>
    run("read", [
      ...["get", "notes", release.name, "--revision", String(revision)],
      ...["--namespace", release.namespace],
    ]).pipe(
      Effect.as(false),
      Effect.catch(({ message }) => Effect.succeed(/failed to decode data/.test(message))),
    )

  /** Of the operator's chart. */
  const applyChart = Effect.fnUntraced(function* (
    operation: "install" | "upgrade",
    release: ReleaseRef,
    values: Readonly<Record<string, unknown>>,
  ) {
    // Checked again: a chart that is not in the image can be changed while the operator runs.
    yield* checkChart
    yield* run(
      operation,
      [
        ...["upgrade", ...(operation === "install" ? ["--install"] : []), release.name, chart],
        ...["--namespace", release.namespace, "--values", "-", ...history, ...apply],
        ...["--timeout", goDuration(timeout)],
      ],
      asYaml(values),
    )
  })

  return Helm.of({
    chartVersion: version,
    state,
    stored: Effect.fn("Helm.stored")(function* (release, revision) {
      const name = recordName(release, revision)
      const record = yield* kubernetes.get(Secret, { namespace: release.namespace, name })
      if (Option.isNone(record)) return yield* readError(`Secret ${release.namespace}/${name} is gone`)
      return yield* storedRevision(record.value).pipe(
        Effect.mapError((why) => readError(`Secret ${release.namespace}/${name} cannot be read: ${why}`)),
      )
    }),
    install: Effect.fn("Helm.install")((release, values) => applyChart("install", release, values)),
    upgrade: Effect.fn("Helm.upgrade")((release, values) => applyChart("upgrade", release, values)),
    rollback,
    reapply: Effect.fn("Helm.reapply")(function* (release) {
      yield* rollback(release, yield* lastDeployed(release))
    }),
    uninstall: Effect.fn("Helm.uninstall")(function* (release) {
      const uninstalled = yield* Effect.result(
        run("uninstall", [
          ...["uninstall", release.name, "--namespace", release.namespace, "--ignore-not-found"],
          ...["--timeout", goDuration(timeout)],
        ]),
      )
      // Of records that can be read, Helm itself says best why they are still there.
      const { removed, left } = yield* removeUnreadable(release, isUndecodable(release)).pipe(
        Effect.provideService(Kubernetes, kubernetes),
        Effect.mapError((error) => (Result.isFailure(uninstalled) ? uninstalled.failure : kubeError(error))),
      )
      if (Result.isFailure(uninstalled) && (removed === 0 || left > 0)) return yield* uninstalled.failure
    }),
  })
})

const goDuration = (duration: Duration.Duration) => `${Math.ceil(Duration.toSeconds(duration))}s`

export const HelmLive = {
  /** Fails when the chart cannot be read, has another digest than named, or helm does not run. */
  layer: (options: HelmOptions) => Layer.effect(Helm, make(options)),
}
