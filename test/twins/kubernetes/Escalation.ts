// Nobody grants what he does not hold: the check that the API server makes at each write of a role or binding.
import * as Kinds from "../../../src/services/Kubernetes/Kinds.ts"
import { at, isJson, type Json, listOf, stringsOf } from "./Json.ts"
import { type Authorizer, type Identity, isAdministrator, referredRules } from "./Rbac.ts"
import { about, type Resource } from "./Resources.ts"
import { forbidden } from "./Status.ts"
import type { Store } from "./Store.ts"

/** One right: a single resource (or path), with its verbs and names. */
interface Right {
  readonly group: string
  readonly resource: string
  readonly path: string | undefined
  readonly verbs: ReadonlyArray<string>
  readonly names: ReadonlyArray<string>
}

const rightsOf = (rule: Json): ReadonlyArray<Right> => {
  const verbs = stringsOf(rule.verbs)
  const names = stringsOf(rule.resourceNames)
  const paths = stringsOf(rule.nonResourceURLs).map((path) => ({
    group: "",
    resource: "",
    path,
    verbs,
    names: [],
  }))
  return [
    ...stringsOf(rule.apiGroups).flatMap((group) =>
      stringsOf(rule.resources).map((resource) => ({ group, resource, path: undefined, verbs, names })),
    ),
    ...paths,
  ]
}

const within = (list: ReadonlyArray<string>, wanted: string) => list.includes("*") || list.includes(wanted)

/** Whether one verb of a right, for one of its names, is held by some rule. */
const isHeld = (held: ReadonlyArray<Json>, right: Right, verb: string, name: string | undefined): boolean =>
  held.some((rule) => {
    if (!within(stringsOf(rule.verbs), verb)) return false
    if (right.path !== undefined) return within(stringsOf(rule.nonResourceURLs), right.path)
    const names = stringsOf(rule.resourceNames)
    const star = right.resource.replace(/^[^/]+\//, "*/")
    return (
      within(stringsOf(rule.apiGroups), right.group) &&
      (within(stringsOf(rule.resources), right.resource) || stringsOf(rule.resources).includes(star)) &&
      (names.length === 0 || (name !== undefined && names.includes(name)))
    )
  })

const quoted = (list: ReadonlyArray<string>) => `[${list.map((it) => JSON.stringify(it)).join(" ")}]`

const describe = ({ group, resource, path, verbs, names }: Right): string => {
  if (path !== undefined) return `{NonResourceURLs:${quoted([path])}, Verbs:${quoted(verbs)}}`
  const named = names.length === 0 ? "" : `, ResourceNames:${quoted(names)}`
  return `{APIGroups:${quoted([group])}, Resources:${quoted([resource])}${named}, Verbs:${quoted(verbs)}}`
}

const missing = (held: ReadonlyArray<Json>, rules: ReadonlyArray<Json>): ReadonlyArray<string> =>
  rules.flatMap(rightsOf).flatMap((right) => {
    const names = right.names.length === 0 ? [undefined] : right.names
    const verbs = right.verbs.filter((verb) => !names.every((name) => isHeld(held, right, verb, name)))
    return verbs.length === 0 ? [] : [describe({ ...right, verbs })]
  })

const isRole = (resource: Resource) => resource.kind.kind === "Role" || resource.kind.kind === "ClusterRole"
const isBinding = (resource: Resource) => resource.kind.kind.endsWith("RoleBinding")

/** Throws 403 when a role or binding would grant more than its writer holds. */
export const refuseEscalation = (
  store: Store,
  authorizer: Authorizer,
  identity: Identity,
  resource: Resource,
  object: Json,
): void => {
  if (resource.kind.group !== Kinds.Role.group || isAdministrator(identity)) return
  const namespace = resource.kind.namespaced ? String(at(object, "metadata", "namespace") ?? "") : undefined
  const name = String(at(object, "metadata", "name") ?? "")
  const granted = isRole(resource)
    ? listOf(object.rules).filter(isJson)
    : referredRules(store, object.roleRef, namespace)
  const verb = isRole(resource) ? "escalate" : "bind"
  const target = isBinding(resource)
    ? `${String(at(object, "roleRef", "kind")).toLowerCase()}s`
    : resource.kind.plural
  const exempt = authorizer.allows(identity, {
    verb,
    group: Kinds.Role.group,
    resource: target,
    namespace,
    name: isBinding(resource) ? String(at(object, "roleRef", "name")) : name,
  })
  if (exempt) return
  const lacking = missing(authorizer.rules(identity, namespace), granted)
  if (lacking.length === 0) return
  const groups = identity.groups.map((group) => JSON.stringify(group)).join(" ")
  throw forbidden(
    about(resource, name),
    `user ${JSON.stringify(identity.user)} (groups=[${groups}]) is attempting to grant RBAC permissions not currently held:\n${lacking.join("\n")}`,
  )
}
