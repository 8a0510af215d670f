// Who may do what: by the Roles and Bindings in the store, as the RBAC authorizer decides.
import * as Kinds from "../../../src/services/Kubernetes/Kinds.ts"
import { at, isJson, type Json, listOf, stringsOf } from "./Json.ts"
import type { Store } from "./Store.ts"

export interface Identity {
  readonly user: string
  readonly groups: ReadonlyArray<string>
}

/** What is asked for: a verb on a resource (`services/status` with a subresource), or on a path. */
export type Asked =
  | {
      readonly verb: string
      readonly group: string
      readonly resource: string
      readonly namespace: string | undefined
      readonly name: string | undefined
    }
  | { readonly verb: string; readonly path: string }

export const MASTERS = "system:masters"
const AUTHENTICATED = "system:authenticated"

/** Administrators by name: what the playground's and the cluster's own kubeconfig stand for. */
const ADMINISTRATORS = new Set(["admin", "kubernetes-admin", "system:apiserver"])

/** Parts of the control plane, whose bootstrap roles are not repeated here: they may do all. */
const isComponent = (user: string): boolean =>
  user === "system:kube-controller-manager" ||
  user === "system:kube-scheduler" ||
  user.startsWith("system:node:") ||
  user.startsWith("system:serviceaccount:kube-system:")

/** The groups that a user is in by its name. */
export const groupsOf = (user: string): ReadonlyArray<string> => {
  if (ADMINISTRATORS.has(user)) return [MASTERS, AUTHENTICATED]
  const [, , namespace] = user.startsWith("system:serviceaccount:") ? user.split(":") : []
  return namespace === undefined
    ? [AUTHENTICATED]
    : ["system:serviceaccounts", `system:serviceaccounts:${namespace}`, AUTHENTICATED]
}

export const isAdministrator = ({ user, groups }: Identity): boolean =>
  groups.includes(MASTERS) || isComponent(user)

/** Open to everybody who is known (`system:public-info-viewer`, `system:discovery`, `system:basic-user`). */
const PUBLIC = /^\/(healthz|livez|readyz|version|openapi|api|apis)(\/|$)/

const isPublic = (asked: Asked): boolean => {
  if ("path" in asked) return asked.verb === "get" && PUBLIC.test(asked.path)
  return asked.verb === "create" && /^self(subject|subjectrules|subjectaccess)reviews$/.test(asked.resource)
}

const includes = (list: unknown, wanted: string): boolean => {
  const items = stringsOf(list)
  return items.includes("*") || items.includes(wanted)
}

// `pods/log` is named so, or by a star before the slash.
const namesResource = (list: unknown, resource: string): boolean => {
  if (includes(list, resource)) return true
  const [, subresource] = resource.split("/")
  return subresource !== undefined && stringsOf(list).includes(`*/${subresource}`)
}

const covers = (rule: Json, asked: Asked): boolean => {
  if (!includes(rule.verbs, asked.verb)) return false
  if ("path" in asked)
    return stringsOf(rule.nonResourceURLs).some((url) =>
      url.endsWith("*") ? asked.path.startsWith(url.slice(0, -1)) : url === asked.path,
    )
  const names = stringsOf(rule.resourceNames)
  return (
    includes(rule.apiGroups, asked.group) &&
    namesResource(rule.resources, asked.resource) &&
    (names.length === 0 || (asked.name !== undefined && names.includes(asked.name)))
  )
}

const isSubject = (subject: unknown, { user, groups }: Identity, namespace: string | undefined): boolean => {
  if (!isJson(subject)) return false
  if (subject.kind === "User") return subject.name === user
  if (subject.kind === "Group") return typeof subject.name === "string" && groups.includes(subject.name)
  return `system:serviceaccount:${subject.namespace ?? namespace}:${subject.name}` === user
}

const rulesOf = (role: unknown): ReadonlyArray<Json> => listOf(at(role, "rules")).filter(isJson)

/** The rules that a role reference stands for. */
export const referredRules = (
  store: Store,
  roleRef: unknown,
  namespace: string | undefined,
): ReadonlyArray<Json> => {
  const name = String(at(roleRef, "name") ?? "")
  return at(roleRef, "kind") === "ClusterRole"
    ? rulesOf(store.get(Kinds.ClusterRole, undefined, name))
    : rulesOf(store.get(Kinds.Role, namespace, name))
}

/** The rules that hold for somebody in a namespace (undefined: at the cluster scope). */
export const rulesFor = (
  store: Store,
  identity: Identity,
  namespace: string | undefined,
): ReadonlyArray<Json> => {
  const bindings = [
    ...store.list(Kinds.ClusterRoleBinding),
    ...(namespace === undefined ? [] : store.list(Kinds.RoleBinding, namespace)),
  ]
  return bindings
    .filter((binding) =>
      listOf(binding.subjects).some((it) => isSubject(it, identity, binding.metadata.namespace)),
    )
    .flatMap((binding) => referredRules(store, binding.roleRef, binding.metadata.namespace))
}

export class Authorizer {
  readonly #store: Store
  readonly #enabled: boolean
  /** Rules by user and namespace, forgotten when a role or binding changes. */
  readonly #rules = new Map<string, ReadonlyArray<Json>>()

  constructor(store: Store, enabled: boolean) {
    this.#store = store
    this.#enabled = enabled
    store.subscribe(({ kind }) => {
      if (kind.group === Kinds.Role.group) this.#rules.clear()
    })
  }

  forget(): void {
    this.#rules.clear()
  }

  rules(identity: Identity, namespace: string | undefined): ReadonlyArray<Json> {
    const key = `${identity.user}|${identity.groups.join()}|${namespace ?? ""}`
    const known = this.#rules.get(key)
    if (known !== undefined) return known
    const found = rulesFor(this.#store, identity, namespace)
    this.#rules.set(key, found)
    return found
  }

  allows(identity: Identity, asked: Asked): boolean {
    if (!this.#enabled || isAdministrator(identity) || isPublic(asked)) return true
    const namespace = "path" in asked ? undefined : asked.namespace
    return this.rules(identity, namespace).some((rule) => covers(rule, asked))
  }
}
