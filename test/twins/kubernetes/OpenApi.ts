// OpenAPI, version 2 out of version 3, which is the index, and a document a group and version, as kubectl reads them: schemas for `explain`, and the
// operations that tell it which query parameters and patches the server takes.
import { createHash } from "node:crypto"
import { apiVersion } from "../../../src/services/Kubernetes/Paths.ts"
import type { ApiAnswer } from "./ApiServer.ts"
import { isJson, isList, type Json, objectOf } from "./Json.ts"
import { closure, METADATA, modelOf, refTo, schemaName, schemaOf } from "./Models.ts"
import { protobufOf, versionTwo } from "./OpenApiV2.ts"
import { isCustom, type Resource, type Resources } from "./Resources.ts"

const ROOT = "/openapi/v3"

const placeOf = (groupVersion: string): string =>
  groupVersion.includes("/") ? `apis/${groupVersion}` : `api/${groupVersion}`

/** `dev.di-framework.platform.v1alpha1.PlatformInstance`. */
const customName = ({ kind: { group, kind, version } }: Resource): string =>
  `${group.split(".").toReversed().join(".")}.${version}.${kind}`

const gvk = ({ kind: { group, kind, version } }: Resource): Json => ({ group, kind, version })

const query = (name: string): Json => ({ name, in: "query", schema: { type: "string", uniqueItems: true } })

const WRITES = ["dryRun", "fieldManager", "fieldValidation"].map(query)

// Strategic merge patches are taken, too. They are left out here because the merge keys of the built-in kinds are not in
// these schemas: kubectl then goes by those of its own types.
const PATCHES = [
  "application/apply-patch+yaml",
  "application/json-patch+json",
  "application/merge-patch+json",
]

const name = (resource: Resource): string => {
  const model = resource.schema === undefined ? modelOf(resource.kind) : undefined
  return model === undefined ? customName(resource) : schemaName(model)
}

const pathsOf = (resource: Resource): Json => {
  const { kind } = resource
  const root = `/${placeOf(apiVersion(kind))}`
  const collection = `${root}${kind.namespaced ? "/namespaces/{namespace}" : ""}/${kind.plural}`
  const content = { "application/json": { schema: { $ref: `#/components/schemas/${name(resource)}` } } }
  const operation = (action: string, parameters: ReadonlyArray<Json>, body?: Json): Json => ({
    tags: [apiVersion(kind).replace("/", "_")],
    parameters,
    ...(body !== undefined && { requestBody: { content: body, required: true } }),
    responses: { 200: { description: "OK", content } },
    "x-kubernetes-action": action,
    "x-kubernetes-group-version-kind": gvk(resource),
  })
  const patches = Object.fromEntries(PATCHES.map((type) => [type, { schema: { type: "object" } }]))
  const lists = ["labelSelector", "fieldSelector", "limit", "continue", "watch"].map(query)
  return {
    [collection]: {
      get: operation("list", lists),
      post: operation("post", WRITES, content),
      delete: operation("deletecollection", [query("dryRun")]),
    },
    [`${collection}/{name}`]: {
      get: operation("get", []),
      put: operation("put", WRITES, content),
      patch: operation("patch", [...WRITES, query("force")], patches),
      delete: operation("delete", [query("dryRun"), query("propagationPolicy")]),
    },
  }
}

/** A structural schema as it is published, with the metadata that every object has. */
const published = (resource: Resource, schema: Json): Json => ({
  ...schema,
  properties: { ...objectOf(schema.properties), metadata: { allOf: [{ $ref: refTo(METADATA) }] } },
  "x-kubernetes-group-version-kind": [gvk(resource)],
})

const documentOf = (resources: ReadonlyArray<Resource>): Json => {
  const custom = resources.filter(({ schema }) => schema !== undefined)
  const models = new Map(
    resources.flatMap((resource) => {
      const model = resource.schema === undefined ? modelOf(resource.kind) : undefined
      return model === undefined ? [] : [[model, resource] as const]
    }),
  )
  const needed = closure([...models.keys(), ...(custom.length > 0 ? [METADATA] : [])])
  const schemas = Object.fromEntries([
    ...needed.map((type) => {
      const resource = models.get(type)
      const schema = schemaOf(type)
      return [
        schemaName(type),
        resource === undefined ? schema : { ...schema, "x-kubernetes-group-version-kind": [gvk(resource)] },
      ] as const
    }),
    ...custom.map((resource) => [customName(resource), published(resource, resource.schema ?? {})] as const),
  ])
  return {
    openapi: "3.0.0",
    info: { title: "Kubernetes", version: "v1.35.4" },
    paths: Object.assign({}, ...resources.map(pathsOf)),
    components: { schemas },
  }
}

/** Documents by what they are made of: a definition that changes makes another one. */
const made = new WeakMap<Resource, { readonly of: ReadonlyArray<Resource>; readonly document: Json }>()

const kept = (resources: ReadonlyArray<Resource>): Json => {
  const [first] = resources
  if (first === undefined) return {}
  const known = made.get(first)
  if (known?.of.length === resources.length && known.of.every((it, index) => it === resources[index]))
    return known.document
  const document = documentOf(resources)
  made.set(first, { of: resources, document })
  return document
}

const withoutWords = (value: unknown): unknown => {
  if (isList(value)) return value.map(withoutWords)
  if (!isJson(value)) return value
  return Object.fromEntries(
    Object.entries(value).flatMap(([field, it]) =>
      field === "description" ? [] : [[field, withoutWords(it)]],
    ),
  )
}

/** Tells one state of a document from another without making it: clients keep documents by this. */
const hashOf = (resources: ReadonlyArray<Resource>): string =>
  createHash("sha256")
    .update(JSON.stringify(resources.map(({ kind, schema }) => [kind, withoutWords(schema)])))
    .digest("hex")
    .toUpperCase()

const byVersion = (resources: Resources): ReadonlyMap<string, ReadonlyArray<Resource>> =>
  Map.groupBy(resources.all(), ({ kind }) => apiVersion(kind))

const V2 = "/openapi/v2"
/** What clients that want protobuf say, and what the answer is called. */
const isProtobuf = /com\.github\.proto-openapi\.spec\.v2[.@]v1\.0\+protobuf/
const PROTOBUF = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"

/** The answer for a path below `/openapi`; undefined for one that is not served. */
export const openApi = (
  resources: Resources,
  path: string,
  accept: string | undefined,
): Pick<ApiAnswer, "body" | "contentType"> | undefined => {
  if (path !== V2) {
    const body = documentAt(resources, path)
    return body === undefined ? undefined : { body }
  }
  const body = versionTwo(
    [...byVersion(resources).values()].map((of) => ({ document: kept(of), custom: of.every(isCustom) })),
  )
  return isProtobuf.test(accept ?? "") ? { body: protobufOf(body), contentType: PROTOBUF } : { body }
}

const documentAt = (resources: Resources, path: string): Json | undefined => {
  const groups = byVersion(resources)
  if (path === ROOT) {
    const paths = [...groups].map(([groupVersion, of]) => {
      const place = placeOf(groupVersion)
      return [place, { serverRelativeURL: `${ROOT}/${place}?hash=${hashOf(of)}` }] as const
    })
    return { paths: Object.fromEntries(paths) }
  }
  for (const [groupVersion, of] of groups) if (path === `${ROOT}/${placeOf(groupVersion)}`) return kept(of)
  return undefined
}
