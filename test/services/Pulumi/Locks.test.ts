// Who may be alive, judged with real processes (field reports F04, F11): nothing is taken from a holder that may
// be, and what a dead one left is removed, that alone.
import { assert, layer } from "@effect/vitest"
import { Effect, FileSystem, Layer } from "effect"
import { spawnChild } from "../../../src/services/Process/Child.ts"
import { processStartTime, sessionProcesses } from "../../../src/services/Process/Session.ts"
import type { Identity } from "../../../src/services/Pulumi/Evidence.ts"
import { settle } from "../../../src/services/Pulumi/Locks.ts"
import { type OperationMarker, StateStore } from "../../../src/services/StateStore/StateStore.ts"
import { StateStoreLive } from "../../../src/services/StateStore/StateStoreLive.ts"
import { machine } from "../../support/machine.ts"
import { temporary } from "./harness.ts"

const key = { namespace: "team-a", name: "one" }
const us: Identity = { podUID: "uid-2", podName: "operator", incarnation: "second", hostname: "operator" }

const scene = Effect.gen(function* () {
  const fs = yield* FileSystem.FileSystem
  const root = yield* temporary
  const context = yield* Layer.build(Layer.orDie(StateStoreLive.layer({ stateDir: root })))
  const store = yield* StateStore.pipe(Effect.provideContext(context))
  const { backend } = yield* store.prepare(key)
  const locks = `${backend}/.pulumi/locks/organization/platform-instance/instance`
  yield* fs.makeDirectory(locks, { recursive: true })
  return {
    store,
    lock: (
      name: string,
      own: { readonly pid?: number; readonly hostname?: string; readonly timestamp?: string },
    ) =>
      fs
        .writeFileString(
          `${locks}/${name}.json`,
          JSON.stringify({
            pid: 1,
            username: "u",
            hostname: "elsewhere",
            timestamp: "2026-01-01T00:00:00Z",
            ...own,
          }),
        )
        .pipe(Effect.andThen(fs.writeFileString(`${locks}/${name}.json.attrs`, "{}"))),
    /** As a power cut leaves one: its name, and nothing or a part of it. */
    torn: (name: string, content: string) =>
      fs
        .writeFileString(`${locks}/${name}.json`, content)
        .pipe(Effect.andThen(fs.writeFileString(`${locks}/${name}.json.attrs`, ""))),
    left: fs.readDirectory(locks),
    /** `alive`: names and UIDs of pods; `startedAt`: when their containers have started, RFC 3339. */
    settle: (alive: ReadonlyArray<string> = [], startedAt = "2025-01-01T00:00:00Z") =>
      settle(key, us, (podName, podUID, since = "") =>
        Effect.succeed(
          (alive.includes(podName) || (podUID !== undefined && alive.includes(podUID))) &&
            !(Date.parse(startedAt) > Date.parse(since)),
        ),
      ).pipe(Effect.provideContext(context)),
    marker: (holder: Partial<OperationMarker["holder"]>) =>
      store.writeOperation(key, {
        format: 1,
        kind: "RepairDue",
        version: "6.0.22",
        generation: 3,
        startedAt: "2026-11-29T10:00:00.000Z",
        holder: { podUID: "uid-1", podName: "operator", incarnation: "first", ...holder },
      }),
  }
})

/** A process of a session of its own, with a child in a process group of its own, as a runner's provider is. */
const runner = Effect.gen(function* () {
  const child = yield* spawnChild({
    command: "/bin/sh",
    args: ["-c", "sleep 600 & exec sleep 600"],
    env: { PATH: "/usr/bin:/bin", PLATFORM_OPERATOR_INCARNATION: "first" },
    grace: "1 second",
  })
  const startTime = (yield* processStartTime(child.pid)) ?? ""
  // The shell has forked once both are there.
  yield* sessionProcesses(child.pid).pipe(Effect.repeat({ until: (pids) => pids.length > 1 }))
  return { pid: child.pid, startTime }
})

