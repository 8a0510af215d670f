// What the command line says for itself: help on request, and one line for each mistake, which does not drown in a page of
// help.
import { Console, Effect, Layer } from "effect"
import { CliConfig, CliError, CliOutput, GlobalFlag } from "effect/cli"
import { Colours } from "./Words.ts"

const beginning = (one: string, other: string): number => {
  const at = [...one].findIndex((letter, index) => letter !== other[index])
  return at === -1 ? one.length : at
}
const turned = (word: string): string => [...word].reverse().join("")

/** They begin and end alike for half of the longer one: two letters apart is far for a word of four. */
export const isNear = (typed: string, name: string): boolean => {
  const alike = beginning(typed, name) + beginning(turned(typed), turned(name))
  return alike >= Math.max(typed.length, name.length) / 2
}

/** Without the suggestions that nobody can have meant. */
const nearOnly = (error: CliError.NonShowHelpErrors): CliError.NonShowHelpErrors => {
  switch (error._tag) {
    case "UnknownSubcommand":
      return new CliError.UnknownSubcommand({
        ...error,
        suggestions: error.suggestions.filter((name) => isNear(error.subcommand, name)),
      })
    case "UnrecognizedOption":
      return new CliError.UnrecognizedOption({
        ...error,
        suggestions: error.suggestions.filter((name) => isNear(bare(error.option), bare(name))),
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
          for (const { message } of event.errors.map(nearOnly)) yield* Console.error(`${command}: ${message}`)
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
