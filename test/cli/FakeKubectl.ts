// kubectl as a table: what it is asked for, and what it prints.

import { NodeServices } from "@effect/platform-node"
import { Console, Effect, Exit, Fiber, Layer, Redacted, Stream } from "effect"
import { Command } from "effect/cli"
import { FetchHttpClient } from "effect/http"
import { TestConsole } from "effect/testing"
import {
  cannot,
  explained,
  gathered,
  Kubectl,
  Largest,
  PiError,
  type Where,
  whatOf,
  whereArgs,
} from "../../src/cli/Kubectl.ts"
import { outputLayer } from "../../src/cli/Output.ts"
import { pi } from "../../src/cli/pi.ts"
import { Colours } from "../../src/cli/Words.ts"

export interface Said {
  readonly out: string
  readonly err: string
  readonly exitCode: number
  /** What kubectl was asked, each as one line. */
  readonly asked: ReadonlyArray<string>
  /** What it was given on its standard input. */
  readonly fed: ReadonlyArray<string>
}

/** As an answer: whoever runs it presses Ctrl-C before there is one. */
export const ctrlC = Symbol("Ctrl-C")

/** By the beginning of what it is asked; an `Error` is what it says on standard error, a function what it says each time. */
export type Answers = Readonly<Record<string, unknown>>

const fake = (answers: Answers, asked: Array<string>, fed: Array<string>, interrupt: () => void) => {
  const lines = (
    where: Where,
    args: ReadonlyArray<string>,
    input?: string,
  ): Stream.Stream<string, PiError> => {
    const line = [...args, ...whereArgs(where)].join(" ")
    asked.push(line)
    const key = Object.keys(answers)
      .filter((each) => line.startsWith(each))
      .toSorted((one, other) => other.length - one.length)[0]
    const found = key === undefined ? new Error(`nobody answers: ${line}`) : answers[key]
    if (found instanceof Error) return Stream.fail(cannot(explained(found.message, where)))
    const given: unknown = typeof found === "function" ? found(line, input) : found
    if (given === ctrlC) return Stream.fromEffect(Effect.andThen(Effect.sync(interrupt), Effect.never))
    if (given instanceof Error) return Stream.fail(cannot(explained(given.message, where)))
    const text = typeof given === "string" ? given : JSON.stringify(given)
    return Stream.fromIterable(text.split("\n"))
  }
  const stream: Kubectl["Service"]["stream"] = (where, args, input) =>
    Stream.unwrap(
      Effect.gen(function* () {
        const given = Buffer.concat(yield* Stream.runCollect(input))
        const all = yield* Stream.runCollect(lines(where, args, given.toString("latin1")))
        return Stream.make(Buffer.from(all.join("\n"), "latin1"))
      }),
    )
  return Layer.succeed(Kubectl, {
    lines: (where, args) => lines(where, args),
    run: (where, args) => Effect.map(Stream.runCollect(lines(where, args)), (all) => all.join("\n")),
    pipe: (where, args, input) =>
      Effect.flatMap(Largest, (largest) => gathered(stream(where, args, input), whatOf(args), largest)),
    stream,
    feed: (where, args, input) => {
      fed.push(Redacted.value(input))
      return Effect.map(Stream.runCollect(lines(where, args, Redacted.value(input))), (all) => all.join("\n"))
    },
  })
}

/** `running` gets what runs, as Node's runtime has it that hears of Ctrl-C. */
const run = Effect.fnUntraced(function* (
  args: ReadonlyArray<string>,
  running: (fiber: Fiber.Fiber<unknown, unknown>) => void,
) {
  const fiber = yield* Command.runWith(pi, { version: "1.2.3" })(args).pipe(
    Effect.tapError((error) =>
      error._tag === "PiError" ? Console.error(`kubectl pi: ${error.message}`) : Effect.void,
    ),
    Effect.forkChild,
  )
  running(fiber)
  const exit = yield* Fiber.await(fiber)
  const error = Exit.isFailure(exit) ? exit.cause.reasons[0] : undefined
  const failure = error?._tag === "Fail" ? error.error : undefined
  return {
    out: (yield* TestConsole.logLines).join("\n"),
    err: (yield* TestConsole.errorLines).join("\n"),
    exitCode: Exit.isSuccess(exit) ? 0 : failure instanceof PiError ? failure.exitCode : 2,
  }
})

/** Runs the whole command line over it, with a console of its own. */
export const runPi = (args: ReadonlyArray<string>, answers: Answers, colours = false) =>
  Effect.suspend(() => {
    const asked: Array<string> = []
    const fed: Array<string> = []
    let running: Fiber.Fiber<unknown, unknown> | undefined
    const services = Layer.mergeAll(
      fake(answers, asked, fed, () => running?.interruptUnsafe()),
      outputLayer,
      FetchHttpClient.layer,
      Layer.succeed(Colours, colours),
      Layer.fresh(TestConsole.layer),
    )
    return Effect.map(
      Effect.provide(
        run(args, (fiber) => {
          running = fiber
        }),
        Layer.provideMerge(services, NodeServices.layer),
      ),
      (said): Said => ({ ...said, asked, fed }),
    )
  })

const ready = (type: string, reason = "Ready") => ({
  type,
  status: "True",
  reason,
  message: `${type} is so`,
  lastTransitionTime: "2026-01-01T00:00:00Z",
  observedGeneration: 2,
})

export const instance = {
  apiVersion: "platform.di-framework.dev/v1alpha1",
  kind: "PlatformInstance",
  metadata: {
    name: "one",
    namespace: "team-a",
    uid: "uid-one",
    generation: 2,
    creationTimestamp: "2026-01-01T00:00:00Z",
    annotations: {
      "platform.di-framework.dev/trace": `00-${"a".repeat(32)}-${"b".repeat(16)}-01 2 2026-01-01T00:00:00.000Z`,
    },
  },
  spec: { version: "6.0.22", target: { type: "vcluster" } },
  status: {
    phase: "Ready",
    observedGeneration: 2,
    installedVersion: "6.0.22",
    lastRepair: "2026-01-01T01:00:00Z",
    kubeconfigSecretRef: { name: "one-kubeconfig" },
    conditions: [
      ready("TargetReady"),
      ready("Installed", "FirstInstall"),
      ready("ConfigApplied", "Applied"),
      ready("Ready"),
    ],
  },
}

/** The same, with other conditions: `TargetReady` and `Ready` first. */
export const withConditions = (
  conditions: ReadonlyArray<{
    readonly type: string
    readonly status: string
    readonly reason: string
    readonly lastTransitionTime?: string
  }>,
  phase = "Provisioning",
) => ({
  ...instance,
  status: {
    ...instance.status,
    phase,
    conditions: conditions.map((each) => ({ ...ready(each.type), message: `about ${each.reason}`, ...each })),
  },
})

export const PI = "get platforminstances.platform.di-framework.dev one"