layer(machine, { excludeTestServices: true })("F11 what an earlier operation left", (it) => {
  it.effect(
    "nothing: nothing is settled",
    () =>
      Effect.gen(function* () {
        const { settle } = yield* scene
        assert.deepStrictEqual(yield* settle(), { interrupted: false, begun: false, notices: [] })
      }),
    600_000,
  )

  it.effect(
    "a marker of a pod that lives: waited for, by its UID, and named with its time",
    () =>
      Effect.gen(function* () {
        const { settle, marker, lock, left } = yield* scene
        yield* marker({})
        yield* lock("a", {})
        const error = yield* Effect.flip(settle(["uid-1"]))
        assert.include(error.message, "pod operator (RepairDue of 6.0.22, since 2026-11-29T10:00:00.000Z)")
        assert.strictEqual((yield* left).length, 2)
      }),
    600_000,
  )

  it.effect(
    "a marker of a pod that is gone: interrupted, though a pod of the same name lives",
    () =>
      Effect.gen(function* () {
        const { settle, marker } = yield* scene
        yield* marker({})
        const { interrupted, begun } = yield* settle(["operator-of-another-uid"])
        assert.deepStrictEqual({ interrupted, begun }, { interrupted: true, begun: false })
      }),
    600_000,
  )

  it.effect(
    "a marker and a lock of a pod that lives, whose container was started again since: nobody waits for them",
    () =>
      Effect.gen(function* () {
        const { settle, marker, lock, left } = yield* scene
        const again = "2026-11-29T10:00:02Z"
        yield* marker({ podName: "operator-1" })
        yield* lock("a", { hostname: "operator-1", timestamp: "2026-11-29T10:00:01.720664836Z" })
        yield* lock("b", { hostname: "operator-1", timestamp: "2026-11-29T10:00:03.720664836Z" })
        const error = yield* Effect.flip(settle(["uid-1"], again))
        assert.include(error.message, "since 2026-11-29T10:00:03.720664836Z")
        assert.strictEqual((yield* left).length, 4)
        const { interrupted, notices } = yield* settle(["uid-1"], "2026-11-29T10:00:04Z")
        assert.isTrue(interrupted)
        assert.lengthOf(notices, 2)
        assert.deepStrictEqual(yield* left, [])
      }),
    600_000,
  )

  it.effect(
    "a marker of an earlier incarnation in our pod: its processes are ended, by start time",
    () =>
      Effect.gen(function* () {
        const { settle, marker } = yield* scene
        const { pid, startTime } = yield* runner
        yield* marker({ podUID: us.podUID, pid, startTime })
        const { interrupted, begun } = yield* settle()
        assert.deepStrictEqual({ interrupted, begun }, { interrupted: true, begun: true })
        assert.deepStrictEqual(yield* sessionProcesses(pid), [])
      }),
    600_000,
  )

  it.effect(
    "a process of the same pid that started at another time is somebody else: left alone",
    () =>
      Effect.gen(function* () {
        const { settle, marker } = yield* scene
        const { pid } = yield* runner
        yield* marker({ podUID: us.podUID, pid, startTime: "1" })
        assert.isTrue((yield* settle()).interrupted)
        assert.strictEqual((yield* sessionProcesses(pid)).length, 2)
      }),
    600_000,
  )

  it.effect(
    "an orphan of a dead runner is ended when it carries the incarnation, and only then",
    () =>
      Effect.gen(function* () {
        const { settle, marker } = yield* scene
        const { pid, startTime } = yield* runner
        process.kill(pid, "SIGKILL")
        yield* processStartTime(pid).pipe(Effect.repeat({ until: (found) => found === undefined }))
        yield* marker({ podUID: us.podUID, pid, startTime, incarnation: "another" })
        yield* settle()
        assert.strictEqual((yield* sessionProcesses(pid)).length, 1)
        yield* marker({ podUID: us.podUID, pid, startTime })
        yield* settle()
        assert.deepStrictEqual(yield* sessionProcesses(pid), [])
      }),
    600_000,
  )

  it.effect(
    "the lock of a pod that is gone is removed, once, naming it; the lock of one that lives stays",
    () =>
      Effect.gen(function* () {
        const { settle, lock, left } = yield* scene
        yield* lock("a", { hostname: "operator-old", pid: 77 })
        const settled = yield* settle()
        assert.deepStrictEqual(settled.notices, [
          "Removed the lock of a holder that has ended: pid 77 on operator-old, written 2026-01-01T00:00:00Z.",
        ])
        assert.deepStrictEqual(yield* left, [])
        assert.deepStrictEqual((yield* settle()).notices, [])

        yield* lock("b", { hostname: "operator-old" })
        yield* lock("c", { hostname: "operator-live" })
        const error = yield* Effect.flip(settle(["operator-live"]))
        assert.include(error.message, "u@operator-live (pid 1, since 2026-01-01T00:00:00Z)")
        assert.strictEqual((yield* left).length, 4)
      }),
    600_000,
  )

  it.effect(
    "a lock that nobody can read has no living writer: removed, named by the marker if there is one",
    () =>
      Effect.gen(function* () {
        const { settle, torn, marker, left } = yield* scene
        yield* torn("a", "")
        const alone = yield* settle()
        assert.isTrue(alone.interrupted)
        assert.match(
          alone.notices.join(),
          /^Removed the lock of a holder that has ended: its content was lost, written \d{4}-/,
        )
        assert.deepStrictEqual(yield* left, [])

        yield* torn("b", '{"pid": 77, "userna')
        yield* marker({})
        const marked = yield* settle()
        assert.include(
          marked.notices.join(),
          "pod operator, RepairDue of 6.0.22, since 2026-11-29T10:00:00.000Z",
        )
        assert.deepStrictEqual(yield* left, [])
      }),
    600_000,
  )

  it.effect(
    "a lock that nobody can read stays while the marker's holder may live",
    () =>
      Effect.gen(function* () {
        const { settle, torn, marker, left } = yield* scene
        yield* torn("a", "")
        yield* marker({})
        assert.include((yield* Effect.flip(settle(["uid-1"]))).message, "pod operator")
        assert.strictEqual((yield* left).length, 2)
      }),
    600_000,
  )

  it.effect(
    "a lock of our own host name is alive with a process that is older than it, and dead without",
    () =>
      Effect.gen(function* () {
        const { settle, lock } = yield* scene
        yield* lock("a", { hostname: us.hostname, pid: process.pid, timestamp: "2100-01-01T00:00:00Z" })
        assert.include((yield* Effect.flip(settle())).message, `pid ${process.pid}`)
        yield* lock("a", { hostname: us.hostname, pid: process.pid, timestamp: "2000-01-01T00:00:00Z" })
        assert.strictEqual((yield* settle()).notices.length, 1)
        yield* lock("a", { hostname: us.hostname, pid: 4_194_303, timestamp: "2100-01-01T00:00:00Z" })
        assert.strictEqual((yield* settle()).notices.length, 1)
      }),
    600_000,
  )
})
