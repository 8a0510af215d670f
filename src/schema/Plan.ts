// What a preview says would be done to a platform, for people to decide about. Names and kinds alone, never values. Pure.
import { createHash } from "node:crypto"
import { Option, Schema } from "effect"
import { withoutSecrets } from "./Secrets.ts"
import { midCut, truncateAtWord, utf8Bytes } from "./Text.ts"

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
  /** An install has found another basis, or has begun since: of drift nobody knows what of it is left. */
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
  /** Objects of charts that cannot be compared, or not be put back, each with why; absent where there are none. */
  uncompared: Schema.optionalKey(Schema.Array(Schema.String)),
  /** How many names more than those written down. */
  more: Schema.optionalKey(Schema.Finite),
})
export type Plan = typeof Plan.Type

/** What is kept of an instance: the newest plan of its spec, the newest of another version, and what was found last in place of a repair. None takes another's place. */
export const Plans = Schema.Struct({
  format: Schema.Literal(1),
  /** Of the instance that they are of: a copy of the name is not. */
  uid: Schema.String,
  spec: Schema.optionalKey(Plan),
  version: Schema.optionalKey(Plan),
  /** The last one that could be made. */
  drift: Schema.optionalKey(Plan),
  /** Versions whose last plan that could be read takes data away. */
  grave: Schema.Array(Schema.String),
  /** The file before it could not be read, and no plan of the spec was made since: nobody knows what is grave. */
  forgotten: Schema.optionalKey(Schema.Literal(true)),
})
export type Plans = typeof Plans.Type

export const PlansText = Schema.fromJsonString(Plans)

/** `drift`: of what is installed, in place of a repair. */
export type PlanSlot = "spec" | "version" | "drift"

/** Of a plan that somebody asks for; `version`: what is looked at; `spec`: the version there. */
export const slotOf = (version: string, spec: string): PlanSlot => (version === spec ? "spec" : "version")

export const noPlans = (uid: string): Plans => ({ format: 1, uid, grave: [] })

/** So many versions are remembered for what their plans have said. */
const MAX_GRAVE = 20

/**
 * One that could not be made says nothing about data: what the one before has said stands, and so does the drift that was found.
 * Nor does drift say anything about an upgrade.
 */
