// `kubectl pi history`: the last operations, from the ConfigMap beside the instance.
import { DateTime, Effect, Option, Schema } from "effect"
import { Command } from "effect/cli"
import { HistoryText, type PastOperation } from "../schema/History.ts"
import { HISTORY_KEY, historyConfigMapName } from "../schema/Names.ts"
import { parseTime } from "../schema/Time.ts"
import { getInstance, type Instance } from "./Instance.ts"
import { cannot, getJson } from "./Kubectl.ts"
import { answer, answerNothing, instanceArgument, where } from "./root.ts"
import { type Colour, Colours, type Paint, painter, plain, spanText, table } from "./Words.ts"

const ConfigMaps = Schema.Struct({
  items: Schema.Array(
    Schema.Struct({ data: Schema.optionalKey(Schema.Record(Schema.String, Schema.String)) }),
  ),
})

/** What the operator keeps beside an instance for people; nothing of one for which nothing has been done yet. */
export const readConfigMap = Effect.fnUntraced(function* (
  at: Parameters<typeof getInstance>[0],
  name: string,
) {
  const found = yield* getInstance(at, name)
  const { namespace } = found.instance.metadata
  const map = historyConfigMapName({ namespace, name })
  const { items } = yield* getJson(ConfigMaps, found.where, [
    "configmaps",
    `--field-selector=metadata.name=${map}`,
  ])
  return { ...found, map, data: items[0]?.data ?? {} }
})

/** Nothing of an instance for which nothing has been done yet. */
export const readHistory = Effect.fnUntraced(function* (at: Parameters<typeof getInstance>[0], name: string) {
  const { data, ...found } = yield* readConfigMap(at, name)
  const { map } = found
  const { namespace } = found.instance.metadata
  const text = data[HISTORY_KEY]
  if (text === undefined) return { ...found, operations: [] as ReadonlyArray<PastOperation> }
  const { operations } = yield* Schema.decodeEffect(HistoryText)(text).pipe(
    Effect.mapError(() =>
      cannot(
        `ConfigMap ${namespace}/${map} is none that this program can read: somebody has edited it, and the next operation writes it again; or the operator is of another release, which has its own kubectl-pi`,
      ),
    ),
  )
  return { ...found, operations }
})

/** Why there is none. The operator writes the ConfigMap with the end of each operation, and keeps the same on its disk. */
const noHistory = ({ metadata: { namespace }, status = {} }: Instance, map: string): string =>
  status.installedVersion === undefined
    ? "no operation of this instance has ended yet"
    : `ConfigMap ${namespace}/${map} is not there, though operations have ended: the next one that ends writes it again, with those before it, unless the namespace is being deleted`

const colours: Record<PastOperation["outcome"], Colour> = {
  running: "yellow",
  succeeded: "green",
  failed: "red",
  cancelled: "yellow",
  interrupted: "yellow",
}

const tookOf = ({ startedAt, endedAt }: PastOperation): string =>
  Option.match(Option.all([parseTime(startedAt), parseTime(endedAt ?? "")]), {
    onNone: () => "",
    onSome: ([from, to]) => spanText(DateTime.toEpochMillis(to) - DateTime.toEpochMillis(from)),
  })

const changedText = ({ changed, more = 0 }: PastOperation): string => {
  const all = changed.length + more
  return all === 0 ? "" : all === 1 ? (changed[0] ?? "") : `${all} objects`
}

/** The last three that differ, each by its last try: every try that fails alike has the same words. */
const failuresOf = (operations: ReadonlyArray<PastOperation>): ReadonlyArray<PastOperation> =>
  operations
    .filter(({ message }) => message !== undefined)
    .filter(
      ({ reason, message }, at, failed) =>
        !failed.slice(at + 1).some((later) => later.reason === reason && later.message === message),
    )
    .slice(-3)

export const historyText = (operations: ReadonlyArray<PastOperation>, paint: Paint): string => {
  return [
    table(
      ["STARTED", "WHAT", "WHY", "VERSION", "TOOK", "OUTCOME", "CHANGED", "TRACE"],
      operations.map((operation) => [
        operation.startedAt.replace(/\.\d+Z$/, "Z"),
        operation.what,
        operation.why.length > 60 ? `${operation.why.slice(0, 59)}…` : operation.why,
        operation.version ?? "",
        tookOf(operation),
        { text: operation.outcome, colour: colours[operation.outcome] },
        changedText(operation),
        operation.traceId ?? "",
      ]),
      paint,
    ),
    ...failuresOf(operations).map(
      ({ startedAt, reason = "", message = "" }) =>
        `\n${paint("red", plain(`${startedAt.replace(/\.\d+Z$/, "Z")} ${reason}:`))} ${plain(message)}`,
    ),
  ].join("\n")
}

export const history = Command.make(
  "history",
  { name: instanceArgument },
  Effect.fnUntraced(function* ({ name }) {
    const { operations, instance, map } = yield* readHistory(yield* where, name)
    const paint = painter(yield* Colours)
    if (operations.length === 0) {
      return yield* answerNothing({ operations }, noHistory(instance, map))
    }
    yield* answer({ operations }, () => historyText(operations, paint))
  }),
).pipe(
  Command.withDescription(
    "Lists the last 50 operations of an instance: what, why, when, how long, what came of it and what changed; of looks that were taken again the newest",
  ),
  Command.withExamples([
    { command: "kubectl pi history one -n team-a" },
    { command: "kubectl pi history one -n team-a -o json | jq '.operations[-1].changed'" },
  ]),
)
