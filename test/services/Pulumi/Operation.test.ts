// An operation from outside, with small scripts in the place of the runner: what is written when, and that nothing
// of a session outlives it, however it ends.
import { assert, layer } from "@effect/vitest"
import { Cause, Deferred, Duration, Effect, Fiber, FileSystem, Layer, Logger, Redacted, Tracer } from "effect"
import { sessionProcesses } from "../../../src/services/Process/Session.ts"
import type { PulumiOptions } from "../../../src/services/Pulumi/Options.ts"
import type { RunnerEvent } from "../../../src/services/Pulumi/Protocol.ts"
import { type OperationProgress, type OperationRequest, Pulumi } from "../../../src/services/Pulumi/Pulumi.ts"
import { PulumiLive } from "../../../src/services/Pulumi/PulumiLive.ts"
import { StateStoreLive } from "../../../src/services/StateStore/StateStoreLive.ts"
import { machine } from "../../support/machine.ts"
import { optionsIn, targets, temporary } from "./harness.ts"

const say = (event: RunnerEvent) => `console.log(${JSON.stringify(JSON.stringify(event))});`
const outcome = (own: Partial<Extract<RunnerEvent, { type: "outcome" }>>) =>
  say({ type: "outcome", outcome: "succeeded", step: "up", message: "", changes: { create: 2 }, ...own })
const outputs = say({
  type: "outputs",
  outputs: { schemaVersion: 2, namespace: "wasmcloud", endpoints: { http: "http://x" }, tenants: [] },
})
/** Keeps a child in a process group of its own, as the engine keeps its provider, and ends by no signal but one. */
const stubborn = `
process.on("SIGTERM", () => {}); process.on("SIGINT", () => {})
const child = require("node:child_process").spawn("/bin/sh", ["-c", "trap '' TERM INT; set -m; sleep 600 & wait"])
child.on("spawn", () => { ${say({ type: "step", step: "up" })} })
setInterval(() => {}, 1000)
`

const scene = Effect.fnUntraced(function* (
  script: string,
  given: Partial<PulumiOptions> | ((root: string) => Partial<PulumiOptions>) = {},
) {
  const fs = yield* FileSystem.FileSystem
  const root = yield* temporary
  const own = typeof given === "function" ? given(root) : given
  for (const folder of ["state", "memory", "tmp", "plugins/resource-kubernetes-v4.25.0"]) {
    yield* fs.makeDirectory(`${root}/${folder}`, { recursive: true })
  }
  yield* fs.writeFileString(`${root}/plugins/resource-kubernetes-v4.25.0/pulumi-resource-kubernetes`, "")
  yield* fs.writeFileString(`${root}/passphrase`, "planted-passphrase\n")
  const modules = `${root}/package/node_modules/@pulumi/kubernetes`
  yield* fs.makeDirectory(modules, { recursive: true })
  yield* fs.writeFileString(`${modules}/package.json`, '{"version":"4.25.0"}')
  const instance = `${root}/state/instances/team-a/one`
  const runnerPath = `${root}/runner.cjs`
  yield* fs.writeFileString(
    runnerPath,
    `const root = ${JSON.stringify(root)}; const instance = ${JSON.stringify(instance)};\n${script}`,
  )
  const request: OperationRequest = {
    key: { namespace: "team-a", name: "one" },
    generation: 4,
    kind: "SpecChanged",
    version: "6.0.22",
    package: { version: "6.0.22", directory: `${root}/package`, digest: "d", approvedHostBuilds: [] },
    refresh: false,
    config: new Map([["storageRoot", "/data"]]),
    secretConfig: new Map([["tenantAuthClientSecret", Redacted.make("planted-client-secret")]]),
    kubeconfig: Redacted.make("users: [{name: u, user: {token: planted-token}}]"),
    clusterIdentifier: "uid",
    timeout: Duration.minutes(1),
  }
  const context = yield* Layer.build(
    PulumiLive.layer(optionsIn(root, own.runnerPath === undefined ? { ...own, runnerPath } : own)).pipe(
      Layer.provide([Layer.orDie(StateStoreLive.layer({ stateDir: `${root}/state` })), targets]),
    ),
  )
  const run = (
    change: Partial<OperationRequest> = {},
    onProgress: (progress: OperationProgress) => Effect.Effect<void> = () => Effect.void,
  ) =>
    Pulumi.use((pulumi) => pulumi.run({ ...request, ...change }, onProgress)).pipe(
      Effect.provideContext(context),
    )
  return { fs, root, instance, run }
})

