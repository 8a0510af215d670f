// `kubectl pi plan`: the newest plans of an instance, of its spec and of another version, and its drift report, from the ConfigMap beside it. As JSON
// it is the file that the operator has written.
import { Clock, Effect, Option, Schema } from "effect"
import { Command } from "effect/cli"
import { detectsIn, memoOf } from "../schema/DayTwo.ts"
import { DRIFT, HistoryText, LOOK, type PastOperation } from "../schema/History.ts"
import {
  ANNOTATION_APPROVED,
  ANNOTATION_PLAN,
  HISTORY_KEY,
  historyConfigMapName,
  PLAN_KEY,
} from "../schema/Names.ts"
import { approvalOf, deeds, differing, objectsOf, type Plan, PlansText } from "../schema/Plan.ts"
import { epochMillis } from "../schema/Time.ts"
import { readConfigMap } from "./history.ts"
import type { Instance } from "./Instance.ts"
import { cannot } from "./Kubectl.ts"
import { answer, answerNothing, instanceArgument, where } from "./root.ts"
import { ageOf, Colours, type Paint, painter, plain, table } from "./Words.ts"

/** Of one that cannot be read nothing is known; `kubectl pi history` says so. */
const decodeHistory = Schema.decodeUnknownOption(HistoryText)

const noPlan = ({ metadata }: Instance): string => {
  const { name, namespace } = metadata
  const memo = Option.getOrUndefined(memoOf(metadata))
  if (memo?.awaits !== undefined && memo.published !== undefined) {
    return `a plan waits for approval and cannot be shown yet: the operator's log says why ConfigMap ${namespace}/${historyConfigMapName({ namespace, name })} is not written`
  }
  return metadata.annotations?.[ANNOTATION_PLAN] === undefined
    ? `there is no plan; to ask for one: kubectl annotate pi ${name} --namespace ${namespace} ${ANNOTATION_PLAN}=spec`
    : "there is no plan yet; kubectl pi status says whether something else comes first"
}

const list = (title: string, names: ReadonlyArray<string>): ReadonlyArray<string> =>
  names.length === 0 ? [] : ["", title, ...names.map((name) => `  ${plain(name)}`)]

/** Whether an install or a repair of just this has come to its end since the plan was made. */
const isApplied = (plan: Plan, operations: ReadonlyArray<PastOperation>): boolean =>
  operations.some(
    ({ what, outcome, version, generation, startedAt }) =>
      what !== LOOK &&
      what !== DRIFT &&
      outcome === "succeeded" &&
      version === plan.version &&
      generation === plan.generation &&
      epochMillis(startedAt) > epochMillis(plan.madeAt),
  )

/** Why a plan is not of what there is now; nothing where it is, as far as can be seen from here. */
const outdated = (
  plan: Plan,
  { metadata }: Instance,
  operations: ReadonlyArray<PastOperation>,
): string | undefined => {
  if (isApplied(plan, operations)) return "it has been applied since"
  const { generation = plan.generation } = metadata
  if (plan.generation !== generation) return `the spec is generation ${generation} by now`
  return plan.outdated === undefined ? undefined : "package, settings or state have changed; it is made again"
}

/** Why drift that was found is not what differs now; nothing where it is, as far as can be seen from here. */
const past = ({ outdated }: Plan, { metadata }: Instance): string | undefined => {
  if (outdated !== undefined) return "an install or a repair has begun since"
  return Option.exists(memoOf(metadata), detectsIn) ? undefined : "repairs put back by now what differs"
}

/** How exactly this one is approved, where it waits for somebody. */
const howToApprove = (plan: Plan, { metadata }: Instance): ReadonlyArray<string> => {
  const { name, namespace } = metadata
  const memo = Option.getOrUndefined(memoOf(metadata))
  if (memo?.awaits !== plan.generation || memo.published?.plan !== plan.id) return []
  return [
    "",
    "It waits for approval:",
    `  kubectl annotate pi ${name} --namespace ${namespace} --overwrite ${ANNOTATION_APPROVED}="${approvalOf(plan)}"`,
  ]
}

