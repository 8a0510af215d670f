// What the command line says for itself: --help with the defaults, --version, and one line for each mistake, which does
// not drown in a page of help.
import { Console, Duration, Effect, Layer, Option } from "effect"
import { CliConfig, CliOutput, type Command, type Flag, GlobalFlag, type HelpDoc, Param } from "effect/cli"
import { formatGoDuration } from "../../schema/GoDuration.ts"
import { flags } from "./Flags.ts"

/** A flag is its leaf, which has the name and the kind of value, wrapped by checks and defaults. */
export const leafOf = (param: unknown): Param.Single<Param.ParamKind, unknown> => {
  if (!Param.isParam(param)) throw new Error("not a flag")
  if (Param.isSingle(param)) return param
  if (!("param" in param)) throw new Error(`a flag of the form ${param._tag} is not known here`)
  return leafOf(param.param)
}

const units = ["", "Ki", "Mi", "Gi", "Ti"]

/** In the largest unit that leaves a whole number. */
const quantity = (bytes: number, unit = 0): string =>
  bytes > 0 && bytes % 1024 === 0 && unit + 1 < units.length
    ? quantity(bytes / 1024, unit + 1)
    : `${bytes}${units[unit]}`

/** What a flag is when it is not given, as one would write it; `None` where that means "not set". */
export const defaultText = Effect.fnUntraced(function* (flag: Flag.Flag<unknown>) {
  const [, value] = yield* flag.parse({ flags: {}, arguments: [] })
  if (Option.isOption(value)) return Option.none<string>()
  if (Array.isArray(value) && value.length === 0) return Option.none()
  if (value instanceof Map && value.size === 0) return Option.none()
  if (typeof value === "number" && leafOf(flag).typeName === "BYTES") return Option.some(quantity(value))
  if (Duration.isDuration(value)) return Option.some(formatGoDuration(value))
  // The logger's levels are capitalised, the flag's are not.
  return Option.some(flag === flags.logLevel ? String(value).toLowerCase() : String(value))
})

const withDefault = Effect.fnUntraced(function* (doc: HelpDoc.FlagDoc) {
  const flag = Object.values(flags).find((each) => leafOf(each).name === doc.name)
  const text = flag === undefined ? Option.none() : yield* defaultText(flag)
  return Option.match(text, {
    onNone: () => doc,
    onSome: (value) => ({
      ...doc,
      description: Option.map(doc.description, (description) => `${description} (default ${value})`),
    }),
  })
})

const presenter = Effect.gen(function* () {
  const environment = yield* Effect.context<Command.Environment>()
  const formatter = CliOutput.defaultFormatter({ colors: false })
  return CliOutput.Presenter.of({
    present: Effect.fnUntraced(function* (event) {
      switch (event._tag) {
        case "Help": {
          const described = yield* Effect.forEach(event.helpDoc.flags, withDefault).pipe(
            Effect.provideContext(environment),
            // A default that does not parse is a mistake of this program.
            Effect.orDie,
          )
          return yield* Console.log(formatter.formatHelpDoc({ ...event.helpDoc, flags: described }))
        }
        case "InvalidInvocation": {
          const [name] = event.commandPath
          for (const { message } of event.errors) yield* Console.error(`${name}: ${message}`)
          return yield* Console.error(`${name}: see ${name} --help`)
        }
        case "Version":
          return yield* Console.log(formatter.formatVersion(event.name, event.version))
      }
    }),
  })
})

/** Leaves out what the library adds and an operator does not need: a wizard, completions and a second log level. */
export const layer = Layer.merge(
  CliConfig.layer({ builtIns: [GlobalFlag.Help, GlobalFlag.Version] }),
  Layer.effect(CliOutput.Presenter, presenter),
)
