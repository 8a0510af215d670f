import { assert, describe, it } from "@effect/vitest"
import { type Duration, Effect } from "effect"
import { TestClock, TestConsole } from "effect/testing"
import { brief, chance, failure, gaps, settle, start, summaries, watching } from "./FakeTransport.ts"
import { bookmark, configMap, line, status } from "./Objects.ts"

describe("history that is gone (410)", () => {
  it.effect("is listed anew at once, not older than what was seen; what vanished is told", () =>
    Effect.gen(function* () {
      const { first, calls, events, connection, page } = yield* watching("zeta", [
        configMap("a", "1"),
        configMap("b", "1"),
        configMap("c", "1"),
      ])
      yield* first.send(status(410, "Expired"))
      yield* page("omega", [configMap("a", "5"), configMap("c", "6", { uid: "second" })])
      yield* connection
      yield* settle
      assert.deepStrictEqual(summaries(calls), [
        "list Any",
        "watch zeta",
        "list NotOlderThan zeta",
        "watch omega",
      ])
      assert.deepStrictEqual(gaps(calls), [0, 0, 0])
      assert.deepStrictEqual(events.map(brief), ["= a b c", "- b uid-b", "- c uid-c", "= a c"])
    }),
  )

  it.effect("is recognised as the answer to the watch, too", () =>
    Effect.gen(function* () {
      const machine = yield* start()
      yield* machine.refuseWatch(Effect.fail(failure(410, "Gone")))
      yield* machine.page("zeta")
      yield* machine.page("omega")
      yield* machine.connection
      assert.deepStrictEqual(summaries(machine.calls), [
        "list Any",
        "watch zeta",
        "list NotOlderThan zeta",
        "watch omega",
      ])
    }),
  )

  it.effect("backs off and asks for the newest state when a list leads straight back to it", () =>
    Effect.gen(function* () {
      const { first, calls, connection, page } = yield* watching()
      yield* first.send(status(410, "Expired"))
      yield* page("stale")
      yield* Effect.flatMap(connection, (second) => second.send(status(410, "Expired")))
      yield* page("newest")
      yield* settle
      assert.strictEqual(summaries(calls).at(-1), "watch stale")
      yield* TestClock.adjust("800 millis")
      yield* connection
      assert.deepStrictEqual(summaries(calls).slice(-2), ["list Newest", "watch newest"])
    }).pipe(chance()),
  )

  for (const [name, refusal] of [
    ["has expired", failure(410, "Expired")],
    ["is ahead of the server", failure(504, "Too large resource version: 7, current: 5")],
  ] as const) {
    it.effect(`asks for the newest state when the version of a list ${name}`, () =>
      Effect.gen(function* () {
        const { first, calls, connection, page, refuseList } = yield* watching()
        yield* first.send(status(410, "Expired"))
        yield* refuseList(refusal)
        yield* page("newest")
        yield* connection
        assert.deepStrictEqual(summaries(calls).slice(2), [
          "list NotOlderThan zeta",
          "list Newest",
          "watch newest",
        ])
        assert.deepStrictEqual(gaps(calls), [0, 0, 0, 0])
      }),
    )
  }
})

