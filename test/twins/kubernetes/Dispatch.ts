// From a request to the part of the server that answers it, once its sender is known and allowed.
import type { KubeObject } from "../../../src/services/Kubernetes/Kubernetes.ts"
import type { ApiAnswer, ApiRequest } from "./ApiServer.ts"
import { create } from "./Create.ts"
import { deleteCollection, deleteOne } from "./Delete.ts"
import { discover } from "./Discovery.ts"
import { clone, type Json, stringsOf } from "./Json.ts"
import type { Call, Machine } from "./Machine.ts"
import { groupsOf, type Identity } from "./Rbac.ts"
import { get, list, listBody, partial, wantsPartial } from "./Read.ts"
import { about, type Resource } from "./Resources.ts"
import { isRoute, type NonResource, type Route, routeOf } from "./Route.ts"
import { badRequest, forbidden, forbiddenPath, methodNotAllowed, noSuchResource } from "./Status.ts"
import { patch, put } from "./Update.ts"

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
    dryRun: route.query.get("dryRun") === "All",
    query: route.query,
    body: request.method === "GET" ? undefined : clone(request.body),
  }
}

const shown = (request: ApiRequest, object: KubeObject): Json =>
  wantsPartial(request.accept) ? partial(object) : object

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

const answerCall = (machine: Machine, request: ApiRequest, call: Call): ApiAnswer => {
  const one = call.name !== undefined
  switch (request.method) {
    case "GET":
      return one
        ? { status: 200, body: shown(request, get(machine, call)) }
        : { status: 200, body: list(machine, call, wantsPartial(request.accept)) }
    case "POST":
      if (one) throw methodNotAllowed()
      if (call.resource.kind.namespaced && call.namespace === undefined) throw methodNotAllowed()
      return { status: 201, body: shown(request, create(machine, call)) }
    case "PUT":
      if (!one) throw methodNotAllowed()
      return { status: 200, body: shown(request, put(machine, call)) }
    case "PATCH": {
      if (!one) throw methodNotAllowed()
      const { object, created } = patch(machine, call, request.contentType ?? "application/json")
      return { status: created ? 201 : 200, body: shown(request, object) }
    }
    case "DELETE": {
      if (one) return { status: 200, body: deleted(machine, call) }
      const before = String(machine.store.version)
      const objects = deleteCollection(machine, call)
      return { status: 200, body: listBody(call.resource, objects, { resourceVersion: before }, false) }
    }
  }
}

const selfReview = (machine: Machine, identity: Identity): ApiAnswer => ({
  status: 201,
  body: {
    kind: "SelfSubjectReview",
    apiVersion: "authentication.k8s.io/v1",
    metadata: { creationTimestamp: machine.now() },
    status: { userInfo: { username: identity.user, groups: stringsOf(identity.groups) } },
  },
})

const isSelfReview = (request: ApiRequest, { group, plural }: Route): boolean =>
  request.method === "POST" && group === "authentication.k8s.io" && plural === "selfsubjectreviews"

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
  const found = discover(machine.resources, path)
  return found === undefined ? NOT_FOUND : { status: 200, body: found }
}

/** Answers anything but a watch. Throws `ApiStatus`. */
export const answer = (machine: Machine, request: ApiRequest): ApiAnswer => {
  const route = routeOf(request.path)
  if (!isRoute(route)) return answerPath(machine, request, route)
  if (isSelfReview(request, route)) return selfReview(machine, identityOf(request))
  if (!machine.resources.serves(route.group, route.version)) return NOT_FOUND
  if (request.method === "GET" && route.name === undefined && isWatch(route))
    throw badRequest(`a watch of ${about(callOf(machine, request, route).resource).kind} is no single answer`)
  return answerCall(machine, request, callOf(machine, request, route))
}