const markedPid = Effect.fnUntraced(function* (fs: FileSystem.FileSystem, instance: string) {
  const marker = yield* fs.readFileString(`${instance}/operation.json`)
  return Number(/"pid": ?([0-9]+)/.exec(marker)?.[1])
})

layer(machine, { excludeTestServices: true })("an operation", (it) => {
  it.effect(
    "gives what the runner says; its secrets go in over stdin, and into no argv, environment or open file",
    () =>
      Effect.gen(function* () {
        const look = `
const fs = require("node:fs")
require("node:readline").createInterface({ input: process.stdin }).on("line", (line) => {
  const request = JSON.parse(line)
  if (request.type !== "run") process.exit(0)
  const kubeconfig = request.config.kubeconfig
  fs.writeFileSync(root + "/seen", JSON.stringify({
    request, env: process.env, argv: process.argv, marker: JSON.parse(fs.readFileSync(instance + "/operation.json", "utf8")),
    mode: fs.statSync(kubeconfig).mode & 0o777, folder: fs.statSync(require("node:path").dirname(kubeconfig)).mode & 0o777,
    content: fs.readFileSync(kubeconfig, "utf8"),
  }))
  ${outputs} ${outcome({})} process.exit(0)
})`
        const { fs, root, instance, run } = yield* scene(look)
        assert.deepStrictEqual(yield* run(), {
          endpoints: { http: "http://x" },
          namespace: "wasmcloud",
          changes: { create: 2 },
        })
        const seen = JSON.parse(yield* fs.readFileString(`${root}/seen`))
        assert.deepStrictEqual(seen.request.secretConfig, { tenantAuthClientSecret: "planted-client-secret" })
        assert.strictEqual(seen.request.config.clusterIdentifier, "uid")
        assert.strictEqual(seen.mode, 0o600)
        assert.include(seen.content, "planted-token")
        assert.notInclude(JSON.stringify([seen.env, seen.argv, seen.marker]), "planted")
        assert.strictEqual(seen.env.PULUMI_CONFIG_PASSPHRASE_FILE, `${root}/passphrase`)
        assert.strictEqual(seen.env.PULUMI_K8S_ENABLE_PATCH_FORCE, "true")
        assert.isUndefined(seen.env.KUBERNETES_SERVICE_HOST)
        assert.strictEqual(seen.marker.kind, "SpecChanged")
        assert.strictEqual(seen.marker.holder.incarnation, "first")
        assert.isFalse(yield* fs.exists(`${instance}/operation.json`))
        assert.deepStrictEqual(yield* fs.readDirectory(`${root}/memory`), [])
        assert.deepStrictEqual(
          (yield* fs.readDirectory(`${root}/tmp`)).filter((name) => name.startsWith("operation-")),
          [],
        )
      }),
    600_000,
  )

  it.effect(
    "starts the runner in the sandbox, with its own instance's folders to write and nothing of others to read",
    () =>
      Effect.gen(function* () {
        const { fs, root, instance, run } = yield* scene(
          `require("node:readline").createInterface({ input: process.stdin }).on("line", (line) => {
  if (JSON.parse(line).type !== "run") process.exit(0)
  require("node:fs").writeFileSync(root + "/home", process.env.HOME)
  ${outputs} ${outcome({})} process.exit(0)
})`,
          (own) => ({ sandbox: { launcher: `${own}/launcher`, code: ["/code"] } }),
        )
        yield* fs.writeFileString(
          `${root}/launcher`,
          `#!/bin/sh\nprintf '%s\\n' "$@" > ${root}/arguments\nwhile [ "$1" != -- ]; do shift; done; shift; exec "$@"\n`,
        )
        yield* fs.chmod(`${root}/launcher`, 0o755)
        yield* run()
        const args = (yield* fs.readFileString(`${root}/arguments`)).trim().split("\n")
        const grants = args.slice(0, args.indexOf("--"))
        const granted = (flag: string) => grants.filter((_, index) => grants[index - 1] === flag)
        assert.strictEqual(args[args.indexOf("--") + 1], process.execPath)
        const home = yield* fs.readFileString(`${root}/home`)
        assert.deepStrictEqual(granted("--write"), [`${instance}/project`, `${instance}/backend`, home])
        const own = granted("--read").filter((path) => path.startsWith(`${root}/`))
        const [kubeconfig, ...others] = own.filter((path) => path.startsWith(`${root}/memory/`))
        assert.match(kubeconfig ?? "", /memory\/platform-instance-[0-9a-f]{16}\/kubeconfig$/)
        assert.isEmpty(others)
        assert.sameMembers(own, [
          `${root}/plugins`,
          `${root}/package`,
          `${root}/passphrase`,
          ...(kubeconfig === undefined ? [] : [kubeconfig]),
        ])
        // What stands above all that would give all that.
        for (const path of granted("--read")) assert.isFalse(`${root}/`.startsWith(`${path}/`), path)
        assert.include(granted("--read"), "/code")
      }),
    600_000,
  )

  it.effect(
    "that is refused a file in the sandbox fails with a hint at what lifts it, and without one where there is no sandbox",
    () =>
      Effect.gen(function* () {
        const message = "EACCES: permission denied, open '/state/x'"
        const refused = `require("node:readline").createInterface({ input: process.stdin }).on("line", (line) => {
  if (JSON.parse(line).type !== "run") process.exit(0)
  ${outcome({ outcome: "failed", message })} process.exit(0)
})`
        const free = yield* scene(refused)
        assert.notInclude((yield* Effect.flip(free.run())).message, "sandbox")
        const { fs, root, run } = yield* scene(refused, (own) => ({
          sandbox: { launcher: `${own}/launcher`, code: [] },
        }))
        yield* fs.writeFileString(
          `${root}/launcher`,
          `#!/bin/sh\nwhile [ "$1" != -- ]; do shift; done; shift; exec "$@"\n`,
        )
        yield* fs.chmod(`${root}/launcher`, 0o755)
        const error = yield* Effect.flip(run())
        assert.include(error.message, message)
        assert.match(error.message, /\n.*--sandbox=false lifts it \(docs\/security\.md\)\.$/)
      }),
    600_000,
  )

  it.effect(
    "cancels by a line; a runner that takes it ends by itself",
    () =>
      Effect.gen(function* () {
        const obedient = `
require("node:readline").createInterface({ input: process.stdin }).on("line", (line) => {
  if (JSON.parse(line).type === "run") { ${say({ type: "step", step: "up" })} return }
  require("node:fs").appendFileSync(root + "/cancelled", "x"); process.exit(0)
})`
        const { fs, root, run } = yield* scene(obedient, { grace: "1 minute" })
        const up = yield* Deferred.make<void>()
        const fiber = yield* run({}, ({ step }) =>
          step === "up" ? Effect.asVoid(Deferred.succeed(up, undefined)) : Effect.void,
        ).pipe(Effect.forkChild)
        yield* Deferred.await(up)
        yield* Fiber.interrupt(fiber)
        assert.strictEqual(yield* fs.readFileString(`${root}/cancelled`), "x")
      }),
    600_000,
  )

  it.effect(
    "that does not end by itself is ended with everything it has started",
    () =>
      Effect.gen(function* () {
        const { fs, instance, run } = yield* scene(stubborn, { grace: "100 millis" })
        const up = yield* Deferred.make<number>()
        const fiber = yield* run({}, ({ step }) =>
          step === "up"
            ? markedPid(fs, instance).pipe(
                Effect.orDie,
                Effect.flatMap((pid) => Deferred.succeed(up, pid)),
                Effect.asVoid,
              )
            : Effect.void,
        ).pipe(Effect.forkChild)
        const pid = yield* Deferred.await(up)
        assert.isAtLeast((yield* sessionProcesses(pid)).length, 2)
        yield* Fiber.interrupt(fiber)
        assert.deepStrictEqual(yield* sessionProcesses(pid), [])
        assert.isFalse(yield* fs.exists(`${instance}/operation.json`))
      }),
    600_000,
  )

  it.effect(
    "that takes too long is cancelled, and says so",
    () =>
      Effect.gen(function* () {
        const { run } = yield* scene(stubborn, { grace: "100 millis" })
        const error = yield* Effect.flip(run({ timeout: Duration.seconds(2) }))
        assert.strictEqual(error.reason, "Cancelled")
        assert.match(error.message, /^The operation did not end within 2s and was cancelled/)
      }),
    600_000,
  )

  it.effect(
    "that takes more memory than its budget is ended alone, and says so",
    () =>
      Effect.gen(function* () {
        const greedy = `
${say({ type: "step", step: "up" })}
const kept = []; setInterval(() => kept.push(Buffer.alloc(2 ** 24, 1)), 20)`
        const { fs, instance, run } = yield* scene(greedy, {
          grace: "100 millis",
          operationMemory: 300 * 2 ** 20,
        })
        let pid = 0
        const error = yield* Effect.flip(
          run({}, ({ step }) =>
            step === "up"
              ? markedPid(fs, instance).pipe(
                  Effect.orDie,
                  Effect.flatMap((found) =>
                    Effect.sync(() => {
                      pid = found
                    }),
                  ),
                )
              : Effect.void,
          ),
        )
        assert.strictEqual(error.reason, "Failed")
        assert.match(
          error.message,
          /^The operation took [3-9][0-9]{2,} MiB of memory, more than its budget of 300 MiB/,
        )
        assert.notStrictEqual(pid, 0)
        assert.deepStrictEqual(yield* sessionProcesses(pid), [])
      }),
    600_000,
  )

  it.effect(
    "a runner that floods its pipes while it is cancelled still ends",
    () =>
      Effect.gen(function* () {
        const flood = `
require("node:readline").createInterface({ input: process.stdin }).on("line", (line) => {
  if (JSON.parse(line).type === "run") { ${say({ type: "step", step: "up" })} return }
  // Enough to fill every buffer in between, ten times.
  process.stdout.write(("x".repeat(99) + "\\n").repeat(20000), () => {
    require("node:fs").writeFileSync(root + "/flooded", ""); process.exit(0)
  })
})`
        const { fs, root, run } = yield* scene(flood, { grace: "1 minute" })
        const up = yield* Deferred.make<void>()
        const fiber = yield* run({}, ({ step }) =>
          step === "up" ? Effect.asVoid(Deferred.succeed(up, undefined)) : Effect.void,
        ).pipe(Effect.forkChild)
        yield* Deferred.await(up)
        yield* Fiber.interrupt(fiber)
        assert.isTrue(yield* fs.exists(`${root}/flooded`))
      }),
    600_000,
  )

  it.effect(
    "F52 a failure repeats no secret, in whichever form the program said it",
    () =>
      Effect.gen(function* () {
        const base64 = Buffer.from("planted-client-secret").toString("base64")
        const words = `boom planted-client-secret planted-passphrase planted-token ${base64}`
        const { run } = yield* scene(
          say({ type: "diagnostic", severity: "error", message: words }) +
            outcome({ outcome: "failed", message: words }),
        )
        const error = yield* Effect.flip(run())
        assert.strictEqual(error.reason, "Failed")
        assert.include(error.message, "boom [redacted] [redacted] [redacted] [redacted]")
        const crash = yield* scene(`console.error(${JSON.stringify(words)}); process.exit(9)`)
        const crashed = yield* Effect.flip(crash.run())
        assert.include(crashed.message, "exit code 9")
        assert.notInclude(crashed.message, "planted")
      }),
    600_000,
  )

  it.effect(
    "F52 a failure repeats no secret that the package has made, thrown or printed",
    () =>
      Effect.gen(function* () {
        const line = `MIIEpAIBAAKC${"planted".repeat(8)}`
        const pem = `-----BEGIN RSA PRIVATE KEY-----\n${line}\n-----END RSA PRIVATE KEY-----`
        const tenant = JSON.stringify({
          user: { token: "planted-tenant-token", "client-key-data": btoa(pem) },
        })
        const words = `boom ${pem} ${tenant} apiKey=planted-key ${btoa(tenant)} password: "planted-password"`
        const thrown = yield* scene(outcome({ outcome: "failed", message: words }))
        const printed = yield* scene(`console.error(${JSON.stringify(words)}); process.exit(9)`)
        for (const { run } of [thrown, printed]) {
          const { message } = yield* Effect.flip(run())
          assert.include(message, "boom [redacted]")
          assert.notInclude(message, "planted")
          for (const encoded of [btoa(pem), btoa(tenant)]) assert.notInclude(message, encoded.slice(20, 60))
        }
      }),
    600_000,
  )

  it.effect(
    "F52 its spans and logs hold no secret, when it succeeds and when it fails",
    () =>
      Effect.gen(function* () {
        const words = `boom planted-client-secret planted-passphrase planted-token token: "planted-inside"`
        const said: Array<string> = []
        const tracer = Tracer.make({
          span: (options) => {
            const span = new Tracer.NativeSpan(options)
            const { end } = span
            span.end = (time, exit) => {
              const attributes = JSON.stringify([...span.attributes])
              said.push(
                `${span.name} ${attributes} ${exit._tag === "Failure" ? Cause.pretty(exit.cause) : ""}`,
              )
              end.call(span, time, exit)
            }
            return span
          },
        })
        const log = Logger.make((entry) => said.push(JSON.stringify(Logger.formatStructured.log(entry))))
        const told = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
          effect.pipe(Effect.withTracer(tracer), Effect.provide(Logger.layer([log])))
        const printed = say({ type: "diagnostic", severity: "warning", message: words })
        const succeeding = yield* scene(
          `console.error(${JSON.stringify(words)}); ${printed} ${outputs} ${outcome({})}`,
        )
        yield* told(succeeding.run())
        const throwing = yield* scene(
          say({ type: "diagnostic", severity: "error", message: words }) +
            outcome({ outcome: "failed", message: words }),
        )
        const crashing = yield* scene(`console.error(${JSON.stringify(words)}); process.exit(9)`)
        for (const { run } of [throwing, crashing]) yield* told(Effect.flip(run()))
        const all = said.join("\n")
        assert.include(all, "Pulumi.run")
        assert.include(all, "pulumi.engine")
        assert.match(all, /Pulumi\.run .*boom \[redacted\] \[redacted\] \[redacted\]/)
        assert.notInclude(all, "planted")
      }),
    600_000,
  )

  it.effect(
    "a second one for the same instance waits its turn; another instance does not",
    () =>
      Effect.gen(function* () {
        const { run } = yield* scene(stubborn, { grace: "100 millis" })
        const up = yield* Deferred.make<void>()
        const fiber = yield* run({}, ({ step }) =>
          step === "up" ? Effect.asVoid(Deferred.succeed(up, undefined)) : Effect.void,
        ).pipe(Effect.forkChild)
        yield* Deferred.await(up)
        assert.strictEqual((yield* Effect.flip(run())).reason, "Locked")
        const other = run({ key: { namespace: "team-a", name: "two" }, timeout: Duration.millis(500) })
        assert.strictEqual((yield* Effect.flip(other)).reason, "Cancelled")
        yield* Fiber.interrupt(fiber)
      }),
    600_000,
  )

  it.effect(
    "a plugin that is not complete stops it before anything is written",
    () =>
      Effect.gen(function* () {
        const { fs, root, instance, run } = yield* scene("")
        yield* fs.writeFileString(`${root}/plugins/resource-kubernetes-v4.25.0.partial`, "")
        const error = yield* Effect.flip(run())
        assert.strictEqual(error.step, "check plugin")
        assert.include(error.message, "plugin 4.25.0")
        assert.isFalse(yield* fs.exists(`${instance}/project`))
      }),
    600_000,
  )
})
