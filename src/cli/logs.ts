// `kubectl pi logs`: what the operator's log says of an instance.
import { Clock, Console, Effect, Option, Schema, Stream } from "effect"
import { Command, Flag } from "effect/cli"
import { getInstance } from "./Instance.ts"
import { cannot, getJson, Kubectl, type Where } from "./Kubectl.ts"
import { ANNOTATION_REPLICAS, Deployments } from "./RotationObjects.ts"
import { instanceArgument, root, where } from "./root.ts"
import { ageOf, type Colour, Colours, type Paint, painter, plain } from "./Words.ts"

export const SELECTOR = "--selector=app.kubernetes.io/name=platform-operator"
const CONTAINER = "operator"
export const NAMESPACE = "platform-operator"
export const operatorNamespaceFlag = Flag.String("operator-namespace").pipe(
  Flag.withMetavar("NAMESPACE"),
  Flag.withDescription(`Where the operator runs (default ${NAMESPACE})`),
  Flag.withDefault(NAMESPACE),
)

/** Of operators that run and of which none works there is no line in any log. */
const whoLeads = (operatorNamespace: string): string =>
  `kubectl -n ${operatorNamespace} get deployments,pods,leases says whether an operator runs, and which one leads`
export const WHETHER_ONE_LEADS = whoLeads(NAMESPACE)

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

const PodList = Schema.Struct({
  items: Schema.Array(
    Schema.Struct({
      metadata: Schema.Struct({ name: Schema.String, creationTimestamp: Schema.optionalKey(Schema.String) }),
      status: Schema.optionalKey(
        Schema.Struct({
          containerStatuses: Schema.optionalKey(
            Schema.Array(Schema.Struct({ name: Schema.String, restartCount: Schema.Finite })),
          ),
        }),
      ),
    }),
  ),
})
type OperatorPod = (typeof PodList.Type)["items"][number]

/** Why an operator that is installed has no pod; undefined where there is none, or its Deployment may not be read. */
const whyStopped = Effect.fnUntraced(function* (place: Where) {
  const { items } = yield* getJson(Deployments, place, ["deployments", SELECTOR]).pipe(
    Effect.orElseSucceed(() => ({ items: [] })),
  )
  const [deployment] = items
  if (deployment?.spec.replicas !== 0) return undefined
  const { name, annotations } = deployment.metadata
  return annotations?.[ANNOTATION_REPLICAS] === undefined
    ? `Deployment ${name} is scaled to 0`
    : `a rotation of the passphrase that has not ended keeps Deployment ${name} stopped: kubectl pi rotate-passphrase -n ${place.namespace} --yes goes on with it`
})

export interface NoLines {
  readonly namespace: string
  readonly name: string
  /** As it was asked for: no older line was looked at. */
  readonly since: Option.Option<string>
  readonly operatorNamespace: string
  readonly pods: ReadonlyArray<OperatorPod>
  readonly now: number
}

/** Why there is no line about an instance in the logs of these pods, and where more is to be had. */
export const noLines = ({ name, namespace, now, operatorNamespace, pods, since }: NoLines): string => {
  const ages = pods.map(({ metadata }) => {
    const age = ageOf(metadata.creationTimestamp, now)
    return age === undefined ? metadata.name : `${metadata.name} (there for ${age})`
  })
  const restarted = pods.filter(({ status }) =>
    status?.containerStatuses?.some((each) => each.name === CONTAINER && each.restartCount > 0),
  )
  return [
    `${Option.match(since, { onNone: () => "nothing", onSome: (span) => `nothing in the last ${span}` })} about ${namespace}/${name} in the log of ${ages.join(", ")}`,
    ...(Option.isSome(since) ? ["Without --since all is shown that is there"] : []),
    ...restarted.map(
      ({ metadata }) =>
        `Its container was started again; the log of the one before: kubectl -n ${operatorNamespace} logs ${metadata.name} -c ${CONTAINER} --previous`,
    ),
    "A pod's log goes with the pod: what the operator wrote in one before is where the cluster collects logs, or nowhere",
    `What was done for the instance outlives it: kubectl pi history ${name} -n ${namespace}, kubectl pi events ${name} -n ${namespace}`,
    `An operator that does not lead does nothing for any instance: ${whoLeads(operatorNamespace)}`,
    "Of an instance with which nothing happens the operator writes little: with --zap-log-level=debug it writes more",
  ].join("\n")
}

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
    operatorNamespace: operatorNamespaceFlag,
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
        SELECTOR,
        `--container=${CONTAINER}`,
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
    if (follow) {
      yield* Console.error(
        "the log has ended: its pod is gone, or the connection is. Run this again to follow on",
      )
    }
    if (lines > 0) return
    const { items: pods } = yield* getJson(PodList, { ...found.where, namespace: operatorNamespace }, [
      "pods",
      SELECTOR,
    ])
    if (pods.length === 0) {
      const stopped = yield* whyStopped({ ...found.where, namespace: operatorNamespace })
      return yield* cannot(
        `no pod of the operator is in namespace ${operatorNamespace}: ${stopped ?? "it does not run there. --operator-namespace names another one"}`,
      )
    }
    const { namespace } = found.instance.metadata
    const now = yield* Clock.currentTimeMillis
    yield* Console.error(noLines({ namespace, name, since, operatorNamespace, pods, now }))
  }),
).pipe(
  Command.withDescription(
    "Shows the lines of the operator's log about an instance; as JSON they are as they were written",
  ),
  Command.withExamples([{ command: "kubectl pi logs one -n team-a --since 10m -f" }]),
)
