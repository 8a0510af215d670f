// From a request to the part of the server that answers it, once its sender is known and allowed.
import type { KubeObject } from "../../../src/services/Kubernetes/Kubernetes.ts"
import type { ApiAnswer, ApiRequest } from "./ApiServer.ts"
import { isView, newerEvent, shownAs, storedAs } from "./CoreEvents.ts"
import { create, decoded } from "./Create.ts"
import { deleteCollection, deleteOne } from "./Delete.ts"
import { discover } from "./Discovery.ts"
import { at, clone, isJson, type Json, stringsOf } from "./Json.ts"
import type { Call, Machine } from "./Machine.ts"
import { openApi } from "./OpenApi.ts"
import { groupsOf, type Identity } from "./Rbac.ts"
import { type Form, formed, formOf, get, list, listBody } from "./Read.ts"
import { about, type Resource } from "./Resources.ts"
import { review } from "./Reviews.ts"
import { isRoute, type NonResource, type Route, routeOf } from "./Route.ts"
import { badRequest, forbidden, forbiddenPath, methodNotAllowed, noSuchResource } from "./Status.ts"
import { checkFields } from "./Strict.ts"
import { patch, patchedState, put } from "./Update.ts"

const identityOf = ({ user, groups }: ApiRequest): Identity => ({ user, groups: groups ?? groupsOf(user) })

/** The verb as RBAC names it. */
const verbOf = (request: ApiRequest, route: Route): string => {
  switch (request.method) {
    case "GET":
      if (route.name !== undefined) return "get"
      return isWatch(route) ? "watch" : "list"
    case "POST":
      return "create"
    case "PUT":
      return "update"
    case "PATCH":
      return "patch"
    case "DELETE":
      return route.name === undefined ? "deletecollection" : "delete"
  }
}

export const isWatch = ({ query }: Route): boolean => {
  const watch = query.get("watch")
  return watch === "1" || watch === "true"
}

/** A text answers a path of no group that is served. */
const NOT_FOUND: ApiAnswer = { status: 404, body: "404 page not found\n" }

const authorize = (machine: Machine, identity: Identity, verb: string, route: Route): void => {
  const { group, plural, subresource, name, namespace } = route
  const resource = subresource === undefined ? plural : `${plural}/${subresource}`
  // What is asked of a namespace itself is asked in it.
  const within = group === "" && plural === "namespaces" ? name : namespace
  if (machine.authorizer.allows(identity, { verb, group, resource, namespace: within, name })) return
  const where = within === undefined ? "at the cluster scope" : `in the namespace ${JSON.stringify(within)}`
  throw forbidden(
    { name, group, kind: plural },
    `User ${JSON.stringify(identity.user)} cannot ${verb} resource ${JSON.stringify(resource)} in API group ${JSON.stringify(group)} ${where}`,
  )
}

const SUBRESOURCES = (resource: Resource): ReadonlyArray<string> => [
  ...(resource.status ? ["status"] : []),
  ...(resource.kind.kind === "Namespace" ? ["finalize"] : []),
]

/** A deletion says so in its body. */
const isDryRun = ({ body, method }: ApiRequest, { query }: Route): boolean =>
  query.get("dryRun") === "All" || (method === "DELETE" && stringsOf(at(body, "dryRun")).includes("All"))

/** The request as a call, authorized. Throws what refuses it. */
export const callOf = (machine: Machine, request: ApiRequest, route: Route): Call => {
  const identity = identityOf(request)
  authorize(machine, identity, verbOf(request, route), route)
  const resource = machine.resources.find(route.group, route.version, route.plural)
  if (resource === undefined) throw noSuchResource()
  if (route.subresource !== undefined && !SUBRESOURCES(resource).includes(route.subresource))
    throw noSuchResource()
  // An object of a namespaced kind lives in one; a collection may be of all.
  if (resource.kind.namespaced && route.namespace === undefined && route.name !== undefined)
    throw noSuchResource()
  return {
    resource,
    namespace: resource.kind.namespaced ? route.namespace : undefined,
    name: route.name,
    subresource: route.subresource,
    identity,
    manager: route.query.get("fieldManager") ?? "unknown",
    dryRun: isDryRun(request, route),
    query: route.query,
    contentType: request.contentType ?? "application/json",
    body: request.method === "GET" ? undefined : clone(request.body),
  }
}

const deleted = (machine: Machine, call: Call): Json => {
  const { object, gone } = deleteOne(machine, call)
  if (!gone || call.resource.returnsDeleted) return object
  return {
    kind: "Status",
    apiVersion: "v1",
    metadata: {},
    status: "Success",
    details: {
      name: call.name,
      ...(call.resource.kind.group !== "" && { group: call.resource.kind.group }),
      kind: call.resource.kind.plural,
      uid: object.metadata.uid,
    },
  }
}

