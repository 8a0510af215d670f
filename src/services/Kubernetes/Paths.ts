// Where an object lives under the API server's root.
import type { ObjectRef, ResourceKind } from "./Kubernetes.ts"

/** `v1`, or `<group>/<version>`. */
export const apiVersion = (kind: ResourceKind): string =>
  kind.group === "" ? kind.version : `${kind.group}/${kind.version}`

/** The collection of a kind, in one namespace or (without one) in all of them. */
export const collectionPath = (kind: ResourceKind, namespace?: string): string => {
  const root = kind.group === "" ? `/api/${kind.version}` : `/apis/${kind.group}/${kind.version}`
  return kind.namespaced && namespace !== undefined
    ? `${root}/namespaces/${encodeURIComponent(namespace)}/${kind.plural}`
    : `${root}/${kind.plural}`
}

export const objectPath = (kind: ResourceKind, ref: ObjectRef, subresource?: string): string =>
  `${collectionPath(kind, ref.namespace)}/${encodeURIComponent(ref.name)}${
    subresource === undefined ? "" : `/${subresource}`
  }`

/** A path with those parameters that have a value. */
export const withQuery = (
  path: string,
  parameters: Readonly<Record<string, string | number | boolean | undefined>>,
): string => {
  const query = new URLSearchParams()
  for (const [name, value] of Object.entries(parameters)) {
    if (value !== undefined) query.set(name, String(value))
  }
  return query.size === 0 ? path : `${path}?${query}`
}

/** What a request is called in errors: `GET namespaces/x`, without root and query. */
export const describeRequest = (method: string, path: string): string =>
  `${method} ${path.replace(/\?.*$/s, "").replace(/^\/(api\/v1|apis)\//, "")}`