describe("a server in trouble", () => {
  it.effect("is asked again after 0.8 s, doubled up to 30 s, at the same version", () =>
    Effect.gen(function* () {
      const { first, calls, connection, refuseWatch } = yield* watching()
      yield* refuseWatch(...Array.from({ length: 8 }, () => Effect.fail(failure(500, "InternalError"))))
      yield* first.fail(failure(0, "Transport"))
      yield* TestClock.adjust("3 minutes")
      yield* connection
      const watches = calls.filter((call) => call._tag === "Watch")
      assert.deepStrictEqual(
        gaps(watches).map(Math.round),
        [800, 1600, 3200, 6400, 12_800, 25_600, 30_000, 30_000, 30_000],
      )
      assert.deepStrictEqual(new Set(summaries(watches)), new Set(["watch zeta"]))
    }).pipe(chance()),
  )

  it.effect("waits anything between nothing and the longest, so that watches do not come back in step", () =>
    Effect.gen(function* () {
      const { first, calls, connection } = yield* watching()
      yield* first.fail(failure(0, "Transport"))
      yield* TestClock.adjust("80 millis")
      yield* connection
      assert.deepStrictEqual(gaps(calls).map(Math.round), [0, 80])
    }).pipe(chance(0.1)),
  )

  it.effect("starts small again only after two healthy minutes", () =>
    Effect.gen(function* () {
      const { first, calls, connection } = yield* watching()
      const failAfter = Effect.fnUntraced(function* (watch: typeof first, healthy: Duration.Input) {
        yield* TestClock.adjust(healthy)
        yield* watch.fail(failure(0, "Transport"))
        const failedAt = yield* Effect.clockWith((clock) => clock.currentTimeMillis)
        yield* TestClock.adjust("30 seconds")
        const next = yield* connection
        return { next, wait: Math.round((calls.at(-1)?.at ?? 0) - failedAt) }
      })
      const one = yield* failAfter(first, "1 second")
      // 30 s have passed since the watch came back: it has been healthy for that long already.
      const two = yield* failAfter(one.next, "1 second")
      const three = yield* failAfter(two.next, "120 seconds")
      assert.deepStrictEqual([one.wait, two.wait, three.wait], [800, 1600, 800])
    }).pipe(chance()),
  )

  for (const code of [429, 503]) {
    it.effect(`is left alone as long as it asks (${code}), in the stream and in answers`, () =>
      Effect.gen(function* () {
        const { first, calls, connection, refuseWatch } = yield* watching()
        yield* refuseWatch(Effect.fail(failure(code, "TooManyRequests", 20)))
        yield* first.send(status(code, "TooManyRequests", { retryAfterSeconds: 10 }))
        yield* TestClock.adjust("40 seconds")
        yield* connection
        assert.deepStrictEqual(gaps(calls).map(Math.round), [0, 10_800, 21_000])
        assert.deepStrictEqual(summaries(calls).slice(1), ["watch zeta", "watch zeta", "watch zeta"])
      }).pipe(chance()),
    )
  }

  it.effect("that finds the request faulty is given a list instead of the same request", () =>
    Effect.gen(function* () {
      const machine = yield* start()
      yield* machine.refuseWatch(Effect.fail(failure(400, "BadRequest")))
      yield* machine.page("zeta")
      yield* machine.page("omega")
      yield* TestClock.adjust("1 second")
      yield* machine.connection
      assert.deepStrictEqual(summaries(machine.calls).slice(2), ["list NotOlderThan zeta", "watch omega"])
    }),
  )

  it.effect("is complained about once, and again when it has worked meanwhile", () =>
    Effect.gen(function* () {
      const { first, connection, refuseWatch } = yield* watching()
      const warnings = Effect.map(
        TestConsole.logLines,
        (lines) => JSON.stringify(lines).split("refused").length - 1,
      )
      yield* refuseWatch(...Array.from({ length: 5 }, () => Effect.fail(failure(403, "Forbidden"))))
      yield* first.fail(failure(403, "Forbidden"))
      yield* TestClock.adjust("2 minutes")
      const second = yield* connection
      assert.strictEqual(yield* warnings, 1)
      yield* second.send(bookmark("eta"))
      yield* second.end
      yield* TestClock.adjust("1 second")
      yield* Effect.flatMap(connection, (third) => third.fail(failure(403, "Forbidden")))
      yield* settle
      assert.strictEqual(yield* warnings, 2)
    }),
  )

  it.effect("keeps the list waiting as well, and nothing is told until it comes", () =>
    Effect.gen(function* () {
      const machine = yield* start()
      yield* machine.refuseList(failure(0, "Transport"))
      yield* machine.refuseList(failure(500, "InternalError"))
      yield* machine.page("zeta", [configMap("a", "1")])
      yield* settle
      assert.deepStrictEqual(machine.events, [])
      yield* TestClock.adjust("5 seconds")
      yield* machine.connection
      yield* settle
      assert.deepStrictEqual(gaps(machine.calls).map(Math.round), [800, 1600, 0])
      assert.deepStrictEqual(machine.events.map(brief), ["= a"])
    }).pipe(chance()),
  )
})

describe("a line that cannot be read", () => {
  it.effect("is followed by a list from before it; its size and hash are logged, not its content", () =>
    Effect.gen(function* () {
      const { first, calls, connection, page } = yield* watching()
      yield* first.send(
        line("MODIFIED", configMap("a", "theta")),
        '{"type":"MODIFIED","object":{"data":"hunter2"}}\n',
      )
      yield* page("omega")
      yield* connection
      assert.deepStrictEqual(summaries(calls).slice(2), ["list NotOlderThan theta", "watch omega"])
      const logs = JSON.stringify(yield* TestConsole.logLines)
      assert.include(logs, "cannot be read")
      assert.notInclude(logs, "hunter2")
    }),
  )

  it.effect("again and again does not become a storm of lists", () =>
    Effect.gen(function* () {
      const { first, calls, connection, page } = yield* watching()
      let current = first
      for (let times = 0; times < 5; times++) {
        yield* page("omega")
        yield* current.send(bookmark("zeta"), "garbage\n")
        yield* TestClock.adjust("20 seconds")
        current = yield* connection
      }
      const lists = calls.filter((call) => call._tag === "List")
      assert.isAtLeast(Math.min(...gaps(lists.slice(1))), 800)
    }).pipe(chance()),
  )
})
