// Logs: JSON lines with the ids of the span they were written in, or lines for a person where one looks on.
import { Formatter, Layer, Logger, type LogLevel, References } from "effect"

/** A constant text, and what varies beside it; whatever else was handed over with it is the error. */
const messageAndError = (message: unknown): { readonly message: unknown; readonly error?: string } => {
  if (!Array.isArray(message)) return { message }
  const [text, ...rest] = message
  if (rest.length === 0) return { message: text }
  return {
    message: text,
    error: rest.map((each) => (typeof each === "string" ? each : Formatter.formatJson(each))).join(" "),
  }
}

/** One line of JSON, whatever it is made of: one that cannot be written would be a defect of whoever logs. */
export const jsonLogger = Logger.make<unknown, string>((options) => {
  const { span } = options.fiber.cache
  const { message: said, annotations, ...line } = Logger.formatStructured.log(options)
  const { message, error } = messageAndError(said)
  return Formatter.formatJson({
    ...line,
    message,
    annotations: error === undefined ? annotations : { ...annotations, error },
    ...(span?.sampled === true && { trace_id: span.traceId, span_id: span.spanId }),
  })
})

export interface Terminal {
  /** Somebody looks on: no program that collects lines. */
  readonly isTTY: boolean
  /** https://no-color.org */
  readonly noColor: boolean
}

const ownTerminal = (): Terminal => ({
  isTTY: process.stdout.isTTY === true,
  noColor: (process.env.NO_COLOR ?? "") !== "",
})

export const logLayer = (level: LogLevel.LogLevel, { isTTY, noColor }: Terminal = ownTerminal()) =>
  Layer.merge(
    Logger.layer([
      isTTY ? Logger.consolePretty({ mode: "tty", colors: !noColor }) : Logger.withConsoleLog(jsonLogger),
    ]),
    Layer.succeed(References.MinimumLogLevel, level),
  )
