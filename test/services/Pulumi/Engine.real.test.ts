// The runner with the real pulumi CLI and the real Automation API, without a cluster: programs of component
// resources need no provider.
import { execFileSync } from "node:child_process"
import { gunzipSync } from "node:zlib"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, type FileSystem, Redacted, Schedule, Schema } from "effect"
import { decodeManifest } from "../../../src/schema/Manifest.ts"
import { platformConfig } from "../../../src/schema/PlatformConfig.ts"
import { sessionProcesses } from "../../../src/services/Process/Session.ts"
import { exportNames } from "../../../src/services/Pulumi/Exports.ts"
import { projectName } from "../../../src/services/Pulumi/Layout.ts"
import { machine } from "../../support/machine.ts"
import { good, pulumiPath, scene } from "./engineScene.ts"

const locks = (fs: FileSystem.FileSystem, instance: string) =>
  fs.readDirectory(`${instance}/backend/.pulumi/locks/organization/platform-instance/instance`).pipe(
    Effect.map((names) => names.filter((name) => name.endsWith(".json"))),
    Effect.orElseSucceed((): Array<string> => []),
  )

/** A program that runs and never returns. That it runs, it tells by a file beside it. */
const endless = (program: string) =>
  `${program}; exports.endpoints = new Promise(() => {}); require("node:fs").writeFileSync(__dirname + "/runs", "")`

const waitForProgram = (fs: FileSystem.FileSystem, root: string) =>
  fs
    .exists(`${root}/package/node_modules/@di-framework/platform/runs`)
    .pipe(Effect.repeat({ until: (runs) => runs, schedule: Schedule.spaced("20 millis") }))

/** Tells, by a file beside it, the whole config as a program sees it. */
const telling = `${good}
require("node:fs").writeFileSync(__dirname + "/seen.json", JSON.stringify(pulumi.runtime.allConfig()))
`

const decodeSeen = Schema.decodeSync(Schema.fromJsonString(Schema.Record(Schema.String, Schema.String)))

/** Each field there is. The table that maps every field by itself is in the test of \`platformConfig\`. */
const platform = {
  networkPolicyEngine: "kube-router",
  gateway: { httpNodePort: 30080, httpEndpoint: "http://{tenant}.apps.example:30080/?a=1&b=%20" },
  tenantHostImage: "wash:2",
  tenantHostImagePullPolicy: "Never",
  tenants: [
    {
      name: "acme",
      suspended: true,
      deletionPolicy: "Retain",
      runtime: { replicas: 2, coreInstances: 100 },
      resources: {
        cpu: "1.5",
        memory: "512Mi",
        workloads: 1,
        backingServices: 2,
        serviceBindings: 3,
        apiKeys: 4,
      },
    },
  ],
  users: [{ name: "dev", suspended: true, memberships: [{ tenant: "acme", role: "developer" }] }],
  tenantAuth: {
    image: `auth@sha256:${"a".repeat(64)}`,
    issuer: "https://id.example",
    clientId: "console",
    clientSecretRef: { name: "tenant-auth-oauth", key: "secret" },
    issuerUpstream: "dex.auth.svc:5556",
    issuerUpstreamPodPort: 5556,
    issuerIp: "10.0.0.1",
    consolePublicUrl: "https://{tenant}.example",
    controllerPublicUrl: "https://api.example/{tenant}",
    registry: { component: `oci@sha256:${"b".repeat(64)}` },
  },
}

