// Label and field selectors, as query parameters have them.
import type { KubeObject } from "../../../src/services/Kubernetes/Kubernetes.ts"
import { at, listOf } from "./Json.ts"
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

/** What a field of an object is for a selection. */
type Field = (object: KubeObject) => string

const field =
  (path: string, absent = ""): Field =>
  (object) =>
    String(at(object, ...path.split(".")) ?? absent)

const fields = (...paths: ReadonlyArray<string>): Readonly<Record<string, Field>> =>
  Object.fromEntries(paths.map((path) => [path, field(path)]))

const NAME = fields("metadata.name")
const METADATA = { ...NAME, ...fields("metadata.namespace") }

/** Of what an Event tells, in either of its APIs. */
const REGARDED = ["kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath"]

const source: Field = (event) =>
  String(at(event, "source", "component") || (at(event, "reportingComponent") ?? ""))

const podIP: Field = (pod) => String(at(listOf(at(pod, "status", "podIPs"))[0], "ip") ?? "")

interface Selectable {
  readonly fields: Readonly<Record<string, Field>>
  /** How another one is refused. */
  readonly refusal: (field: string) => string
}

const unsupported = (field: string) => `field label not supported: ${field}`

/**
 * The built-in kinds with fields of their own, as Kubernetes 1.35 has them: what may be asked for by
 * `AddFieldLabelConversionFunc` in pkg/apis, what is found by `ToSelectableFields` in pkg/registry.
 */
const BUILTIN: Readonly<Record<string, Selectable>> = {
  "/Pod": {
    fields: {
      ...METADATA,
      ...fields(
        "spec.nodeName",
        "spec.restartPolicy",
        "spec.schedulerName",
        "spec.serviceAccountName",
        "status.phase",
        "status.nominatedNodeName",
      ),
      "spec.host": field("spec.nodeName"),
      "spec.hostNetwork": field("spec.hostNetwork", "false"),
      "status.podIP": podIP,
      // It may be asked for, and no pod has it.
      "status.podIPs": () => "",
    },
    refusal: unsupported,
  },
  "/Node": {
    fields: { ...NAME, "spec.unschedulable": field("spec.unschedulable", "false") },
    refusal: unsupported,
  },
  "/Namespace": { fields: { ...NAME, ...fields("status.phase") }, refusal: unsupported },
  "/Secret": { fields: { ...METADATA, ...fields("type") }, refusal: unsupported },
  "/Service": { fields: { ...METADATA, ...fields("spec.clusterIP", "spec.type") }, refusal: unsupported },
  "batch/Job": {
    fields: { ...METADATA, "status.successful": field("status.succeeded", "0") },
    refusal: (name) => `field label ${JSON.stringify(name)} not supported for Job`,
  },
  "/Event": {
    fields: {
      ...METADATA,
      ...fields("reason", "reportingComponent", "type", ...REGARDED.map((name) => `involvedObject.${name}`)),
      source,
    },
    refusal: unsupported,
  },
  "events.k8s.io/Event": {
    fields: {
      ...METADATA,
      ...fields("reason", "reportingController", "type", ...REGARDED.map((name) => `regarding.${name}`)),
    },
    refusal: unsupported,
  },
}

const OTHERS: Selectable = {
  fields: METADATA,
  refusal: (name) =>
    `${JSON.stringify(name)} is not a known field selector: only "metadata.name", "metadata.namespace"`,
}

const selectableOf = ({ kind, schema }: Resource): Selectable => {
  if (schema !== undefined) return { fields: kind.namespaced ? METADATA : NAME, refusal: unsupported }
  return BUILTIN[`${kind.group}/${kind.kind}`] ?? OTHERS
}

/** At commas that are not escaped. */
const terms = (selector: string): ReadonlyArray<string> =>
  selector.split(/(?<!(?<!\\)(?:\\\\)*\\),/).filter((term) => term !== "")

const unescaped = (text: string): string => {
  const strange = text.replaceAll(/\\[\\,=]/g, "").match(/\\.?|=/s)?.[0]
  if (strange === undefined) return text.replaceAll(/\\(.)/g, "$1")
  const why =
    strange === "="
      ? `unescaped character in value: ${strange.codePointAt(0)}`
      : `invalid escape sequence: ${strange}`
  throw badRequest(`invalid field selector: ${why}`)
}

const fieldMatcher = (resource: Resource, selector: string): Matcher => {
  const selectable = selectableOf(resource)
  const all = terms(selector).map((term): Matcher => {
    const [, name, comparison, text = ""] = /^(.*?)(!=|==|=)(.*)$/s.exec(term) ?? []
    if (name === undefined) throw badRequest(`invalid selector: '${selector}'; can't understand '${term}'`)
    const value = unescaped(text)
    const found = Object.hasOwn(selectable.fields, name) ? selectable.fields[name] : undefined
    if (found === undefined) throw badRequest(selectable.refusal(name))
    return (object) => (found(object) === value) === (comparison !== "!=")
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
