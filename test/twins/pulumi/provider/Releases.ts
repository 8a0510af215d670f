// `helm.v3.Release`: Helm 3 inside of the provider's process, with the records that any Helm sees. The engine compares a
// release's record, never its objects (seen).
import { Deferred, Effect, Option } from "effect"
import { readChart } from "../../helm/Chart.ts"
import { knownCharts } from "../../helm/charts/index.ts"
import { install, prepareInstall } from "../../helm/Install.ts"
import type { Options } from "../../helm/Operation.ts"
import type { Release } from "../../helm/Release.ts"
import { HelmError, type Session } from "../../helm/Session.ts"
import { history } from "../../helm/Storage.ts"
import { uninstall } from "../../helm/Uninstall.ts"
import { prepareUpgrade, upgrade } from "../../helm/Upgrade.ts"
import { at, equal, isJson, type Json, objectOf } from "../../kubernetes/Json.ts"
import type { Properties, ResourceState } from "../Snapshot.ts"
import { Secret, unwrapped } from "../sdk/Output.ts"
import { readFolder } from "../Volume.ts"
import { type Connection, type Made, ProviderError } from "./Objects.ts"

interface Wanted {
  readonly name: string
  readonly namespace: string
  readonly chart: string
  readonly values: Json
  readonly options: Options
}

const text = (value: unknown): string => (typeof value === "string" ? value : "")

const wantedOf = (inputs: Properties): Wanted => {
  const plain = objectOf(unwrapped(inputs))
  const atomic = plain.atomic === true
  return {
    name: text(plain.name),
    namespace: text(plain.namespace) || "default",
    chart: text(plain.chart),
    values: objectOf(plain.values),
    options: {
      serverSide: false,
      forceConflicts: false,
      wait: plain.skipAwait !== true,
      timeoutMillis: (typeof plain.timeout === "number" ? plain.timeout : 300) * 1000,
      // The provider keeps all of them unless it is told otherwise.
      historyMax: 0,
      atomic,
    },
  }
}

const sessionOf = (connection: Connection, namespace: string): Session => ({
  api: connection.open(connection.kubeconfig, "pulumi-kubernetes"),
  namespace,
  major: 3,
  log: () => {},
})

const failed = (error: HelmError): ProviderError =>
  new ProviderError({
    message:
      error.code === 0
        ? `can't create Helm Release with unreachable cluster: ${error.message}`
        : error.message,
  })

const cancelled = (connection: Connection): Effect.Effect<never, HelmError> =>
  Effect.andThen(
    Deferred.await(connection.cancelled),
    Effect.fail(new HelmError({ message: "context canceled" })),
  )

const merged = (left: Json, right: Json): Json => ({
  ...left,
  ...Object.fromEntries(
    Object.entries(right).map(([key, value]) => [
      key,
      isJson(value) && isJson(left[key]) ? merged(left[key], value) : value,
    ]),
  ),
})

const idOf = (inputs: Properties): string => {
  const { name, namespace } = wantedOf(inputs)
  return `${namespace}/${name}`
}

/** The record's values are added to those that are known: none ever goes by itself (read in 4.25.0). */
const outputsOf = (known: Properties, inputs: unknown, release: Release): Properties => ({
  ...known,
  values: merged(objectOf(unwrapped(known.values)), release.config),
  status: {
    name: release.name,
    namespace: release.namespace,
    revision: release.version,
    status: release.info.status,
  },
  __inputs: inputs,
})

const made = (inputs: Properties, release: Release): Made => ({
  id: idOf(inputs),
  inputs,
  outputs: outputsOf(inputs, new Secret(unwrapped(inputs)), release),
})

const chartOf = (connection: Connection, path: string) =>
  Effect.try({
    try: () => readChart(path, readFolder(connection.volume, path), knownCharts),
    catch: (error) => new HelmError({ message: error instanceof Error ? error.message : String(error) }),
  })

const late = (inputs: Properties, error: HelmError) =>
  `Use Helm CLI to investigate: failed to become available within allocated timeout. Error: Helm Release ${idOf(inputs)}: ${error.message}`

/** A failure that leaves a record behind is one of a resource that is there. */
const withRecord = (session: Session, inputs: Properties) => (error: HelmError) =>
  Effect.gen(function* () {
    const { name } = wantedOf(inputs)
    const revisions = yield* Effect.orElseSucceed(history(session, name), () => [])
    const [newest] = revisions
    const failure = failed(error)
    return yield* newest === undefined || error.message.includes("re-use a name")
      ? failure
      : new ProviderError({
          message: `Helm release "${idOf(inputs)}" was created, but failed to initialize completely. ${late(inputs, error)}`,
          partial: { ...made(inputs, newest), lacks: late(inputs, error) },
        })
  })

