// What a line of the log is, and that what is logged is a constant text with fields.
import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { TestConsole } from "effect/testing"
import { logOutput } from "../../../src/services/Process/ToolOutput.ts"
import { logLayer } from "../../../src/services/Telemetry/Telemetry.ts"

const collector = { isTTY: false, noColor: false }
const lines = Effect.map(TestConsole.logLines, (said) => said.map(String))

describe("a line of the log", () => {
  it.effect("is an object whose message is constant, with what varies beside it", () =>
    Effect.gen(function* () {
      yield* Effect.logWarning("lease not renewed", "no route to host").pipe(
        Effect.annotateLogs({ instance: "team-a/one", generation: 3, pass: 7 }),
        Effect.provide(logLayer("Info", collector)),
      )
      assert.deepInclude(JSON.parse((yield* lines).at(-1) ?? ""), {
        level: "WARN",
        message: "lease not renewed",
        annotations: { instance: "team-a/one", generation: 3, pass: 7, error: "no route to host" },
      })
    }),
  )

  it.effect("is written whatever it is made of", () =>
    Effect.gen(function* () {
      const circle: Record<string, unknown> = { name: "circle" }
      circle.self = circle
      yield* Effect.logWarning("odd", circle).pipe(
        Effect.annotateLogs({ count: 12n, circle, secret: Redacted.make("planted") }),
        Effect.provide(logLayer("Info", collector)),
      )
      const [line = ""] = yield* lines
      assert.deepInclude(JSON.parse(line), { message: "odd", level: "WARN" })
      assert.include(line, "12")
      assert.include(line, '"name":"circle"')
      assert.notInclude(line, "planted")
    }),
  )

  it.effect("has the ids of the span it is written in", () =>
    Effect.gen(function* () {
      yield* Effect.logInfo("inside").pipe(
        Effect.withSpan("work"),
        Effect.provide(logLayer("Info", collector)),
      )
      const line = JSON.parse((yield* lines).at(-1) ?? "")
      assert.match(line.trace_id, /^[0-9a-f]{32}$/)
      assert.match(line.span_id, /^[0-9a-f]{16}$/)
    }),
  )

  it.effect("is no JSON on a terminal, and without colour where nobody wants it", () =>
    Effect.gen(function* () {
      const sequence = String.fromCharCode(27)
      for (const noColor of [false, true]) {
        yield* Effect.logInfo("hello").pipe(Effect.provide(logLayer("Info", { isTTY: true, noColor })))
        const line = (yield* lines).at(-1) ?? ""
        assert.include(line, "hello")
        assert.isFalse(line.startsWith("{"))
        assert.strictEqual(line.includes(sequence), !noColor)
      }
    }),
  )

  it.effect("below the level is not written", () =>
    Effect.gen(function* () {
      yield* Effect.logInfo("too much").pipe(Effect.provide(logLayer("Error", collector)))
      assert.notInclude((yield* lines).join(), "too much")
    }),
  )
})

describe("what a tool says", () => {
  const say = logOutput("helm", "first\n\npassword is hunter22\n", (text) =>
    text.replaceAll("hunter22", "***"),
  )

  it.effect("is a line each at debug, redacted", () =>
    Effect.gen(function* () {
      yield* say.pipe(Effect.provide(logLayer("Debug", collector)))
      const said = (yield* lines).map((line) => JSON.parse(line))
      assert.deepStrictEqual(
        said.map(({ message, annotations }) => [message, annotations.tool, annotations.line]),
        [
          ["tool output", "helm", "first"],
          ["tool output", "helm", "password is ***"],
        ],
      )
    }),
  )

  it.effect("is not even redacted where nobody hears it", () =>
    Effect.gen(function* () {
      const redact = () => assert.fail("redacted")
      yield* logOutput("npm", "words", redact).pipe(Effect.provide(logLayer("Info", collector)))
      assert.isEmpty(yield* lines)
    }),
  )
})

/** The arguments of each call that logs, as they stand in the source. */
const logCalls = (source: string): ReadonlyArray<string> =>
  [...source.matchAll(/\bEffect\.log(?:Trace|Debug|Info|Warning|Error|Fatal)?\(/g)].map(
    ({ index, 0: call }) => {
      let depth = 1
      let end = index + call.length
      while (depth > 0 && end < source.length) {
        const character = source[end]
        if (character === "(") depth += 1
        if (character === ")") depth -= 1
        end += 1
      }
      return source.slice(index + call.length, end - 1).trim()
    },
  )

/** One string without a part that varies, and at most an error beside it. */
const isConstant = (argumentsOf: string): boolean => /^"[^"\\]*"(?:,\s*[\w.]+)?,?$/.test(argumentsOf)

describe("a message", () => {
  it("with a part that varies is found", () => {
    const source = 'Effect.logInfo(`of one`); Effect.logError("one " + two); Effect.logDebug("three", error)'
    assert.deepStrictEqual(logCalls(source).map(isConstant), [false, false, true])
  })

  it("of the operator is a constant text", () => {
    const root = join(import.meta.dirname, "../../../src")
    const sources = readdirSync(root, { recursive: true, encoding: "utf8" }).filter((path) =>
      path.endsWith(".ts"),
    )
    const calls = sources.flatMap((path) =>
      logCalls(readFileSync(join(root, path), "utf8")).map((call) => ({ path, call })),
    )
    assert.isAbove(calls.length, 30)
    assert.deepStrictEqual(
      calls.filter(({ call }) => !isConstant(call)),
      [],
    )
  })
})
