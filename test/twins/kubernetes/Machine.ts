// What the parts of the server share, and a request as they see it.
import type { KubeObject } from "../../../src/services/Kubernetes/Kubernetes.ts"
import { isJson, type Json } from "./Json.ts"
import type { Allocator } from "./Prepare.ts"
import type { Authorizer, Identity } from "./Rbac.ts"
import type { Resource, Resources } from "./Resources.ts"
import type { Store } from "./Store.ts"

export interface Machine extends Allocator {
  readonly store: Store
  readonly resources: Resources
  readonly authorizer: Authorizer
  /** A new UID. */
  readonly uid: () => string
  /** Five letters for `generateName`. */
  readonly suffix: () => string
  /** Milliseconds since the epoch. */
  readonly millis: () => number
}

/** A request that was authorized. */
export interface Call {
  readonly resource: Resource
  readonly namespace: string | undefined
  readonly name: string | undefined
  readonly subresource: string | undefined
  readonly identity: Identity
  /** Who owns the fields that it writes. */
  readonly manager: string
  readonly dryRun: boolean
  readonly query: URLSearchParams
  readonly contentType: string
  readonly body: unknown
}

/** RFC 3339 to the second, as metadata has times. */
export const timestamp = (millis: number): string => `${new Date(millis).toISOString().slice(0, 19)}Z`

const isStored = (value: Json): value is KubeObject => {
  const { apiVersion, kind, metadata } = value
  return (
    typeof apiVersion === "string" &&
    typeof kind === "string" &&
    isJson(metadata) &&
    typeof metadata.name === "string"
  )
}

/** An object whose metadata the server has completed. */
export const stored = (object: Json): KubeObject => {
  if (!isStored(object)) throw new Error(`not an object of the API: ${JSON.stringify(object)}`)
  return object
}
