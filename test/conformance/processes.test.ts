// The process twin is held to real processes: the same steps with shell scripts, and with programs that do the same in the
// simulation.
import { NodeServices } from "@effect/platform-node"
import { assert, it } from "@effect/vitest"
import { Context, Deferred, Effect, Fiber, Layer, Schedule, type Scope, Stream } from "effect"
import { ChildProcess, ChildProcessSpawner } from "effect/process"
import { Processes } from "../../src/services/Process/Processes.ts"
import { ProcessesLive } from "../../src/services/Process/ProcessesLive.ts"
import { killSession, sessionProcesses } from "../../src/services/Process/Session.ts"
import { makeFiles } from "../twins/files/Files.ts"
import { makeContainer } from "../twins/processes/Container.ts"
import { spawnerOf } from "../twins/processes/Spawner.ts"
import { Simulation, simulate } from "../twins/simulation/Simulation.ts"
import { observed } from "./fileMachines.ts"
import { type Script, scripts, shell } from "./processScripts.ts"
import { observe, type Scenario, type Step } from "./Scenario.ts"

interface ProcessMachine {
  readonly spawner: ChildProcessSpawner.ChildProcessSpawner["Service"]
  readonly processes: Processes["Service"]
}

const command = (script: Script, options: ChildProcess.CommandOptions = {}) =>
  ChildProcess.make("/bin/sh", ["-c", scripts[script].shell], {
    env: { PATH: "/usr/bin:/bin", MINE: "1" },
    stdin: "ignore",
    forceKillAfter: 0,
    ...options,
  })

/** A child whose output is read as it comes. */
const start = Effect.fnUntraced(function* (
  machine: ProcessMachine,
  script: Script,
  options?: ChildProcess.CommandOptions,
) {
  const child = yield* machine.spawner.spawn(command(script, options))
  const lines: Array<string> = []
  const ready = yield* Deferred.make<void>()
  const reader = yield* child.stdout.pipe(
    Stream.decodeText(),
    Stream.splitLines,
    Stream.runForEach((line) =>
      Effect.suspend(() => {
        lines.push(line)
        return Deferred.succeed(ready, undefined)
      }),
    ),
    Effect.forkScoped,
  )
  return { child, lines, ready: Deferred.await(ready), ended: Fiber.join(reader) }
})

const text = (stream: Stream.Stream<Uint8Array, unknown>) => Stream.mkString(Stream.decodeText(stream))

const members = (machine: ProcessMachine, session: number) =>
  Effect.map(
    sessionProcesses(session).pipe(Effect.provideService(Processes, machine.processes)),
    (pids) => pids.length,
  )

/** Looks until it is so: a real process needs a moment to end. */
const settles = <E>(look: Effect.Effect<boolean, E>) =>
  Effect.repeat(look, { until: (there) => there, schedule: Schedule.spaced("5 millis") })

const membersAre = (machine: ProcessMachine, session: number, count: number) =>
  Effect.as(settles(Effect.map(members(machine, session), (found) => found === count)), count)

const step = (
  name: string,
  run: (machine: ProcessMachine) => Effect.Effect<unknown, unknown, Scope.Scope>,
): Step<ProcessMachine> => ({ name, run: (machine) => observed(Effect.scoped(run(machine))) })

