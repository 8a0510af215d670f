// What an in-memory API server offers: REST requests for the live client, a synchronous client for controllers and
// programs, watches, and the verbs by which a test disturbs it. `makeApiServer` (Server.ts) makes one.
import type {
  KubeManifest,
  KubeObject,
  ObjectRef,
  Patch,
  ResourceKind,
} from "../../../src/services/Kubernetes/Kubernetes.ts"
import type { Faults } from "./Faults.ts"

export type Method = "GET" | "POST" | "PUT" | "PATCH" | "DELETE"

/** One REST request. `path` has its query; `body` is the parsed JSON. */
export interface ApiRequest {
  readonly user: string
  /** Left out, they follow from the user: those of a service account, `system:masters` for an administrator. */
  readonly groups?: ReadonlyArray<string>
  readonly method: Method
  readonly path: string
  readonly accept?: string
  readonly contentType?: string
  readonly body?: unknown
}

/** `body` is an object of the API, a list, a `Status`, or a text (`/readyz`). It is frozen. */
export interface ApiAnswer {
  readonly status: number
  readonly body: unknown
  /** The `Retry-After` header, in seconds. */
  readonly retryAfter?: number
  /** `Warning` headers. */
  readonly warnings?: ReadonlyArray<string>
  /** Default: `application/json`, or plain text. */
  readonly contentType?: string
}

/** What went wrong, with the code, reason and message of the server's `Status`. Code 0: the server was not reached. */
export class ApiStatus extends Error {
  override readonly name = "ApiStatus"
  readonly code: number
  readonly reason: string
  /** The `Status` object, as the body of the answer. */
  readonly body: Readonly<Record<string, unknown>>
  constructor(code: number, reason: string, message: string, body: Readonly<Record<string, unknown>> = {}) {
    super(message)
    this.code = code
    this.reason = reason
    this.body = body
  }
}

export interface Selection {
  readonly namespace?: string
  readonly labelSelector?: string
  readonly fieldSelector?: string
}

export type Propagation = "Background" | "Foreground" | "Orphan"

export interface DeleteOptions {
  readonly uid?: string
  readonly resourceVersion?: string
  readonly propagation?: Propagation
  /** Pods only. 0 removes at once, which is what the kubelet does at the end. */
  readonly gracePeriodSeconds?: number
  readonly dryRun?: boolean
}

/** A manifest whose metadata may name what an update must meet (`resourceVersion`), or let the server find a name. */
export type Writable = Omit<KubeManifest, "metadata"> & {
  readonly metadata: Partial<KubeManifest["metadata"]> & {
    readonly generateName?: string
    readonly resourceVersion?: string
  }
}

/** Every call is one request of the user; all but `get` and `delete` of something missing throw `ApiStatus`. */
export interface ApiClient {
  readonly user: string
  readonly get: (kind: ResourceKind, ref: ObjectRef) => KubeObject | undefined
  readonly list: (kind: ResourceKind, selection?: Selection) => ReadonlyArray<KubeObject>
  readonly create: (kind: ResourceKind, manifest: Writable, options?: { dryRun?: boolean }) => KubeObject
  /** PUT of the whole object. With its resourceVersion a stale one is a conflict, without it the last one wins. */
  readonly update: (kind: ResourceKind, object: Writable) => KubeObject
  /** PUT of the status subresource: only `status` is taken. */
  readonly updateStatus: (kind: ResourceKind, object: Writable) => KubeObject
  /** Server-side apply under the client's field manager; `force` (default true) takes over conflicting fields. */
  readonly apply: (
    kind: ResourceKind,
    manifest: KubeManifest,
    options?: { readonly force?: boolean; readonly dryRun?: boolean; readonly subresource?: string },
  ) => KubeObject
  readonly patch: (
    kind: ResourceKind,
    ref: ObjectRef,
    patch: Patch,
    options?: { readonly subresource?: string; readonly dryRun?: boolean },
  ) => KubeObject
  /** True when it was there to delete. */
  readonly delete: (kind: ResourceKind, ref: ObjectRef, options?: DeleteOptions) => boolean
  /** How many objects it was asked to delete. */
  readonly deleteCollection: (kind: ResourceKind, selection?: Selection, options?: DeleteOptions) => number
}

/** A committed write. `DELETED` carries the last state, under the version of the deletion. */
export interface Change {
  readonly type: "ADDED" | "MODIFIED" | "DELETED"
  readonly kind: ResourceKind
  readonly object: KubeObject
  readonly previous?: KubeObject
}

export interface WatchLine {
  readonly type: "ADDED" | "MODIFIED" | "DELETED" | "BOOKMARK" | "ERROR"
  readonly object: unknown
}

/** A watch that is open. Neither bookmarks nor its end come by themselves: the transport sends them (see Http.ts). */
export interface OpenWatch {
  /** Sends a bookmark, if the client asked for them and the watch has reached the version it began at. */
  readonly bookmark: () => void
  readonly close: () => void
}

export interface WatchHandlers {
  readonly onEvent: (line: WatchLine) => void
  /** The server ended it (`cutWatches`, an `ERROR` line, a restart). Not called after `close`. */
  readonly onEnd: () => void
}

export interface ApiServer {
  readonly name: string
  /** Answers synchronously and atomically. Never throws: what goes wrong is a `Status`. */
  readonly handle: (request: ApiRequest) => ApiAnswer
  /** A GET with `watch=1`: an answer that refuses it, or the open watch. */
  readonly watch: (request: ApiRequest, handlers: WatchHandlers) => ApiAnswer | OpenWatch
  /** A client of the user; `manager` owns the fields it writes (default: the user's name). */
  readonly as: (user: string, manager?: string) => ApiClient
  /** Called synchronously after each committed write, in order. A controller queues what it does as a task of its own. */
  readonly subscribe: (listener: (change: Change) => void) => () => void
  /** Verbs by which a test disturbs what clients over HTTP see. */
  readonly faults: Faults
  /** Goes up with each change of the store: what was read at a revision holds for as long as that is the revision. */
  readonly revision: () => number
  /** The state of the store, and going back to one: what a restore from a backup does. Versions go back, too. */
  readonly backup: () => Backup
  readonly restore: (backup: Backup) => void
}

/** Opaque. */
export interface Backup {
  readonly version: number
  readonly objects: ReadonlyMap<string, ReadonlyMap<string, KubeObject>>
}
