// What each version of the stand-in package is for: its program, run by the real engine through the operator's wrapper.
// Kinds of objects are stood in for by components: no cluster, no provider.
import { existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { gunzipSync } from "node:zlib"
import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect, Exit, Fiber, Layer, Redacted, Schedule, Schema } from "effect"
import { Pulumi } from "../../../src/services/Pulumi/Pulumi.ts"
import { PulumiLive } from "../../../src/services/Pulumi/PulumiLive.ts"
import { StateStoreLive } from "../../../src/services/StateStore/StateStoreLive.ts"
import { writeVersion } from "../../fixtures/platform/pack.mts"
import { machine } from "../../support/machine.ts"
import { programPath } from "./apiServer.ts"
import { optionsIn, repository, targets, temporary } from "./harness.ts"

/** Takes the place of the provider's library: whatever kind is asked for is a component that keeps its arguments. */
const kinds = `
const pulumi = require("@pulumi/pulumi")
const at = (...path) =>
  new Proxy(
    class extends pulumi.ComponentResource {
      constructor(name, args, { dependsOn } = {}) {
        super(\`test:\${path.slice(0, -1).join("/")}:\${path.at(-1)}\`, name, args, { dependsOn })
        this.metadata = pulumi.output(args.metadata)
      }
    },
    { get: (target, key) => (typeof key === "symbol" || key in target ? target[key] : at(...path, key)) },
  )
module.exports = { ...require("./package.json"), Provider: at("index", "Provider") }
for (const group of ["core", "apps", "helm", "apiextensions", "admissionregistration"]) {
  module.exports[group] = at(group)
}
`

const State = Schema.fromJsonString(
  Schema.Struct({
    checkpoint: Schema.Struct({
      latest: Schema.Struct({
        resources: Schema.Array(
          Schema.Struct({
            urn: Schema.String,
            inputs: Schema.optionalKey(
              Schema.Struct({ data: Schema.optionalKey(Schema.Struct({ version: Schema.String })) }),
            ),
          }),
        ),
      }),
    }),
  }),
)
const decodeState = Schema.decodeSync(State)

const scene = Effect.gen(function* () {
  const root = yield* temporary
  const modules = `${root}/package/node_modules`
  const plugin = `${root}/plugins/resource-kubernetes-v4.25.0`
  for (const folder of ["state", "memory", "tmp"]) mkdirSync(`${root}/${folder}`)
  for (const folder of [plugin, `${modules}/@pulumi/kubernetes`]) mkdirSync(folder, { recursive: true })
  writeFileSync(`${plugin}/pulumi-resource-kubernetes`, "")
  writeFileSync(`${root}/passphrase`, "correct horse battery")
  symlinkSync(`${repository}/node_modules/@pulumi/pulumi`, `${modules}/@pulumi/pulumi`)
  writeFileSync(`${modules}/@pulumi/kubernetes/package.json`, '{"version":"4.25.0"}')
  writeFileSync(`${modules}/@pulumi/kubernetes/index.js`, kinds)

  const layer = PulumiLive.layer(optionsIn(root, { pulumiPath: programPath("pulumi") ?? "" })).pipe(
    Layer.provide([Layer.orDie(StateStoreLive.layer({ stateDir: `${root}/state` })), targets]),
  )
  const run = (version: string) =>
    Effect.suspend(() => {
      const folder = `${modules}/@di-framework/platform`
      rmSync(folder, { recursive: true, force: true })
      writeVersion(version, folder)
      return Pulumi.use((pulumi) =>
        pulumi.run(
          {
            key: { namespace: "team-a", name: "one" },
            generation: 1,
            kind: "VersionChanged",
            version,
            package: { version, directory: `${root}/package`, digest: "sha256:0", approvedHostBuilds: [] },
            refresh: false,
            config: new Map([
              ["networkPolicyEngine", "existing"],
              ["tenants", JSON.stringify([{ name: "acme" }])],
            ]),
            secretConfig: new Map(),
            kubeconfig: Redacted.make("apiVersion: v1\nkind: Config\n"),
            clusterIdentifier: "uid-of-kube-system",
            timeout: Duration.minutes(2),
          },
          () => Effect.void,
        ),
      )
    }).pipe(Effect.provide(layer))
  const file = `${root}/state/instances/team-a/one/backend/.pulumi/stacks/platform-instance/instance.json.gz`
  /** The version that the target would be told by its ConfigMap, and how many resources there are. */
  const installed = Effect.sync(() => {
    if (!existsSync(file)) return { version: undefined, resources: 0 }
    const { resources } = decodeState(gunzipSync(readFileSync(file)).toString()).checkpoint.latest
    const told = resources.find(({ urn }) => urn.endsWith("::di-platform-version"))
    return { version: told?.inputs?.data?.version, resources: resources.length }
  })
  /** Has the package bring another version of the provider's library. */
  const pinProvider = (version: string) =>
    writeFileSync(`${modules}/@pulumi/kubernetes/package.json`, JSON.stringify({ version }))
  const addPlugin = (version: string) => {
    mkdirSync(`${root}/plugins/resource-kubernetes-v${version}`)
    writeFileSync(`${root}/plugins/resource-kubernetes-v${version}/pulumi-resource-kubernetes`, "")
  }
  return { run, installed, pinProvider, addPlugin }
})

describe("the program of a version", () => {
  it.live(
    "tells its version; one that throws or never finishes takes nothing away from the one before",
    () =>
      Effect.gen(function* () {
        const { run, installed } = yield* scene
        const { namespace } = yield* run("6.0.21")
        assert.strictEqual(namespace, "wasmcloud")
        const whole = yield* installed
        assert.strictEqual(whole.version, "6.0.21")
        yield* run("6.0.22")
        assert.deepStrictEqual(yield* installed, { ...whole, version: "6.0.22" })

        const error = yield* Effect.flip(run("6.0.90"))
        assert.strictEqual(error.step, "up")
        assert.include(error.message, "the stand-in throws with a part of the platform registered")
        assert.deepStrictEqual(yield* installed, { ...whole, version: "6.0.90" })

        const fiber = yield* run("6.0.91").pipe(Effect.forkChild)
        yield* installed.pipe(
          Effect.repeat({
            until: ({ version }) => version === "6.0.91",
            schedule: Schedule.spaced("50 millis"),
          }),
        )
        yield* Fiber.interrupt(fiber)
        assert.isTrue(Exit.hasInterrupts(yield* Fiber.await(fiber)), "it did not finish")
        const { changes } = yield* run("6.0.22")
        assert.isUndefined(changes.create)
        assert.isUndefined(changes.delete)
        assert.deepStrictEqual(yield* installed, { ...whole, version: "6.0.22" })
      }).pipe(Effect.scoped, Effect.provide(machine)),
    3_600_000,
  )

  it.live(
    "needs the provider plugin that its package pins, and changes nothing as long as that is missing",
    () =>
      Effect.gen(function* () {
        const { run, installed, pinProvider, addPlugin } = yield* scene
        yield* run("6.0.21")
        const before = yield* installed
        pinProvider("4.26.0")
        const error = yield* Effect.flip(run("6.0.22"))
        assert.strictEqual(error.step, "check plugin")
        assert.include(error.message, "The Kubernetes provider plugin 4.26.0 is missing")
        assert.deepStrictEqual(yield* installed, before)
        addPlugin("4.26.0")
        yield* run("6.0.22")
        assert.deepStrictEqual(yield* installed, { ...before, version: "6.0.22" })
      }).pipe(Effect.scoped, Effect.provide(machine)),
    3_600_000,
  )
})
