// What a program said, in the log: line by line, at debug, redacted.
import { Effect, LogLevel, References } from "effect"

/** So many lines of one program are logged at once: the end of them, which says what came of it. */
const most = 200

/** `redact` sees the whole text, so that a secret of several lines is known as one. */
export const logOutput = Effect.fnUntraced(function* (
  tool: "helm" | "npm" | "pulumi",
  text: string,
  redact: (text: string) => string,
) {
  if (LogLevel.isGreaterThan(yield* References.MinimumLogLevel, "Debug")) return
  const lines = redact(text)
    .split("\n")
    .filter((line) => line.trim() !== "")
  yield* Effect.forEach(
    lines.slice(-most),
    (line) => Effect.logDebug("tool output").pipe(Effect.annotateLogs({ tool, line })),
    { discard: true },
  )
})
