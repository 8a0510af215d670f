// Where the time from `apply` to Ready went. The slowest path through the operator's tools is: helm installs, the
// vCluster comes up, the package is there (fetched meanwhile), the engine runs. What is left is the operator's own.
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
  if (helm === undefined || engine === undefined || fetch === undefined) return undefined
  const { applied, targetUp, ready } = moments
  const settled = Math.max(targetUp, fetch.end)
  const own = {
    "operator: apply seen, finalizer, namespace, policies": helm.start - applied,
    "operator: gates, settings, project": Math.max(0, engine.start - settled),
    "operator: record, status": ready - engine.end,
  }
  return {
    rows: [
      { step: "helm installs the vCluster", seconds: seconds(helm.end - helm.start) },
      { step: "the vCluster comes up", seconds: seconds(targetUp - helm.end) },
      { step: "npm and plugin, beyond the target", seconds: seconds(Math.max(0, fetch.end - targetUp)) },
      { step: "Pulumi: stack, config, up", seconds: seconds(engine.end - engine.start) },
      ...Object.entries(own).map(([step, millis]) => ({ step, seconds: seconds(millis) })),
      { step: "from apply to Ready", seconds: seconds(ready - applied) },
    ],
    own: seconds(Object.values(own).reduce((sum, millis) => sum + millis, 0)),
  }
}

export const table = ({ rows, own }: Timing): string =>
  [...rows, { step: "of it the operator's own", seconds: own }]
    .map(({ step, seconds }) => `  ${step.padEnd(56)} ${seconds.toFixed(2).padStart(7)} s`)
    .join("\n")
