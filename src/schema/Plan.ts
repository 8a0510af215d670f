// What a preview says would be done to a platform, for people to decide about. Names and kinds alone, never values. Pure.
import { Schema } from "effect"
import { withoutSecrets } from "./Secrets.ts"
import { truncateAtWord, utf8Bytes } from "./Text.ts"

export const deeds = ["create", "update", "replace", "delete"] as const
export const Deed = Schema.Literals(deeds)
export type Deed = typeof Deed.Type

/** What would be done to one object. */
export const PlannedStep = Schema.Struct({
  deed: Deed,
  /** The engine's, such as `kubernetes:core/v1:ConfigMap`. */
  type: Schema.String,
  /** The object's own name, where the engine knows it; else the resource's. */
  name: Schema.String,
  namespace: Schema.optionalKey(Schema.String),
})
export type PlannedStep = typeof PlannedStep.Type

const Counts = Schema.Record(Schema.String, Schema.Finite)

export const Plan = Schema.Struct({
  format: Schema.Literal(1),
  /** Of the instance that it is of: a copy of the name is not. */
  uid: Schema.String,
  /** What was looked at: this version with the spec of this generation. */
  version: Schema.String,
  generation: Schema.Finite,
  /** RFC 3339. */
  madeAt: Schema.String,
  /** Why there is none; the rest says nothing then. */
  unreadable: Schema.optionalKey(Schema.String),
  /** How many of each type. */
  create: Counts,
  update: Counts,
  replace: Counts,
  delete: Counts,
  /** `ConfigMap wasmcloud/settings`, each. */
  replaced: Schema.Array(Schema.String),
  deleted: Schema.Array(Schema.String),
  /** Those among the two that hold data, or are what it hangs on. */
  data: Schema.Array(Schema.String),
  /** How many names more than those written down. */
  more: Schema.optionalKey(Schema.Finite),
})
export type Plan = typeof Plan.Type

export const PlanText = Schema.fromJsonString(Plan)

/** Every one of a platform's objects, and some: a plan that replaces all of it names all of it. */
const MAX_NAMES = 1000
/** Together they fit beside the history in one ConfigMap, with room left. */
const MAX_NAME_BYTES = 160

/** `ConfigMap` of `kubernetes:core/v1:ConfigMap`. */
export const kindOf = (type: string): string => type.slice(type.lastIndexOf(":") + 1)

export const nameOf = ({ type, name, namespace }: PlannedStep): string =>
  `${kindOf(type)} ${namespace === undefined ? name : `${namespace}/${name}`}`

/** What goes with data when it goes, or is what it hangs on. */
const dataKinds: ReadonlySet<string> = new Set([
  "PersistentVolume",
  "PersistentVolumeClaim",
  "Namespace",
  // With a definition go all objects of its kind, with a release all that its chart has made.
  "CustomResourceDefinition",
  "Release",
  "Tenant",
])

/** The tenant that an object belongs to, as the platform names its own. */
const tenantOf = ({ type, name }: PlannedStep): string | undefined => {
  switch (kindOf(type)) {
    case "Tenant":
      return name
    case "Namespace":
      return /^di-(?:tenant|runtime)-(.+)$/.exec(name)?.[1]
    default:
      return undefined
  }
}

/** A tenant that somebody has taken out of the spec goes on purpose; nothing else of this kind does. */
const holdsData = (step: PlannedStep, tenants: ReadonlySet<string>): boolean => {
  if (step.deed !== "delete" && step.deed !== "replace") return false
  if (!dataKinds.has(kindOf(step.type))) return false
  const tenant = tenantOf(step)
  return step.deed === "replace" || tenant === undefined || tenants.has(tenant)
}

const countsOf = (steps: ReadonlyArray<PlannedStep>, deed: Deed): Readonly<Record<string, number>> => {
  const counts: Record<string, number> = {}
  for (const step of steps) {
    const kind = kindOf(step.type)
    if (step.deed === deed) counts[kind] = (counts[kind] ?? 0) + 1
  }
  return counts
}

/** A name that came from a program is one more place for what should not be in it. */
const words = (text: string): string => truncateAtWord(withoutSecrets(text), MAX_NAME_BYTES, utf8Bytes)

const namesOf = (steps: ReadonlyArray<PlannedStep>): ReadonlyArray<string> =>
  steps.slice(0, MAX_NAMES).map((step) => words(nameOf(step)))

export type PlanOf = Pick<Plan, "uid" | "version" | "generation" | "madeAt">

/** `tenants`: those of the spec. */
export const planOf = (
  of: PlanOf,
  steps: ReadonlyArray<PlannedStep>,
  tenants: ReadonlyArray<string>,
): Plan => {
  const declared = new Set(tenants)
  const replaced = steps.filter(({ deed }) => deed === "replace")
  const deleted = steps.filter(({ deed }) => deed === "delete")
  const more = [replaced, deleted].reduce((sum, { length }) => sum + Math.max(0, length - MAX_NAMES), 0)
  return {
    format: 1,
    ...of,
    create: countsOf(steps, "create"),
    update: countsOf(steps, "update"),
    replace: countsOf(steps, "replace"),
    delete: countsOf(steps, "delete"),
    replaced: namesOf(replaced),
    deleted: namesOf(deleted),
    data: namesOf(steps.filter((step) => holdsData(step, declared))),
    ...(more === 0 ? {} : { more }),
  }
}

/** Of one that could not be made. */
export const unreadablePlan = (of: PlanOf, why: string): Plan => ({
  ...planOf(of, [], []),
  unreadable: truncateAtWord(withoutSecrets(why), 1024, utf8Bytes),
})

const total = (counts: Readonly<Record<string, number>>): number =>
  Object.values(counts).reduce((sum, count) => sum + count, 0)

/** `create 2 (ConfigMap 1, Secret 1), delete 1 (Tenant 1)`; what is not done is left out. */
export const countsText = (plan: Plan): string => {
  const parts = deeds.flatMap((deed) => {
    const counts = plan[deed]
    const kinds = Object.entries(counts)
      .toSorted(([one], [other]) => (one < other ? -1 : 1))
      .map(([kind, count]) => `${kind} ${count}`)
    return kinds.length === 0 ? [] : [`${deed} ${total(counts)} (${kinds.join(", ")})`]
  })
  return parts.length === 0 ? "nothing would change" : parts.join(", ")
}

/** Whether what it says of data, or that it cannot be read, is to be looked at by somebody before it is done. */
export const isGrave = ({ unreadable, data }: Plan): boolean => unreadable !== undefined || data.length > 0

/** One sentence for an Event or a condition; the names that hold data first, in `limit` characters. */
export const planSummary = (plan: Plan, limit: number): string => {
  const of = `version ${plan.version}, generation ${plan.generation}`
  if (plan.unreadable !== undefined) {
    return truncateAtWord(`the plan of ${of} cannot be read: ${plan.unreadable}`, limit)
  }
  const data = plan.data.length === 0 ? "" : `; goes with its data: ${plan.data.join(", ")}`
  const named = (word: string, names: ReadonlyArray<string>) =>
    names.length === 0 ? "" : `; ${word}: ${names.join(", ")}`
  const rest = (names: ReadonlyArray<string>) => names.filter((name) => !plan.data.includes(name))
  return truncateAtWord(
    `${of}: ${countsText(plan)}${data}${named("replaced", rest(plan.replaced))}${named("deleted", rest(plan.deleted))}`,
    limit,
  )
}
