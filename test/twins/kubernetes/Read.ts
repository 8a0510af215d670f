// GET: one object, or a list, of the newest state or of the watch cache's.
import type { KubeObject } from "../../../src/services/Kubernetes/Kubernetes.ts"
import { apiVersion } from "../../../src/services/Kubernetes/Paths.ts"
import { isJson, type Json, objectOf, without } from "./Json.ts"
import type { Call, Machine } from "./Machine.ts"
import { about, isCustom, type Resource } from "./Resources.ts"
import { matcher } from "./Selectors.ts"
import { badRequest, expired, notFound, tooLargeVersion } from "./Status.ts"

const partials = new WeakMap<KubeObject, Json>()

/** `PartialObjectMetadata` of an object. */
export const partial = (object: KubeObject): Json => {
  const known = partials.get(object)
  if (known !== undefined) return known
  const made = Object.freeze({
    kind: "PartialObjectMetadata",
    apiVersion: "meta.k8s.io/v1",
    metadata: object.metadata,
  })
  partials.set(object, made)
  return made
}

export const wantsPartial = (accept: string | undefined): boolean =>
  accept?.includes("as=PartialObjectMetadata") === true

export const get = ({ store }: Machine, call: Call): KubeObject => {
  const found = store.get(call.resource.kind, call.namespace, call.name ?? "")
  if (found === undefined) throw notFound(about(call.resource, call.name))
  return found
}

export const versionOf = (text: string | null): number | undefined => {
  if (text === null || text === "") return undefined
  if (!/^\d+$/.test(text)) throw badRequest(`invalid resource version ${JSON.stringify(text)}`)
  return Number(text)
}

interface Token {
  readonly version: number
  /** The key of the last object of the page before. */
  readonly after: string
}

const encodeToken = ({ version, after }: Token): string =>
  Buffer.from(JSON.stringify({ v: "meta.k8s.io/v1", rv: version, start: after })).toString("base64url")

const decodeToken = (text: string): Token => {
  try {
    const token: unknown = JSON.parse(Buffer.from(text, "base64url").toString())
    if (isJson(token) && typeof token.rv === "number" && typeof token.start === "string")
      return { version: token.rv, after: token.start }
  } catch {
    // Told below.
  }
  throw badRequest("invalid continue token: continue key is not valid")
}

const EXPIRED =
  "The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue parameter, or use the continue token in this response to retrieve the remainder of the results. Continuing with the provided token results in an inconsistent list - objects that were created, modified, or deleted between the time the first chunk was returned and now may show up in the list."

/** The version that a list shows. */
const shownVersion = ({ store }: Machine, call: Call, token: Token | undefined): number => {
  if (token !== undefined) {
    if ((versionOf(call.query.get("resourceVersion")) ?? 0) > 0)
      throw badRequest("specifying resource version is not allowed when using continue")
    if (token.version < Math.max(store.compacted, store.oldest(call.resource.kind))) throw expired(EXPIRED)
    return token.version
  }
  const asked = versionOf(call.query.get("resourceVersion"))
  if (asked === undefined) return store.version
  const cached = store.cacheVersion(call.resource.kind)
  if (asked > cached) throw tooLargeVersion(asked, cached)
  return cached
}

const keyOfItem = (object: KubeObject) => `${object.metadata.namespace ?? ""}/${object.metadata.name}`

/** Items of built-in lists do not repeat their kind. */
const itemOf = (resource: Resource, object: KubeObject): Json =>
  isCustom(resource) ? object : without(object, "kind", "apiVersion")

export const listBody = (
  resource: Resource,
  objects: ReadonlyArray<KubeObject>,
  metadata: Json,
  asPartial: boolean,
): Json =>
  asPartial
    ? {
        kind: "PartialObjectMetadataList",
        apiVersion: "meta.k8s.io/v1",
        metadata,
        items: objects.map(partial),
      }
    : {
        kind: `${resource.kind.kind}List`,
        apiVersion: apiVersion(resource.kind),
        metadata,
        items: objects.map((object) => itemOf(resource, object)),
      }

export const selectorsOf = (query: URLSearchParams) => ({
  labelSelector: query.get("labelSelector") ?? "",
  fieldSelector: query.get("fieldSelector") ?? "",
})

export const list = (machine: Machine, call: Call, asPartial: boolean): Json => {
  const { query, resource } = call
  const text = query.get("continue")
  const token = text ? decodeToken(text) : undefined
  const version = shownVersion(machine, call, token)
  const all = machine.store
    .listAt(resource.kind, call.namespace, version)
    .filter(matcher(resource, selectorsOf(query)))
  const rest = token === undefined ? all : all.filter((object) => keyOfItem(object) > token.after)
  // A list out of the cache with version 0 is never cut (1.35, seen).
  const limit = query.get("resourceVersion") === "0" ? 0 : Number(query.get("limit") ?? 0)
  const page = limit > 0 ? rest.slice(0, limit) : rest
  const last = page.at(-1)
  const more = page.length < rest.length && last !== undefined
  const metadata = {
    resourceVersion: String(version),
    ...(more && { continue: encodeToken({ version, after: keyOfItem(last) }) }),
    // Not told for a selection: the server does not count what it has not read.
    ...(more &&
      !query.get("labelSelector") &&
      !query.get("fieldSelector") && { remainingItemCount: rest.length - page.length }),
  }
  return objectOf(listBody(resource, page, metadata, asPartial))
}
