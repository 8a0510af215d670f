// The kinds that only controllers and nodes write, and which kinds a cluster has.
import { Schema } from "effect"
import * as Known from "../../../src/services/Kubernetes/Kinds.ts"
import type { ResourceKind } from "../../../src/services/Kubernetes/Kubernetes.ts"
import { type ApiClient, ApiStatus } from "../kubernetes/ApiServer.ts"

const namespaced = (group: string, plural: string, kind: string): ResourceKind => ({
  group,
  version: "v1",
  plural,
  kind,
  namespaced: true,
})
const clusterScoped = (group: string, plural: string, kind: string): ResourceKind => ({
  ...namespaced(group, plural, kind),
  namespaced: false,
})

export const Node = clusterScoped("", "nodes", "Node")
export const PersistentVolume = clusterScoped("", "persistentvolumes", "PersistentVolume")
export const StorageClass = clusterScoped("storage.k8s.io", "storageclasses", "StorageClass")
export const ReplicaSet = namespaced("apps", "replicasets", "ReplicaSet")
export const ControllerRevision = namespaced("apps", "controllerrevisions", "ControllerRevision")
export const EndpointSlice = namespaced("discovery.k8s.io", "endpointslices", "EndpointSlice")

const builtIn: ReadonlyArray<ResourceKind> = [
  // In one order: a module's names have another one where it is compiled.
  ...Object.entries(Known)
    .toSorted(([one], [other]) => (one < other ? -1 : 1))
    .flatMap(([, value]) => (typeof value === "object" ? [value] : [])),
  ...[Node, PersistentVolume, StorageClass, ReplicaSet, ControllerRevision, EndpointSlice],
  // The same objects as those of events.k8s.io.
].filter((kind) => kind !== Known.CoreEvent && !kind.group.endsWith("di-framework.dev"))

const Definition = Schema.Struct({
  spec: Schema.Struct({
    group: Schema.String,
    scope: Schema.String,
    names: Schema.Struct({ plural: Schema.String, kind: Schema.String }),
    versions: Schema.Array(
      Schema.Struct({ name: Schema.String, storage: Schema.optionalKey(Schema.Boolean) }),
    ),
  }),
})
const decodeDefinition = Schema.decodeUnknownSync(Definition)

const served = new WeakMap<ApiClient, ReadonlyArray<ResourceKind>>()

/** The built-in kinds that this server has: a server may be without admission policies. */
const servedBy = (client: ApiClient): ReadonlyArray<ResourceKind> => {
  const known = served.get(client)
  if (known !== undefined) return known
  const found = builtIn.filter((kind) => {
    try {
      client.list(kind)
      return true
    } catch (error) {
      if (error instanceof ApiStatus && error.code === 404) return false
      throw error
    }
  })
  served.set(client, found)
  return found
}

/** All kinds that can be listed and deleted, those of custom resources included. */
export const kindsOf = (client: ApiClient): ReadonlyArray<ResourceKind> => [
  ...servedBy(client),
  ...client.list(Known.CustomResourceDefinition).map((definition): ResourceKind => {
    const { spec } = decodeDefinition(definition)
    const version = (spec.versions.find(({ storage }) => storage === true) ?? spec.versions[0])?.name ?? "v1"
    const { plural, kind } = spec.names
    return { group: spec.group, version, plural, kind, namespaced: spec.scope === "Namespaced" }
  }),
]

export const apiVersionOf = ({ group, version }: ResourceKind): string =>
  group === "" ? version : `${group}/${version}`

/** One kind under all its versions, as an owner reference names it. */
export const sameKind = (kind: ResourceKind, other: ResourceKind): boolean =>
  kind.group === other.group && kind.plural === other.plural
