// `kubectl pi status`: conditions, the gates an instance passes on its way, what is waited for and since when.
import { Clock, Effect, Option } from "effect"
import { Command, Flag } from "effect/cli"
import { memoOf } from "../schema/DayTwo.ts"
import { ANNOTATION_PAUSED } from "../schema/Names.ts"
import { epochMillis } from "../schema/Time.ts"
import { APPROVAL, MAINTENANCE_WINDOW, reasonUrl } from "./Documentation.ts"
import { awaited, dayTwoFacts, dayTwoOf } from "./dayTwo.ts"
import { type Condition, conditionOf, getInstance, type Instance } from "./Instance.ts"
import { PiError } from "./Kubectl.ts"
import { WHETHER_ONE_LEADS } from "./logs.ts"
import { hasLostKubeconfig, lostKubeconfig } from "./lostKubeconfig.ts"
import { answer, instanceArgument, where } from "./root.ts"
import { ageOf, type Colour, Colours, indented, type Paint, painter, plain, table } from "./Words.ts"

/** `asleep`: not passed, as was asked for. */
export type GateState = "passed" | "waiting" | "failed" | "later" | "asleep"

export interface Gate {
  readonly gate: string
  readonly state: GateState
}

export interface Waiting {
  /** A reason, as the condition has it, or what the operator was asked to wait for. */
  readonly reason: string
  readonly message: string
  /** Of a failure: the generation of the spec that failed last. */
  readonly generation?: number
  /** The condition that `since` is of: it may have been False for another reason before. */
  readonly condition?: string
  /** RFC 3339: since when that condition has been False; without one, since when what is waited for is so. */
  readonly since?: string
}

/** The gates of a target, in order, each with the reasons that say that it is not passed. */
const targetGates: ReadonlyArray<readonly [gate: string, reasons: ReadonlyArray<string>]> = [
  ["vCluster release", ["Creating", "RolledBack", "Repairing"]],
  ["control plane", ["ControlPlanePending", "Resyncing"]],
  ["kubeconfig", ["KubeconfigMissing", "KubeconfigPending"]],
  ["API", ["TargetUnreachable"]],
]
const failures = new Set(["TargetError", "TargetUnreachable", "TargetDeleteFailed"])

/** Gates of one that is coming up, or ready; one that is being deleted passes none any more. */
export const gatesOf = (instance: Instance): ReadonlyArray<Gate> => {
  const target = conditionOf(instance, "TargetReady")
  const installed = conditionOf(instance, "Installed")
  const config = conditionOf(instance, "ConfigApplied")
  const ready = target?.status === "True"
  const at = targetGates.findIndex(([, reasons]) => reasons.includes(target?.reason ?? ""))
  const failing = failures.has(target?.reason ?? "")
  const asleep = Option.exists(memoOf(instance.metadata), ({ sleep }) => sleep?.since !== undefined)
  const targetState = (index: number): GateState => {
    if (ready)
      return targetGates[index]?.[0] === "kubeconfig" && hasLostKubeconfig(instance) ? "waiting" : "passed"
    if (asleep) return "asleep"
    // Of a step that failed nobody says here at which gate: the message does.
    if (at === -1) return failing && index === 0 ? "failed" : "later"
    if (index < at) return "passed"
    if (index > at) return "later"
    return failing ? "failed" : "waiting"
  }
  const laterState = (condition: Condition | undefined): GateState => {
    if (condition?.status === "True") return "passed"
    if (condition?.status === "False") return "failed"
    if (asleep) return "asleep"
    return ready ? "waiting" : "later"
  }
  return [
    ...targetGates.map(([gate], index) => ({ gate, state: targetState(index) })),
    { gate: "platform installed", state: laterState(installed) },
    { gate: "settings applied", state: laterState(config) },
  ]
}

/** The condition whose reason it is that the instance is not Ready: Ready repeats it, and has been False for longer. */
const toldBy = ({ status }: Instance, ready: Condition, target: Condition | undefined): Condition => {
  // Why the target is not there says more than that Ready waits for it.
  if (ready.reason === "TargetPending" && target?.status === "False") return target
  return (
    status?.conditions?.find(
      ({ type, status: is, reason }) => type !== "Ready" && is === "False" && reason === ready.reason,
    ) ?? ready
  )
}