export const createRelease = Effect.fnUntraced(function* (connection: Connection, inputs: Properties) {
  const { name, namespace, chart, values, options } = wantedOf(inputs)
  const session = sessionOf(connection, namespace)
  const work = Effect.gen(function* () {
    const prepared = yield* prepareInstall(
      session,
      { name, chart: yield* chartOf(connection, chart), values },
      options,
    )
    return yield* install(session, prepared, options, cancelled(connection))
  })
  const release = yield* Effect.catch(work, withRecord(session, inputs))
  return made(inputs, release)
})

export const updateRelease = Effect.fnUntraced(function* (connection: Connection, inputs: Properties) {
  const { name, namespace, chart, values, options } = wantedOf(inputs)
  const session = sessionOf(connection, namespace)
  const deployment = { name, chart: yield* Effect.mapError(chartOf(connection, chart), failed), values }
  const prepared = yield* Effect.mapError(prepareUpgrade(session, deployment, options), failed)
  // From here on there is a record of it: a failure is one of a release that is there.
  const release = yield* upgrade(session, prepared, options, cancelled(connection)).pipe(
    Effect.mapError(
      (error) =>
        new ProviderError({
          message: `Helm release "${idOf(inputs)}" failed to initialize completely. ${late(inputs, error)}`,
          partial: { ...made(inputs, prepared.work.release), lacks: late(inputs, error) },
        }),
    ),
  )
  return made(inputs, release)
})

export const deleteRelease = (connection: Connection, inputs: Properties) => {
  const { name, namespace, options } = wantedOf(inputs)
  return uninstall(sessionOf(connection, namespace), name, {
    wait: options.wait,
    timeoutMillis: options.timeoutMillis,
    ignoreNotFound: true,
  }).pipe(Effect.mapError(failed))
}

/** What is known of a release of which only the id is: everything is the record's (read in 4.25.0). */
const importedInputs = (release: Release): Properties => ({
  name: release.name,
  namespace: release.namespace,
  chart: text(at(release.chart, "metadata", "name")),
  version: text(at(release.chart, "metadata", "version")),
  values: release.config,
})

/** The release as its newest record says; none without a record. */
export const readRelease = Effect.fnUntraced(function* (connection: Connection, old: ResourceState) {
  const [inNamespace = "", ofName = ""] = (old.id ?? "").split("/")
  const isImport = old.outputs === undefined
  const { name, namespace } = isImport ? { name: ofName, namespace: inNamespace } : wantedOf(old.inputs ?? {})
  const revisions = yield* history(sessionOf(connection, namespace), name).pipe(
    Effect.catch((error) =>
      error.message === "release: not found" ? Effect.succeed([]) : Effect.fail(failed(error)),
    ),
  )
  const [newest] = revisions
  if (newest === undefined) return Option.none()
  const inputs = isImport ? importedInputs(newest) : (old.inputs ?? {})
  const outputs = isImport ? inputs : (old.outputs ?? {})
  const known = isImport ? new Secret(inputs) : outputs.__inputs
  const seen: Made = { id: idOf(inputs), inputs, outputs: outputsOf(outputs, known, newest) }
  return Option.some({ made: seen, lacks: Option.none<string>() })
})

/** Whether anything of `wanted` is otherwise in `current`; what is only there does not count. */
const differs = (current: unknown, wanted: unknown): boolean =>
  isJson(wanted)
    ? Object.entries(wanted).some(([key, value]) => differs(at(current, key), value))
    : !equal(current, wanted)

/** Whether something of `before` is not in `wanted` any more. */
const drops = (before: Json, wanted: Json): boolean =>
  Object.entries(before).some(([key, value]) => {
    if (!(key in wanted)) return true
    return isJson(value) && drops(value, objectOf(wanted[key]))
  })

/**
 * Compared is what is wanted with what is known of the newest record, whatever its status: a release that was killed in
 * the very upgrade that is wanted looks as it should after a refresh (seen).
 */
export const diffRelease = (outputs: Properties, inputs: Properties): "same" | "update" | "replace" => {
  const wanted = objectOf(unwrapped(inputs))
  const current = objectOf(unwrapped(outputs))
  if (current.name !== wanted.name || current.namespace !== wanted.namespace) return "replace"
  return differs(current, wanted) || drops(objectOf(current.__inputs), wanted) ? "update" : "same"
}