/** `none`: where no object of the program would change. */
const rowsOf = (plan: Plan, none: string | undefined, paint: Paint): ReadonlyArray<string> => {
  const rows = deeds.flatMap((deed) =>
    Object.entries(plan[deed])
      .toSorted(([one], [other]) => (one < other ? -1 : 1))
      .map(([kind, count]) => [deed, plain(kind), String(count)]),
  )
  return [
    ...(rows.length > 0
      ? [table(["WHAT", "KIND", "OBJECTS"], rows, paint)]
      : none === undefined
        ? []
        : [none]),
    ...list(paint("red", "Goes with its data:"), plan.data),
    ...list("Replaced:", plan.replaced),
    ...list("Deleted:", plan.deleted),
    ...list("Of charts, put back:", plan.restored),
    ...list(paint("yellow", "Of charts, cannot be compared:"), plan.uncompared ?? []),
    ...(plan.more === undefined ? [] : ["", `and ${plan.more} more`]),
  ]
}

const planText = (
  plan: Plan,
  instance: Instance,
  operations: ReadonlyArray<PastOperation>,
  now: number,
  paint: Paint,
): string => {
  const made = ageOf(plan.madeAt, now) ?? "?"
  const why = outdated(plan, instance, operations)
  const head = [
    `Version ${plain(plan.version)} with the spec of generation ${plan.generation}, looked at ${made} ago`,
    ...(why === undefined ? [] : [`${paint("yellow", "Outdated:")} ${why}`]),
  ]
  const approve = why === undefined ? howToApprove(plan, instance) : []
  if (plan.unreadable !== undefined) {
    return [
      ...head,
      "",
      `${paint("red", "It could not be made:")} ${plain(plan.unreadable)}`,
      ...approve,
    ].join("\n")
  }
  return [...head, "", ...rowsOf(plan, "Nothing would change.", paint), ...approve].join("\n")
}

/** What differs, as it was last looked at in place of a repair. */
export const driftText = (report: Plan, instance: Instance, now: number, paint: Paint): string => {
  const made = ageOf(report.madeAt, now) ?? "?"
  const why = past(report, instance)
  const objects = objectsOf(report)
  return [
    `Drift from version ${plain(report.version)} with the spec of generation ${report.generation}, looked at ${made} ago (${report.madeAt})`,
    ...(why === undefined ? [] : [`${paint("yellow", "Outdated:")} ${why}`]),
    "",
    ...(objects === 0 ? [] : [`${differing(objects)}. A repair would:`, ""]),
    ...rowsOf(report, objects === 0 ? "Nothing differs." : undefined, paint),
  ].join("\n")
}

export const plan = Command.make(
  "plan",
  { name: instanceArgument },
  Effect.fnUntraced(function* ({ name }) {
    const { instance, data, map } = yield* readConfigMap(yield* where, name)
    const text = data[PLAN_KEY]
    if (text === undefined) return yield* answerNothing(null, noPlan(instance))
    const kept = yield* Schema.decodeEffect(PlansText)(text).pipe(
      Effect.mapError(() =>
        cannot(
          `the plans in ConfigMap ${instance.metadata.namespace}/${map} are none that this program can read; the next one writes them again`,
        ),
      ),
    )
    const made = [kept.spec, kept.version].filter((plan) => plan !== undefined)
    const { drift } = kept
    // A copy of the name has it, too.
    if (kept.uid !== instance.metadata.uid || (made.length === 0 && drift === undefined))
      return yield* answerNothing(null, noPlan(instance))
    const now = yield* Clock.currentTimeMillis
    const paint = painter(yield* Colours)
    const operations = Option.match(decodeHistory(data[HISTORY_KEY]), {
      onNone: () => [],
      onSome: (history) => history.operations,
    })
    yield* answer(kept, () =>
      [
        ...made.map((plan) => planText(plan, instance, operations, now, paint)),
        ...(drift === undefined ? [] : [driftText(drift, instance, now, paint)]),
      ].join("\n\n"),
    )
  }),
).pipe(
  Command.withDescription(
    "Shows the newest plans of an instance: what an install would make, change, replace and delete; and its drift report",
  ),
  Command.withExamples([
    { command: "kubectl pi plan one -n team-a" },
    { command: "kubectl pi plan one -n team-a -o json > plan.json" },
  ]),
)
