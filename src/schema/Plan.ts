// What a preview says would be done to a platform, for people to decide about. Names and kinds alone, never values. Pure.
import { createHash } from "node:crypto"
import { Option, Schema } from "effect"
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

/** Digests of what a plan was made from, each `<hex>`. An install of it begins from the same alone. */
export const Basis = Schema.Struct({
  package: Schema.String,
  config: Schema.String,
  /** Of the engine's state. */
  state: Schema.String,
})
export type Basis = typeof Basis.Type

export const Plan = Schema.Struct({
  /** Of what it says and what it was made from, but for the state: that of another instance, or of something else, is another. */
  id: Schema.String,
  /** What was looked at: this version with the spec of this generation. */
  version: Schema.String,
  generation: Schema.Finite,
  /** RFC 3339. */
  madeAt: Schema.String,
  /** When the install or repair before it ended, as the record has it: after another one it is outdated. */
  after: Schema.String,
  /** Of one that could be made. */
  basis: Schema.optionalKey(Basis),
  /** An install has found another basis. */
  outdated: Schema.optionalKey(Schema.Literal(true)),
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
  /** Objects of charts that are missing or edited, and would be put back. */
  restored: Schema.Array(Schema.String),
  /** How many names more than those written down. */
  more: Schema.optionalKey(Schema.Finite),
})
export type Plan = typeof Plan.Type

/** What is kept of an instance: the newest plan of its spec, and the newest of another version. Neither takes the other's place. */
export const Plans = Schema.Struct({
  format: Schema.Literal(1),
  /** Of the instance that they are of: a copy of the name is not. */
  uid: Schema.String,
  spec: Schema.optionalKey(Plan),
  version: Schema.optionalKey(Plan),
  /** Versions whose last plan that could be read takes data away. */
  grave: Schema.Array(Schema.String),
})
export type Plans = typeof Plans.Type

export const PlansText = Schema.fromJsonString(Plans)

export type PlanSlot = "spec" | "version"

/** `version`: what is looked at; `spec`: the version there. */
export const slotOf = (version: string, spec: string): PlanSlot => (version === spec ? "spec" : "version")

export const noPlans = (uid: string): Plans => ({ format: 1, uid, grave: [] })

/** So many versions are remembered for what their plans have said. */
const MAX_GRAVE = 20

/** One that could not be made says nothing about data: what the one before has said stands. */
export const withPlan = (plans: Plans, slot: PlanSlot, plan: Plan): Plans => {
  const others = plans.grave.filter((version) => version !== plan.version)
  const grave = plan.data.length > 0 ? [...others, plan.version].slice(-MAX_GRAVE) : others
  return { ...plans, [slot]: plan, grave: plan.unreadable === undefined ? grave : plans.grave }
}

const decode = Schema.decodeOption(PlansText)

/** None of a text that is no such file: nobody knows what it said. A file that is not there, or another life's, says nothing. */
export const plansOf = (text: Option.Option<string>, uid: string): Option.Option<Plans> =>
  Option.match(text, {
    onNone: () => Option.some(noPlans(uid)),
    onSome: (found) => Option.map(decode(found), (plans) => (plans.uid === uid ? plans : noPlans(uid))),
  })

/** Of each list: more than a platform has objects that come and go in one upgrade. */
const MAX_NAMES = 300
/** Two plans fit beside the history in one ConfigMap of 1 MiB, with room left. */
const MAX_NAME_BYTES = 160
/** Of each deed: more than there are in a cluster with a platform. */
const MAX_KINDS = 200

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
  const counts = new Map<string, number>()
  for (const step of steps) {
    if (step.deed !== deed) continue
    const kind = words(kindOf(step.type))
    const as = counts.has(kind) || counts.size < MAX_KINDS ? kind : "others"
    counts.set(as, (counts.get(as) ?? 0) + 1)
  }
  return Object.fromEntries(counts)
}

/** A name that came from a program is one more place for what should not be in it. */
const words = (text: string): string => truncateAtWord(withoutSecrets(text), MAX_NAME_BYTES, utf8Bytes)

const namesOf = (names: ReadonlyArray<string>): ReadonlyArray<string> => names.slice(0, MAX_NAMES).map(words)

const idOf = (...parts: ReadonlyArray<unknown>): string =>
  createHash("sha256").update(JSON.stringify(parts)).digest("hex").slice(0, 12)

/** What a plan is of. */
export type PlanOf = Pick<Plan, "version" | "generation" | "madeAt" | "after"> & { readonly uid: string }

/** What a preview has found. */
export interface Found {
  readonly basis: Basis
  readonly steps: ReadonlyArray<PlannedStep>
  /** Objects of charts, which the engine does not see. */
  readonly drifted: ReadonlyArray<string>
}

/** `tenants`: those of the spec. */
export const planOf = (
  { uid, ...of }: PlanOf,
  { basis, steps, drifted }: Found,
  tenants: ReadonlyArray<string>,
): Plan => {
  const declared = new Set(tenants)
  const namesBy = (which: (step: PlannedStep) => boolean) => steps.filter(which).map(nameOf)
  const replaced = namesBy(({ deed }) => deed === "replace")
  const deleted = namesBy(({ deed }) => deed === "delete")
  const more = [replaced, deleted, drifted].reduce(
    (sum, list) => sum + Math.max(0, list.length - MAX_NAMES),
    0,
  )
  const said = steps.map((step) => `${step.deed} ${step.type} ${nameOf(step)}`).toSorted()
  return {
    id: idOf(uid, of.version, of.generation, basis.package, basis.config, said),
    ...of,
    basis,
    create: countsOf(steps, "create"),
    update: countsOf(steps, "update"),
    replace: countsOf(steps, "replace"),
    delete: countsOf(steps, "delete"),
    replaced: namesOf(replaced),
    deleted: namesOf(deleted),
    data: namesOf(namesBy((step) => holdsData(step, declared))),
    restored: namesOf(drifted),
    ...(more === 0 ? {} : { more }),
  }
}

/** Of one that could not be made. */
export const unreadablePlan = ({ uid, ...of }: PlanOf, why: string): Plan => ({
  id: idOf(uid, of.version, of.generation),
  ...of,
  unreadable: truncateAtWord(withoutSecrets(why), 1024, utf8Bytes),
  create: {},
  update: {},
  replace: {},
  delete: {},
  replaced: [],
  deleted: [],
  data: [],
  restored: [],
})

/** What an approval of exactly this plan reads. */
export const approvalOf = ({ generation, id }: Plan): string => `${generation}-${id}`

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
    `${of}: ${countsText(plan)}${data}${named("replaced", rest(plan.replaced))}${named("deleted", rest(plan.deleted))}${named("put back", plan.restored)}`,
    limit,
  )
}
