// An operation that takes more memory than its budget, with real processes that really have it: it ends alone. And one that
// Node itself ends, at the bound of its heap.
import { mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { assert, layer } from "@effect/vitest"
import { Duration, Effect, Fiber, Layer, Redacted } from "effect"
import { sessionMemory, sessionProcesses } from "../../../src/services/Process/Session.ts"
import { type OperationRequest, Pulumi } from "../../../src/services/Pulumi/Pulumi.ts"
import { PulumiLive } from "../../../src/services/Pulumi/PulumiLive.ts"
import { StateStoreLive } from "../../../src/services/StateStore/StateStoreLive.ts"
import { machine } from "../../support/machine.ts"
import { optionsIn, targets, temporary } from "./harness.ts"

const mebibyte = 2 ** 20
const budget = 300 * mebibyte

/** One script for all runners: what one does follows from its instance's name. */
const runner = `
const fs = require("node:fs"), { spawn } = require("node:child_process")
const say = (event) => console.log(JSON.stringify(event))
const deeds = {
  // A child of it takes it, as the engine's provider would.
  greedy: () => {
    const take = "const kept = []; setInterval(() => kept.push(Buffer.alloc(2 ** 24, 1)), 20)"
    spawn(process.execPath, ["-e", take], { stdio: "ignore" })
  },
  modest: () => {
    const look = setInterval(() => {
      if (!fs.existsSync(root + "/the-other-has-ended")) return
      clearInterval(look)
      say({ type: "outputs", outputs: { schemaVersion: 2, namespace: "wasmcloud", endpoints: {}, tenants: [] } })
      say({ type: "outcome", outcome: "succeeded", step: "up", message: "", changes: { same: 1 } })
      process.exit(0)
    }, 50)
  },
  heap: () => {
    const kept = []
    for (;;) kept.push(new Array(1e5).fill(kept.length))
  },
}
require("node:readline").createInterface({ input: process.stdin }).on("line", (line) => {
  const request = JSON.parse(line)
  if (request.type !== "run") process.exit(0)
  say({ type: "step", step: "up" })
  // A turn later, so that what was said is on its way.
  setTimeout(deeds[/([^/]+)\\/project$/.exec(request.projectDirectory)[1]], 100)
})
`

const sceneOf = Effect.fnUntraced(function* (operationMemory: number) {
  const root = yield* temporary
  for (const folder of ["state", "memory", "tmp", "plugins/resource-kubernetes-v4.25.0"]) {
    mkdirSync(`${root}/${folder}`, { recursive: true })
  }
  writeFileSync(`${root}/plugins/resource-kubernetes-v4.25.0/pulumi-resource-kubernetes`, "")
  writeFileSync(`${root}/passphrase`, "planted-passphrase\n")
  const modules = `${root}/package/node_modules/@pulumi/kubernetes`
  mkdirSync(modules, { recursive: true })
  writeFileSync(`${modules}/package.json`, '{"version":"4.25.0"}')
  const runnerPath = `${root}/runner.cjs`
  writeFileSync(runnerPath, `const root = ${JSON.stringify(root)}\n${runner}`)
  const context = yield* Layer.build(
    PulumiLive.layer(optionsIn(root, { runnerPath, grace: "100 millis", operationMemory })).pipe(
      Layer.provide([Layer.orDie(StateStoreLive.layer({ stateDir: `${root}/state` })), targets]),
    ),
  )
  const requestOf = (name: string): OperationRequest => ({
    key: { namespace: "team-a", name },
    generation: 1,
    kind: "SpecChanged",
    version: "6.0.22",
    package: { version: "6.0.22", directory: `${root}/package`, digest: "d", approvedHostBuilds: [] },
    refresh: false,
    config: new Map(),
    secretConfig: new Map(),
    kubeconfig: Redacted.make("users: []"),
    clusterIdentifier: "uid",
    timeout: Duration.minutes(30),
  })
  /** Pids of the runners, which lead their sessions, by the names of their instances. */
  const runners = new Map<string, number>()
  const run = (name: string) =>
    Pulumi.use((pulumi) =>
      pulumi.run(requestOf(name), ({ step }) =>
        Effect.sync(() => {
          if (step !== "up") return
          const marker = readFileSync(`${root}/state/instances/team-a/${name}/operation.json`, "utf8")
          runners.set(name, JSON.parse(marker).holder.pid)
        }),
      ),
    ).pipe(Effect.provideContext(context))
  return { root, run, runners }
})

layer(machine, { excludeTestServices: true })("an operation's memory", (it) => {
  it.effect(
    "is that of all its processes: one over its budget is ended alone, and the others go on to their end",
    () =>
      Effect.gen(function* () {
        const { root, run, runners } = yield* sceneOf(budget)
        const modest = yield* Effect.forkChild(run("modest"))
        while (!runners.has("modest")) yield* Effect.sleep("50 millis")
        const error = yield* Effect.flip(run("greedy"))
        assert.strictEqual(error._tag === "PulumiError" ? error.reason : error._tag, "Failed")
        assert.match(
          error.message,
          /^The operation took [3-9][0-9]{2,} MiB of memory, more than its budget of 300 MiB, and was ended; all others go on/,
        )
        const [greedy = 0, other = 0] = [runners.get("greedy"), runners.get("modest")]
        assert.deepStrictEqual(yield* sessionProcesses(greedy), [])
        assert.deepStrictEqual(yield* sessionProcesses(other), [other])
        assert.isBelow(yield* sessionMemory(other), budget)
        writeFileSync(`${root}/the-other-has-ended`, "")
        assert.deepStrictEqual((yield* Fiber.join(modest)).changes, { same: 1 })
      }).pipe(Effect.scoped),
    600_000,
  )

  it.effect(
    "of which Node itself gives a runner no more is told as that, and nothing of it is left",
    () =>
      Effect.gen(function* () {
        // The bound of the heap is what ends it here.
        const { run, runners } = yield* sceneOf(4096 * mebibyte)
        const error = yield* Effect.flip(run("heap"))
        assert.match(
          error.message,
          /^The operation was killed, probably for lack of memory; raise the operator's/,
        )
        assert.deepStrictEqual(yield* sessionProcesses(runners.get("heap") ?? 0), [])
      }).pipe(Effect.scoped),
    600_000,
  )
})
