// ValidatingAdmissionPolicies in the store, evaluated at each request that they match.
import * as Kinds from "../../../src/services/Kubernetes/Kinds.ts"
import type { KubeObject } from "../../../src/services/Kubernetes/Kubernetes.ts"
import { CelError, compileCel } from "./Cel.ts"
import { at, isJson, type Json, listOf, objectOf, stringsOf, textOf } from "./Json.ts"
import type { Identity } from "./Rbac.ts"
import type { Resource } from "./Resources.ts"
import { labelMatcher } from "./Selectors.ts"
import { admissionDenied } from "./Status.ts"
import type { Store } from "./Store.ts"

export interface Admitted {
  readonly operation: "CREATE" | "UPDATE" | "DELETE"
  readonly resource: Resource
  readonly subresource: string | undefined
  readonly namespace: string | undefined
  /** Absent in the deletion of a collection. */
  readonly name: string | undefined
  readonly object: Json | undefined
  readonly before: Json | undefined
  readonly identity: Identity
  readonly dryRun: boolean
}

const includes = (list: unknown, wanted: string): boolean => {
  const items = stringsOf(list)
  return items.includes("*") || items.includes(wanted)
}

const ruleMatches = (rule: unknown, { operation, resource, subresource, name }: Admitted): boolean => {
  if (!isJson(rule)) return false
  const { group, version, plural } = resource.kind
  const names = stringsOf(rule.resourceNames)
  const full = subresource === undefined ? plural : `${plural}/${subresource}`
  return (
    includes(rule.operations, operation) &&
    includes(rule.apiGroups, group) &&
    includes(rule.apiVersions, version) &&
    (stringsOf(rule.resources).includes(full) ||
      stringsOf(rule.resources).includes(subresource === undefined ? "*" : "*/*")) &&
    // The deletion of a collection has no name: a rule with names lets it pass (seen on 1.35).
    (names.length === 0 || (name !== undefined && names.includes(name)))
  )
}

/** A label selector object, as a matcher of labels. */
const selects = (selector: unknown, labels: Readonly<Record<string, string>> | undefined): boolean => {
  const pairs = Object.entries(objectOf(at(selector, "matchLabels"))).map(([key, value]) => `${key}=${value}`)
  const expressions = listOf(at(selector, "matchExpressions")).map((it) => {
    const [key, operator, values] = [
      textOf(at(it, "key")),
      textOf(at(it, "operator")),
      stringsOf(at(it, "values")),
    ]
    if (operator === "Exists") return `${key}`
    if (operator === "DoesNotExist") return `!${key}`
    return `${key} ${operator === "In" ? "in" : "notin"} (${values.join(",")})`
  })
  return labelMatcher([...pairs, ...expressions].join(","))(labels)
}

const labelsOf = (object: unknown): Readonly<Record<string, string>> =>
  Object.fromEntries(
    Object.entries(objectOf(at(object, "metadata", "labels"))).map(([key, value]) => [key, String(value)]),
  )

const matches = (constraints: unknown, admitted: Admitted, namespace: KubeObject | undefined): boolean =>
  listOf(at(constraints, "resourceRules")).some((rule) => ruleMatches(rule, admitted)) &&
  !listOf(at(constraints, "excludeResourceRules")).some((rule) => ruleMatches(rule, admitted)) &&
  (namespace === undefined || selects(at(constraints, "namespaceSelector"), labelsOf(namespace))) &&
  (selects(at(constraints, "objectSelector"), labelsOf(admitted.object)) ||
    selects(at(constraints, "objectSelector"), labelsOf(admitted.before)))

const variablesOf = (admitted: Admitted, namespace: KubeObject | undefined) => {
  const { resource, identity } = admitted
  return {
    object: admitted.object ?? null,
    oldObject: admitted.before ?? null,
    namespaceObject: namespace ?? null,
    request: {
      operation: admitted.operation,
      userInfo: { username: identity.user, groups: identity.groups },
      namespace: admitted.namespace ?? "",
      name: admitted.name ?? "",
      dryRun: admitted.dryRun,
      kind: { group: resource.kind.group, version: resource.kind.version, kind: resource.kind.kind },
      resource: {
        group: resource.kind.group,
        version: resource.kind.version,
        resource: resource.kind.plural,
      },
    },
  }
}

