// Logs as JSON lines with trace ids, and spans to an OTLP collector when the standard variable
// OTEL_EXPORTER_OTLP_ENDPOINT names one.
import * as NodeSdk from "@effect/opentelemetry/NodeSdk"
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-http"
import { BatchSpanProcessor } from "@opentelemetry/sdk-trace-base"
import { Config, Data, Effect, Layer, Logger, type LogLevel, Option, References } from "effect"
import { withoutCredentials } from "../Flags/Forms.ts"

const jsonLogger = Logger.make<unknown, string>((options) => {
  const span = options.fiber.cache.span
  return JSON.stringify({
    ...Logger.formatStructured.log(options),
    ...(span !== undefined && { trace_id: span.traceId, span_id: span.spanId }),
  })
})

/** The console takes the lines; spans take them as events. */
export const logLayer = (level: LogLevel.LogLevel) =>
  Layer.merge(
    Logger.layer([Logger.withConsoleLog(jsonLogger), Logger.tracerLogger]),
    Layer.succeed(References.MinimumLogLevel, level),
  )

/** The collector's address is none that spans can be sent to. */
export class EndpointError extends Data.TaggedError("EndpointError")<{ readonly message: string }> {}

const checked = (endpoint: string) =>
  /^https?:$/u.test(URL.parse(endpoint)?.protocol ?? "")
    ? Effect.succeed(endpoint)
    : Effect.fail(
        new EndpointError({
          message: `OTEL_EXPORTER_OTLP_ENDPOINT is ${JSON.stringify(withoutCredentials(endpoint))}: expected an http or https URL, such as http://collector:4318`,
        }),
      )

/** Nothing is exported, and nothing tried, without an endpoint. */
export const traceLayer = (serviceVersion: string) =>
  Layer.unwrap(
    Effect.gen(function* () {
      const endpoint = yield* Config.option(Config.String("OTEL_EXPORTER_OTLP_ENDPOINT"))
      if (Option.isNone(endpoint)) return Layer.empty
      const base = yield* checked(endpoint.value)
      const exporter = new OTLPTraceExporter({ url: `${base.replace(/\/$/, "")}/v1/traces` })
      return NodeSdk.layer(() => ({
        resource: { serviceName: "platform-operator", serviceVersion },
        spanProcessor: new BatchSpanProcessor(exporter),
        shutdownTimeout: "3 seconds",
      }))
    }),
  )
