// The operator's flags as a table, read off what it parses its command line with.
import { NodeServices } from "@effect/platform-node"
import { Effect, Option } from "effect"
import { type Flag, Primitive } from "effect/cli"
import { flags } from "../../src/services/Flags/Flags.ts"
import { defaultText, leafOf } from "../../src/services/Flags/Help.ts"
import { code, table } from "./Markdown.ts"

const rowOf = Effect.fnUntraced(function* (flag: Flag.Flag<unknown>) {
  const leaf = leafOf(flag)
  return [
    code(`--${leaf.name}`),
    (leaf.typeName ?? Primitive.getTypeName(leaf.primitiveType)).toLowerCase(),
    Option.match(yield* defaultText(flag), { onNone: () => "", onSome: code }),
    Option.getOrElse(leaf.description, () => ""),
  ]
})

export const flagTable = Effect.forEach(Object.values(flags), rowOf).pipe(
  Effect.map((rows) => table(["Flag", "Takes", "Default", "What it is"], rows)),
  Effect.provide(NodeServices.layer),
)
