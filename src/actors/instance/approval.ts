// Whether the spec as it is may be applied, or waits for its plan or for somebody's approval; and what is kept as it should be
// meanwhile: the spec that was last begun to be applied. Pure.
import { Equal, Option, Schema } from "effect"
import type { Plan, Plans } from "../../schema/Plan.ts"
import type { PlatformInstance } from "../../schema/PlatformInstance.ts"
import { PlatformInstanceSpec } from "../../schema/PlatformSpec.ts"
import type { InstanceRecord } from "../../services/StateStore/StateStore.ts"

/** What the spec asks for. */
export interface Change {
  readonly version: string
  readonly generation: number
}

/** What changes wait for. */
export interface Approval {
  /** Every change waits for somebody. */
  readonly required: boolean
  /** The id of the plan that somebody has approved. */
  readonly approved: Option.Option<string>
  /** What somebody has asked a plan of: a version, or `spec`. */
  readonly asked: Option.Option<string>
  /** A change has waited, and none was begun since: what comes after it is looked at as well. */
  readonly waited: boolean
  /** Those that were made; none where they cannot be read, and nobody knows what they say. */
  readonly plans: Option.Option<Plans>
}

export type Standing =
  /** The spec as it is. `plan`: that which it has waited for; what it was made from is compared before anything is begun. */
  | { readonly _tag: "Agreed"; readonly plan: Option.Option<Plan> }
  | {
      readonly _tag: "Waits"
      readonly change: Change
      /** The newest of that change. */
      readonly plan: Option.Option<Plan>
      /** That plan is no longer of what is there, or could not be made: it is made anew. */
      readonly again: boolean
      /** Somebody has to approve it, whatever comes of another look. */
      readonly approval: boolean
      /** What counts meanwhile; none where that is not known. */
      readonly instead: Option.Option<Agreed>
    }

export interface Agreed {
  readonly generation: number
  readonly spec: PlatformInstanceSpec
}

const decodeSpec = Schema.decodeUnknownOption(PlatformInstanceSpec)
const encodeSpec = Schema.encodeSync(PlatformInstanceSpec)

/** As the record keeps it. */
export const agreedRecord = ({
  metadata,
  spec,
}: PlatformInstance): NonNullable<InstanceRecord["agreed"]> => ({
  uid: metadata.uid,
  generation: metadata.generation,
  spec: encodeSpec(spec),
})

/** Of this life of the instance, if it can be read. */
export const agreedIn = (record: Option.Option<InstanceRecord>, uid: string): Option.Option<Agreed> =>
  Option.flatMap(record, ({ agreed }) =>
    agreed?.uid === uid
      ? Option.map(decodeSpec(agreed.spec), (spec) => ({ generation: agreed.generation, spec }))
      : Option.none(),
  )

const isOf = (plan: Plan | undefined, { version, generation }: Change): plan is Plan =>
  plan?.version === version && plan.generation === generation

const needsPlan = ({ required, waited, asked, plans }: Approval, change: Change): boolean =>
  required ||
  waited ||
  Option.contains(asked, "spec") ||
  Option.contains(asked, change.version) ||
  Option.isNone(plans) ||
  plans.value.forgotten === true ||
  plans.value.grave.includes(change.version) ||
  // Whoever has asked for it may have taken the question back since.
  isOf(plans.value.spec, change)

export interface Asked {
  /** As the server has it. */
  readonly instance: PlatformInstance
  readonly record: Option.Option<InstanceRecord>
  /** What is installed, by its record or, where that is lost, by the status. */
  readonly installed: Option.Option<Change>
  readonly approval: Approval
}

/** It has picked up what a predecessor of another UID has left, and installed nothing yet. */
const isAdopted = Option.exists<InstanceRecord>(({ installed }) => installed?.generation === 0)

const agreed: Standing = { _tag: "Agreed", plan: Option.none() }

export const standingOf = ({ instance, record, installed, approval }: Asked): Standing => {
  const { uid, generation } = instance.metadata
  const change: Change = { version: instance.spec.version, generation }
  const begun = agreedIn(record, uid)
  // Nothing is there that could be taken away; and a predecessor's platform is nothing that this instance has shown.
  if (Option.isNone(installed) || (isAdopted(record) && Option.isNone(begun))) return agreed
  const last = installed.value
  if (last.version === change.version && last.generation === generation) return agreed
  // What was begun is carried to its end, and what was taken back is installed already. The number alone may have been another
  // spec's, before a restore of the cluster.
  const isAgreed = ({ spec, ...it }: Agreed) =>
    Equal.equals(spec, instance.spec) &&
    (it.generation === generation || (it.generation === last.generation && change.version === last.version))
  if (Option.exists(begun, isAgreed)) return agreed
  if (!needsPlan(approval, change)) return agreed
  const plan = Option.flatMap(approval.plans, ({ spec }) =>
    isOf(spec, change) ? Option.some(spec) : Option.none(),
  )
  const made = Option.getOrUndefined(plan)
  const after = Option.getOrUndefined(record)?.installed?.finishedAt ?? ""
  const current = made !== undefined && made.outdated === undefined && made.after === after
  const unreadable = made?.unreadable !== undefined
  const asks = approval.required || (made !== undefined && (unreadable || made.data.length > 0))
  if (current && (!asks || Option.contains(approval.approved, made.id))) return { _tag: "Agreed", plan }
  return { _tag: "Waits", change, plan, again: !current || unreadable, approval: asks, instead: begun }
}

/** As it counts: what waits is as if nobody had asked for it yet. */
export const countingSpec = (
  instance: PlatformInstance,
  standing: Standing,
  installed: Option.Option<Change>,
): PlatformInstance => {
  if (standing._tag === "Agreed" || Option.isNone(installed)) return instance
  const { generation, spec } = Option.getOrElse(standing.instead, (): Agreed => {
    const { version, generation } = installed.value
    return { generation, spec: { ...instance.spec, version } }
  })
  return { ...instance, metadata: { ...instance.metadata, generation }, spec }
}
