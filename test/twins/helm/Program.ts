// The program `helm` (4.3), as HelmLive and InnerReleases call it. Signals: it heeds SIGTERM and SIGINT in an install or an
// upgrade only, from when the chart is read; everywhere else they end it at once, and SIGKILL does so always.
import { Deferred, Effect, Option } from "effect"
import { parse } from "yaml"
import type { ApiClient } from "../kubernetes/ApiServer.ts"
import { isJson, type Json, objectOf } from "../kubernetes/Json.ts"
import { type Chart, HelmFailure, readChart, renderManifest, type Templates } from "./Chart.ts"
import { knownCharts } from "./charts/index.ts"
import { type CommandLine, goMillis, parseCommandLine } from "./Flags.ts"
import { goYaml, type Json as Plain } from "./GoYaml.ts"
import { install, prepareInstall } from "./Install.ts"
import { type Deployment, isReachable, type Options } from "./Operation.ts"
import type { Release } from "./Release.ts"
import { rollback } from "./Rollback.ts"
import { compute, HelmError, logLine, type Session, wrap } from "./Session.ts"
import { history, notFound } from "./Storage.ts"
import { uninstall } from "./Uninstall.ts"
import { prepareUpgrade, upgrade } from "./Upgrade.ts"

/** The part of a process that helm is interested in (`ProcessContext` of the process twin has it all). */
export interface HelmProcess {
  readonly argv: ReadonlyArray<string>
  readonly env: Readonly<Record<string, string>>
  readonly readStdin: Effect.Effect<string>
  readonly stdout: (text: string) => void
  readonly stderr: (text: string) => void
  readonly signalled: Effect.Effect<unknown>
  readonly files: {
    readonly readText: (path: string) => string
    readonly exists: (path: string) => boolean
    readonly isFolder: (path: string) => boolean
    readonly list: (path: string) => ReadonlyArray<string>
  }
}

export interface HelmOptions<Process extends HelmProcess> {
  /**
   * A client of the API server that a kubeconfig (its text) names, or without one the cluster that the process runs in.
   * Its field manager is `helm`. May throw `ApiStatus`.
   */
  readonly connect: (kubeconfig: string | undefined, process: Process) => ApiClient
  /** What the templates of the charts make, by the charts' names. Default: those of this repository. */
  readonly charts?: Readonly<Record<string, Templates>>
}

interface Run<Process extends HelmProcess> {
  readonly process: Process
  readonly line: CommandLine
  readonly options: HelmOptions<Process>
}

const filesBelow = (process: HelmProcess, root: string, below = ""): ReadonlyArray<[string, string]> =>
  process.files
    .list(below === "" ? root : `${root}/${below}`)
    .flatMap((name): ReadonlyArray<[string, string]> => {
      const file = below === "" ? name : `${below}/${name}`
      return process.files.isFolder(`${root}/${file}`)
        ? filesBelow(process, root, file)
        : [[file, process.files.readText(`${root}/${file}`)]]
    })

const chartAt = <Process extends HelmProcess>({ process, options }: Run<Process>, path: string) =>
  compute((): Chart => {
    if (!process.files.exists(path)) throw new HelmFailure(`path "${path}" not found`)
    return readChart(path, new Map(filesBelow(process, path)), options.charts ?? knownCharts)
  })

const sessionOf = <Process extends HelmProcess>({ process, line, options }: Run<Process>) =>
  Effect.map(
    compute(() => {
      const path = line.value("kubeconfig") ?? process.env.KUBECONFIG
      const there = path !== undefined && process.files.exists(path)
      return options.connect(there ? process.files.readText(path) : undefined, process)
    }),
    (api): Session => ({
      api,
      namespace: line.value("namespace") ?? "default",
      major: 4,
      log: (level, message, fields) => process.stderr(logLine(level, message, fields)),
    }),
  )

const operationOptions = (line: CommandLine): Options => {
  const serverSide = line.value("server-side") ?? "auto"
  return {
    serverSide: serverSide === "auto" ? "auto" : serverSide === "true",
    forceConflicts: line.isOn("force-conflicts"),
    wait: line.isOn("wait"),
    timeoutMillis: goMillis(line.value("timeout") ?? "5m"),
    historyMax: Number(line.value("history-max") ?? 10),
    atomic: line.isOn("atomic") || line.isOn("rollback-on-failure"),
  }
}

/** Anywhere in a document, quoted or not. */
const forbidden = /[\p{Cc}\ufffe\uffff]/u
const allowed = /[\t\n\r\u0085]/g
const quotedBreaks = / *[\u0085\u2028\u2029][ \u0085\u2028\u2029]*/g

/**
 * JSON as Go's YAML reads it: to YAML 1.1 these three are ends of lines, and a quoted text that has some is folded. The
 * blanks around them go, a first one that is NEL counts as nothing, or, alone, as a blank; other NELs are newlines.
 */
