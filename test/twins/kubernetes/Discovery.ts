// Which groups, versions and kinds there are, as kubectl and Helm ask for it: a document a group and version, or all of
// them at once.
import { apiVersion } from "../../../src/services/Kubernetes/Paths.ts"
import type { ApiAnswer } from "./ApiServer.ts"
import type { Json } from "./Json.ts"
import { isCustom, type Resource, type Resources } from "./Resources.ts"
import { REVIEW_GROUPS, reviewsOf } from "./Reviews.ts"

const VERBS = ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"]
/** Of custom resources, in the server's order. */
const CUSTOM_VERBS = ["delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"]
const STATUS_VERBS = ["get", "patch", "update"]

const singular = ({ kind, singular: own }: Resource): string => own ?? kind.kind.toLowerCase()

const verbsOf = (resource: Resource) => (isCustom(resource) ? CUSTOM_VERBS : VERBS)

const resourceEntries = (resource: Resource): ReadonlyArray<Json> => {
  const { plural, kind, namespaced } = resource.kind
  const { categories, shortNames } = resource
  const entry = { name: plural, singularName: singular(resource), namespaced, kind, verbs: verbsOf(resource) }
  const full = {
    ...entry,
    ...(shortNames.length > 0 && { shortNames }),
    ...(categories.length > 0 && { categories }),
  }
  return resource.status
    ? [full, { ...entry, name: `${plural}/status`, singularName: "", verbs: STATUS_VERBS }]
    : [full]
}

/** All at once: a kind with what lies below it. */
const aggregatedEntry = (resource: Resource): Json => {
  const { group, kind, namespaced, plural, version } = resource.kind
  const responseKind = { group, version, kind }
  const { categories, shortNames } = resource
  return {
    resource: plural,
    responseKind,
    scope: namespaced ? "Namespaced" : "Cluster",
    singularResource: singular(resource),
    verbs: verbsOf(resource),
    ...(shortNames.length > 0 && { shortNames }),
    ...(categories.length > 0 && { categories }),
    ...(resource.status && {
      subresources: [{ subresource: "status", responseKind, verbs: STATUS_VERBS }],
    }),
  }
}

const reviewEntries = (group: string): ReadonlyArray<Json> =>
  reviewsOf(group).map(({ kind, plural }) => ({
    name: plural,
    singularName: kind.toLowerCase(),
    namespaced: false,
    kind,
    verbs: ["create"],
  }))

const aggregatedReviews = (group: string): ReadonlyArray<Json> =>
  reviewsOf(group).map(({ kind, plural }) => ({
    resource: plural,
    responseKind: { group, version: "v1", kind },
    scope: "Cluster",
    singularResource: kind.toLowerCase(),
    verbs: ["create"],
  }))

const versionsOf = (resources: ReadonlyArray<Resource>): ReadonlyArray<string> => [
  ...new Set(resources.map(({ kind }) => apiVersion(kind))),
]

const groupOf = (name: string, versions: ReadonlyArray<string>): Json => {
  const all = versions.map((groupVersion) => ({ groupVersion, version: groupVersion.split("/")[1] }))
  return { name, versions: all, preferredVersion: all[0] }
}

/** The named groups, without the core. */
const groupsOf = (resources: Resources): ReadonlyArray<Json> => {
  const groups = Map.groupBy(
    resources.all().filter(({ kind }) => kind.group !== ""),
    ({ kind }) => kind.group,
  )
  return [
    ...[...groups].map(([name, of]) => groupOf(name, versionsOf(of))),
    ...REVIEW_GROUPS.map((group) => groupOf(group, [`${group}/v1`])),
  ]
}

const AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"

/** Clients say all forms they understand, the best one first. */
const wantsAll = (accept: string | undefined): boolean => {
  const [first = ""] = (accept ?? "").split(",")
  return first.includes("as=APIGroupDiscoveryList") && first.includes("v=v2") && !first.includes("v2beta")
}

const aggregated = (resources: Resources, core: boolean): Json => {
  const groups = Map.groupBy(
    resources.all().filter(({ kind }) => (kind.group === "") === core),
    ({ kind }) => kind.group,
  )
  const version = (name: string, entries: ReadonlyArray<Json>) => ({
    version: name,
    freshness: "Current",
    resources: entries,
  })
  const item = (name: string, versions: ReadonlyArray<Json>) => ({
    metadata: { name },
    versions,
  })
  return {
    kind: "APIGroupDiscoveryList",
    apiVersion: "apidiscovery.k8s.io/v2",
    metadata: {},
    items: [
      ...[...groups].map(([name, of]) =>
        item(
          name,
          [...Map.groupBy(of, ({ kind }) => kind.version)].map(([each, inside]) =>
            version(each, inside.map(aggregatedEntry)),
          ),
        ),
      ),
      ...(core ? [] : REVIEW_GROUPS.map((group) => item(group, [version("v1", aggregatedReviews(group))]))),
    ],
  }
}

/** The answer to a discovery path; undefined for any other. */
export const discover = (
  resources: Resources,
  path: string,
  accept: string | undefined,
): Pick<ApiAnswer, "body" | "contentType"> | undefined => {
  if ((path === "/api" || path === "/apis") && wantsAll(accept))
    return { body: aggregated(resources, path === "/api"), contentType: AGGREGATED }
  const body = documentAt(resources, path)
  return body === undefined ? undefined : { body }
}

const documentAt = (resources: Resources, path: string): Json | undefined => {
  if (path === "/api") return { kind: "APIVersions", versions: ["v1"], serverAddressByClientCIDRs: [] }
  if (path === "/apis") return { kind: "APIGroupList", apiVersion: "v1", groups: groupsOf(resources) }
  const place = path === "/api/v1" ? "v1" : path.replace(/^\/apis\//, "")
  const group = groupsOf(resources).find(({ name }) => name === place)
  if (group !== undefined) return { kind: "APIGroup", apiVersion: "v1", ...group }
  const [named = "", version] = place.split("/")
  const reviews = version === "v1" ? reviewEntries(named) : []
  const served = resources.all().filter(({ kind }) => apiVersion(kind) === place)
  if (served.length === 0 && reviews.length === 0) return undefined
  return {
    kind: "APIResourceList",
    apiVersion: "v1",
    groupVersion: place,
    resources: [...served.flatMap(resourceEntries), ...reviews],
  }
}