/** What a policy calls its variables: each may use those before it. */
const namedIn = (policy: KubeObject, given: Json): Json => {
  const variables = { ...objectOf(given.variables) }
  for (const it of listOf(at(policy, "spec", "variables"))) {
    const value = compileCel(textOf(at(it, "expression")) ?? "")({ ...given, variables })
    variables[textOf(at(it, "name")) ?? ""] = value
  }
  return { ...given, variables }
}

/** What a message's own expression gives; one that fails is passed over. */
const messageOf = (validation: unknown, variables: Json): string | undefined => {
  const expression = textOf(at(validation, "messageExpression"))
  if (expression === undefined) return textOf(at(validation, "message"))
  try {
    return textOf(compileCel(expression)(variables))
  } catch (error) {
    if (!(error instanceof CelError)) throw error
    return textOf(at(validation, "message"))
  }
}

/** Whether the request is none of the policy's; the words of a condition that fails where the policy does not ignore that. */
const passedOver = (policy: KubeObject, given: Json): boolean | string => {
  for (const condition of listOf(at(policy, "spec", "matchConditions"))) {
    const expression = textOf(at(condition, "expression")) ?? ""
    try {
      if (compileCel(expression)(given) !== true) return true
    } catch (error) {
      if (!(error instanceof CelError)) throw error
      if (at(policy, "spec", "failurePolicy") === "Ignore") return true
      return `match condition '${expression}' resulted in error: ${error.message}`
    }
  }
  return false
}

/** The message of the first validation that does not hold; undefined when all do. */
const denial = (policy: KubeObject, given: Json): string | undefined => {
  const passed = passedOver(policy, given)
  if (passed !== false) return passed === true ? undefined : passed
  const variables = namedIn(policy, given)
  for (const validation of listOf(at(policy, "spec", "validations"))) {
    const expression = textOf(at(validation, "expression")) ?? ""
    try {
      if (compileCel(expression)(variables) !== true)
        return messageOf(validation, variables) ?? `failed expression: ${expression}`
    } catch (error) {
      if (!(error instanceof CelError)) throw error
      if (at(policy, "spec", "failurePolicy") === "Ignore") continue
      return `expression '${expression}' resulted in error: ${error.message}`
    }
  }
  return undefined
}

/** Throws 422 when a policy that is bound denies the request. */
export const admit = (store: Store, admitted: Admitted): void => {
  if (admitted.resource.kind.group === Kinds.ValidatingAdmissionPolicy.group) return
  const policies = store.list(Kinds.ValidatingAdmissionPolicy)
  if (policies.length === 0) return
  const ownNamespace = admitted.resource.kind.kind === "Namespace" ? admitted.name : admitted.namespace
  const namespace =
    ownNamespace === undefined ? undefined : store.get(Kinds.Namespace, undefined, ownNamespace)
  for (const binding of store.list(Kinds.ValidatingAdmissionPolicyBinding)) {
    const policy = policies.find(({ metadata }) => metadata.name === at(binding, "spec", "policyName"))
    if (policy === undefined || !includes(at(binding, "spec", "validationActions"), "Deny")) continue
    const limits = at(binding, "spec", "matchResources")
    if (!matches(at(policy, "spec", "matchConstraints"), admitted, namespace)) continue
    if (limits !== undefined && !selects(at(limits, "namespaceSelector"), labelsOf(namespace))) continue
    const message = denial(policy, variablesOf(admitted, namespace))
    if (message !== undefined)
      throw admissionDenied(
        {
          name: admitted.name ?? "Unknown",
          group: admitted.resource.kind.group,
          kind: admitted.resource.kind.plural,
        },
        `ValidatingAdmissionPolicy '${policy.metadata.name}' with binding '${binding.metadata.name}' denied request: ${message}`,
      )
  }
}
