// A release as its record holds it (contracts/vcluster-and-helm.md 7.1, 7.2): a Secret a revision, whose one key is the
// base64 of the API over the base64 of Helm over gzipped JSON.
import { gunzipSync, gzipSync } from "node:zlib"
import { Schema } from "effect"
import type { KubeObject } from "../../../src/services/Kubernetes/Kubernetes.ts"
import type { Writable } from "../kubernetes/ApiServer.ts"
import type { Json } from "../kubernetes/Json.ts"
import { remember } from "../pulumi/remember.ts"
import type { Chart } from "./Chart.ts"

export type Status =
  | "unknown"
  | "deployed"
  | "uninstalled"
  | "superseded"
  | "failed"
  | "uninstalling"
  | "pending-install"
  | "pending-upgrade"
  | "pending-rollback"

export interface Info {
  readonly first_deployed: string
  readonly last_deployed: string
  readonly deleted?: string
  readonly description: string
  readonly status: Status
  readonly rollback_revision?: number
  readonly notes?: string
}

export interface Release {
  readonly name: string
  readonly namespace: string
  readonly version: number
  readonly info: Info
  /** The chart as it was: metadata, values, schema and the texts of its files. */
  readonly chart: Json
  /** The user's values alone. */
  readonly config: Json
  readonly manifest: string
  /** Absent in the records of Helm 3, which applies on the client. */
  readonly apply_method?: "ssa" | "csa"
  /** Those of the Secret. What Helm reads by a list has its own labels among them, too, and carries them on. */
  readonly labels: Readonly<Record<string, string>>
}

export const withInfo = (release: Release, info: Partial<Info>): Release => ({
  ...release,
  info: { ...release.info, ...info },
})

const base64 = (text: string): string => Buffer.from(text, "utf8").toString("base64")

/** The chart's part of a record. */
export const chartRecord = (chart: Chart): Json => {
  const files = [...chart.files].map(([name, text]) => ({ name, data: base64(text) }))
  const isTemplate = ({ name }: { name: string }) => name.startsWith("templates/")
  const own = ["Chart.yaml", "values.yaml", "values.schema.json"]
  const ignored = new Set((chart.files.get(".helmignore") ?? "").split("\n"))
  return {
    metadata: chart.metadata,
    lock: null,
    templates: files.filter(isTemplate),
    values: chart.values,
    ...(chart.schema === undefined ? {} : { schema: base64(chart.schema) }),
    files: files.filter((file) => !isTemplate(file) && !own.includes(file.name) && !ignored.has(file.name)),
  }
}

const StatusText = Schema.Literals([
  ...(["unknown", "deployed", "uninstalled", "superseded", "failed", "uninstalling"] as const),
  ...(["pending-install", "pending-upgrade", "pending-rollback"] as const),
])
const Table = Schema.Record(Schema.String, Schema.Unknown)
const Stored = Schema.Struct({
  name: Schema.String,
  namespace: Schema.String,
  version: Schema.Finite,
  info: Schema.Struct({
    first_deployed: Schema.String,
    last_deployed: Schema.String,
    deleted: Schema.optionalKey(Schema.String),
    description: Schema.String,
    status: StatusText,
    rollback_revision: Schema.optionalKey(Schema.Finite),
    notes: Schema.optionalKey(Schema.String),
  }),
  chart: Table,
  config: Schema.optionalKey(Table),
  manifest: Schema.String,
  apply_method: Schema.optionalKey(Schema.Literals(["ssa", "csa"])),
})
const decodeStored = Schema.decodeUnknownSync(Schema.fromJsonString(Stored))
const decodeSecret = Schema.decodeUnknownSync(
  Schema.Struct({ data: Schema.Struct({ release: Schema.String }) }),
)

const unpack = remember((data: string) => {
  const packed = Buffer.from(Buffer.from(data, "base64").toString("latin1"), "base64")
  return decodeStored(gunzipSync(packed).toString("utf8"))
})

/** The release of a record. Throws when it holds none. */
export const readRelease = (record: KubeObject): Release => {
  const stored = unpack(decodeSecret(record).data.release)
  return { ...stored, config: stored.config ?? {}, labels: record.metadata.labels ?? {} }
}

/** As tight as Helm packs it: what a record takes counts, and the same ones are written again and again. */
const packed = remember((text) => base64(gzipSync(text, { level: 9 }).toString("base64")), 64)

const payload = ({ labels: _, ...release }: Release): string => {
  const { config, ...rest } = release
  return packed(JSON.stringify(Object.keys(config).length === 0 ? rest : release))
}

export const recordName = (name: string, version: number): string => `sh.helm.release.v1.${name}.v${version}`

/** The Secret of a release. `stamp` is the label that says when: the release's own labels, if it has it, win over it. */
export const recordOf = (release: Release, stamp: Readonly<Record<string, string>>): Writable => ({
  apiVersion: "v1",
  kind: "Secret",
  metadata: {
    name: recordName(release.name, release.version),
    namespace: release.namespace,
    labels: {
      ...stamp,
      ...release.labels,
      name: release.name,
      owner: "helm",
      status: release.info.status,
      version: String(release.version),
    },
  },
  type: "helm.sh/release.v1",
  data: { release: payload(release) },
})

const systemLabels = new Set(["name", "owner", "status", "version", "createdAt", "modifiedAt"])

/** What Helm makes of the labels of a record that it reads by its name: only what others have put there. */
export const foreignLabels = (release: Release): Release["labels"] =>
  Object.fromEntries(Object.entries(release.labels).filter(([label]) => !systemLabels.has(label)))

/** Newest first. */
export const newestFirst = (releases: ReadonlyArray<Release>): ReadonlyArray<Release> =>
  releases.toSorted((a, b) => b.version - a.version)

export const isPending = ({ info }: Release): boolean => info.status.startsWith("pending-")
