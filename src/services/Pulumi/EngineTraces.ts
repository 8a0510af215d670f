// Where a run's engine leaves its spans, and their way into the trace of the operation: through the operator, redacted.
import { Effect, FileSystem, Option, type Tracer } from "effect"
import { Tracing } from "../Telemetry/Tracing.ts"
import { engineSpans } from "./EngineSpans.ts"

/** A file larger than this is not read: bytes. */
const largest = 32 * 1024 * 1024

const readOne = Effect.fnUntraced(function* (file: string) {
  const fs = yield* FileSystem.FileSystem
  const { size } = yield* fs.stat(file)
  return size > largest ? "" : yield* fs.readFileString(file)
})

/**
 * The folder for the spans of one run, made below `home`; what lies in it when the scope closes is shown below `span`.
 * `None` when nothing is traced.
 */
export const collectSpans = Effect.fnUntraced(function* (
  home: string,
  span: Tracer.AnySpan,
  redact: (text: string) => string,
) {
  const tracing = Option.getOrUndefined(yield* Tracing)
  if (tracing === undefined || !span.sampled) return Option.none<string>()
  const fs = yield* FileSystem.FileSystem
  const relay = Effect.fnUntraced(function* (folder: string) {
    for (const name of yield* fs.readDirectory(folder)) {
      tracing.relay(span, engineSpans(yield* readOne(`${folder}/${name}`), redact))
    }
  })
  const making = fs.makeTempDirectory({ directory: home, prefix: "traces-" })
  const made = yield* Effect.acquireRelease(Effect.option(making), (folder) =>
    Option.match(folder, {
      onNone: () => Effect.void,
      onSome: (path) => Effect.ignore(relay(path), { log: "Debug" }),
    }),
  )
  return made
})