const foldedAsGo = (text: string): string =>
  text.replaceAll(quotedBreaks, (found) => {
    const breaks = found.replaceAll(" ", "").replaceAll("\u0085", "\n")
    const kept = breaks.startsWith("\n") ? breaks.slice(1) || " " : breaks
    return kept.replaceAll("\n", "\\n")
  })

const valuesOf = Effect.fnUntraced(function* ({ process, line }: Run<HelmProcess>) {
  const from = line.value("values")
  if (from === undefined) return {}
  const text = from === "-" ? yield* process.readStdin : yield* compute(() => process.files.readText(from))
  const parsed = yield* compute((): unknown => {
    if (forbidden.test(text.replaceAll(allowed, ""))) {
      throw new HelmFailure(
        `failed to parse ${from}: cannot unmarshal yaml document: error converting YAML to JSON: yaml: control characters are not allowed`,
      )
    }
    try {
      return parse(foldedAsGo(text))
    } catch {
      throw new HelmFailure(`failed to parse ${from}: cannot unmarshal yaml document`)
    }
  })
  if (parsed === null) return {}
  if (isJson(parsed)) return parsed
  const what = Array.isArray(parsed) ? "array" : typeof parsed
  return yield* new HelmError({
    message: `failed to parse ${from}: cannot unmarshal yaml document: error unmarshaling JSON: while decoding JSON: json: cannot unmarshal ${what} into Go value of type map[string]interface {}`,
  })
})

/** From here on a signal is heeded: it fails what waits for this, and is told on standard output. */
const listening = Effect.fnUntraced(function* (process: HelmProcess, name: string) {
  const cancelled = yield* Deferred.make<never, HelmError>()
  yield* process.signalled.pipe(
    Effect.andThen(Effect.sync(() => process.stdout(`Release ${name} has been cancelled.\n`))),
    Effect.andThen(Deferred.fail(cancelled, new HelmError({ message: "context canceled" }))),
    Effect.forkChild({ startImmediately: true }),
  )
  return { cancelled: Deferred.await(cancelled) }
})

const ansiC = (time: string): string => {
  const [day = "", month = "", date = "", year = "", clock = ""] = new Date(time)
    .toUTCString()
    .replace(/^(\w+), 0?(\d+) (\w+) (\d+) ([\d:]+).*$/, "$1 $3 $2 $4 $5")
    .split(" ")
  return `${day} ${month} ${date.padStart(2)} ${clock} ${year}`
}

const table = ({ name, namespace, version, info }: Release): string =>
  [
    `NAME: ${name}`,
    `LAST DEPLOYED: ${ansiC(info.last_deployed)}`,
    `NAMESPACE: ${namespace}`,
    `STATUS: ${info.status}`,
    `REVISION: ${version}`,
    `DESCRIPTION: ${info.description}`,
    "TEST SUITE: None",
    "",
  ].join("\n")

type Command = (run: Run<HelmProcess>, session: Session) => Effect.Effect<void, HelmError>

const runInstall = Effect.fnUntraced(function* (run: Run<HelmProcess>, session: Session) {
  const [, name = "", path = ""] = run.line.words
  const values = yield* valuesOf(run)
  const deployment: Deployment = { name, chart: yield* chartAt(run, path), values }
  const options = operationOptions(run.line)
  const { cancelled } = yield* listening(run.process, name)
  const prepared = yield* prepareInstall(session, deployment, options)
  run.process.stdout(table(yield* install(session, prepared, options, cancelled)))
})

const runUpgrade: Command = Effect.fnUntraced(function* (run, session) {
  const [, name = "", path = ""] = run.line.words
  if (run.line.isOn("install")) {
    yield* isReachable(session)
    const revisions = yield* Effect.catchIf(
      history(session, name),
      (error) => error === notFound,
      () => Effect.undefined,
    )
    if (revisions === undefined || revisions[0]?.info.status === "uninstalled") {
      run.process.stdout(`Release "${name}" does not exist. Installing it now.\n`)
      return yield* runInstall(run, session)
    }
  }
  const chart = yield* chartAt(run, path)
  const deployment: Deployment = { name, chart, values: yield* valuesOf(run) }
  const options = operationOptions(run.line)
  const { cancelled } = yield* listening(run.process, name)
  const release = yield* prepareUpgrade(session, deployment, options).pipe(
    Effect.flatMap((prepared) => upgrade(session, prepared, options, cancelled)),
    Effect.mapError(wrap("UPGRADE FAILED")),
  )
  run.process.stdout(`Release "${name}" has been upgraded. Happy Helming!\n${table(release)}`)
})

const runRollback: Command = Effect.fnUntraced(function* (run, session) {
  const [, name = "", given = "0"] = run.line.words
  if (!/^[-+]?\d+$/.test(given)) {
    return yield* new HelmError({
      message: `could not convert revision to a number: strconv.Atoi: parsing ${JSON.stringify(given)}: invalid syntax`,
    })
  }
  yield* rollback(session, name, Number(given), operationOptions(run.line))
  run.process.stdout("Rollback was a success! Happy Helming!\n")
})