const warned = (warnings: ReadonlyArray<string>): Pick<ApiAnswer, "warnings"> =>
  warnings.length === 0 ? {} : { warnings }

/** The warnings about a whole object; a body that is none is refused by whoever reads it. */
const warningsOf = (call: Call): Pick<ApiAnswer, "warnings"> =>
  isJson(call.body) ? warned(checkFields(call, call.body)) : {}

/** `asked`: the resource as the client has it, where it is stored as another. */
const answerCall = (
  machine: Machine,
  call: Call,
  method: ApiRequest["method"],
  form: Form,
  asked: Resource = call.resource,
): ApiAnswer => {
  const one = call.name !== undefined
  const shown = (object: KubeObject) => formed(machine, call.resource, object, form)
  switch (method) {
    case "GET":
      return one
        ? { status: 200, body: shown(get(machine, call)) }
        : { status: 200, body: list(machine, call, form) }
    case "POST": {
      if (one) throw methodNotAllowed()
      if (call.resource.kind.namespaced && call.namespace === undefined) throw methodNotAllowed()
      const warnings = warningsOf(call)
      return { status: 201, body: shown(create(machine, call)), ...warnings }
    }
    case "PUT": {
      if (!one) throw methodNotAllowed()
      const warnings = warningsOf(call)
      return { status: 200, body: shown(put(machine, call)), ...warnings }
    }
    case "PATCH": {
      if (!one) throw methodNotAllowed()
      const { object, created, warnings } = patch(machine, call)
      return { status: created ? 201 : 200, body: shown(object), ...warned(warnings) }
    }
    case "DELETE": {
      if (one) return { status: 200, body: deleted(machine, call) }
      const before = String(machine.store.version)
      const objects = deleteCollection(machine, call, asked)
      const body = listBody(machine, call.resource, objects, { resourceVersion: before }, "Whole")
      return { status: 200, body }
    }
  }
}

/** A write under the older of two APIs is one under the newer: what is stored is that. */
const answerView = (machine: Machine, call: Call, method: ApiRequest["method"], form: Form): ApiAnswer => {
  const stored = storedAs(call.resource)
  const resource = machine.resources.find(stored.group, stored.version, stored.plural)
  if (method === "GET" || resource === undefined) return answerCall(machine, call, method, form)
  const inner = { ...call, resource }
  if (method === "DELETE") return answerCall(machine, inner, method, form, call.resource)
  const body = method === "PATCH" ? patchedState(call, get(machine, call)) : decoded(call.resource, call.body)
  const write = { ...inner, body: newerEvent(body) }
  const object = method === "POST" ? create(machine, write) : put(machine, write)
  const shown = formed(machine, call.resource, shownAs(call.resource, object), form)
  return { status: method === "POST" ? 201 : 200, body: shown }
}

const VERSION = {
  major: "1",
  minor: "35",
  gitVersion: "v1.35.4",
  gitCommit: "",
  gitTreeState: "",
  buildDate: "1970-01-01T00:00:00Z",
  goVersion: "go1.26.8",
  compiler: "gc",
  platform: "linux/amd64",
}

const HEALTH = new Set(["/healthz", "/livez", "/readyz"])

const answerPath = (machine: Machine, request: ApiRequest, { path }: NonResource): ApiAnswer => {
  const identity = identityOf(request)
  const verb = request.method.toLowerCase()
  if (!machine.authorizer.allows(identity, { verb, path })) throw forbiddenPath(identity.user, verb, path)
  if (HEALTH.has(path)) return { status: 200, body: "ok" }
  if (path === "/version") return { status: 200, body: VERSION }
  const found =
    discover(machine.resources, path, request.accept) ?? openApi(machine.resources, path, request.accept)
  return found === undefined ? NOT_FOUND : { status: 200, ...found }
}

/** Answers anything but a watch. Throws `ApiStatus`. */
export const answer = (machine: Machine, request: ApiRequest): ApiAnswer => {
  const route = routeOf(request.path)
  if (!isRoute(route)) return answerPath(machine, request, route)
  const reviewed = review(machine, identityOf(request), request, route)
  if (reviewed !== undefined) return reviewed
  if (!machine.resources.serves(route.group, route.version)) return NOT_FOUND
  if (request.method === "GET" && route.name === undefined && isWatch(route))
    throw badRequest(`a watch of ${about(callOf(machine, request, route).resource).kind} is no single answer`)
  const call = callOf(machine, request, route)
  const form = formOf(request.accept, route.query)
  return isView(call.resource)
    ? answerView(machine, call, request.method, form)
    : answerCall(machine, call, request.method, form)
}
