// What the command line says for itself: help on request, and one line for each mistake, which does not drown in a page of
// help.
import { Console, Effect, Layer } from "effect"
import { CliConfig, CliError, CliOutput, GlobalFlag, type HelpDoc } from "effect/cli"
import { isNear } from "../schema/Near.ts"
import { Colours } from "./Words.ts"

/** The flags that a command takes, its own and those of every command. */
const flagsOf = ({ flags, globalFlags = [], inheritedFlags = [] }: HelpDoc.HelpDoc): ReadonlyArray<string> =>
  [...flags, ...inheritedFlags, ...globalFlags].map(({ name }) => `--${bare(name)}`)

/**
 * With the suggestions that somebody can have meant: without far ones, and with the flags of every command, too, which the
 * library does not look at.
 */
const nearOnly = (
  error: CliError.NonShowHelpErrors,
  helpDoc: HelpDoc.HelpDoc,
): CliError.NonShowHelpErrors => {
  switch (error._tag) {
    case "UnknownSubcommand":
      return new CliError.UnknownSubcommand({
        ...error,
        suggestions: error.suggestions.filter((name) => isNear(error.subcommand, name)),
      })
    case "UnrecognizedOption":
      return new CliError.UnrecognizedOption({
        ...error,
        suggestions: (error.suggestions.length > 0 ? error.suggestions : flagsOf(helpDoc)).filter((name) =>
          isNear(bare(error.option), bare(name)),
        ),
      })
    default:
      return error
  }
}
const bare = (flag: string): string => flag.replace(/^-+/, "")

const presenter = Effect.gen(function* () {
  const formatter = CliOutput.defaultFormatter({ colors: yield* Colours })
  return CliOutput.Presenter.of({
    present: Effect.fnUntraced(function* (event) {
      switch (event._tag) {
        case "Help":
          return yield* Console.log(formatter.formatHelpDoc(event.helpDoc))
        case "InvalidInvocation": {
          const command = event.commandPath.join(" ")
          for (const { message } of event.errors.map((error) => nearOnly(error, event.helpDoc))) {
            yield* Console.error(`${command}: ${message}`)
          }
          return yield* Console.error(`${command}: see ${command} --help`)
        }
        case "Version":
          return yield* Console.log(formatter.formatVersion(event.name, event.version))
      }
    }),
  })
})

export const outputLayer = Layer.merge(
  CliConfig.layer({ builtIns: [GlobalFlag.Help, GlobalFlag.Version] }),
  Layer.effect(CliOutput.Presenter, presenter),
)