const runUninstall: Command = Effect.fnUntraced(function* (run, session) {
  const { wait, timeoutMillis } = operationOptions(run.line)
  const ignoreNotFound = run.line.isOn("ignore-not-found")
  for (const name of run.line.words.slice(1)) {
    yield* uninstall(session, name, { wait, timeoutMillis, ignoreNotFound })
    run.process.stdout(`release "${name}" uninstalled\n`)
  }
})

const newestOf = Effect.fnUntraced(function* (run: Run<HelmProcess>, session: Session, name: string) {
  yield* isReachable(session)
  const revisions = yield* history(session, name)
  const wanted = run.line.value("revision")
  const found =
    wanted === undefined ? revisions[0] : revisions.find(({ version }) => version === Number(wanted))
  return found ?? (yield* notFound)
})

const runStatus: Command = Effect.fnUntraced(function* (run, session) {
  const release = yield* newestOf(run, session, run.line.words[1] ?? "")
  const { chart: _, labels: _labels, ...shown } = release
  run.process.stdout(run.line.value("output") === "json" ? `${JSON.stringify(shown)}\n` : table(release))
})

const runGet: Command = Effect.fnUntraced(function* (run, session) {
  const [, what, name = ""] = run.line.words
  const release = yield* newestOf(run, session, name)
  run.process.stdout(what === "values" ? `${goYaml(plain(release.config))}\n` : `${release.manifest}\n`)
})

const runHistory: Command = Effect.fnUntraced(function* (run, session) {
  yield* isReachable(session)
  const revisions = (yield* history(session, run.line.words[1] ?? "")).toReversed()
  const rows = revisions.map(({ version, info, chart }) => {
    const metadata = objectOf(chart.metadata)
    return {
      revision: version,
      updated: info.last_deployed,
      status: info.status,
      chart: `${String(metadata.name)}-${String(metadata.version)}`,
      app_version: String(metadata.appVersion ?? ""),
      description: info.description,
    }
  })
  run.process.stdout(
    run.line.value("output") === "json"
      ? `${JSON.stringify(rows)}\n`
      : rows.map((row) => `${Object.values(row).join("\t")}\n`).join(""),
  )
})

const plain = (value: Json): Plain => JSON.parse(JSON.stringify(value))

/** Commands that need no server. */
const local = Effect.fnUntraced(function* (run: Run<HelmProcess>) {
  const [command, first = "", second = ""] = run.line.words
  if (command === "show" && first === "chart") {
    const chart = yield* chartAt(run, second)
    run.process.stdout(`${goYaml(plain(chart.metadata))}\n\n`)
    return true
  }
  if (command !== "template") return false
  const chart = yield* chartAt(run, second)
  const values = yield* valuesOf(run)
  const release = { name: first, namespace: run.line.value("namespace") ?? "default" }
  run.process.stdout(yield* compute(() => renderManifest(chart, release, values)))
  return true
})

const commands: Readonly<Record<string, Command>> = {
  install: (run, session) => Effect.mapError(runInstall(run, session), wrap("INSTALLATION FAILED")),
  upgrade: runUpgrade,
  rollback: runRollback,
  uninstall: runUninstall,
  status: runStatus,
  get: runGet,
  history: runHistory,
}

/** From exec to the first request: the program is 60 MB. */
const startUp = "120 millis"

const main = Effect.fnUntraced(function* <Process extends HelmProcess>(
  process: Process,
  options: HelmOptions<Process>,
) {
  yield* Effect.sleep(startUp)
  const args = process.argv[0]?.endsWith("helm") === true ? process.argv.slice(1) : process.argv
  const line = parseCommandLine(args)
  if (line instanceof HelmError) return yield* line
  const run: Run<Process> = { process, line, options }
  const inner: Run<HelmProcess> = {
    process,
    line,
    options: { ...options, connect: (kubeconfig) => options.connect(kubeconfig, process) },
  }
  if (yield* local(inner)) return
  const command = Option.fromNullishOr(commands[line.words[0] ?? ""])
  if (Option.isNone(command)) {
    return yield* new HelmError({
      message: `unknown command ${JSON.stringify(line.words[0])} for "helm"\nRun 'helm --help' for usage.`,
    })
  }
  yield* command.value(inner, yield* sessionOf(run))
})

/** The program; gives its exit code. */
export const helmProgram =
  <Process extends HelmProcess>(options: HelmOptions<Process>) =>
  (process: Process): Effect.Effect<number> =>
    main(process, options).pipe(
      Effect.as(0),
      Effect.catch((error) =>
        Effect.sync(() => {
          process.stderr(`Error: ${error.message}\n`)
          return 1
        }),
      ),
    )
