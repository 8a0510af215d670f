// Charts that the twin can install. A chart is read from its folder as Helm reads it (metadata, values, schema, texts
// of its templates); its templates are not run, for that would take Go: what they make is written in TypeScript, a
// function a chart, found by the chart's name.
import { parse } from "yaml"
import { isJson, type Json, objectOf, textOf } from "../kubernetes/Json.ts"
import { goYaml, type Json as Plain } from "./GoYaml.ts"
import { mergeValues, refusal } from "./Values.ts"

/** An object of a manifest. */
export interface Manifest {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: Json & { readonly name: string }
  readonly [field: string]: unknown
}

export interface RenderContext {
  readonly release: { readonly name: string; readonly namespace: string }
  readonly chart: { readonly name: string; readonly version: string }
  readonly values: Json
}

/** What the templates of a chart make: a file's objects below its path in the chart. */
export type Templates = (context: RenderContext) => Readonly<Record<string, ReadonlyArray<Manifest>>>

export interface Chart {
  readonly name: string
  readonly version: string
  readonly metadata: Json
  readonly values: Json
  readonly schema: string | undefined
  /** The texts of its files, by their paths in the chart: a record holds them. */
  readonly files: ReadonlyMap<string, string>
  readonly templates: Templates
}

/** A failure that Helm reports with these words. */
export class HelmFailure extends Error {
  override readonly name = "HelmFailure"
}

/** How many texts are kept parsed: the manifests and charts of a few releases. */
const remembered = 64

/** YAML is slow to parse, and the same texts come again and again. What is parsed is not to be changed. */
const memoized = <A>(make: (text: string) => A) => {
  const known = new Map<string, A>()
  return (text: string): A => {
    const found = known.get(text)
    if (found !== undefined) return found
    const made = make(text)
    const oldest = known.keys().next().value
    if (known.size >= remembered && oldest !== undefined) known.delete(oldest)
    known.set(text, made)
    return made
  }
}

const table = memoized((text) => objectOf(parse(text)))
const schemaOf = memoized((text) => objectOf(JSON.parse(text)))

const byName = <A>(entries: Iterable<readonly [string, A]>) =>
  [...entries].toSorted(([a], [b]) => (a < b ? -1 : 1))

/** A chart from the texts of its files. `known` has what the templates of each chart make. */
export const readChart = (
  path: string,
  files: ReadonlyMap<string, string>,
  known: Readonly<Record<string, Templates>>,
): Chart => {
  const text = files.get("Chart.yaml")
  if (text === undefined) throw new HelmFailure(`Chart.yaml file is missing`)
  const metadata = table(text)
  const name = textOf(metadata.name) ?? ""
  const templates = known[name]
  if (templates === undefined) throw new Error(`the twin of helm cannot render the chart ${name} in ${path}`)
  return {
    name,
    version: textOf(metadata.version) ?? "",
    metadata,
    values: table(files.get("values.yaml") ?? "{}"),
    schema: files.get("values.schema.json"),
    files: new Map(byName(files)),
    templates,
  }
}

const installOrder = [
  ...["PriorityClass", "Namespace", "NetworkPolicy", "ResourceQuota", "LimitRange", "PodDisruptionBudget"],
  ...["ServiceAccount", "Secret", "ConfigMap", "StorageClass", "PersistentVolume", "PersistentVolumeClaim"],
  ...["CustomResourceDefinition", "ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding", "Service"],
  ...["DaemonSet", "Pod", "ReplicaSet", "Deployment", "StatefulSet", "Job", "CronJob", "Ingress"],
]
const uninstallOrder = [
  ...["Ingress", "Service", "CronJob", "Job", "StatefulSet", "Deployment", "ReplicaSet", "Pod", "DaemonSet"],
  ...["RoleBinding", "Role", "ClusterRoleBinding", "ClusterRole", "CustomResourceDefinition"],
  ...["PersistentVolumeClaim", "PersistentVolume", "StorageClass", "ConfigMap", "Secret", "ServiceAccount"],
  ...["PodDisruptionBudget", "LimitRange", "ResourceQuota", "NetworkPolicy", "Namespace", "PriorityClass"],
]

/** Kinds that are in no order come last, by their names. */
const inOrder = (order: ReadonlyArray<string>) => (a: { kind: string }, b: { kind: string }) => {
  const [x, y] = [order.indexOf(a.kind), order.indexOf(b.kind)]
  if (x >= 0 && y >= 0) return x - y
  if (x >= 0 || y >= 0) return x >= 0 ? -1 : 1
  return a.kind < b.kind ? -1 : a.kind > b.kind ? 1 : 0
}

export const forUninstall = (objects: ReadonlyArray<Manifest>): ReadonlyArray<Manifest> =>
  objects.toSorted(inOrder(uninstallOrder))

const plain = (value: unknown): Plain => JSON.parse(JSON.stringify(value))

/** The user's values over the chart's. Fails when the schema refuses them. */
export const chartValues = (chart: Chart, own: Json): Json => {
  const values = mergeValues(own, chart.values)
  const problem = chart.schema === undefined ? undefined : refusal(values, schemaOf(chart.schema), chart.name)
  if (problem !== undefined) throw new HelmFailure(problem)
  return values
}

/** The manifest of a release: its objects as YAML, in the order in which they are installed. */
export const renderManifest = (chart: Chart, release: RenderContext["release"], own: Json): string => {
  const { name, version } = chart
  const made = chart.templates({ release, chart: { name, version }, values: chartValues(chart, own) })
  const documents = byName(Object.entries(made)).flatMap(([file, objects]) =>
    objects.map((object) => ({ file, object, kind: object.kind })),
  )
  return documents
    .toSorted(inOrder(installOrder))
    .map(({ file, object }) => `---\n# Source: ${name}/${file}\n${goYaml(plain(object))}\n`)
    .join("")
}

const isManifest = (value: unknown): value is Manifest =>
  isJson(value) &&
  typeof value.apiVersion === "string" &&
  typeof value.kind === "string" &&
  isJson(value.metadata) &&
  typeof value.metadata.name === "string"

/** The objects of a manifest, in its order. */
export const manifestObjects: (manifest: string) => ReadonlyArray<Manifest> = memoized((manifest) =>
  manifest
    .split(/^---$/m)
    // Go writes YAML 1.1, in which more words are quoted than 1.2 needs: either reads the same.
    .map((document): unknown => parse(document))
    .filter((document) => document !== null)
    .map((document) => {
      if (!isManifest(document)) throw new Error("a manifest holds something that is not an object")
      return document
    }),
)
