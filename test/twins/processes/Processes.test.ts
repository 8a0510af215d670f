// What becomes of processes when their parent or their container dies.
import { assert, it } from "@effect/vitest"
import { Deferred, Effect, Stream } from "effect"
import { ChildProcess } from "effect/process"
import { type FilesTwin, makeFiles } from "../files/Files.ts"
import { runSimulation, Simulation, simulate, until } from "../simulation/Simulation.ts"
import { makeContainer } from "./Container.ts"
import type { Program } from "./Program.ts"
import { spawnerOf } from "./Spawner.ts"

const provider: Program = ({ files }) =>
  Effect.gen(function* () {
    for (let beat = 1; ; beat++) {
      files.writeText("/work/beat", String(beat))
      yield* Effect.sleep("1 second")
    }
  })

/** Starts a provider, and works until its input ends. */
const runner: Program = ({ files, fork, readStdin, stdout }) =>
  Effect.gen(function* () {
    fork("provider", provider)
    stdout("started\n")
    yield* readStdin
    files.writeText("/work/runner", "input has ended")
    yield* Effect.sleep("1 second")
    stdout("nobody hears this\n")
    return 0
  }).pipe(Effect.onInterrupt(() => Effect.sync(() => files.writeText("/work/runner", "interrupted"))))

const makeOperator = Effect.fnUntraced(function* (files: FilesTwin) {
  const { lifetime } = yield* Simulation
  const container = yield* makeContainer({ name: "operator", files })
  container.install("/usr/bin/runner", runner)
  const life = lifetime()
  const spawned = yield* Deferred.make<number>()
  const operator = Effect.scoped(
    Effect.gen(function* () {
      const child = yield* spawnerOf(container, life).spawn(
        ChildProcess.make("/usr/bin/runner", [], { stdin: "pipe" }),
      )
      yield* Stream.runHead(child.stdout)
      yield* Deferred.succeed(spawned, child.pid)
      return yield* Effect.never
    }),
  )
  yield* Effect.forkChild(life.run(operator))
  return { container, life, pid: yield* Deferred.await(spawned) }
})

const makeMachine = Effect.gen(function* () {
  const files = yield* makeFiles
  files.mount("/work", files.makeVolume({ uid: 1000 }))
  return files
})

it("a container that is killed takes everything along, in the middle of what it does", () =>
  simulate(
    Effect.gen(function* () {
      const files = yield* makeMachine
      const { container, life } = yield* makeOperator(files)
      yield* Effect.sleep("5 seconds")
      container.kill()
      life.end()
      const beat = files.files.readText("/work/beat")
      yield* Effect.sleep("1 minute")
      assert.deepStrictEqual(container.processes, [])
      assert.strictEqual(files.files.readText("/work/beat"), beat)
      assert.isFalse(files.files.exists("/work/runner"))
    }),
    { seed: 1 },
  ))

it("a container that is started again gives out the same pids, at another time", () =>
  simulate(
    Effect.gen(function* () {
      const files = yield* makeMachine
      const first = yield* makeOperator(files)
      const before = yield* first.container.processesService().stat(first.pid)
      first.container.kill()
      first.life.end()
      yield* Effect.sleep("10 seconds")
      const second = yield* makeOperator(files)
      const after = yield* second.container.processesService().stat(second.pid)
      assert.strictEqual(first.pid, second.pid)
      assert.notStrictEqual(before?.startTime, after?.startTime)
    }),
    { seed: 1 },
  ))

it("children outlive a parent that dies alone: their input ends, and nobody hears them", () =>
  simulate(
    Effect.gen(function* () {
      const files = yield* makeMachine
      const { container, life, pid } = yield* makeOperator(files)
      life.end()
      yield* until(
        () => files.files.exists("/work/runner"),
        "1 minute",
        "the runner sees the end of its input",
      )
      assert.strictEqual(files.files.readText("/work/runner"), "input has ended")
      yield* until(() => container.processes.length === 1, "1 minute", "the runner ends at its broken pipe")
      const [orphan] = container.processes
      assert.strictEqual(orphan?.facts.session, pid)
      container.signal(orphan?.facts.pid ?? 0, "SIGKILL")
      assert.deepStrictEqual(container.processes, [])
    }),
    { seed: 1 },
  ))

it("the same seed is the same trace", () => {
  const run = (seed: number) =>
    runSimulation(
      Effect.gen(function* () {
        const files = yield* makeMachine
        const { container, life } = yield* makeOperator(files)
        yield* Effect.sleep("3 seconds")
        life.end()
        yield* Effect.sleep("3 seconds")
        container.kill()
      }),
      { seed },
    ).trace.text()
  assert.strictEqual(run(7), run(7))
  assert.include(run(7), "process operator/18 started: /usr/bin/runner")
  assert.include(run(7), "container killed: operator")
})