const latest = (times: ReadonlyArray<string | undefined>): string | undefined =>
  times
    .flatMap((time) => (time === undefined ? [] : [time]))
    .toSorted((one, other) => epochMillis(one) - epochMillis(other))
    .at(-1)

/** What the instance waits for now; nothing when it is Ready, and its newest generation is settled. */
export const waitingOf = (instance: Instance, now: number): Waiting | undefined => {
  const { generation = 0, deletionTimestamp } = instance.metadata
  const ready = conditionOf(instance, "Ready")
  const target = conditionOf(instance, "TargetReady")
  if (ready === undefined) {
    return { reason: "Pending", message: `the operator has not looked at it yet: ${WHETHER_ONE_LEADS}` }
  }
  const dayTwo = dayTwoOf(instance, now)
  const { pausedSince, asleepSince, windowOpens, awaitsApproval } = dayTwo
  if (ready.status !== "True") {
    const told = toldBy(instance, ready, target)
    const { reason = "", message = "" } = told
    if (pausedSince !== undefined && deletionTimestamp === undefined) {
      return { reason: "Paused", message, since: pausedSince }
    }
    if (asleepSince !== undefined && deletionTimestamp === undefined) {
      const settled = (instance.status?.observedGeneration ?? 0) >= generation
      const then = settled ? "" : `; generation ${generation} is applied then`
      return { reason: "Asleep", message: `${message}${then}`, since: asleepSince }
    }
    const began = latest([
      deletionTimestamp,
      // An install begins when its target is there.
      told.reason === "Installing" && target?.status === "True" ? target.lastTransitionTime : undefined,
    ])
    const since = latest([began, told.lastTransitionTime])
    const hasFailed = told.type === "Installed" && instance.status?.phase === "Failed"
    return {
      reason,
      message,
      ...(hasFailed && told.observedGeneration !== undefined ? { generation: told.observedGeneration } : {}),
      ...(since === undefined || since === began ? {} : { condition: told.type }),
      ...(since === undefined ? {} : { since }),
    }
  }
  if ((instance.status?.observedGeneration ?? 0) >= generation) return undefined
  if (pausedSince !== undefined) {
    const message = `generation ${generation} is applied when annotation ${ANNOTATION_PAUSED} goes`
    return { reason: "Paused", message, since: pausedSince }
  }
  if (awaitsApproval === generation && dayTwo.approval !== "given") {
    const message = awaited(generation, dayTwo, instance.metadata.name)
    return { reason: APPROVAL, message }
  }
  const upgrades = instance.spec?.version !== instance.status?.installedVersion
  return upgrades && windowOpens !== undefined
    ? { reason: MAINTENANCE_WINDOW, message: `generation ${generation} is applied from ${windowOpens} on` }
    : {
        reason: "Installing",
        message: `generation ${generation} is not applied yet; where that lasts for minutes, ${WHETHER_ONE_LEADS}`,
      }
}

const stateWords: Record<GateState, readonly [text: string, colour: Colour]> = {
  passed: ["passed", "green"],
  waiting: ["waiting", "yellow"],
  failed: ["failed", "red"],
  later: ["not yet", "dim"],
  asleep: ["asleep", "dim"],
}
const phaseColours: Readonly<Record<string, Colour>> = { Ready: "green", Failed: "red" }

/** Ready repeats what has failed: that is told once. */
const messageIn = (conditions: ReadonlyArray<Condition>, { type, message = "" }: Condition): string => {
  const other = conditions.find((each) => each.type !== type && each.message === message)
  return type === "Ready" && message !== "" && other !== undefined ? `as ${other.type}` : message
}

