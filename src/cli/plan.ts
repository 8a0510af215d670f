// `kubectl pi plan`: the newest plan of an instance, from the ConfigMap beside it. As JSON it is the file that the operator
// has written.
import { Clock, Effect, Schema } from "effect"
import { Command } from "effect/cli"
import { ANNOTATION_PLAN, PLAN_KEY } from "../schema/Names.ts"
import { deeds, type Plan, PlanText } from "../schema/Plan.ts"
import { readConfigMap } from "./history.ts"
import type { Instance } from "./Instance.ts"
import { cannot } from "./Kubectl.ts"
import { answer, answerNothing, instanceArgument, where } from "./root.ts"
import { ageOf, Colours, type Paint, painter, plain, table } from "./Words.ts"

const noPlan = ({ metadata }: Instance): string =>
  metadata.annotations?.[ANNOTATION_PLAN] === undefined
    ? `nobody has asked for a plan: kubectl annotate pi ${metadata.name} --namespace ${metadata.namespace} ${ANNOTATION_PLAN}=spec`
    : "there is no plan yet; kubectl pi events says whether one has failed"

const list = (title: string, names: ReadonlyArray<string>): ReadonlyArray<string> =>
  names.length === 0 ? [] : ["", title, ...names.map((name) => `  ${plain(name)}`)]

export const planText = (plan: Plan, now: number, paint: Paint): string => {
  const made = ageOf(plan.madeAt, now) ?? "?"
  const head = `Version ${plain(plan.version)} with the spec of generation ${plan.generation}, looked at ${made} ago`
  if (plan.unreadable !== undefined) {
    return `${head}\n\n${paint("red", "There is no plan:")} ${plain(plan.unreadable)}`
  }
  const rows = deeds.flatMap((deed) =>
    Object.entries(plan[deed])
      .toSorted(([one], [other]) => (one < other ? -1 : 1))
      .map(([kind, count]) => [deed, plain(kind), String(count)]),
  )
  return [
    head,
    "",
    ...(rows.length === 0 ? ["Nothing would change."] : [table(["WHAT", "KIND", "OBJECTS"], rows, paint)]),
    ...list(paint("red", "Goes with its data, and waits for approval:"), plan.data),
    ...list("Replaced:", plan.replaced),
    ...list("Deleted:", plan.deleted),
    ...(plan.more === undefined ? [] : ["", `and ${plan.more} more`]),
  ].join("\n")
}

export const plan = Command.make(
  "plan",
  { name: instanceArgument },
  Effect.fnUntraced(function* ({ name }) {
    const { instance, data, map } = yield* readConfigMap(yield* where, name)
    const text = data[PLAN_KEY]
    if (text === undefined) return yield* answerNothing(null, noPlan(instance))
    const made = yield* Schema.decodeEffect(PlanText)(text).pipe(
      Effect.mapError(() =>
        cannot(
          `the plan in ConfigMap ${instance.metadata.namespace}/${map} is none that this program can read; the next one writes it again`,
        ),
      ),
    )
    // A copy of the name has it, too.
    if (made.uid !== instance.metadata.uid) return yield* answerNothing(null, noPlan(instance))
    const now = yield* Clock.currentTimeMillis
    const paint = painter(yield* Colours)
    yield* answer(made, () => planText(made, now, paint))
  }),
).pipe(
  Command.withDescription(
    "Shows the newest plan of an instance: what an install would make, change, replace and delete",
  ),
  Command.withExamples([
    { command: "kubectl pi plan one -n team-a" },
    { command: "kubectl pi plan one -n team-a -o json > plan.json" },
  ]),
)
