// What an instance and the packages take of a real disk, by the bytes of their files: the engine's part is played by what
// it was seen to write. `Bounds.test.ts` has the same of the simulated engine, whole.
import { randomBytes } from "node:crypto"
import {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readlinkSync,
  rmSync,
  writeFileSync,
} from "node:fs"
import { tmpdir } from "node:os"
import { gzipSync } from "node:zlib"
import { assert, it } from "@effect/vitest"
import { Duration, Effect, Layer, Redacted } from "effect"
import { TestClock } from "effect/testing"
import { mendBackend, pruneHistory } from "../../../src/services/Pulumi/Backend.ts"
import { exportState } from "../../../src/services/Pulumi/Exports.ts"
import { historyDirectory, stateFile } from "../../../src/services/Pulumi/Layout.ts"
import { type OperationRequest, Pulumi } from "../../../src/services/Pulumi/Pulumi.ts"
import { PulumiLive } from "../../../src/services/Pulumi/PulumiLive.ts"
import { StateStoreLive } from "../../../src/services/StateStore/StateStoreLive.ts"
import { machine } from "../../support/machine.ts"
import { optionsIn, targets, temporary } from "./harness.ts"
import { makeRegistry } from "./registry.ts"

/** Of all files below; a link counts as itself. */
const bytesBelow = (folder: string): number =>
  readdirSync(folder, { withFileTypes: true }).reduce((sum, entry) => {
    const path = `${folder}/${entry.name}`
    return sum + (entry.isDirectory() ? bytesBelow(path) : lstatSync(path).size)
  }, 0)

/** A state of which each is another one, and which does not pack: encrypted outputs are most of it. */
const stateOf = (serial: number): Uint8Array =>
  gzipSync(
    JSON.stringify({
      version: 3,
      checkpoint: {
        stack: "organization/platform-instance/instance",
        latest: {
          manifest: { time: new Date(serial * 1000).toISOString() },
          resources: [
            { urn: "urn", type: "t", outputs: { ciphertext: randomBytes(3_000).toString("base64") } },
          ],
        },
      },
    }),
  )

// `FULL=1` takes a minute or two. What is kept, of operations and of days, is there after sixty.
const repairs = process.env.FULL === "1" ? 1_000 : 80

it.effect(
  "an instance takes at most five times as much after many repairs as after the first",
  () =>
    Effect.gen(function* () {
      // In memory, where there is such a place: thousands of fsyncs are not what is looked at.
      const place = existsSync("/dev/shm") ? "/dev/shm" : tmpdir()
      const root = yield* Effect.acquireRelease(
        Effect.sync(() => mkdtempSync(`${place}/pulumi-test-`)),
        (folder) => Effect.sync(() => rmSync(folder, { recursive: true })),
      )
      const paths = { root, project: `${root}/project`, backend: `${root}/backend` }
      const state = `${stateFile(paths)}.json.gz`
      const history = historyDirectory(paths)
      for (const folder of [paths.project, history, state.slice(0, state.lastIndexOf("/"))]) {
        mkdirSync(folder, { recursive: true })
      }
      let serial = 0
      /** What an up or a refresh leaves (contracts: seen): the state, the one before it, a checkpoint and an entry. */
      const engine = () => {
        serial += 1
        const content = stateOf(serial)
        writeFileSync(`${state}.bak`, content)
        writeFileSync(state, content)
        // Nanoseconds since the epoch.
        const name = `${history}/instance-${1_700_000_000_000_000_000n + BigInt(serial)}`
        for (const kind of ["checkpoint", "history"]) {
          writeFileSync(`${name}.${kind}.json.gz`, kind === "history" ? "{}" : content)
          writeFileSync(`${name}.${kind}.json.gz.attrs`, '{"md5":"x"}')
        }
      }
      /** As `runOperation` has it around the engine. */
      const operation = Effect.fnUntraced(function* (runs: number) {
        yield* mendBackend(paths)
        yield* exportState(paths)
        for (let run = 0; run < runs; run++) engine()
        yield* pruneHistory(paths)
        yield* exportState(paths)
        yield* TestClock.adjust("4 hours")
      })
      yield* operation(1)
      yield* operation(2)
      const first = bytesBelow(root)
      assert.isAbove(first, 5 * 3_000)
      const after: Array<number> = []
      for (let done = 1; done < repairs; done++) {
        yield* operation(2)
        after.push(bytesBelow(root) / first)
      }
      assert.strictEqual(serial, 1 + 2 * repairs)
      assert.isAtMost(Math.max(...after), 5)
      // It grows until it holds all that is kept, and no further. An export more or less follows from the time of day.
      const settled = after.slice(59)
      assert.isAbove(Math.min(...settled), 2)
      assert.isBelow(Math.max(...settled) / Math.min(...settled), 1.1)
    }).pipe(Effect.scoped, Effect.provide(machine)),
  1_800_000,
)

