// The requests of a run of helm, one by one: what may come between any two of them.
import type { ObjectRef, ResourceKind } from "../../../src/services/Kubernetes/Kubernetes.ts"
import type { ApiClient } from "../kubernetes/ApiServer.ts"

type HelmMethod = "GET" | "POST" | "PUT" | "PATCH" | "DELETE"

const pathOf = ({ group, version, plural }: ResourceKind, { namespace, name }: Partial<ObjectRef>): string =>
  [
    group === "" ? `/api/${version}` : `/apis/${group}/${version}`,
    ...(namespace === undefined ? [] : ["namespaces", namespace]),
    plural,
    ...(name === undefined ? [] : [name]),
  ].join("/")

/** The client, with somebody who is told of each request before it has an effect. */
export const watched = (client: ApiClient, seen: (method: HelmMethod, path: string) => void): ApiClient => {
  const before = (method: HelmMethod, kind: ResourceKind, ref: Partial<ObjectRef>) =>
    seen(method, pathOf(kind, ref))
  return {
    ...client,
    get: (kind, ref) => {
      before("GET", kind, ref)
      return client.get(kind, ref)
    },
    list: (kind, selection = {}) => {
      const { namespace } = selection
      before("GET", kind, namespace === undefined ? {} : { namespace })
      return client.list(kind, selection)
    },
    create: (kind, manifest, options) => {
      const { namespace } = manifest.metadata
      before("POST", kind, namespace === undefined ? {} : { namespace })
      return client.create(kind, manifest, options)
    },
    update: (kind, object) => {
      before("PUT", kind, object.metadata)
      return client.update(kind, object)
    },
    apply: (kind, manifest, options) => {
      before("PATCH", kind, manifest.metadata)
      return client.apply(kind, manifest, options)
    },
    patch: (kind, ref, patch, options) => {
      before("PATCH", kind, ref)
      return client.patch(kind, ref, patch, options)
    },
    delete: (kind, ref, options) => {
      before("DELETE", kind, ref)
      return client.delete(kind, ref, options)
    },
  }
}
