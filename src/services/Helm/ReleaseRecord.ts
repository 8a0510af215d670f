// A release as Helm keeps it: a Secret a revision, `sh.helm.release.v1.<release>.v<revision>`, of type
// helm.sh/release.v1. Its labels alone tell the state; its payload is the base64 of the API over the base64 of
// Helm over gzipped JSON (Helm 3 and 4 alike; the oldest records are not gzipped).
import { gunzipSync } from "node:zlib"
import { Effect, Option, Schema } from "effect"
import type { Tags } from "yaml"
import type { KubeManifest, KubeObject, ObjectMeta } from "../Kubernetes/Kubernetes.ts"
import { yamlDocuments } from "../Kubernetes/Yaml.ts"
import type { ReleaseRef, ReleaseState, ReleaseStatus, StoredRevision } from "./Helm.ts"

const ReleaseStatusLabel = Schema.Literals([
  "unknown",
  "deployed",
  "uninstalled",
  "superseded",
  "failed",
  "uninstalling",
  "pending-install",
  "pending-upgrade",
  "pending-rollback",
])
const decodeStatus = Schema.decodeUnknownOption(ReleaseStatusLabel)

/** The labels Helm puts on every record of a release, other releases' and other owners' left out. */
export const recordSelector = (release: ReleaseRef) => `owner=helm,name=${release.name}`

export const recordName = (release: ReleaseRef, revision: number) =>
  `sh.helm.release.v1.${release.name}.v${revision}`

/** One record of a release, by its labels. */
export interface Revision {
  readonly revision: number
  readonly status: ReleaseStatus
}

const revisionOf = (metadata: ObjectMeta): ReadonlyArray<Revision> => {
  const version = metadata.labels?.version ?? ""
  // A Secret that only looks like a record says nothing about the release.
  if (!/^[1-9][0-9]*$/.test(version)) return []
  const status = Option.getOrElse(decodeStatus(metadata.labels?.status), () => "unknown" as const)
  return [{ revision: Number(version), status }]
}

/** What the metadata of a release's records shows, the newest revision first. */
export const releaseRevisions = (records: ReadonlyArray<KubeObject>): ReadonlyArray<Revision> =>
  records.flatMap(({ metadata }) => revisionOf(metadata)).toSorted((a, b) => b.revision - a.revision)

/** The state that the metadata of a release's records shows; `None` when there are none. */
export const releaseState = (records: ReadonlyArray<KubeObject>): Option.Option<ReleaseState> => {
  const revisions = releaseRevisions(records)
  return Option.map(Option.fromNullishOr(revisions[0]), ({ revision, status }) => ({
    revision,
    status,
    lastDeployed: Option.fromNullishOr(revisions.find((each) => each.status === "deployed")?.revision),
    lastSuperseded: Option.fromNullishOr(revisions.find((each) => each.status === "superseded")?.revision),
    oldest: revisions.at(-1)?.revision ?? revision,
  }))
}

const RecordSecret = Schema.Struct({ data: Schema.Struct({ release: Schema.String }) })
const StoredReleaseJson = Schema.fromJsonString(
  Schema.Struct({
    manifest: Schema.String,
    apply_method: Schema.optionalKey(Schema.String),
    chart: Schema.optionalKey(Schema.Unknown),
  }),
)
const decodeChart = Schema.decodeUnknownOption(
  Schema.Struct({ metadata: Schema.Struct({ version: Schema.String }) }),
)
const StringRecord = Schema.Record(Schema.String, Schema.String)
const Manifest = Schema.StructWithRest(
  Schema.Struct({
    apiVersion: Schema.String,
    kind: Schema.String,
    metadata: Schema.Struct({
      name: Schema.String,
      namespace: Schema.optionalKey(Schema.String),
      labels: Schema.optionalKey(StringRecord),
      annotations: Schema.optionalKey(StringRecord),
    }),
  }),
  [Schema.Record(Schema.String, Schema.Unknown)],
)
const decodeManifest = Schema.decodeUnknownOption(Manifest)
const ManifestList = Schema.Struct({ kind: Schema.Literal("List"), items: Schema.Array(Schema.Unknown) })
const decodeList = Schema.decodeUnknownOption(ManifestList)

