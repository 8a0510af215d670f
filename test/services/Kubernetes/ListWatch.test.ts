import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect, Fiber } from "effect"
import { TestClock, TestConsole } from "effect/testing"
import * as Kinds from "../../../src/services/Kubernetes/Kinds.ts"
import { brief, type Call, chance, failure, start } from "./FakeTransport.ts"
import { bookmark, configMap, line, status } from "./Objects.ts"

/** Lets every fiber run until it waits. */
const settle = TestClock.adjust(0)

const summary = (call: Call): string => {
  if (call._tag === "Watch") return `watch ${call.request.version}`
  const { from, next, paged } = call.page
  const version = from._tag === "NotOlderThan" ? ` ${from.version}` : ""
  return `list ${from._tag}${version}${next === undefined ? "" : ` next=${next}`}${paged ? "" : " whole"}`
}
const summaries = (calls: ReadonlyArray<Call>) => calls.map(summary)

/** The waits before each further request, in milliseconds. */
const gaps = (calls: ReadonlyArray<Call>) =>
  calls.slice(1).map((call, index) => call.at - (calls[index]?.at ?? 0))

const watching = (version = "zeta", objects = [configMap("a", "eta")]) =>
  Effect.gen(function* () {
    const machine = yield* start()
    yield* machine.page(version, objects)
    const first = yield* machine.connection
    yield* settle
    return { ...machine, first }
  })

describe("list, then watch", () => {
  it.effect("lists any state first, in pages, and watches on from the version it shows", () =>
    Effect.gen(function* () {
      const machine = yield* start()
      yield* machine.page("zeta", [configMap("a", "1")], "more")
      yield* machine.page("zeta", [configMap("b", "2")])
      const connection = yield* machine.connection
      yield* settle
      assert.deepStrictEqual(summaries(machine.calls), ["list Any", "list Any next=more", "watch zeta"])
      assert.deepStrictEqual(machine.events.map(brief), ["= a b"])
      assert.isAtLeast(connection.request.timeoutSeconds, 300)
      assert.isAtMost(connection.request.timeoutSeconds, 600)
    }),
  )

  it.effect("lists again in one piece when the token of a page has expired", () =>
    Effect.gen(function* () {
      const machine = yield* start()
      yield* machine.page("zeta", [configMap("gone", "1")], "more")
      yield* machine.refuseList(failure(410, "Expired"))
      yield* machine.page("eta", [configMap("a", "1")])
      yield* machine.connection
      yield* settle
      assert.deepStrictEqual(summaries(machine.calls), [
        "list Any",
        "list Any next=more",
        "list Any whole",
        "watch eta",
      ])
      assert.deepStrictEqual(machine.events.map(brief), ["= a"])
    }),
  )

  it.effect("tells changes in the order in which they come", () =>
    Effect.gen(function* () {
      const { first, events } = yield* watching()
      yield* first.send(
        line("ADDED", configMap("b", "2")) + line("MODIFIED", configMap("a", "3")),
        line("DELETED", configMap("b", "4")),
      )
      yield* settle
      assert.deepStrictEqual(events.map(brief), ["= a", "+ b uid-b", "+ a uid-a", "- b uid-b"])
    }),
  )

  it.effect("tells a second life under the same name as an end and a beginning", () =>
    Effect.gen(function* () {
      const { first, events } = yield* watching()
      yield* first.send(line("MODIFIED", configMap("a", "2", { uid: "another" })))
      yield* settle
      assert.deepStrictEqual(events.map(brief), ["= a", "- a uid-a", "+ a another"])
    }),
  )

  it.effect("asks for the metadata of Secrets only, whatever the caller says", () =>
    Effect.gen(function* () {
      const machine = yield* start({ namespace: "ns", metadataOnly: false }, Kinds.Secret)
      yield* machine.page("zeta")
      yield* machine.connection
      assert.deepStrictEqual(
        machine.calls.map((call) => call.options.metadataOnly),
        [true, true],
      )
    }),
  )
})

