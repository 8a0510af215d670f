// What the operator and a runner say to one another: one JSON object a line, decoded by Schema on both sides.
// Requests go in over stdin, which also carries the secret config; its end means that the operator is gone.
// Events come out on stdout; what the program and its libraries print there is sent to stderr by the runner.
import { Schema } from "effect"
import { PlannedStep } from "../../schema/Plan.ts"

/** The file descriptor on which a runner writes. */
export const eventDescriptor = 1

/** Runs the program once. A runner takes one of these in its life. */
export const RunRequest = Schema.Struct({
  type: Schema.Literal("run"),
  projectDirectory: Schema.String,
  project: Schema.String,
  stack: Schema.String,
  /** Whole plain stack config, without the project's prefix. */
  config: Schema.Record(Schema.String, Schema.String),
  /** Encrypted stack config, in the clear on this line only. */
  secretConfig: Schema.Record(Schema.String, Schema.String),
  /** Refresh, clearing pending creates, before `up`. */
  refresh: Schema.Boolean,
  /** Nothing is made: what `up` would do after a refresh is told, and that is all. */
  preview: Schema.optionalKey(Schema.Literal(true)),
})
export type RunRequest = typeof RunRequest.Type

export const RunnerRequest = Schema.Union([RunRequest, Schema.Struct({ type: Schema.Literal("cancel") })])
export type RunnerRequest = typeof RunnerRequest.Type

/** The named outputs that may leave the runner; never `kubeconfigs`. */
export const Outputs = Schema.Struct({
  schemaVersion: Schema.Literal(2),
  namespace: Schema.String,
  endpoints: Schema.Struct({
    http: Schema.optionalKey(Schema.String),
    kubernetes: Schema.optionalKey(Schema.String),
  }),
  tenants: Schema.Array(Schema.String),
})
export type Outputs = typeof Outputs.Type

export const RunnerEvent = Schema.Union([
  Schema.Struct({ type: Schema.Literal("step"), step: Schema.String }),
  /** The engine's work on one resource. Between `started` and the rest it is being awaited. */
  Schema.Struct({
    type: Schema.Literal("resource"),
    state: Schema.Literals(["started", "done", "failed"]),
    urn: Schema.String,
    operation: Schema.String,
    /** Of a Helm release that could not be made: its name in the target, and what it hangs on in the state. */
    release: Schema.optionalKey(
      Schema.Struct({
        namespace: Schema.String,
        name: Schema.String,
        parent: Schema.optionalKey(Schema.String),
        provider: Schema.optionalKey(Schema.String),
      }),
    ),
  }),
  Schema.Struct({
    type: Schema.Literal("diagnostic"),
    severity: Schema.Literals(["info", "warning", "error"]),
    message: Schema.String,
  }),
  /** A sign of life that says nothing more. */
  Schema.Struct({ type: Schema.Literal("engine"), event: Schema.String }),
  Schema.Struct({ type: Schema.Literal("outputs"), outputs: Outputs }),
  /** Of a preview, in the place of outputs: all that would be done. */
  Schema.Struct({ type: Schema.Literal("planned"), steps: Schema.Array(PlannedStep) }),
  /** A request that this process must not serve (any more). */
  Schema.Struct({ type: Schema.Literal("refused"), message: Schema.String }),
  /** The last word of a run. */
  Schema.Struct({
    type: Schema.Literal("outcome"),
    outcome: Schema.Literals(["succeeded", "failed", "cancelled"]),
    step: Schema.String,
    message: Schema.String,
    changes: Schema.Record(Schema.String, Schema.Finite),
  }),
])
export type RunnerEvent = typeof RunnerEvent.Type

export const decodeRequest = Schema.decodeUnknownExit(Schema.fromJsonString(RunnerRequest))
export const decodeEvent = Schema.decodeUnknownExit(Schema.fromJsonString(RunnerEvent))
const encodeRequestJson = Schema.encodeSync(Schema.fromJsonString(RunnerRequest))
const encodeEventJson = Schema.encodeSync(Schema.fromJsonString(RunnerEvent))

/** A request as one line, with its newline. JSON escapes every newline inside. */
export const requestLine = (request: RunnerRequest): string => `${encodeRequestJson(request)}\n`
export const eventLine = (event: RunnerEvent): string => `${encodeEventJson(event)}\n`
