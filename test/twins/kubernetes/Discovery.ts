// Which groups, versions and kinds there are, as kubectl and Helm ask for it.
import { apiVersion } from "../../../src/services/Kubernetes/Paths.ts"
import type { Json } from "./Json.ts"
import type { Resource, Resources } from "./Resources.ts"

const VERBS = ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"]

const resourceEntries = (resource: Resource): ReadonlyArray<Json> => {
  const { plural, kind, namespaced } = resource.kind
  const entry = { name: plural, singularName: kind.toLowerCase(), namespaced, kind, verbs: VERBS }
  return resource.status
    ? [entry, { ...entry, name: `${plural}/status`, singularName: "", verbs: ["get", "patch", "update"] }]
    : [entry]
}

const versionsOf = (resources: ReadonlyArray<Resource>): ReadonlyArray<string> => [
  ...new Set(resources.map(({ kind }) => apiVersion(kind))),
]

const groupOf = (name: string, versions: ReadonlyArray<string>): Json => {
  const all = versions.map((groupVersion) => ({ groupVersion, version: groupVersion.split("/")[1] }))
  return { name, versions: all, preferredVersion: all[0] }
}

/** The body for a discovery path; undefined for any other. */
export const discover = (resources: Resources, path: string): Json | undefined => {
  const all = resources.all()
  if (path === "/api") return { kind: "APIVersions", versions: ["v1"], serverAddressByClientCIDRs: [] }
  if (path === "/apis") {
    const groups = Map.groupBy(
      all.filter(({ kind }) => kind.group !== ""),
      ({ kind }) => kind.group,
    )
    return {
      kind: "APIGroupList",
      apiVersion: "v1",
      groups: [...groups].map(([name, of]) => groupOf(name, versionsOf(of))),
    }
  }
  const groupVersion = path === "/api/v1" ? "v1" : path.replace(/^\/apis\//, "")
  const served = all.filter(({ kind }) => apiVersion(kind) === groupVersion)
  if (served.length === 0) return undefined
  return {
    kind: "APIResourceList",
    apiVersion: "v1",
    groupVersion,
    resources: served.flatMap(resourceEntries),
  }
}
