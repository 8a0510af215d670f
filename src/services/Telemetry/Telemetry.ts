// Logs as JSON lines with trace ids, and spans to an OTLP collector when the standard variable
// OTEL_EXPORTER_OTLP_ENDPOINT names one.
import * as NodeSdk from "@effect/opentelemetry/NodeSdk"
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-http"
import { BatchSpanProcessor } from "@opentelemetry/sdk-trace-base"
import { Config, Effect, Layer, Logger, type LogLevel, Option, References } from "effect"

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

/** Nothing is exported, and nothing tried, without an endpoint. */
export const traceLayer = (serviceVersion: string) =>
  Layer.unwrap(
    Effect.gen(function* () {
      const endpoint = yield* Config.option(Config.String("OTEL_EXPORTER_OTLP_ENDPOINT"))
      if (Option.isNone(endpoint)) return Layer.empty
      const exporter = new OTLPTraceExporter({ url: `${endpoint.value.replace(/\/$/, "")}/v1/traces` })
      return NodeSdk.layer(() => ({
        resource: { serviceName: "platform-operator", serviceVersion },
        spanProcessor: new BatchSpanProcessor(exporter),
        shutdownTimeout: "3 seconds",
      }))
    }),
  )
