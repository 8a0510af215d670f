// The runner's own process: what it refuses, and what it does not listen to.
import { type ChildProcess, spawn } from "node:child_process"
import path from "node:path"
import { createInterface } from "node:readline"
import { assert, it } from "@effect/vitest"
import { Effect, Exit } from "effect"
import {
  decodeEvent,
  type RunnerEvent,
  type RunRequest,
  requestLine,
} from "../../../src/services/Pulumi/Protocol.ts"
import { source } from "./harness.ts"

const start = (detached: boolean) =>
  Effect.acquireRelease(
    Effect.sync(() =>
      spawn(process.execPath, [path.join(source, "runner/main.ts"), "operation"], {
        detached,
        stdio: ["pipe", "pipe", "ignore"],
        env: { PATH: process.env.PATH },
      }),
    ),
    (child) => Effect.sync(() => child.kill("SIGKILL")),
  )

/** Everything it says, until it has ended. */
const heard = (child: ChildProcess) =>
  Effect.callback<{ readonly events: ReadonlyArray<RunnerEvent>; readonly code: number | null }>((resume) => {
    const events: Array<RunnerEvent> = []
    if (child.stdout !== null) {
      createInterface({ input: child.stdout }).on("line", (line) => {
        const event = decodeEvent(line)
        if (Exit.isSuccess(event)) events.push(event.value)
      })
    }
    child.on("close", (code) => resume(Effect.succeed({ events, code })))
  })

const request: RunRequest = {
  type: "run",
  projectDirectory: "/nowhere",
  project: "platform-instance",
  stack: "instance",
  config: {},
  secretConfig: {},
  refresh: false,
}

it.live("a runner that does not lead its session refuses to work: it could not be ended whole", () =>
  Effect.gen(function* () {
    const { events, code } = yield* heard(yield* start(false))
    assert.strictEqual(events[0]?.type, "refused")
    assert.strictEqual(code, 2)
  }).pipe(Effect.scoped),
)

it.live("a second run in one process is refused", () =>
  Effect.gen(function* () {
    const child = yield* start(true)
    child.stdin?.write(requestLine(request) + requestLine(request))
    const { events } = yield* heard(child)
    assert.strictEqual(events.filter(({ type }) => type === "refused").length, 1)
    assert.strictEqual(events.filter(({ type }) => type === "outcome").length, 1)
  }).pipe(Effect.scoped),
)

it.live("the end of stdin before a request is the end of the runner; signals are not", () =>
  Effect.gen(function* () {
    const child = yield* start(true)
    child.stdin?.write("no request\n")
    // It has said something, so that its handlers are in place.
    yield* Effect.callback<void>((resume) => {
      child.stdout?.once("data", () => resume(Effect.void))
    })
    child.kill("SIGINT")
    child.kill("SIGTERM")
    child.stdin?.end()
    const { code } = yield* heard(child)
    assert.strictEqual(code, 0)
  }).pipe(Effect.scoped),
)
