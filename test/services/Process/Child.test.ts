import { assert, layer } from "@effect/vitest"
import { Effect, Fiber, FileSystem, Option, Stream } from "effect"
import { type ChildOptions, runChild, spawnChild } from "../../../src/services/Process/Child.ts"
import { childEnvironment } from "../../../src/services/Process/Environment.ts"
import { processStartTime, sessionProcesses } from "../../../src/services/Process/Session.ts"
import { machine } from "../../support/machine.ts"

const sh = (script: string, more?: Partial<ChildOptions>): ChildOptions => ({
  command: "/bin/sh",
  args: ["-c", script],
  env: { PATH: "/usr/bin:/bin" },
  grace: "5 seconds",
  ...more,
})

/** Reads the first line the child prints: from then on it is known to have set itself up. */
const firstLine = (child: { readonly stdout: Stream.Stream<Uint8Array, unknown> }) =>
  child.stdout.pipe(Stream.decodeText(), Stream.splitLines, Stream.runHead, Effect.map(Option.getOrThrow))

layer(machine, { excludeTestServices: true })("a child process", (it) => {
  it.effect("gets its input, and its outputs and exit code come back", () =>
    Effect.gen(function* () {
      const result = yield* runChild({ ...sh("cat; echo oops >&2; exit 3"), input: "hello" })
      assert.deepStrictEqual(result, { exitCode: Option.some(3), stdout: "hello", stderr: "oops\n" })
    }),
  )

  it.effect("that floods both pipes does not block, and what is kept of them is bounded", () =>
    Effect.gen(function* () {
      const script = "head -c 3000000 /dev/zero | tr '\\0' x >&2; head -c 3000000 /dev/zero | tr '\\0' y"
      const result = yield* runChild(sh(script))
      assert.deepStrictEqual(result.exitCode, Option.some(0))
      assert.strictEqual(result.stdout.length, 1024 * 1024)
      assert.strictEqual(result.stderr.length, 1024 * 1024)
    }),
  )

  it.effect("that leaves its input unread has its exit code all the same", () =>
    Effect.gen(function* () {
      const result = yield* runChild({ ...sh("exit 4"), input: "x".repeat(1_000_000) })
      assert.deepStrictEqual(result.exitCode, Option.some(4))
    }),
  )

  it.effect("sees only the environment that was written out for it", () =>
    Effect.gen(function* () {
      const result = yield* runChild({ ...sh("env"), env: childEnvironment(process.env, { MINE: "1" }) })
      const names = result.stdout.split("\n").map((line) => line.split("=")[0])
      assert.include(names, "MINE")
      assert.include(names, "PATH")
      assert.notInclude(names, "VITEST")
    }),
  )

  it.effect("that cannot be started is an error without its arguments", () =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(
        runChild({ command: "/nowhere/helm", args: ["secret-argument"], env: {}, grace: "1 second" }),
      )
      assert.strictEqual(error._tag, "ChildError")
      assert.strictEqual(error.message, "/nowhere/helm could not be run: NotFound")
    }),
  )

  it.effect("ended by a signal has no exit code", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual((yield* runChild(sh("kill -9 $$"))).exitCode, Option.none())
    }),
  )

  it.effect("is asked once when interrupted, and waited for", () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const dir = yield* fs.makeTempDirectoryScoped()
      const log = `${dir}/log`
      const script = `trap 'echo asked >> ${log}; sleep 0.2; echo ended >> ${log}; exit 0' TERM
        echo ready > ${dir}/ready; while :; do sleep 0.05; done`
      const fiber = yield* Effect.forkChild(runChild(sh(script)))
      yield* fs.exists(`${dir}/ready`).pipe(Effect.repeat({ until: (there) => there }))
      yield* Fiber.interrupt(fiber)
      assert.strictEqual(yield* fs.readFileString(log), "asked\nended\n")
    }),
  )

  it.effect("that ignores the request is killed after the grace, with its orphaned grandchildren", () =>
    Effect.gen(function* () {
      // The grandchild is in a process group of its own, where a signal to the child's group misses it.
      const script = "trap '' TERM; set -m; (trap '' TERM; while :; do sleep 0.05; done) & echo ready; wait"
      const pid = yield* Effect.scoped(
        Effect.gen(function* () {
          const child = yield* spawnChild(sh(script, { grace: "50 millis" }))
          yield* firstLine(child)
          assert.isAtLeast((yield* sessionProcesses(child.pid)).length, 2)
          return child.pid
        }),
      )
      assert.deepStrictEqual(yield* sessionProcesses(pid), [])
    }),
  )

  it.effect("may be asked in its own way", () =>
    Effect.gen(function* () {
      const ended = yield* Effect.scoped(
        Effect.gen(function* () {
          const child = yield* spawnChild({
            ...sh("trap '' TERM; echo ready; read line; exit 7", {
              ask: (it) => Effect.ignore(Stream.run(Stream.encodeText(Stream.make("end\n")), it.stdin)),
            }),
            stdin: "pipe",
          })
          yield* firstLine(child)
          return child
        }),
      )
      assert.strictEqual(yield* ended.exitCode, 7)
    }),
  )

  it.effect("a start time names a living process, and nothing else", () =>
    Effect.gen(function* () {
      assert.match((yield* processStartTime(process.pid)) ?? "", /^\d+$/)
      assert.isUndefined(yield* processStartTime(2 ** 30))
    }),
  )
})
