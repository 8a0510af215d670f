// The requests of the plugin: to the cluster's API alone, each with the signed-in user's own rights.
import { ApiProxy } from "@kinvolk/headlamp-plugin/lib"
import type { Operation } from "./logic/patch.ts"
import { group, type JsonObject, plural, version } from "./logic/schema.ts"

export interface Place {
  readonly namespace: string
  readonly name: string
  readonly cluster: string
}

const collection = (namespace: string) =>
  `/apis/${group}/${version}/namespaces/${encodeURIComponent(namespace)}/${plural}`
const one = ({ namespace, name }: Place) => `${collection(namespace)}/${encodeURIComponent(name)}`
// The server shall refuse a field that it does not know instead of dropping it.
const strict = "?fieldValidation=Strict"
const accept = { Accept: "application/json" }

/** Not `ApiProxy.apply`: that would overwrite what is there. */
export const create = (object: JsonObject, namespace: string, cluster: string): Promise<JsonObject> =>
  ApiProxy.clusterRequest(collection(namespace) + strict, {
    method: "POST",
    cluster,
    body: JSON.stringify(object),
    headers: { ...accept, "Content-Type": "application/json" },
  })

export const patch = (place: Place, operations: ReadonlyArray<Operation>): Promise<JsonObject> =>
  ApiProxy.clusterRequest(one(place) + strict, {
    method: "PATCH",
    cluster: place.cluster,
    body: JSON.stringify(operations),
    headers: { ...accept, "Content-Type": "application/json-patch+json" },
  })

/** As it is stored now. */
export const read = (place: Place): Promise<JsonObject> =>
  ApiProxy.clusterRequest(one(place), { cluster: place.cluster, headers: accept })

/** As it is stored now; undefined when it is not. */
export const readIfThere = async (place: Place): Promise<JsonObject | undefined> => {
  try {
    return await read(place)
  } catch (error) {
    if (typeof error === "object" && error !== null && "status" in error && error.status === 404)
      return undefined
    throw error
  }
}

/** `uid`: another instance of that name is not meant. */
export const remove = (place: Place, uid: string): Promise<unknown> =>
  ApiProxy.clusterRequest(one(place), {
    method: "DELETE",
    cluster: place.cluster,
    body: JSON.stringify({ kind: "DeleteOptions", apiVersion: "v1", preconditions: { uid } }),
    headers: { ...accept, "Content-Type": "application/json" },
  })

/** Asked for once, by name; it passes no cache and no store. */
export const readSecret = ({ namespace, name, cluster }: Place): Promise<unknown> =>
  ApiProxy.clusterRequest(
    `/api/v1/namespaces/${encodeURIComponent(namespace)}/secrets/${encodeURIComponent(name)}`,
    { cluster, headers: accept },
  )
