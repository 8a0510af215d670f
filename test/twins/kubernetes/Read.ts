// GET: one object, or a list, of the newest state or of the watch cache's.
import type { KubeObject } from "../../../src/services/Kubernetes/Kubernetes.ts"
import { apiVersion } from "../../../src/services/Kubernetes/Paths.ts"
import { isView, shownAs, storedAs } from "./CoreEvents.ts"
import { isJson, type Json, objectOf, without } from "./Json.ts"
import type { Call, Machine } from "./Machine.ts"
import { about, isCustom, type Resource } from "./Resources.ts"
import { matcher } from "./Selectors.ts"
import { badRequest, expired, notFound, tooLargeVersion } from "./Status.ts"
import type { Store } from "./Store.ts"
import { type Included, tableOf } from "./Table.ts"

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

/** How a client wants objects: whole, their metadata alone, or as rows of a table. */
export type Form = "Whole" | "Partial" | { readonly rows: Included }

/** Of the forms that a client understands the first counts. */
export const formOf = (accept: string | undefined, query: URLSearchParams): Form => {
  if (accept === undefined) return "Whole"
  if (accept.startsWith("application/json;as=Table")) {
    const included = query.get("includeObject")
    return { rows: included === "Object" || included === "None" ? included : "Metadata" }
  }
  return accept.includes("as=PartialObjectMetadata") ? "Partial" : "Whole"
}

/** One object in the form that is wanted. */
export const formed = (machine: Machine, resource: Resource, object: KubeObject, form: Form): Json => {
  if (form === "Whole") return object
  if (form === "Partial") return partial(object)
  const { resourceVersion } = object.metadata
  return tableOf(resource, [object], { resourceVersion }, form.rows, machine.millis())
}

export const get = ({ store }: Machine, call: Call): KubeObject => {
  const found = store.get(storedAs(call.resource), call.namespace, call.name ?? "")
  if (found === undefined) throw notFound(about(call.resource, call.name))
  return shownAs(call.resource, found)
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
    if (token.version < Math.max(store.compacted, store.oldest(storedAs(call.resource))))
      throw expired(EXPIRED)
    return token.version
  }
  const asked = versionOf(call.query.get("resourceVersion"))
  if (asked === undefined) return store.version
  const cached = store.cacheVersion(storedAs(call.resource))
  if (asked > cached) throw tooLargeVersion(asked, cached)
  return cached
}

const keyOfItem = (object: KubeObject) => `${object.metadata.namespace ?? ""}/${object.metadata.name}`

/** Items of built-in lists do not repeat their kind. */
const itemOf = (resource: Resource, object: KubeObject): Json =>
  isCustom(resource) ? object : without(object, "kind", "apiVersion")

export const listBody = (
  machine: Machine,
  resource: Resource,
  objects: ReadonlyArray<KubeObject>,
  metadata: Json,
  form: Form,
): Json => {
  if (form === "Whole")
    return {
      kind: `${resource.kind.kind}List`,
      apiVersion: apiVersion(resource.kind),
      metadata,
      items: objects.map((object) => itemOf(resource, object)),
    }
  if (form === "Partial")
    return {
      kind: "PartialObjectMetadataList",
      apiVersion: "meta.k8s.io/v1",
      metadata,
      items: objects.map(partial),
    }
  return tableOf(resource, objects, metadata, form.rows, machine.millis())
}

export const selectorsOf = (query: URLSearchParams) => ({
  labelSelector: query.get("labelSelector") ?? "",
  fieldSelector: query.get("fieldSelector") ?? "",
})

/** The objects of a resource as they were at a version. */
export const objectsAt = (
  store: Store,
  resource: Resource,
  namespace: string | undefined,
  version: number,
): ReadonlyArray<KubeObject> => {
  const objects = store.listAt(storedAs(resource), namespace, version)
  return isView(resource) ? objects.map((object) => shownAs(resource, object)) : objects
}

export const list = (machine: Machine, call: Call, form: Form): Json => {
  const { query, resource } = call
  const text = query.get("continue")
  const token = text ? decodeToken(text) : undefined
  const version = shownVersion(machine, call, token)
  const all = objectsAt(machine.store, resource, call.namespace, version).filter(
    matcher(resource, selectorsOf(query)),
  )
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
  return objectOf(listBody(machine, resource, page, metadata, form))
}
