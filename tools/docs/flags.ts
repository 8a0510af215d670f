// The operator's flags as a table, read off what it parses its command line with.
import { NodeServices } from "@effect/platform-node"
import { Duration, Effect, Option } from "effect"
import { type Flag, Param, Primitive } from "effect/cli"
import { formatGoDuration } from "../../src/schema/GoDuration.ts"
import { flags } from "../../src/services/Flags/Flags.ts"
import { code, table } from "./Markdown.ts"

/** What a flag is when it is not given; nothing where that means "not set". */
const defaultOf = Effect.fnUntraced(function* (flag: Flag.Flag<unknown>) {
  const [, value] = yield* flag.parse({ flags: {}, arguments: [] })
  if (Option.isOption(value)) return ""
  if (Duration.isDuration(value)) return code(formatGoDuration(value))
  // The levels of the log are written as the flag takes them, not as the logger does.
  return code(String(value).replace(/^[A-Z]/, (letter) => (Object.is(flag, flags.logLevel) ? letter.toLowerCase() : letter)))
})

const rowOf = Effect.fnUntraced(function* (flag: Flag.Flag<unknown>) {
  const value = yield* defaultOf(flag)
  return Param.extractSingleParams(flag).map((single) => [
    code(`--${single.name}`),
    (single.typeName ?? Primitive.getTypeName(single.primitiveType)).toLowerCase(),
    value,
    Option.getOrElse(single.description, () => ""),
  ])
})

export const flagTable = Effect.forEach(Object.values(flags), rowOf).pipe(
  Effect.map((rows) => table(["Flag", "Takes", "Default", "What it is"], rows.flat())),
  Effect.provide(NodeServices.layer),
)
