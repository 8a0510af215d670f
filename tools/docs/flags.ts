// The operator's flags as a table, read off what it parses its command line with.
import { NodeServices } from "@effect/platform-node"
import { Duration, Effect, Option } from "effect"
import { type Flag, Param, Primitive } from "effect/cli"
import { formatGoDuration } from "../../src/schema/GoDuration.ts"
import { flags } from "../../src/services/Flags/Flags.ts"
import { code, table } from "./Markdown.ts"

/** A flag is its leaf, which has the name, wrapped by checks and defaults. */
const leafOf = (param: unknown): Param.Single<Param.ParamKind, unknown> => {
  if (!Param.isParam(param)) throw new Error("not a flag")
  if (Param.isSingle(param)) return param
  if (!("param" in param)) throw new Error(`a flag of the form ${param._tag} is not known here`)
  return leafOf(param.param)
}

/** What a flag is when it is not given, as one would write it; nothing where that means "not set". */
const defaultOf = Effect.fnUntraced(function* (name: string, flag: Flag.Flag<unknown>) {
  const [, value] = yield* flag.parse({ flags: {}, arguments: [] })
  if (Option.isOption(value)) return ""
  if (Duration.isDuration(value)) return code(formatGoDuration(value))
  // The logger's levels are capitalised, the flag's are not.
  return code(name === "logLevel" ? String(value).toLowerCase() : String(value))
})

const rowOf = Effect.fnUntraced(function* ([name, flag]: readonly [string, Flag.Flag<unknown>]) {
  const leaf = leafOf(flag)
  return [
    code(`--${leaf.name}`),
    (leaf.typeName ?? Primitive.getTypeName(leaf.primitiveType)).toLowerCase(),
    yield* defaultOf(name, flag),
    Option.getOrElse(leaf.description, () => ""),
  ]
})

export const flagTable = Effect.forEach(Object.entries(flags), rowOf).pipe(
  Effect.map((rows) => table(["Flag", "Takes", "Default", "What it is"], rows)),
  Effect.provide(NodeServices.layer),
)
