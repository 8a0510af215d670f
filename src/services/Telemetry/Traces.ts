// Traces to where the standard OTEL_* variables say, and none at no cost when they say nothing.
import { randomBytes } from "node:crypto"
import { context, DiagLogLevel, diag, propagation, trace } from "@opentelemetry/api"
import { Clock, Config, Data, Duration, Effect, Layer, Option, References, Schema, Tracer } from "effect"
import { withoutCredentials } from "../Flags/Forms.ts"
import { makeTracing, TraceIds } from "./makeTracing.ts"
import { makeTracer, type Redact } from "./TracedSpans.ts"
import { Tracing } from "./Tracing.ts"

/** The collector's address is none that spans can be sent to. */
export class EndpointError extends Data.TaggedError("EndpointError")<{ readonly message: string }> {}

/** What decides whether anything is exported at all; the rest is the SDK's to read. */
const variables = Config.all({
  disabled: Config.withDefault(Config.String("OTEL_SDK_DISABLED"), ""),
  exporter: Config.withDefault(Config.String("OTEL_TRACES_EXPORTER"), ""),
  endpoint: Config.withDefault(Config.String("OTEL_EXPORTER_OTLP_ENDPOINT"), ""),
  tracesEndpoint: Config.withDefault(Config.String("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"), ""),
})

const checked = (name: string, endpoint: string) =>
  endpoint === "" || /^https?:$/u.test(URL.parse(endpoint)?.protocol ?? "")
    ? Effect.void
    : Effect.fail(
        new EndpointError({
          message: `${name} is ${JSON.stringify(withoutCredentials(endpoint))}: expected an http or https URL, such as http://collector:4318`,
        }),
      )

/** An exporter is named, or an endpoint for the default one. */
const isOn = Effect.gen(function* () {
  const { disabled, exporter, endpoint, tracesEndpoint } = yield* variables
  if (disabled.trim().toLowerCase() === "true") return false
  const exporters = exporter.split(",").map((name) => name.trim())
  if (exporters.includes("none")) return false
  if (endpoint === "" && tracesEndpoint === "" && exporter.trim() === "") return false
  yield* checked("OTEL_EXPORTER_OTLP_ENDPOINT", endpoint)
  yield* checked("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", tracesEndpoint)
  return true
})

/** Between two complaints about a collector that cannot be reached: milliseconds. */
const complaintEvery = 10 * 60_000
/** A collector that does not answer holds up the end of the process for so long at most. */
const flushWithin = Duration.seconds(3)

/** The SDK tells of an error as JSON, stack first; its message is what says something. */
const ErrorText = Schema.fromJsonString(Schema.Struct({ message: Schema.String }))
const wordsOf = (complaint: string): string =>
  Option.match(Schema.decodeOption(ErrorText)(complaint), {
    onNone: () => complaint,
    onSome: ({ message }) => message,
  })

/** What the SDK complains of is said once in a while, through the operator's own log. */
const complainInLog = Effect.fnUntraced(function* (redact: Redact) {
  const run = Effect.runForkWith(yield* Effect.context<never>())
  const clock = yield* Clock.Clock
  let last = Number.NEGATIVE_INFINITY
  const complain = (message: string) => {
    const now = clock.currentTimeMillisUnsafe()
    if (now - last < complaintEvery) return
    last = now
    run(
      Effect.logWarning("spans cannot be exported").pipe(
        Effect.annotateLogs({ reason: redact(withoutCredentials(wordsOf(message))).slice(0, 256) }),
      ),
    )
  }
  const nothing = () => undefined
  diag.setLogger(
    { error: complain, warn: complain, info: nothing, debug: nothing, verbose: nothing },
    { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true },
  )
})

const exporting = (serviceVersion: string, redact: Redact) =>
  Layer.unwrap(
    Effect.gen(function* () {
      // Loaded when it is needed: it brings every protocol there is.
      const { NodeSDK, resources } = yield* Effect.promise(() => import("@opentelemetry/sdk-node"))
      const podUID = Config.String("POD_UID")
      const instance = yield* Config.withDefault(podUID, randomBytes(8).toString("hex"))
      const ids = new TraceIds()
      const sdk = new NodeSDK({
        idGenerator: ids,
        // Before what OTEL_RESOURCE_ATTRIBUTES and OTEL_SERVICE_NAME say, which wins.
        resource: resources.defaultResource().merge(
          resources.resourceFromAttributes({
            "service.name": "platform-operator",
            "service.version": serviceVersion,
            "service.instance.id": instance,
          }),
        ),
        resourceDetectors: [resources.envDetector],
        metricReaders: [],
        logRecordProcessors: [],
        instrumentations: [],
      })
      yield* complainInLog(redact)
      yield* Effect.acquireRelease(
        Effect.sync(() => sdk.start()),
        () =>
          Effect.promise(() => sdk.shutdown().catch(() => undefined)).pipe(
            Effect.interruptible,
            Effect.timeoutOption(flushWithin),
            // Whoever starts another one in this process finds it as it was.
            Effect.ensuring(
              Effect.sync(() => {
                for (const api of [trace, context, propagation, diag]) api.disable()
              }),
            ),
          ),
      )
      const otel = trace.getTracer("platform-operator", serviceVersion)
      return Layer.merge(
        Layer.succeed(Tracer.Tracer, makeTracer(otel, redact)),
        Layer.succeed(Tracing, Option.some(makeTracing(otel, ids, redact))),
      )
    }),
  )

/** `redact` takes out what has the shape of a secret, from every text that is exported. */
export const traceLayer = (serviceVersion: string, redact: Redact) =>
  Layer.unwrap(
    Effect.map(isOn, (on) =>
      on ? exporting(serviceVersion, redact) : Layer.succeed(References.TracerEnabled, false),
    ),
  )

/** Traces over this log: what the exporter complains of goes there, too, in its form and by its level. */
export const telemetryLayer = (serviceVersion: string, redact: Redact, log: Layer.Layer<never>) =>
  traceLayer(serviceVersion, redact).pipe(Layer.provideMerge(log))
