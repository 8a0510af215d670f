// Where the time from `apply` to Ready went. The slowest path through the operator's tools is: helm installs, the
// vCluster comes up and answers, the package is there (fetched meanwhile), the engine runs. What is left is the
// operator's own.
import { Exit, Schema } from "effect"
import type { Span } from "./Spans.ts"

/** Moments, in milliseconds since the epoch. */
export interface Moments {
  readonly applied: number
  /** The StatefulSet is ready and the vCluster has written its Secret. */
  readonly targetUp: number
  readonly ready: number
}

export interface Row {
  readonly step: string
  readonly seconds: number
}

export interface Timing {
  readonly rows: ReadonlyArray<Row>
  /** Seconds beyond the slowest path through its tools. */
  readonly own: number
}

const first = (spans: ReadonlyArray<Span>, name: string): Span | undefined =>
  spans.find((span) => span.name === name)
const seconds = (millis: number): number => millis / 1000

/** `undefined` while a span it needs has not arrived. */
export const timing = (spans: ReadonlyArray<Span>, moments: Moments): Timing | undefined => {
  const helm = first(spans, "Helm.install")
  const engine = first(spans, "pulumi.engine")
  const fetch = first(spans, "Pulumi.fetch")
  const probe = first(spans, "Target.probe")
  if (helm === undefined || engine === undefined || fetch === undefined || probe === undefined)
    return undefined
  const { applied, targetUp, ready } = moments
  const answer = probe.end - probe.start
  const settled = Math.max(targetUp + answer, fetch.end)
  const own = {
    "operator: apply seen, finalizer, namespace, policies": helm.start - applied,
    "operator: gates, settings, project": Math.max(0, engine.start - settled),
    "operator: record, status": ready - engine.end,
  }
  return {
    rows: [
      { step: "helm installs the vCluster", seconds: seconds(helm.end - helm.start) },
      { step: "the vCluster comes up", seconds: seconds(targetUp - helm.end) },
      { step: "the vCluster's API answers for the first time", seconds: seconds(answer) },
      {
        step: "npm and plugin, beyond the target",
        seconds: seconds(Math.max(0, fetch.end - targetUp - answer)),
      },
      { step: "Pulumi: stack, config, up", seconds: seconds(engine.end - engine.start) },
      ...Object.entries(own).map(([step, millis]) => ({ step, seconds: seconds(millis) })),
      { step: "from apply to Ready", seconds: seconds(ready - applied) },
    ],
    own: seconds(Object.values(own).reduce((sum, millis) => sum + millis, 0)),
  }
}

const StepLine = Schema.fromJsonString(
  Schema.Struct({
    message: Schema.Literal("install step"),
    timestamp: Schema.String,
    annotations: Schema.Struct({ instance: Schema.String, step: Schema.String }),
  }),
)
const decodeStep = Schema.decodeExit(StepLine)

/** The steps of an install as the operator's log has them, each until the next. */
export const installSteps = (log: string, instance: string, ready: number): ReadonlyArray<Row> => {
  const steps = log.split("\n").flatMap((line) => {
    const step = decodeStep(line)
    return Exit.isSuccess(step) && step.value.annotations.instance === instance
      ? [{ step: step.value.annotations.step, at: Date.parse(step.value.timestamp) }]
      : []
  })
  return steps.map(({ step, at }, index) => ({
    step: `install: ${step}`,
    seconds: seconds((steps[index + 1]?.at ?? ready) - at),
  }))
}

export const table = ({ rows, own }: Timing, steps: ReadonlyArray<Row>): string =>
  [...rows, { step: "of it the operator's own", seconds: own }, ...steps]
    .map(({ step, seconds }) => `  ${step.padEnd(56)} ${seconds.toFixed(2).padStart(7)} s`)
    .join("\n")
