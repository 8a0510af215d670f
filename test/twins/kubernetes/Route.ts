// A request's path and query, taken apart. Paths are parsed once: clients ask for the same ones again and again.
import { noSuchResource } from "./Status.ts"

export interface Route {
  readonly group: string
  readonly version: string
  readonly plural: string
  readonly namespace: string | undefined
  readonly name: string | undefined
  readonly subresource: string | undefined
  readonly query: URLSearchParams
}

/** A path that is none of a resource: `/readyz`. */
export interface NonResource {
  readonly path: string
  readonly query: URLSearchParams
}

const KEPT = 10_000
const known = new Map<string, Route | NonResource>()

const place = (parts: ReadonlyArray<string>): ReadonlyArray<string | undefined> => {
  // `namespaces/x` and its subresources are of the namespace itself.
  const inNamespace =
    parts[0] === "namespaces" && parts.length > 2 && parts[2] !== "status" && parts[2] !== "finalize"
  return inNamespace ? [parts[1], ...parts.slice(2)] : [undefined, ...parts]
}

const parse = (text: string): Route | NonResource => {
  const [path = "", search = ""] = text.split(/\?(.*)/s)
  const query = new URLSearchParams(search)
  const [root, ...rest] = path.split("/").slice(1).map(decodeURIComponent)
  const deep = root === "api" ? rest.length >= 2 : root === "apis" && rest.length >= 3
  if (!deep) return { path, query }
  const [group = "", version = "", ...parts] = root === "api" ? ["", ...rest] : rest
  const [namespace, plural = "", name, subresource, ...further] = place(parts)
  if (further.length > 0) throw noSuchResource()
  return { group, version, plural, namespace, name, subresource, query }
}

export const isRoute = (parsed: Route | NonResource): parsed is Route => "plural" in parsed

export const routeOf = (path: string): Route | NonResource => {
  const found = known.get(path)
  if (found !== undefined) return found
  const parsed = parse(path)
  if (known.size >= KEPT) known.clear()
  known.set(path, parsed)
  return parsed
}
