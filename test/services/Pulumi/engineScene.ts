// The live Pulumi service over the real CLI and the real Automation API, with a package whose program is a text.
import { Duration, Effect, FileSystem, Layer, Redacted } from "effect"
import type { PulumiOptions } from "../../../src/services/Pulumi/Options.ts"
import { type OperationProgress, type OperationRequest, Pulumi } from "../../../src/services/Pulumi/Pulumi.ts"
import { PulumiLive } from "../../../src/services/Pulumi/PulumiLive.ts"
import { StateStoreLive } from "../../../src/services/StateStore/StateStoreLive.ts"
import { programPath } from "./apiServer.ts"
import { optionsIn, repository, targets, temporary } from "./harness.ts"

export const pulumiPath = programPath("pulumi")

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

export const scene = Effect.fnUntraced(function* (program: string, own: Partial<PulumiOptions> = {}) {
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
  const layer = PulumiLive.layer(optionsIn(root, { pulumiPath: pulumiPath ?? "", ...own })).pipe(
    Layer.provide([Layer.orDie(StateStoreLive.layer({ stateDir: `${root}/state` })), targets]),
  )
  const runWith = (
    own: Partial<OperationRequest>,
    onProgress: (progress: OperationProgress) => Effect.Effect<void>,
  ) => Pulumi.use((pulumi) => pulumi.run({ ...request, ...own }, onProgress)).pipe(Effect.provide(layer))
  const run = (own: Partial<OperationRequest> = {}) => runWith(own, () => Effect.void)
  return { root, fs, run, runWith, instance: `${root}/state/instances/team-a/one` }
})

/** A program that comes to its end, with a secret among its outputs. */
export const good = `
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