const scenario: Scenario<ProcessMachine> = {
  name: "processes",
  steps: [
    step("input, both outputs and exit code", ({ spawner }) =>
      Effect.gen(function* () {
        const child = yield* spawner.spawn(
          command("echo", { stdin: Stream.encodeText(Stream.make("a", "b\n")) }),
        )
        return yield* Effect.all([text(child.stdout), text(child.stderr), child.exitCode], {
          concurrency: "unbounded",
        })
      }),
    ),
    step("input through the handle, until it is closed", ({ spawner }) =>
      Effect.gen(function* () {
        const child = yield* spawner.spawn(command("echo", { stdin: "pipe" }))
        yield* Stream.run(Stream.encodeText(Stream.make("one\n", "two\n")), child.stdin)
        return yield* Effect.all([text(child.stdout), child.exitCode], { concurrency: "unbounded" })
      }),
    ),
    step("no input is an empty one", ({ spawner }) =>
      Effect.gen(function* () {
        const child = yield* spawner.spawn(command("echo"))
        return yield* Effect.all([text(child.stdout), child.exitCode], { concurrency: "unbounded" })
      }),
    ),
    step("input that nobody reads", ({ spawner }) =>
      Effect.gen(function* () {
        const child = yield* spawner.spawn(
          command("unread", { stdin: Stream.encodeText(Stream.make("x".repeat(500_000))) }),
        )
        return yield* child.exitCode
      }),
    ),
    step("environment and folder", ({ spawner }) =>
      Effect.gen(function* () {
        const child = yield* spawner.spawn(command("environment", { cwd: "/usr" }))
        return yield* text(child.stdout)
      }),
    ),
    step("a folder that is not there", ({ spawner }) => spawner.spawn(command("echo", { cwd: "/nowhere" }))),
    step("a program that is not there", ({ spawner }) =>
      spawner.spawn(ChildProcess.make("/nowhere/helm", ["x"])),
    ),
    step("a name that is nowhere on the path", ({ spawner }) =>
      spawner.spawn(ChildProcess.make("no-such-program", [], { env: { PATH: "/usr/bin" } })),
    ),
    step("a file that is no program", ({ spawner }) => spawner.spawn(ChildProcess.make("/etc/passwd", []))),
    step("leads a session, and is gone when it has ended", (machine) =>
      Effect.gen(function* () {
        const { child } = yield* start(machine, "unread")
        yield* child.exitCode
        // One that does not run another program in its place: there is none to be seen in between.
        const { child: living, ready } = yield* start(machine, "ignores")
        yield* ready
        const stat = yield* machine.processes.stat(living.pid)
        return {
          leads: stat?.session === living.pid,
          started: /^[0-9]+$/.test(stat?.startTime ?? ""),
          gone: yield* machine.processes.stat(child.pid),
          environment: (yield* machine.processes.environment(living.pid)).includes("MINE=1"),
          ofNone: yield* machine.processes.environment(2 ** 30),
          isRunning: [yield* child.isRunning, yield* living.isRunning],
        }
      }),
    ),
    step("not detached it stays in the session of its parent", (machine) =>
      Effect.gen(function* () {
        const { child, ready } = yield* start(machine, "waits", { detached: false })
        yield* ready
        const stat = yield* machine.processes.stat(child.pid)
        yield* machine.processes.signal(child.pid, "SIGKILL")
        return { leads: stat?.session === child.pid, end: yield* observed(child.exitCode) }
      }),
    ),
    step("SIGTERM ends what does not handle it", (machine) =>
      Effect.gen(function* () {
        const { child, ready } = yield* start(machine, "waits")
        yield* ready
        yield* machine.processes.signal(child.pid, "SIGTERM")
        return yield* observed(Effect.asVoid(child.exitCode))
      }),
    ),
    step("SIGTERM is told to what handles it", (machine) =>
      Effect.gen(function* () {
        const { child, ended, lines, ready } = yield* start(machine, "handles")
        yield* ready
        yield* machine.processes.signal(child.pid, "SIGTERM")
        const code = yield* child.exitCode
        yield* ended
        return { code, lines }
      }),
    ),
    step("SIGKILL ends what ignores SIGTERM", (machine) =>
      Effect.gen(function* () {
        const { child, ready } = yield* start(machine, "ignores")
        yield* ready
        yield* machine.processes.signal(child.pid, "SIGTERM")
        const isRunning = yield* child.isRunning
        yield* machine.processes.signal(child.pid, "SIGKILL")
        return { isRunning, end: yield* observed(Effect.asVoid(child.exitCode)) }
      }),
    ),
    step("a signal to nobody is nothing", ({ processes }) => processes.signal(2 ** 22 + 1, "SIGTERM")),
    step("an orphan lives on in the session until that is killed", (machine) =>
      Effect.gen(function* () {
        const { child, ready } = yield* start(machine, "orphans")
        yield* ready
        const both = yield* membersAre(machine, child.pid, 2)
        yield* machine.processes.signal(child.pid, "SIGKILL")
        yield* Effect.ignore(child.exitCode)
        const orphan = yield* members(machine, child.pid)
        yield* killSession(child.pid).pipe(Effect.provideService(Processes, machine.processes))
        return { both, orphan, none: yield* members(machine, child.pid) }
      }),
    ),
    step("what holds an output open keeps it open after the end", (machine) =>
      Effect.gen(function* () {
        const { child, ended, lines, ready } = yield* start(machine, "leaves")
        yield* ready
        const code = yield* child.exitCode
        const left = yield* membersAre(machine, child.pid, 1)
        yield* killSession(child.pid).pipe(Effect.provideService(Processes, machine.processes))
        yield* ended
        return { code, left, lines }
      }),
    ),
    step("a leader that fails takes its group along", (machine) =>
      Effect.gen(function* () {
        const { child } = yield* start(machine, "fails")
        const code = yield* child.exitCode
        return { code, none: yield* membersAre(machine, child.pid, 0) }
      }),
    ),
    step("the end of a scope kills the group", (machine) =>
      Effect.gen(function* () {
        const pid = yield* Effect.scoped(
          Effect.gen(function* () {
            const { child, ready } = yield* start(machine, "ignores")
            yield* ready
            return child.pid
          }),
        )
        return yield* membersAre(machine, pid, 0)
      }),
    ),
    step("start times follow each other, and the boot is before them", (machine) =>
      Effect.gen(function* () {
        const first = yield* start(machine, "waits")
        const second = yield* start(machine, "waits")
        const one = yield* machine.processes.stat(first.child.pid)
        const other = yield* machine.processes.stat(second.child.pid)
        const boot = yield* machine.processes.bootTimeMillis
        const before = Number(one?.startTime) <= Number(other?.startTime)
        return {
          before,
          wholeSeconds: boot % 1000 === 0,
          later: other !== undefined && first.child.pid !== second.child.pid,
        }
      }),
    ),
  ],
}

const twin = Effect.gen(function* () {
  const { lifetime } = yield* Simulation
  const files = yield* makeFiles
  files.files.mkdirs("/usr")
  files.files.mkdirs("/etc")
  files.files.writeText("/etc/passwd", "root:x:0:0")
  const container = yield* makeContainer({ name: "machine", files })
  container.install("/bin/sh", shell)
  return {
    spawner: spawnerOf(container, lifetime()),
    processes: container.processesService(),
  } satisfies ProcessMachine
})

it.live("the process twin does what processes do", () =>
  Effect.gen(function* () {
    const live = yield* Layer.build(Layer.merge(NodeServices.layer, ProcessesLive.layer))
    const expected = yield* observe(scenario, {
      spawner: Context.get(live, ChildProcessSpawner.ChildProcessSpawner),
      processes: Context.get(live, Processes),
    })
    const found = simulate(
      Effect.flatMap(twin, (machine) => observe(scenario, machine)),
      { seed: 1 },
    )
    assert.deepStrictEqual(found, expected)
  }).pipe(Effect.scoped),
)
