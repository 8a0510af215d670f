// Label and field selectors, as query parameters have them.
import type { KubeObject } from "../../../src/services/Kubernetes/Kubernetes.ts"
import { at } from "./Json.ts"
import type { Resource } from "./Resources.ts"
import { badRequest } from "./Status.ts"

export type Matcher = (object: KubeObject) => boolean

const everything: Matcher = () => true

type Labels = Readonly<Record<string, string>>
type Requirement = (labels: Labels) => boolean

const SET = /^\s*(!?)\s*([\w./-]+)\s*(?:(in|notin)\s*\(([^)]*)\)|(==|=|!=)\s*([\w.-]*))?\s*$/

const requirement = (text: string): Requirement => {
  const parts = SET.exec(text)
  if (parts === null) throw badRequest(`unable to parse requirement: ${text}`)
  const [, not, key = "", operator, list = "", comparison, value = ""] = parts
  const values = list.split(",").map((it) => it.trim())
  if (operator === "in") return (labels) => labels[key] !== undefined && values.includes(labels[key])
  if (operator === "notin") return (labels) => labels[key] === undefined || !values.includes(labels[key])
  if (comparison === "!=") return (labels) => labels[key] !== value
  if (comparison !== undefined) return (labels) => labels[key] === value
  return not === "!" ? (labels) => !(key in labels) : (labels) => key in labels
}

/** Splits at commas that are not within parentheses. */
const split = (selector: string): ReadonlyArray<string> => selector.split(/,(?![^(]*\))/)

export const labelMatcher = (selector: string | undefined): ((labels: Labels | undefined) => boolean) => {
  if (selector === undefined || selector === "") return () => true
  const all = split(selector).map(requirement)
  return (labels) => all.every((it) => it(labels ?? {}))
}

/** The fields of built-in kinds that can be selected by; custom resources have the name and namespace alone. */
const FIELDS: Readonly<Record<string, Readonly<Record<string, ReadonlyArray<string>>>>> = {
  Pod: {
    "spec.nodeName": ["spec", "nodeName"],
    "spec.restartPolicy": ["spec", "restartPolicy"],
    "spec.schedulerName": ["spec", "schedulerName"],
    "spec.serviceAccountName": ["spec", "serviceAccountName"],
    "status.phase": ["status", "phase"],
    "status.podIP": ["status", "podIP"],
    "status.nominatedNodeName": ["status", "nominatedNodeName"],
  },
  Secret: { type: ["type"] },
  Namespace: { "status.phase": ["status", "phase"] },
  Node: { "spec.unschedulable": ["spec", "unschedulable"] },
  Job: { "status.successful": ["status", "succeeded"] },
  Event: {
    reason: ["reason"],
    type: ["type"],
    "involvedObject.name": ["involvedObject", "name"],
    "involvedObject.namespace": ["involvedObject", "namespace"],
    "involvedObject.kind": ["involvedObject", "kind"],
    "involvedObject.uid": ["involvedObject", "uid"],
    "regarding.name": ["regarding", "name"],
    "regarding.namespace": ["regarding", "namespace"],
    "regarding.kind": ["regarding", "kind"],
    "regarding.uid": ["regarding", "uid"],
  },
}

const METADATA: Readonly<Record<string, ReadonlyArray<string>>> = {
  "metadata.name": ["metadata", "name"],
  "metadata.namespace": ["metadata", "namespace"],
}

const fieldMatcher = (resource: Resource, selector: string): Matcher => {
  const own = FIELDS[resource.kind.kind]
  const known = own === undefined ? METADATA : { ...METADATA, ...own }
  const all = selector.split(",").map((text): Matcher => {
    const parts = /^([^=!]+)(==|=|!=)(.*)$/.exec(text)
    const [, field = "", comparison, value = ""] = parts ?? []
    const path = known[field.trim()]
    if (parts === null || path === undefined)
      throw badRequest(
        known === METADATA
          ? `${JSON.stringify(field)} is not a known field selector: only "metadata.name", "metadata.namespace"`
          : `field label not supported: ${field}`,
      )
    return (object) => (String(at(object, ...path) ?? "") === value.trim()) === (comparison !== "!=")
  })
  return (object) => all.every((matches) => matches(object))
}

export const matcher = (
  resource: Resource,
  { labelSelector, fieldSelector }: { readonly labelSelector?: string; readonly fieldSelector?: string },
): Matcher => {
  if (!labelSelector && !fieldSelector) return everything
  const labels = labelMatcher(labelSelector)
  const fields = fieldSelector ? fieldMatcher(resource, fieldSelector) : everything
  return (object) => labels(object.metadata.labels) && fields(object)
}
