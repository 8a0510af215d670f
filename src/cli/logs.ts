// `kubectl pi logs`: what the operator's log says of an instance.
import { Console, Effect, Option, Schema, Stream } from "effect"
import { Command, Flag } from "effect/cli"
import { getInstance } from "./Instance.ts"
import { Kubectl } from "./Kubectl.ts"
import { instanceArgument, root, where } from "./root.ts"
import { type Colour, Colours, type Paint, painter, plain } from "./Words.ts"

const Line = Schema.fromJsonString(
  Schema.Struct({
    timestamp: Schema.String,
    level: Schema.String,
    message: Schema.String,
    annotations: Schema.Record(Schema.String, Schema.Unknown),
    cause: Schema.optionalKey(Schema.String),
  }),
)
export type Line = typeof Line.Type
const decodeLine = Schema.decodeOption(Line)

/** A line about this instance; nothing of any other. */
export const lineAbout = (instance: string, text: string): Option.Option<Line> =>
  Option.filter(decodeLine(text), ({ annotations }) => annotations.instance === instance)

const levels: Readonly<Record<string, Colour>> = { DEBUG: "dim", WARN: "yellow", ERROR: "red", FATAL: "red" }
/** What every line of the instance has. */
const known = new Set(["instance", "generation", "pass"])

export const lineText = ({ timestamp, level, message, annotations, cause }: Line, paint: Paint): string => {
  const fields = Object.entries(annotations)
    .filter(([name]) => !known.has(name))
    .map(([name, value]) => `${name}=${typeof value === "string" ? value : JSON.stringify(value)}`)
  const colour = levels[level]
  const shown = level.padEnd(5)
  return [
    plain(timestamp),
    colour === undefined ? shown : paint(colour, shown),
    plain(message),
    ...(fields.length === 0 ? [] : [paint("dim", plain(fields.join(" ")))]),
    ...(cause === undefined ? [] : [plain(cause)]),
  ].join(" ")
}

/** What kubectl takes. */
const isDuration = (text: string): boolean => /^(\d+(\.\d+)?(ns|us|µs|ms|s|m|h))+$/.test(text)

export const logs = Command.make(
  "logs",
  {
    name: instanceArgument,
    follow: Flag.Boolean("follow").pipe(
      Flag.withAlias("f"),
      Flag.withDescription("Go on with what comes"),
      Flag.withDefault(false),
    ),
    since: Flag.String("since").pipe(
      Flag.withMetavar("DURATION"),
      Flag.withDescription("Only what is newer than that, such as 10m; all there is when not set"),
      Flag.filter(isDuration, (text) => `Expected a duration, such as 30s, 10m or 1h30m, and not ${text}`),
      Flag.optional,
    ),
    operatorNamespace: Flag.String("operator-namespace").pipe(
      Flag.withMetavar("NAMESPACE"),
      Flag.withDescription("Where the operator runs (default platform-operator)"),
      Flag.withDefault("platform-operator"),
    ),
  },
  Effect.fnUntraced(function* ({ name, follow, since, operatorNamespace }) {
    const kubectl = yield* Kubectl
    const found = yield* getInstance(yield* where, name)
    const { output } = yield* root
    const paint = painter(yield* Colours)
    const about = `${found.instance.metadata.namespace}/${name}`
    let lines = 0
    yield* kubectl
      .lines({ ...found.where, namespace: operatorNamespace }, [
        "logs",
        "--selector=app.kubernetes.io/name=platform-operator",
        "--container=operator",
        "--tail=-1",
        "--max-log-requests=20",
        ...(follow ? ["--follow"] : []),
        ...Option.match(since, { onNone: () => [], onSome: (value) => [`--since=${value}`] }),
      ])
      .pipe(
        Stream.runForEach((text) =>
          Option.match(lineAbout(about, text), {
            onNone: () => Effect.void,
            onSome: (line) => {
              lines += 1
              return Console.log(output === "json" ? text : lineText(line, paint))
            },
          }),
        ),
      )
    if (lines === 0) {
      yield* Console.error(
        `the operator's log has no line about ${about}; --operator-namespace says where the operator runs, and a higher --zap-log-level of the operator has more`,
      )
    }
  }),
).pipe(
  Command.withDescription(
    "Shows the lines of the operator's log about an instance; as JSON they are as they were written",
  ),
  Command.withExamples([{ command: "kubectl pi logs one -n team-a --since 10m -f" }]),
)
