// The synchronous client: what controllers, programs and tests use. Each call is a request like any other, with its
// authorization and its refusals.
import type { KubeObject, ObjectRef, ResourceKind } from "../../../src/services/Kubernetes/Kubernetes.ts"
import { collectionPath, objectPath, withQuery } from "../../../src/services/Kubernetes/Paths.ts"
import {
  type ApiAnswer,
  type ApiClient,
  type ApiRequest,
  ApiStatus,
  type DeleteOptions,
  type Selection,
  type Writable,
} from "./ApiServer.ts"
import { isJson, type Json, listOf, objectOf, textOf } from "./Json.ts"
import { stored } from "./Machine.ts"

type Send = (request: Omit<ApiRequest, "user">) => ApiAnswer

const failed = (answer: ApiAnswer): ApiStatus => {
  const body = objectOf(answer.body)
  const message = textOf(body.message) ?? String(answer.body)
  return new ApiStatus(answer.status, textOf(body.reason) ?? "", message, body)
}

const refOf = ({ metadata }: Writable): ObjectRef => ({
  name: metadata.name ?? "",
  ...(metadata.namespace !== undefined && { namespace: metadata.namespace }),
})

const deleteBody = (options: DeleteOptions): Json => ({
  kind: "DeleteOptions",
  apiVersion: "v1",
  ...(options.propagation !== undefined && { propagationPolicy: options.propagation }),
  ...(options.gracePeriodSeconds !== undefined && { gracePeriodSeconds: options.gracePeriodSeconds }),
  preconditions: {
    ...(options.uid !== undefined && { uid: options.uid }),
    ...(options.resourceVersion !== undefined && { resourceVersion: options.resourceVersion }),
  },
})

const selectors = ({ labelSelector, fieldSelector }: Selection) => ({ labelSelector, fieldSelector })

const dryRun = (wanted: boolean | undefined) => (wanted === true ? "All" : undefined)

/** A client on whatever sends requests; `manager` owns the fields it writes. */
export const makeApiClient = (user: string, manager: string, send: Send): ApiClient => {
  const ask = (request: Omit<ApiRequest, "user">): unknown => {
    const answer = send(request)
    if (answer.status >= 300) throw failed(answer)
    return answer.body
  }
  const object = (request: Omit<ApiRequest, "user">): KubeObject => stored(objectOf(ask(request)))
  const put = (kind: ResourceKind, body: Writable, subresource?: string) =>
    object({
      method: "PUT",
      path: withQuery(objectPath(kind, refOf(body), subresource), { fieldManager: manager }),
      body,
    })

  return {
    user,
    get: (kind, ref) => {
      const answer = send({ method: "GET", path: objectPath(kind, ref) })
      if (answer.status === 404) return undefined
      if (answer.status >= 300) throw failed(answer)
      return stored(objectOf(answer.body))
    },
    list: (kind, selection = {}) => {
      const path = withQuery(collectionPath(kind, selection.namespace), selectors(selection))
      const items = listOf(objectOf(ask({ method: "GET", path })).items).filter(isJson)
      const version = kind.group === "" ? kind.version : `${kind.group}/${kind.version}`
      return items.map((item) => stored({ apiVersion: version, kind: kind.kind, ...item }))
    },
    create: (kind, manifest, options = {}) =>
      object({
        method: "POST",
        path: withQuery(collectionPath(kind, manifest.metadata.namespace), {
          fieldManager: manager,
          dryRun: dryRun(options.dryRun),
        }),
        body: manifest,
      }),
    update: (kind, body) => put(kind, body),
    updateStatus: (kind, body) => put(kind, body, "status"),
    apply: (kind, manifest, options = {}) =>
      object({
        method: "PATCH",
        path: withQuery(objectPath(kind, refOf(manifest), options.subresource), {
          fieldManager: manager,
          force: options.force ?? true,
          dryRun: dryRun(options.dryRun),
        }),
        contentType: "application/apply-patch+yaml",
        body: manifest,
      }),
    patch: (kind, ref, patch, options = {}) =>
      object({
        method: "PATCH",
        path: withQuery(objectPath(kind, ref, options.subresource), {
          fieldManager: manager,
          dryRun: dryRun(options.dryRun),
        }),
        contentType: patch.type === "json" ? "application/json-patch+json" : "application/merge-patch+json",
        body: patch.type === "json" ? patch.operations : patch.patch,
      }),
    delete: (kind, ref, options = {}) => {
      const path = withQuery(objectPath(kind, ref), { dryRun: dryRun(options.dryRun) })
      const answer = send({ method: "DELETE", path, body: deleteBody(options) })
      if (answer.status === 404) return false
      if (answer.status >= 300) throw failed(answer)
      return true
    },
    deleteCollection: (kind, selection = {}, options = {}) => {
      const path = withQuery(collectionPath(kind, selection.namespace), {
        ...selectors(selection),
        dryRun: dryRun(options.dryRun),
      })
      return listOf(objectOf(ask({ method: "DELETE", path, body: deleteBody(options) })).items).length
    },
  }
}