describe("a watch that ends as agreed", () => {
  it.effect("goes on at the same version within a second, without a list", () =>
    Effect.gen(function* () {
      const { first, calls, connection } = yield* watching()
      yield* first.send(line("MODIFIED", configMap("a", "theta")))
      yield* TestClock.adjust("5 minutes")
      yield* first.end
      yield* TestClock.adjust("1 second")
      yield* connection
      assert.deepStrictEqual(summaries(calls), ["list Any", "watch zeta", "watch theta"])
      assert.isTrue(first.closed())
    }),
  )

  it.effect("moves on by bookmarks, which reach no consumer", () =>
    Effect.gen(function* () {
      const { first, calls, events, connection } = yield* watching()
      yield* first.send(bookmark("iota"))
      yield* first.end
      yield* TestClock.adjust("1 second")
      yield* connection
      assert.deepStrictEqual(summaries(calls).at(-1), "watch iota")
      assert.deepStrictEqual(events.map(brief), ["= a"])
    }),
  )

  it.effect(
    "without ever a bookmark is looked after by a list: its version may be one that the server never had",
    () =>
      Effect.gen(function* () {
        const { first, calls, connection, page, refuseList } = yield* watching()
        yield* TestClock.adjust("5 minutes")
        yield* first.end
        yield* refuseList(failure(504, "Too large resource version: 7, current: 5"))
        yield* page("restored")
        yield* connection
        assert.deepStrictEqual(summaries(calls).slice(2), [
          "list NotOlderThan zeta",
          "list Newest",
          "watch restored",
        ])
      }),
  )

  it.effect("backs off when it ends at once without an event", () =>
    Effect.gen(function* () {
      const { first, calls, connection } = yield* watching()
      yield* first.end
      yield* connection.pipe(
        Effect.flatMap((next) => next.end),
        Effect.forever,
        Effect.forkChild,
      )
      yield* TestClock.adjust("13 seconds")
      const watches = calls.filter((call) => call._tag === "Watch")
      assert.deepStrictEqual(gaps(watches).map(Math.round), [800, 1600, 3200, 6400])
    }).pipe(chance()),
  )

  it.effect("lists again after ten hours, give or take one", () =>
    Effect.gen(function* () {
      const { first, calls, connection, page } = yield* watching()
      let current = first
      yield* page("omega", [configMap("b", "omega")])
      while (calls.filter((call) => call._tag === "List").length < 2) {
        yield* TestClock.adjust("4 minutes")
        yield* current.send(bookmark("kappa"))
        yield* current.end
        yield* TestClock.adjust("1 second")
        current = yield* connection
      }
      const relist = calls.findLast((call) => call._tag === "List")
      assert.strictEqual(relist && summary(relist), "list NotOlderThan kappa")
      assert.isAtLeast(relist?.at ?? 0, Duration.toMillis("9 hours"))
      assert.isAtMost(relist?.at ?? 0, Duration.toMillis("11 hours") + Duration.toMillis("10 minutes"))
    }),
  )
})

describe("a watch that falls silent", () => {
  it.effect("is given up 15 s after its own time, and goes on at the same version", () =>
    Effect.gen(function* () {
      const { first, calls, connection } = yield* watching()
      const limit = first.request.timeoutSeconds + 15
      yield* TestClock.adjust(Duration.seconds(limit - 1))
      assert.isFalse(first.closed())
      yield* TestClock.adjust("2 seconds")
      assert.isTrue(first.closed())
      yield* connection
      assert.deepStrictEqual(summaries(calls), ["list Any", "watch zeta", "watch zeta"])
    }),
  )

  it.effect("is not silent while bookmarks come", () =>
    Effect.gen(function* () {
      const { first } = yield* watching()
      for (let minute = 0; minute < 60; minute++) {
        yield* TestClock.adjust("1 minute")
        yield* first.send(bookmark("zeta"))
      }
      yield* settle
      assert.isFalse(first.closed())
    }),
  )

  it.effect("is given up as well when it never opens", () =>
    Effect.gen(function* () {
      const machine = yield* start()
      yield* machine.refuseWatch(Effect.never)
      yield* machine.page("zeta")
      yield* TestClock.adjust("11 minutes")
      yield* machine.connection
      assert.deepStrictEqual(summaries(machine.calls), ["list Any", "watch zeta", "watch zeta"])
    }),
  )
})

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