export const statusText = (instance: Instance, now: number, paint: Paint): string => {
  const { metadata, spec, status = {} } = instance
  const phase = status.phase ?? "Pending"
  const waiting = waitingOf(instance, now)
  const facts: ReadonlyArray<readonly [string, string | undefined]> = [
    ["Phase", paint(phaseColours[phase] ?? "yellow", plain(phase))],
    ["Version", spec?.version === undefined ? undefined : plain(spec.version)],
    ["Installed", status.installedVersion === undefined ? "nothing yet" : plain(status.installedVersion)],
    ["Generation", `${metadata.generation ?? "?"}, settled ${status.observedGeneration ?? "none"}`],
    ["Gateway", status.endpoints?.http === undefined ? undefined : plain(status.endpoints.http)],
    [
      "Last repair",
      ageOf(status.lastRepair, now) === undefined ? undefined : `${ageOf(status.lastRepair, now)} ago`,
    ],
    ["Kubeconfig", hasLostKubeconfig(instance) ? lostKubeconfig(instance, now) : undefined],
    ["Age", ageOf(metadata.creationTimestamp, now)],
    ...dayTwoFacts(dayTwoOf(instance, now), metadata.name, now),
  ]
  const since = ageOf(waiting?.since, now)
  const of = waiting?.condition === undefined ? "" : ` ${waiting.condition}=False`
  const url = waiting === undefined ? undefined : reasonUrl(waiting.reason)
  return [
    paint("bold", `${metadata.namespace}/${metadata.name}`),
    ...facts.flatMap(([name, value]) => (value === undefined ? [] : [`  ${`${name}:`.padEnd(13)}${value}`])),
    ...(waiting === undefined
      ? []
      : [
          "",
          [
            `Waiting for: ${paint("yellow", plain(waiting.reason))}`,
            ...(waiting.generation === undefined ? [] : [` of generation ${waiting.generation}`]),
            ...(since === undefined ? [] : [`,${of} for ${since}`]),
          ].join(""),
          indented(waiting.message, "  "),
          ...(url === undefined ? [] : [`  What to do: ${url}`]),
        ]),
    "",
    ...(metadata.deletionTimestamp === undefined
      ? [
          table(
            ["GATE", "STATE"],
            gatesOf(instance).map(({ gate, state }) => {
              const [text, colour] = stateWords[state]
              return [gate, { text, colour }]
            }),
            paint,
          ),
          "",
        ]
      : []),
    table(
      ["CONDITION", "STATUS", "REASON", "SINCE", "MESSAGE"],
      (status.conditions ?? []).map((condition, _, all) => [
        condition.type,
        {
          text: condition.status,
          colour: condition.status === "True" ? "green" : condition.status === "False" ? "red" : "yellow",
        },
        condition.reason ?? "",
        ageOf(condition.lastTransitionTime, now) ?? "",
        messageIn(all, condition),
      ]),
      paint,
    ),
  ].join("\n")
}

export const status = Command.make(
  "status",
  {
    name: instanceArgument,
    exitCode: Flag.Boolean("exit-code").pipe(
      Flag.withDescription("End with 3 unless the newest generation is Ready"),
      Flag.withDefault(false),
    ),
  },
  Effect.fnUntraced(function* ({ name, exitCode }) {
    const { instance } = yield* getInstance(yield* where, name)
    const now = yield* Clock.currentTimeMillis
    const paint = painter(yield* Colours)
    const waiting = waitingOf(instance, now)
    const { metadata, spec } = instance
    yield* answer(
      {
        namespace: metadata.namespace,
        name: metadata.name,
        version: spec?.version,
        generation: metadata.generation,
        ...instance.status,
        ...dayTwoOf(instance, now),
        gates: metadata.deletionTimestamp === undefined ? gatesOf(instance) : [],
        waitingFor: waiting ?? null,
      },
      () => statusText(instance, now, paint),
    )
    if (exitCode && waiting !== undefined) {
      return yield* new PiError({
        exitCode: 3,
        message: `the newest generation of ${name} is not Ready: ${waiting.reason}`,
      })
    }
  }),
).pipe(
  Command.withDescription(
    "Shows an instance: its conditions, the gates it has passed, what it waits for and since when",
  ),
  Command.withExamples([{ command: "kubectl pi status one -n team-a" }]),
)