export const withPlan = (plans: Plans, slot: PlanSlot, plan: Plan): Plans => {
  if (slot === "drift") return plan.unreadable === undefined ? { ...plans, drift: plan } : plans
  if (plan.unreadable !== undefined) return { ...plans, [slot]: plan }
  const { forgotten, ...known } = plans
  const others = plans.grave.filter((version) => version !== plan.version)
  return {
    ...known,
    ...(forgotten === undefined || slot === "spec" ? {} : { forgotten }),
    [slot]: plan,
    grave: plan.data.length > 0 ? [...others, plan.version].slice(-MAX_GRAVE) : others,
  }
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
/** Three plans fit beside the history in one ConfigMap of 1 MiB, with room left. */
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
const holdsData = (step: PlannedStep, takenOut: ReadonlySet<string>): boolean => {
  if (step.deed !== "delete" && step.deed !== "replace") return false
  if (!dataKinds.has(kindOf(step.type))) return false
  const tenant = tenantOf(step)
  return step.deed === "replace" || tenant === undefined || !takenOut.has(tenant)
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

/** As Kubernetes names objects, which everybody can read: `ConfigMap wasmcloud/settings`. */
const isPlain = (text: string): boolean => /^(?:\w+ )?(?:[-.:\w]{1,253}\/)?[-.:\w]{1,253}$/.test(text)

/** A name that came from a program is one more place for what should not be in it. One that is too long is cut inside. */
const words = (text: string): string => {
  const shown = isPlain(text) ? text : withoutSecrets(text)
  return utf8Bytes(shown) <= MAX_NAME_BYTES ? shown : midCut(shown, MAX_NAME_BYTES)
}

const namesOf = (names: ReadonlyArray<string>): ReadonlyArray<string> => names.slice(0, MAX_NAMES).map(words)

/** Of a list whose length counts nowhere else. */
const withOthers = (names: ReadonlyArray<string>): ReadonlyArray<string> =>
  names.length <= MAX_NAMES ? namesOf(names) : [...namesOf(names), `${names.length - MAX_NAMES} others`]

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
  /** Those of them that cannot be compared. */
  readonly uncompared?: ReadonlyArray<string>
}

/** `takenOut`: tenants that the spec had when it was last agreed on, and has no more. */
export const planOf = (
  { uid, ...of }: PlanOf,
  { basis, steps, drifted, uncompared = [] }: Found,
  takenOut: ReadonlyArray<string>,
): Plan => {
  const onPurpose = new Set(takenOut)
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
    data: namesOf(namesBy((step) => holdsData(step, onPurpose))),
    restored: namesOf(drifted),
    ...(uncompared.length === 0 ? {} : { uncompared: withOthers(uncompared) }),
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
export const approvalOf = ({ generation, id }: Pick<Plan, "generation" | "id">): string =>
  `${generation}-${id}`

const total = (counts: Readonly<Record<string, number>>): number =>
  Object.values(counts).reduce((sum, count) => sum + count, 0)

/** How many objects would be made, changed, replaced, deleted or put back. */
export const objectsOf = (plan: Plan): number => {
  const named = plan.replaced.length + plan.deleted.length
  // Those of charts are counted by their names alone.
  const unnamed = (plan.more ?? 0) - (total(plan.replace) + total(plan.delete) - named)
  return deeds.reduce((sum, deed) => sum + total(plan[deed]), plan.restored.length + Math.max(0, unnamed))
}

/** Of what a look has found: the same again has the same, whenever it was made. */
export const foundIn = ({ id, restored, uncompared, more }: Plan): string =>
  idOf(id, restored, uncompared, more)

/** `create 2 (ConfigMap 1, Secret 1)`, by deed; what is not done is left out. */
const counted = (plan: Plan): ReadonlyArray<string> =>
  deeds.flatMap((deed) => {
    const counts = plan[deed]
    const kinds = Object.entries(counts)
      .toSorted(([one], [other]) => (one < other ? -1 : 1))
      .map(([kind, count]) => `${kind} ${count}`)
    return kinds.length === 0 ? [] : [`${deed} ${total(counts)} (${kinds.join(", ")})`]
  })

/** `create 2 (ConfigMap 1, Secret 1), delete 1 (Tenant 1)`. */
export const countsText = (plan: Plan): string => {
  const parts = counted(plan)
  return parts.length === 0 ? "nothing would change" : parts.join(", ")
}

/** Those that hold data first. */
const namesText = (plan: Plan): ReadonlyArray<string> => {
  const named = (word: string, names: ReadonlyArray<string>) =>
    names.length === 0 ? [] : [`${word}: ${names.join(", ")}`]
  const rest = (names: ReadonlyArray<string>) => names.filter((name) => !plan.data.includes(name))
  return [
    ...named("goes with its data", plan.data),
    ...named("replaced", rest(plan.replaced)),
    ...named("deleted", rest(plan.deleted)),
    ...named("put back", plan.restored),
    ...named("cannot be compared", plan.uncompared ?? []),
  ]
}

/** Of a plan in an Event, in characters. */
export const mostOfNote = 1000

/** One sentence for an Event or a condition, in `limit` characters. */
export const planSummary = (plan: Plan, limit: number): string => {
  const of = `version ${plan.version}, generation ${plan.generation}`
  if (plan.unreadable !== undefined) {
    return truncateAtWord(`the plan of ${of} cannot be read: ${plan.unreadable}`, limit)
  }
  return truncateAtWord(`${of}: ${[countsText(plan), ...namesText(plan)].join("; ")}`, limit)
}

/** `1 object differs`, `3 objects differ`. */
export const differing = (objects: number): string =>
  objects === 1 ? "1 object differs" : `${objects} objects differ`

/** One sentence about drift that was found, in `limit` characters. */
export const driftSummary = (plan: Plan, limit: number): string => {
  const counts = counted(plan)
  const would = [...(counts.length === 0 ? [] : [counts.join(", ")]), ...namesText(plan)]
  return truncateAtWord(
    `${differing(objectsOf(plan))} inside the instance; a repair would: ${would.join("; ")}`,
    limit,
  )
}