describe("interruption", () => {
  const quiet = Effect.fnUntraced(function* (machine: {
    readonly fiber: Fiber.Fiber<unknown, unknown>
    readonly calls: ReadonlyArray<Call>
    readonly statuses: Effect.Effect<ReadonlyArray<unknown>>
  }) {
    yield* settle
    const before = machine.calls.length
    yield* Fiber.interrupt(machine.fiber)
    yield* TestClock.adjust("10 minutes")
    assert.strictEqual(machine.calls.length, before)
    assert.deepStrictEqual(yield* machine.statuses, [])
  })

  it.effect("while listing", () => Effect.flatMap(start(), quiet))

  it.effect("while watching closes the connection", () =>
    Effect.gen(function* () {
      const machine = yield* watching()
      yield* quiet(machine)
      assert.isTrue(machine.first.closed())
    }),
  )

  it.effect("while waiting to reconnect", () =>
    Effect.gen(function* () {
      const machine = yield* watching()
      yield* machine.first.end
      yield* quiet(machine)
    }).pipe(chance()),
  )

  it.effect("while backing off from a failed list", () =>
    Effect.gen(function* () {
      const machine = yield* start()
      yield* machine.refuseList(failure(500, "InternalError"))
      yield* quiet(machine)
    }).pipe(chance()),
  )

  it.effect("while a watch is being opened", () =>
    Effect.gen(function* () {
      const machine = yield* start()
      yield* machine.refuseWatch(Effect.never)
      yield* machine.page("zeta")
      yield* quiet(machine)
    }),
  )
})

describe("health", () => {
  it.effect("tells the state, and when a list and an event last came", () =>
    Effect.gen(function* () {
      const machine = yield* start()
      const health = Effect.andThen(settle, machine.statuses)
      const name = "configmaps"
      const never = { lastEventAt: undefined, lastListAt: undefined }
      assert.deepStrictEqual(yield* health, [{ name, state: "Listing", ...never }])
      yield* TestClock.adjust("2 seconds")
      yield* machine.page("zeta")
      assert.deepStrictEqual(yield* health, [{ name, state: "Watching", ...never, lastListAt: 2000 }])
      const connection = yield* machine.connection
      yield* TestClock.adjust("3 seconds")
      yield* connection.send(bookmark("eta"))
      assert.deepStrictEqual(yield* health, [
        { name, state: "Watching", lastEventAt: 5000, lastListAt: 2000 },
      ])
      yield* connection.fail(failure(0, "Transport"))
      assert.strictEqual((yield* health)[0]?.state, "BackingOff")
    }),
  )

  for (const [code, state] of [
    [401, "Forbidden"],
    [403, "Forbidden"],
    [404, "NotServed"],
    [500, "BackingOff"],
  ] as const) {
    it.effect(`is ${state} after a ${code}, and Watching when the server has changed its mind`, () =>
      Effect.gen(function* () {
        const machine = yield* start()
        yield* machine.refuseList(failure(code, "any"))
        yield* settle
        assert.strictEqual((yield* machine.statuses)[0]?.state, state)
        yield* machine.page("zeta")
        yield* TestClock.adjust("1 second")
        yield* settle
        assert.strictEqual((yield* machine.statuses)[0]?.state, "Watching")
      }),
    )
  }
})
