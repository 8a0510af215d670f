// What the terminal shows: a line for each change of what an instance says of itself, and what to try next.
import { Effect, Option } from "effect"
import { plain } from "../../src/cli/Words.ts"
import { memoOf } from "../../src/schema/DayTwo.ts"
import { ANNOTATION_WINDOW } from "../../src/schema/Names.ts"
import { decodePlatformInstance } from "../../src/schema/PlatformInstance.ts"
import type { KubeObject } from "../../src/services/Kubernetes/Kubernetes.ts"
import { humanDuration } from "../../test/twins/kubernetes/Age.ts"
import type { Change } from "../../test/twins/kubernetes/ApiServer.ts"

const PLATFORM_INSTANCE = "PlatformInstance"

/**
 * Phase, version (what is there and what is asked for), the last repair, what annotations ask for, what is not true yet and
 * why. What fails is told in full once: `told` has the words that have been told of the instance, and gets those that now are.
 */
export const describeInstance = (object: KubeObject, told = new Set<string>()): string => {
  const decoded = Effect.runSync(Effect.option(decodePlatformInstance(object)))
  if (Option.isNone(decoded)) return "its spec cannot be read"
  const { spec, status = {} } = decoded.value
  const conditions = (status.conditions ?? [])
    // What is said of Ready is what is said of another, again.
    .filter((condition) => condition.status === "False" && condition.type !== "Ready")
    // A program's words may be several lines.
    .map(({ message, reason, type }) => {
      const isNews = message !== "" && !told.has(message)
      told.add(message)
      return `${type} ${reason}${isNews ? `: ${plain(message)}` : ""}`
    })
  const version =
    status.installedVersion === undefined || status.installedVersion === spec.version
      ? spec.version
      : `${status.installedVersion} -> ${spec.version}`
  const repaired = status.lastRepair === undefined ? "" : `, last repair ${status.lastRepair}`
  const memo = Option.getOrUndefined(memoOf(decoded.value.metadata))
  const window = memo?.kept?.[ANNOTATION_WINDOW]
  const asked = [
    ...(memo?.pausedSince === undefined ? [] : ["paused"]),
    ...(memo?.sleep === undefined ? [] : [memo.sleep.since === undefined ? "falls asleep" : "asleep"]),
    ...(window === undefined ? [] : [`window ${plain(window)}`]),
  ]
  // What has failed repeats its reason on Ready.
  const failure = status.phase === "Failed" && status.conditions?.find(({ type }) => type === "Ready")
  const help = failure ? [`what to do: docs/reasons.md#${failure.reason.toLowerCase()}`] : []
  return [`${status.phase ?? "Pending"} ${version}${repaired}`, ...asked, ...conditions, ...help].join("; ")
}

export const isReady = (object: KubeObject): boolean => {
  const decoded = Effect.runSync(Effect.option(decodePlatformInstance(object)))
  if (Option.isNone(decoded)) return false
  const { metadata, status } = decoded.value
  return status?.phase === "Ready" && status.observedGeneration === metadata.generation
}

export interface StoryOptions {
  readonly say: (line: string) => void
  /** Milliseconds of simulated time since the world began. */
  readonly elapsed: () => number
  readonly onReady: (name: string) => void
}

/** Given each change of the cluster, tells those of instances; the same thing is not told twice in a row. */
export const makeStory = ({ elapsed, onReady, say }: StoryOptions): ((change: Change) => void) => {
  const told = new Map<string, string>()
  /** Of each instance, what it has said of its failures. */
  const words = new Map<string, Set<string>>()
  const ready = new Set<string>()
  return ({ kind, object, type }) => {
    if (kind.kind !== PLATFORM_INSTANCE) return
    const { name, namespace } = object.metadata
    const key = `${namespace}/${name}`
    const gone = type === "DELETED"
    const text = gone ? "gone" : describeInstance(object)
    if (told.get(key) !== text) {
      const known = words.get(key) ?? new Set()
      words.set(key, known)
      const line = gone ? text : describeInstance(object, known)
      say(`${humanDuration(elapsed()).padStart(6)}  ${key}  ${line}`)
    }
    told.set(key, text)
    const wasReady = ready.delete(key)
    if (gone) {
      told.delete(key)
      words.delete(key)
    } else if (isReady(object)) {
      words.delete(key)
      ready.add(key)
      if (!wasReady) onReady(key)
    }
  }
}

export interface NextSteps {
  readonly kubeconfig: string
  readonly server: string
  readonly logFile: string
  readonly speed: number
  /** Whether this machine has kubectl. */
  readonly hasKubectl: boolean
  /** The host namespace of the example. */
  readonly hostNamespace: string
}

/** As a shell reads it as one word: a checkout may lie in a folder with a space in its name. */
export const word = (text: string): string =>
  /^[\w./:@%+-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`

/** What one can do with a playground whose example is Ready. */
export const nextSteps = ({
  hasKubectl,
  hostNamespace,
  kubeconfig,
  logFile,
  server,
  speed,
}: NextSteps): string => `
The instance is Ready. This terminal goes on telling what becomes of it; in another one:
${hasKubectl ? "" : "(there is no kubectl on this machine yet: https://kubernetes.io/docs/tasks/tools)\n"}
  export KUBECONFIG=${word(kubeconfig)}
  kubectl get pi -A -w                        # watch it
  kubectl -n team-a describe pi one           # its conditions and Events
  kubectl get all -n ${hostNamespace}   # what was made for it
  kubectl -n platform-operator logs -l app.kubernetes.io/name=platform-operator --tail=-1   # what the operator did
  make kubectl-pi && PATH="$PWD/dist:$PWD/node_modules/.bin:$PATH" kubectl pi status one -n team-a   # how far it is

Break something, and see it repaired:
  kubectl -n ${hostNamespace} delete statefulset vcluster
  kubectl -n team-a delete secret one-kubeconfig
  kubectl -n ${hostNamespace} delete service vcluster   # is denied: everything hangs on it
Put another version in (there are 6.0.21 and 6.0.22; 6.0.90 fails, which its status tells):
  kubectl -n team-a patch pi one --type merge -p '{"spec":{"version":"6.0.21"}}'
Delete it, with all that was made for it:
  kubectl -n team-a delete pi one

  the API         ${server}
  operator's log  ${logFile}
${
  speed === 1
    ? "  time            as here; make run SPEED=60 (tools/playground/run --speed 60) lets an hour pass in a minute\n"
    : `  time            ${speed} simulated seconds a second: ages are the simulated world's, and times are told as long ago as they are in there\n`
}
Ctrl-C ends the playground and leaves nothing behind.
`
