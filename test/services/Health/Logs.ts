// The log as a list, for tests of what it says.
import { Effect, Layer, Logger, References } from "effect"

export interface Line {
  readonly level: string
  readonly message: unknown
  readonly annotations: Readonly<Record<string, unknown>>
}

/** Takes the place of the log; `lines` grows as the test runs. */
export const recorded = () => {
  const lines: Array<Line> = []
  const logger = Logger.make((options) => {
    const { level, message, annotations } = Logger.formatStructured.log(options)
    lines.push({ level, message, annotations })
  })
  return {
    lines,
    layer: Layer.merge(Logger.layer([logger]), Layer.succeed(References.MinimumLogLevel, "Info")),
  }
}

/** Runs it with the log recorded. */
export const recording = <A, E, R>(test: (lines: ReadonlyArray<Line>) => Effect.Effect<A, E, R>) =>
  Effect.suspend(() => {
    const { lines, layer } = recorded()
    return Effect.provide(test(lines), layer)
  })