describe("the real engine", () => {
  it.live(
    "hands the program the config of the spec, no key more or less, when fields come and go",
    () =>
      Effect.gen(function* () {
        const { run, fs, root } = yield* scene(telling)
        const supplied = { storageRoot: "/data/team-a/one", kubernetesEndpoint: "https://vcluster.x.svc:443" }
        const configOf = (own: unknown) =>
          decodeManifest({
            apiVersion: "platform.di-framework.dev/v1alpha1",
            kind: "PlatformInstance",
            metadata: { name: "one" },
            spec: { version: "6.0.22", target: { type: "vcluster" }, platform: own },
          }).pipe(Effect.map(({ spec }) => platformConfig(spec, supplied)))
        const seen = Effect.map(
          fs.readFileString(`${root}/package/node_modules/@di-framework/platform/seen.json`),
          (text) => {
            const { [`${projectName}:kubeconfig`]: _, ...others } = decodeSeen(text)
            return others
          },
        )
        const expected = (config: ReadonlyMap<string, string>) =>
          Object.fromEntries(
            [...config, ["clusterIdentifier", "uid-of-kube-system"]].map(([key, value]) => [
              `${projectName}:${key}`,
              value,
            ]),
          )
        const whole = yield* configOf(platform)
        assert.isAbove(whole.size, 8)
        yield* run({ config: whole })
        assert.deepStrictEqual(yield* seen, expected(whole))
        const less = yield* configOf({ tenants: [{ name: "acme" }] })
        yield* run({ config: less })
        assert.deepStrictEqual(yield* seen, expected(less))
        // As somebody with an editor and a shell in the project would, before the next run.
        const file = `${root}/state/instances/team-a/one/project/Pulumi.instance.yaml`
        const settings = yield* fs.readFileString(file)
        const edited = settings
          .replace("/data/team-a/one", "/data/elsewhere")
          .replace(/^config:\n/m, `config:\n  ${projectName}:namespace: other\n  aws:region: x\n`)
        assert.notStrictEqual(edited, settings)
        yield* fs.writeFileString(file, edited)
        yield* run({ config: less })
        assert.deepStrictEqual(yield* seen, expected(less))
      }).pipe(Effect.scoped, Effect.provide(machine)),
    3_600_000,
  )

  it.live(
    "installs, says what it did, changes nothing the second time, and leaves a project to look at",
    () =>
      Effect.gen(function* () {
        const { run, fs, instance, root } = yield* scene(good)
        const tenants = new Map([["tenants", JSON.stringify([{ name: "acme" }])]])
        const first = yield* run({ config: tenants })
        assert.deepStrictEqual(first, {
          endpoints: { kubernetes: "https://x" },
          namespace: "wasmcloud",
          changes: { create: 3 },
        })
        assert.deepStrictEqual((yield* run({ config: tenants, refresh: true })).changes, { same: 3 })
        // As an administrator would, with the pulumi CLI alone.
        const cli = (...args: ReadonlyArray<string>) =>
          execFileSync(pulumiPath ?? "", [...args, "--stack", "instance", "--non-interactive"], {
            cwd: `${instance}/project`,
            env: { HOME: root, PATH: process.env.PATH, PULUMI_CONFIG_PASSPHRASE_FILE: `${root}/passphrase` },
          }).toString()
        const shown = cli("stack")
        assert.include(shown, "test:index:Tenant")
        assert.notInclude(shown, "secret-kubeconfig")
        // What was exported: no secret in the clear, and whole enough to go on from.
        const [name = ""] = exportNames(yield* fs.readDirectory(`${instance}/exports`))
        const packed = `${instance}/exports/${name}`
        const state = gunzipSync(yield* fs.readFile(packed)).toString("utf8")
        const exported = `${root}/exported.json`
        yield* fs.writeFileString(exported, state)
        assert.notInclude(state, "secret-kubeconfig")
        assert.include(state, '"ciphertext"')
        assert.strictEqual((yield* fs.stat(packed)).mode & 0o777, 0o600)
        cli("stack", "import", "--file", exported)
        assert.deepStrictEqual((yield* run({ config: tenants })).changes, { same: 3 })
        assert.isFalse(yield* fs.exists(`${instance}/operation.json`))
        assert.deepStrictEqual(yield* fs.readDirectory(`${root}/memory`), [])
      }).pipe(Effect.scoped, Effect.provide(machine)),
    3_600_000,
  )

  it.live(
    "a program that returns with less than the instance declares is thrown out, and nothing is deleted",
    () =>
      Effect.gen(function* () {
        const { run, fs, root } = yield* scene(good)
        const tenants = new Map([["tenants", JSON.stringify([{ name: "acme" }])]])
        yield* run({ config: tenants })
        const program = `${root}/package/node_modules/@di-framework/platform/existing.js`
        const failing = Effect.fnUntraced(function* (text: string) {
          yield* fs.writeFileString(program, text)
          return (yield* Effect.flip(run({ config: tenants }))).message
        })
        assert.include(yield* failing("exports.schemaVersion = 2"), "registered no resource")
        assert.include(
          yield* failing(good.replace("exports.schemaVersion = 2", "")),
          "schema version undefined",
        )
        assert.include(
          yield* failing(good.replace('getObject("tenants") ?? []', 'getObject("absent") ?? []')),
          "made the tenants [], but the instance declares [acme]",
        )
        assert.include(yield* failing("throw new Error('the program breaks')"), "the program breaks")
        yield* fs.writeFileString(program, good)
        assert.deepStrictEqual((yield* run({ config: tenants })).changes, { same: 3 })
      }).pipe(Effect.scoped, Effect.provide(machine)),
    3_600_000,
  )

  it.live(
    "config gone from the request is gone from the stack; secrets are encrypted, in no argv, and not set anew",
    () =>
      Effect.gen(function* () {
        const program = good.replace(
          "exports.schemaVersion",
          `exports.secret = config.getSecret("password")
           const args = require("node:fs").readdirSync("/proc").filter((name) => /^[0-9]+$/.test(name)).flatMap((pid) => {
             try { return [require("node:fs").readFileSync("/proc/" + pid + "/cmdline", "utf8")] } catch { return [] }
           })
           if (args.some((line) => line.includes("hunter2" + "hunter2"))) throw new Error("the secret is in an argv")
           exports.schemaVersion`,
        )
        const { run, fs, instance } = yield* scene(program)
        const file = `${instance}/project/Pulumi.instance.yaml`
        const secretConfig = new Map([["password", Redacted.make("hunter2hunter2")]])
        yield* run({
          config: new Map([
            ["storageRoot", "/a"],
            ["namespace", "x"],
          ]),
          secretConfig,
        })
        const first = yield* fs.readFileString(file)
        assert.include(first, "platform-instance:storageRoot: /a")
        assert.match(first, /platform-instance:password:\n +secure: v1:/)
        assert.notInclude(first, "hunter2")
        yield* run({ config: new Map([["storageRoot", "/a"]]), secretConfig })
        const second = yield* fs.readFileString(file)
        assert.notInclude(second, "platform-instance:namespace")
        assert.strictEqual(/secure: .*/.exec(second)?.[0], /secure: .*/.exec(first)?.[0])
        yield* run({ config: new Map() })
        assert.notInclude(yield* fs.readFileString(file), "password")
      }).pipe(Effect.scoped, Effect.provide(machine)),
    3_600_000,
  )

  it.live(
    "F52 what a program has made and throws or prints is repeated nowhere, and no file holds a secret in the clear",
    () =>
      Effect.gen(function* () {
        const line = `MIIEpAIBAAKC${"planted".repeat(8)}`
        const making = `${good}
          const back = (text) => [...text].reverse().join("")
          const pem = "-----BEGIN RSA PRIVATE KEY-----\\n" + back(${JSON.stringify([...line].reverse().join(""))}) + "\\n-----END RSA PRIVATE KEY-----"
          const token = back("nekot-detnalp"), key = back("yek-detnalp")
          const user = { token, "client-key-data": Buffer.from(pem).toString("base64") }
          const secret = config.get("password")
          const words = ["boom", pem, JSON.stringify({ users: [{ user }] }), "apiKey: " + key, "https://acme:" + key + "@db", secret, Buffer.from(secret).toString("base64")].join(" ")
          exports.kubeconfigs = pulumi.secret({ acme: words })
          console.log(words); console.error(words)`
        const { run, fs, root } = yield* scene(making)
        const request = {
          secretConfig: new Map([["password", Redacted.make("planted-client-secret")]]),
        }
        const hidden = [
          line,
          "planted-token",
          "planted-key",
          "planted-client-secret",
          Buffer.from("planted-client-secret").toString("base64"),
          Buffer.from(`-----BEGIN RSA PRIVATE KEY-----\n${line}`).toString("base64").slice(40, 90),
          "correct horse battery",
        ]
        const assertHidden = (where: string, text: string) => {
          for (const each of hidden) assert.notInclude(text, each, where)
        }
        const assertNoFile = Effect.gen(function* () {
          let files = 0
          for (const folder of ["state", "tmp", "memory"]) {
            for (const name of yield* fs.readDirectory(`${root}/${folder}`, { recursive: true })) {
              const file = `${root}/${folder}/${name}`
              if ((yield* fs.stat(file)).type !== "File") continue
              files += 1
              const bytes = Buffer.from(yield* fs.readFile(file))
              assertHidden(file, (file.endsWith(".gz") ? gunzipSync(bytes) : bytes).toString("latin1"))
            }
          }
          assert.isAbove(files, 4)
        })
        yield* run(request)
        yield* run({ ...request, refresh: true })
        yield* assertNoFile
        const program = `${root}/package/node_modules/@di-framework/platform/existing.js`
        for (const ending of [
          "throw new Error(words)",
          "exports.tenants = pulumi.output(1).apply(() => { throw new Error(words) })",
          "exports.tenants = Promise.reject(new Error(words))",
        ]) {
          yield* fs.writeFileString(program, `${making}\n${ending}`)
          const { message } = yield* Effect.flip(run(request))
          assertHidden(ending, message)
          assert.match(message, /boom[\s\S]*\[redacted\]/, ending)
          yield* assertNoFile
        }
      }).pipe(Effect.scoped, Effect.provide(machine)),
    3_600_000,
  )

  it.live(
    "an operation that is interrupted cancels the engine, which lets go of its lock by itself",
    () =>
      Effect.gen(function* () {
        const { runWith, fs, root, instance } = yield* scene(endless(good))
        const fiber = yield* runWith({}, () => Effect.void).pipe(Effect.forkChild)
        yield* waitForProgram(fs, root)
        yield* Fiber.interrupt(fiber)
        assert.deepStrictEqual(yield* locks(fs, instance), [])
        assert.isFalse(yield* fs.exists(`${instance}/operation.json`))
      }).pipe(Effect.scoped, Effect.provide(machine)),
    3_600_000,
  )

  it.live(
    "F11 an operation that is killed leaves its lock; the next operation proves it dead, and goes on",
    () =>
      Effect.gen(function* () {
        const { runWith, fs, root, instance } = yield* scene(endless(good))
        const fiber = yield* runWith({}, () => Effect.void).pipe(Effect.flip, Effect.forkChild)
        yield* waitForProgram(fs, root)
        const marker = yield* fs.readFileString(`${instance}/operation.json`)
        const runner = Number(/"pid": ?([0-9]+)/.exec(marker)?.[1])
        // Children first: the CLI would still let go of its lock when it notices that its host is gone.
        for (const pid of (yield* sessionProcesses(runner)).reverse()) process.kill(pid, "SIGKILL")
        const error = yield* Fiber.join(fiber)
        assert.include(error.message, "killed")
        assert.strictEqual((yield* locks(fs, instance)).length, 1)
        assert.deepStrictEqual(yield* sessionProcesses(runner), [])

        yield* fs.writeFileString(`${root}/package/node_modules/@di-framework/platform/existing.js`, good)
        // The moment between the state and its attributes, met for certain.
        yield* fs.writeFileString(
          `${instance}/backend/.pulumi/stacks/platform-instance/instance.json.gz.attrs`,
          "",
        )
        const notices: Array<string> = []
        const after = yield* runWith({}, ({ notice }) =>
          Effect.sync(() => {
            if (notice !== undefined) notices.push(notice)
          }),
        )
        assert.strictEqual(after.namespace, "wasmcloud")
        assert.strictEqual(notices.length, 1)
        assert.match(notices[0] ?? "", /^Removed the lock of a holder that has ended: pid [0-9]+/)
        assert.deepStrictEqual(yield* locks(fs, instance), [])
      }).pipe(Effect.scoped, Effect.provide(machine)),
    3_600_000,
  )

  it.live(
    "a program that never returns, with nothing to await, is cancelled",
    () =>
      Effect.gen(function* () {
        const { run } = yield* scene(endless(good), {
          hang: "3 seconds",
        })
        const error = yield* Effect.flip(run())
        assert.strictEqual(error.reason, "Cancelled")
        assert.match(error.message, /^The platform's program hangs/)
      }).pipe(Effect.scoped, Effect.provide(machine)),
    3_600_000,
  )

  it.live(
    "a wrong passphrase writes nothing and is called what it is",
    () =>
      Effect.gen(function* () {
        const { run, fs, root } = yield* scene(good)
        yield* run()
        const backend = `${root}/state/instances/team-a/one/backend`
        const files = Effect.gen(function* () {
          const found: Array<string> = []
          for (const name of (yield* fs.readDirectory(backend, { recursive: true })).sort()) {
            const { type } = yield* fs.stat(`${backend}/${name}`)
            if (type !== "File") continue
            found.push(`${name} ${Buffer.from(yield* fs.readFile(`${backend}/${name}`)).toString("base64")}`)
          }
          return found
        })
        const before = yield* files
        yield* fs.writeFileString(`${root}/passphrase`, "wrong")
        const error = yield* Effect.flip(run())
        assert.match(error.message, /^The passphrase does not open this instance's state/)
        assert.notMatch(error.message, /stdout:|Command failed/)
        assert.deepStrictEqual(yield* files, before)
        yield* fs.remove(`${root}/passphrase`)
        const missing = yield* Effect.flip(run())
        assert.strictEqual(missing.step, "read passphrase")
        assert.deepStrictEqual(yield* files, before)
        yield* fs.writeFileString(`${root}/passphrase`, "correct horse battery")
        assert.deepStrictEqual((yield* run()).changes, { same: 2 })
      }).pipe(Effect.scoped, Effect.provide(machine)),
    3_600_000,
  )
})
