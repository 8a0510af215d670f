// What `kubectl pi --help` says, and each command's own, as they stand in the page.
import { NodeServices } from "@effect/platform-node"
import { Console, Effect, Layer, Stream } from "effect"
import { Command } from "effect/cli"
import { FetchHttpClient } from "effect/http"
import { Kubectl } from "../../src/cli/Kubectl.ts"
import { outputLayer } from "../../src/cli/Output.ts"
import { commands, pi } from "../../src/cli/pi.ts"
import { Colours } from "../../src/cli/Words.ts"

const helpOf = Effect.fnUntraced(function* (args: ReadonlyArray<string>) {
  const lines: Array<string> = []
  const heard: Console.Console = {
    ...console,
    log: (...words: ReadonlyArray<unknown>) => void lines.push(words.join(" ")),
  }
  yield* Command.runWith(pi, { version: "" })([...args, "--help"]).pipe(
    Effect.provideService(Console.Console, heard),
  )
  return lines.join("\n").trimEnd()
})

/** A part of the help that every command has in common is told once. */
const withoutInherited = (help: string): string =>
  help.replaceAll(/\n\n(INHERITED FLAGS|GLOBAL FLAGS)\n[\s\S]*?(?=\n\n[A-Z]|$)/g, "")

const block = (text: string): string => `\`\`\`text\n${text}\n\`\`\``

export const piHelp: Effect.Effect<string, unknown> = Effect.gen(function* () {
  const own = yield* helpOf([])
  const each = yield* Effect.forEach(commands, ({ name }) => helpOf([name]))
  return [
    block(own),
    ...commands.map(({ name }, index) => `### ${name}\n\n${block(withoutInherited(each[index] ?? ""))}`),
  ].join("\n\n")
}).pipe(
  Effect.provide(
    Layer.mergeAll(
      outputLayer,
      FetchHttpClient.layer,
      Layer.succeed(Colours, false),
      // Nothing asks a cluster for help.
      Layer.succeed(Kubectl, {
        feed: () => Effect.succeed(""),
        pipe: () => Effect.succeed(new Uint8Array()),
        run: () => Effect.succeed(""),
        stream: () => Stream.empty,
        lines: () => Stream.empty,
      }),
    ).pipe(Layer.provideMerge(NodeServices.layer)),
  ),
)