/** No chart comes near it; a bomb would. */
const largestRelease = 64 * 1024 * 1024

/** Base64 inside base64, then gzip if its magic number is there. */
const unpack = (payload: string) =>
  Effect.try({
    try: () => {
      const inner = Buffer.from(Buffer.from(payload, "base64").toString("latin1"), "base64")
      const packed = inner[0] === 0x1f && inner[1] === 0x8b && inner[2] === 0x08
      return (packed ? gunzipSync(inner, { maxOutputLength: largestRelease }) : inner).toString("utf8")
    },
    catch: () => "its payload is not base64 of gzip",
  })

/** YAML 1.1 as Helm's parser knows it: without numbers to the base of 60 and without times. */
const helmTags = (tags: Tags): Tags =>
  tags.filter(
    (tag) => typeof tag === "string" || (tag.format !== "TIME" && tag.tag !== "tag:yaml.org,2002:timestamp"),
  )

/** Characters: of Kubernetes' own objects a chart has a tenth of it. Reading ten times as much would hold everything up for a minute. */
const longestManifest = 4 * 1024 * 1024

/** The documents of a manifest, lists taken apart, empty ones left out. */
const documentsOf = (manifest: string) =>
  Effect.try({
    try: () =>
      // `0644` is an octal number and `yes` a boolean there, and of a key that is there twice the last one counts.
      yamlDocuments(manifest, { version: "1.1", uniqueKeys: false, customTags: helmTags }).flatMap(
        (document): ReadonlyArray<unknown> => {
          const value: unknown = document.toJS()
          if (value === null || value === undefined) return []
          return Option.match(decodeList(value), { onNone: () => [value], onSome: (list) => list.items })
        },
      ),
    catch: () => "its manifest is not YAML",
  })

export interface StoredRelease {
  /** The documents of its manifest: what Helm has applied, hooks left out. They may hold secrets. */
  readonly documents: ReadonlyArray<unknown>
  /** Whether Helm applied it on the server, which only Helm 4 does. */
  readonly serverSide: boolean
  readonly chartVersion: Option.Option<string>
}

/** What a record holds. Fails with what is wrong with the record, without its content. */
export const storedRelease = Effect.fn("Helm.storedRelease")(function* (record: KubeObject) {
  const { data } = yield* Schema.decodeUnknownEffect(RecordSecret)(record).pipe(
    Effect.mapError(() => "it has no key release"),
  )
  const text = yield* unpack(data.release)
  const { manifest, apply_method, chart } = yield* Schema.decodeEffect(StoredReleaseJson)(text).pipe(
    Effect.mapError(() => "its payload is not a release"),
  )
  if (manifest.length > longestManifest)
    return yield* Effect.fail(`its manifest has ${manifest.length} characters, which is more than are read`)
  const stored: StoredRelease = {
    documents: yield* documentsOf(manifest),
    serverSide: apply_method === "ssa",
    chartVersion: Option.map(decodeChart(chart), ({ metadata }) => metadata.version),
  }
  return stored
})

/** Helm leaves out what a template left empty; an apply would take it for a value. */
export const withoutNulls = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(withoutNulls)
  if (typeof value !== "object" || value === null) return value
  return Object.fromEntries(
    Object.entries(value).flatMap(([key, inner]) => (inner === null ? [] : [[key, withoutNulls(inner)]])),
  )
}

/** A document of a manifest as an object to apply; `None` when it is none. */
export const manifestOf = (document: unknown): Option.Option<KubeManifest> =>
  decodeManifest(withoutNulls(document))

/** The revision of a record. Fails with what is wrong with the record, without its content. */
export const storedRevision = Effect.fn("Helm.storedRevision")(function* (record: KubeObject) {
  const { documents, chartVersion } = yield* storedRelease(record)
  const objects = yield* Effect.fromOption(Option.all(documents.map(manifestOf))).pipe(
    Effect.mapError(() => "its manifest holds something that is not an object"),
  )
  const stored: StoredRevision = { objects, chartVersion }
  return stored
})

/** The objects of a record's manifest. */
export const releaseObjects = (record: KubeObject) =>
  Effect.map(storedRevision(record), ({ objects }) => objects)
