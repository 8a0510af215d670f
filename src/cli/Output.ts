// What the command line says for itself: help on request, and one line for each mistake, which does not drown in a page of
// help.
import { Console, Effect, Layer } from "effect"
import { CliConfig, CliOutput, GlobalFlag } from "effect/cli"
import { Colours } from "./Words.ts"

const presenter = Effect.gen(function* () {
  const formatter = CliOutput.defaultFormatter({ colors: yield* Colours })
  return CliOutput.Presenter.of({
    present: Effect.fnUntraced(function* (event) {
      switch (event._tag) {
        case "Help":
          return yield* Console.log(formatter.formatHelpDoc(event.helpDoc))
        case "InvalidInvocation": {
          const command = event.commandPath.join(" ")
          for (const { message } of event.errors) yield* Console.error(`${command}: ${message}`)
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
