import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import * as Kinds from "../../../src/services/Kubernetes/Kinds.ts"
import {
  brief,
  type Call,
  chance,
  failure,
  gaps,
  settle,
  start,
  summaries,
  summary,
  watching,
} from "./FakeTransport.ts"
import { bookmark, configMap, line } from "./Objects.ts"

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

  it.effect("does not end a life that it never told of", () =>
    Effect.gen(function* () {
      const { first, events } = yield* watching()
      yield* first.send(
        line("DELETED", configMap("a", "2", { uid: "earlier" })),
        line("DELETED", configMap("never seen", "3")),
      )
      yield* settle
      assert.deepStrictEqual(events.map(brief), ["= a"])
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

describe("F40 a watch that falls silent", () => {
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
      yield* settle
      const asked = machine.calls.flatMap((call) =>
        call._tag === "Watch" ? [call.request.timeoutSeconds] : [],
      )
      assert.lengthOf(asked, 1)
      yield* TestClock.adjust(Duration.seconds((asked[0] ?? 0) + 17))
      yield* machine.connection
      assert.deepStrictEqual(summaries(machine.calls), ["list Any", "watch zeta", "watch zeta"])
    }),
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
