// The requests of the Kubernetes API, as HTTP: paths, parameters, media types.
import type { HttpRequest } from "./Http.ts"
import { isSecret } from "./Kinds.ts"
import type { KubeManifest, ListOptions, ObjectRef, Patch, ResourceKind } from "./Kubernetes.ts"
import { collectionPath, objectPath, withQuery } from "./Paths.ts"

/** Owns the fields that the operator applies (`metadata.managedFields`). */
export const FIELD_MANAGER = "platform-operator"

/** Objects a page of a list. */
const PAGE_SIZE = 500

const partial = (kind: "PartialObjectMetadata" | "PartialObjectMetadataList"): string =>
  `application/json;as=${kind};v=v1;g=meta.k8s.io`

export const getRequest = (kind: ResourceKind, ref: ObjectRef, metadataOnly: boolean): HttpRequest => ({
  method: "GET",
  path: objectPath(kind, ref),
  ...(metadataOnly && { accept: partial("PartialObjectMetadata") }),
  secret: isSecret(kind),
})

/** Which state a list shows: any (of the server's cache), one at least as new as a version, or the newest. */
export type ListFrom =
  | { readonly _tag: "Any" }
  | { readonly _tag: "NotOlderThan"; readonly version: string }
  | { readonly _tag: "Newest" }

export interface PageRequest {
  readonly from: ListFrom
  /** The token that the page before gave. */
  readonly next?: string
  /** False: all in one page, for when tokens expire faster than pages are read. */
  readonly paged: boolean
}

const selectors = (options: ListOptions) => ({
  labelSelector: options.labelSelector,
  fieldSelector: options.fieldSelector,
})

const fromParameters = ({ from, next }: PageRequest) => {
  if (next !== undefined || from._tag === "Newest") return {}
  return from._tag === "Any"
    ? { resourceVersion: "0" }
    : { resourceVersion: from.version, resourceVersionMatch: "NotOlderThan" }
}

export const listRequest = (kind: ResourceKind, options: ListOptions, page: PageRequest): HttpRequest => ({
  method: "GET",
  path: withQuery(collectionPath(kind, options.namespace), {
    ...selectors(options),
    ...fromParameters(page),
    limit: page.paged ? PAGE_SIZE : undefined,
    continue: page.next,
  }),
  ...(options.metadataOnly === true && { accept: partial("PartialObjectMetadataList") }),
  secret: isSecret(kind),
})

export interface WatchRequest {
  readonly version: string
  /** After how many seconds the server ends the watch. */
  readonly timeoutSeconds: number
}

export const watchRequest = (
  kind: ResourceKind,
  options: ListOptions,
  { version, timeoutSeconds }: WatchRequest,
): HttpRequest => ({
  method: "GET",
  path: withQuery(collectionPath(kind, options.namespace), {
    ...selectors(options),
    watch: 1,
    allowWatchBookmarks: true,
    timeoutSeconds,
    resourceVersion: version,
  }),
  ...(options.metadataOnly === true && { accept: partial("PartialObjectMetadata") }),
  secret: isSecret(kind),
})

const refOf = ({ metadata }: KubeManifest): ObjectRef => ({
  name: metadata.name,
  ...(metadata.namespace !== undefined && { namespace: metadata.namespace }),
})

export const createRequest = (kind: ResourceKind, manifest: KubeManifest): HttpRequest => ({
  method: "POST",
  path: withQuery(collectionPath(kind, manifest.metadata.namespace), { fieldManager: FIELD_MANAGER }),
  body: manifest,
  secret: isSecret(kind),
})

export const applyRequest = (kind: ResourceKind, manifest: KubeManifest, dryRun: boolean): HttpRequest => ({
  method: "PATCH",
  path: withQuery(objectPath(kind, refOf(manifest)), {
    fieldManager: FIELD_MANAGER,
    force: true,
    dryRun: dryRun ? "All" : undefined,
  }),
  // Every JSON text is a YAML text.
  contentType: "application/apply-patch+yaml",
  body: manifest,
  secret: isSecret(kind),
})

export const patchRequest = (
  kind: ResourceKind,
  ref: ObjectRef,
  patch: Patch,
  { subresource, dryRun = false }: { readonly subresource?: string; readonly dryRun?: boolean } = {},
): HttpRequest => ({
  method: "PATCH",
  path: withQuery(objectPath(kind, ref, subresource), {
    fieldManager: FIELD_MANAGER,
    dryRun: dryRun ? "All" : undefined,
  }),
  contentType: patch.type === "json" ? "application/json-patch+json" : "application/merge-patch+json",
  body: patch.type === "json" ? patch.operations : patch.patch,
  secret: isSecret(kind),
})

export const deleteRequest = (
  kind: ResourceKind,
  ref: ObjectRef,
  options: { readonly uid?: string; readonly propagation?: "Background" | "Foreground" },
): HttpRequest => ({
  method: "DELETE",
  path: objectPath(kind, ref),
  body: {
    apiVersion: "v1",
    kind: "DeleteOptions",
    // Without it a Job's pods run on as orphans.
    propagationPolicy: options.propagation ?? "Background",
    ...(options.uid !== undefined && { preconditions: { uid: options.uid } }),
  },
  secret: isSecret(kind),
})

export const whoAmIRequest: HttpRequest = {
  method: "POST",
  path: "/apis/authentication.k8s.io/v1/selfsubjectreviews",
  body: { apiVersion: "authentication.k8s.io/v1", kind: "SelfSubjectReview" },
}