/** Writes a state, as an engine would, and has succeeded. */
const runner = `
const fs = require("node:fs")
require("node:readline").createInterface({ input: process.stdin }).on("line", (line) => {
  const request = JSON.parse(line)
  if (request.type !== "run") process.exit(0)
  const stacks = request.projectDirectory.replace(/project$/, "backend/.pulumi/stacks/platform-instance")
  fs.mkdirSync(stacks, { recursive: true })
  fs.writeFileSync(stacks + "/instance.json", JSON.stringify({ version: 3, checkpoint: { latest: { resources: [] } } }))
  const say = (event) => console.log(JSON.stringify(event))
  say({ type: "outputs", outputs: { schemaVersion: 2, namespace: "wasmcloud", endpoints: {}, tenants: [] } })
  say({ type: "outcome", outcome: "succeeded", step: "up", message: "", changes: { same: 1 } })
  process.exit(0)
})
`

it.live(
  "20 instances of one version take at most 1.2 times what the packages of one take",
  () =>
    Effect.gen(function* () {
      const root = yield* temporary
      for (const folder of ["state", "memory", "tmp", "plugins/resource-kubernetes-v4.25.0"]) {
        mkdirSync(`${root}/${folder}`, { recursive: true })
      }
      writeFileSync(`${root}/plugins/resource-kubernetes-v4.25.0/pulumi-resource-kubernetes`, "")
      writeFileSync(`${root}/passphrase`, "planted-passphrase")
      writeFileSync(`${root}/runner.cjs`, runner)
      const provider = { name: "@pulumi/kubernetes", version: "4.25.0", files: { "index.js": "" } }
      const platform = {
        name: "@di-framework/platform",
        version: "6.0.22",
        files: { "index.js": "", "dist/large": randomBytes(2_000_000).toString("hex") },
        manifest: { dependencies: { "@pulumi/kubernetes": "4.25.0" } },
      }
      const registry = yield* makeRegistry([platform, provider])
      const options = optionsIn(root, { registry: registry.url })
      const layer = (runnerPath: string) =>
        PulumiLive.layer({ ...options, runnerPath }).pipe(
          Layer.provide([Layer.orDie(StateStoreLive.layer({ stateDir: `${root}/state` })), targets]),
        )
      const fetched = yield* Pulumi.use((pulumi) => pulumi.fetch("6.0.22")).pipe(
        Effect.provide(layer(options.runnerPath)),
      )
      const one = bytesBelow(`${root}/state/packages`)
      assert.isAbove(one, 4_000_000)
      const context = yield* Layer.build(layer(`${root}/runner.cjs`))
      const install = (name: string) =>
        Effect.gen(function* () {
          const pulumi = yield* Pulumi
          const request: OperationRequest = {
            key: { namespace: "team-a", name },
            generation: 1,
            kind: "FirstInstall",
            version: "6.0.22",
            package: yield* pulumi.fetch("6.0.22"),
            refresh: false,
            config: new Map(),
            secretConfig: new Map(),
            kubeconfig: Redacted.make("users: []"),
            clusterIdentifier: "uid",
            timeout: Duration.minutes(30),
          }
          return yield* pulumi.run(request, () => Effect.void)
        }).pipe(Effect.provideContext(context))
      const names = Array.from({ length: 20 }, (_, index) => `n${index}`)
      yield* Effect.forEach(names, install, { concurrency: 2, discard: true })
      assert.isAtMost(bytesBelow(`${root}/state`), 1.2 * one)
      for (const name of names) {
        const modules = `${root}/state/instances/team-a/${name}/project/node_modules`
        assert.strictEqual(readlinkSync(modules), `${fetched.directory}/node_modules`)
      }
      assert.lengthOf(
        registry.requests.filter((path) => path.endsWith(".tgz")),
        2,
      )
    }).pipe(Effect.scoped, Effect.provide(machine)),
  1_800_000,
)
