// The runner with the real pulumi CLI and the real Automation API, without a cluster: programs of component
// resources need no provider. Skipped where the CLI was not built yet (tools/programs).
import { existsSync, readdirSync } from "node:fs"
import { homedir } from "node:os"
import path from "node:path"
import { NodeServices } from "@effect/platform-node"
import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect, FileSystem, Layer, Redacted } from "effect"
import { type OperationRequest, Pulumi } from "../../../src/services/Pulumi/Pulumi.ts"
import { PulumiLive } from "../../../src/services/Pulumi/PulumiLive.ts"
import { StateStoreLive } from "../../../src/services/StateStore/StateStoreLive.ts"
import { optionsIn, repository, temporary } from "./harness.ts"

const cache = process.env.PLATFORM_OPERATOR_CACHE ?? path.join(homedir(), ".cache/platform-operator")
const programs = path.join(cache, "programs")
const pulumiPath = existsSync(programs)
  ? readdirSync(programs)
      .map((folder) => path.join(programs, folder, "pulumi"))
      .find((file) => existsSync(file))
  : undefined

/** A package whose program is this text; its SDK is this repository's. */
const packageOf = Effect.fnUntraced(function* (root: string, program: string) {
  const fs = yield* FileSystem.FileSystem
  const modules = `${root}/package/node_modules`
  const platform = `${modules}/@di-framework/platform`
  yield* fs.makeDirectory(platform, { recursive: true })
  yield* fs.makeDirectory(`${modules}/@pulumi/kubernetes`, { recursive: true })
  yield* fs.symlink(`${repository}/node_modules/@pulumi/pulumi`, `${modules}/@pulumi/pulumi`)
  yield* fs.writeFileString(`${modules}/@pulumi/kubernetes/package.json`, '{"version":"4.25.0"}')
  yield* fs.writeFileString(
    `${platform}/package.json`,
    JSON.stringify({
      name: "@di-framework/platform",
      version: "6.0.22",
      exports: { "./existing": "./existing.js", "./package.json": "./package.json" },
    }),
  )
  yield* fs.writeFileString(`${platform}/existing.js`, program)
  return { version: "6.0.22", directory: `${root}/package`, digest: "sha256:0", approvedHostBuilds: [] }
})

const scene = Effect.fnUntraced(function* (program: string) {
  const fs = yield* FileSystem.FileSystem
  const root = yield* temporary
  for (const folder of ["state", "memory", "tmp", "plugins/resource-kubernetes-v4.25.0"]) {
    yield* fs.makeDirectory(`${root}/${folder}`, { recursive: true })
  }
  yield* fs.writeFileString(`${root}/plugins/resource-kubernetes-v4.25.0/pulumi-resource-kubernetes`, "")
  yield* fs.writeFileString(`${root}/passphrase`, "correct horse battery")
  const platform = yield* packageOf(root, program)
  const request: OperationRequest = {
    key: { namespace: "team-a", name: "one" },
    generation: 1,
    kind: "FirstInstall",
    version: "6.0.22",
    package: platform,
    refresh: false,
    config: new Map([["networkPolicyEngine", "existing"]]),
    secretConfig: new Map(),
    kubeconfig: Redacted.make(
      "apiVersion: v1\nkind: Config\nusers: [{name: a, user: {token: planted-token}}]\n",
    ),
    clusterIdentifier: "uid-of-kube-system",
    timeout: Duration.minutes(2),
  }
  const layer = PulumiLive.layer(optionsIn(root, { pulumiPath: pulumiPath ?? "" })).pipe(
    Layer.provide(StateStoreLive.layer({ stateDir: `${root}/state` })),
  )
  const run = (own: Partial<OperationRequest> = {}) =>
    Pulumi.use((pulumi) => pulumi.run({ ...request, ...own }, () => Effect.void)).pipe(Effect.provide(layer))
  return { root, fs, run, instance: `${root}/state/instances/team-a/one` }
})

const good = `
const pulumi = require("@pulumi/pulumi")
const config = new pulumi.Config()
console.log("printed by the program")
const tenants = config.getObject("tenants") ?? []
for (const { name } of tenants) new pulumi.ComponentResource("test:index:Tenant", name)
new pulumi.ComponentResource("test:index:Platform", "platform")
exports.schemaVersion = 2
exports.namespace = "wasmcloud"
exports.tenants = tenants.map(({ name }) => ({ name }))
exports.kubeconfigs = pulumi.secret({ acme: "secret-kubeconfig" })
exports.endpoints = { kubernetes: "https://x" }
`

describe.skipIf(pulumiPath === undefined)("the real engine", () => {
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
        assert.isTrue(yield* fs.exists(`${instance}/project/Pulumi.yaml`))
        assert.isTrue(yield* fs.exists(`${instance}/state-before-repair.json`))
        assert.isFalse(yield* fs.exists(`${instance}/operation.json`))
        assert.deepStrictEqual(yield* fs.readDirectory(`${root}/memory`), [])
      }).pipe(Effect.scoped, Effect.provide(NodeServices.layer)),
    120_000,
  )
})
