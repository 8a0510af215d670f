// An install of the stand-in package, from the registry to the objects: npm, the engine, the Kubernetes provider and an API
// server are the real ones; no pod runs.
import {
  copyFileSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs"
import { tmpdir } from "node:os"
import path from "node:path"
import { assert } from "@effect/vitest"
import { Duration, Effect, FileSystem, Layer, Redacted } from "effect"
import { type OperationRequest, type PreviewRequest, Pulumi } from "../../../src/services/Pulumi/Pulumi.ts"
import { PulumiLive } from "../../../src/services/Pulumi/PulumiLive.ts"
import { StateStoreLive } from "../../../src/services/StateStore/StateStoreLive.ts"
import { packVersion } from "../../fixtures/platform/pack.mts"
import { programPath, startApiServer } from "./apiServer.ts"
import { optionsIn, repository, source, targets, temporary } from "./harness.ts"
import { makeRegistry, type PackageSource } from "./registry.ts"

/** The hostile version of the stand-in. */
const hostile = (): PackageSource => {
  const { name, version, files, manifest } = packVersion("6.0.92")
  return { name, version, files, manifest }
}

const fixture = Effect.gen(function* () {
  const fs = yield* FileSystem.FileSystem
  const root = path.join(repository, "test/fixtures/platform")
  const names = yield* fs.readDirectory(`${root}/dist`, { recursive: true })
  const files: Record<string, string> = {}
  for (const name of names) {
    const file = `${root}/dist/${name}`
    if ((yield* fs.stat(file)).type === "File") files[`dist/${name}`] = yield* fs.readFileString(file)
  }
  const manifest = JSON.parse(readFileSync(`${root}/package.json`, "utf8"))
  return { name: manifest.name, version: manifest.version, files, manifest } satisfies PackageSource
})

/** What npm has made for the first scene of this process, and the port of its registry, by which the store knows a package. */
let fetched: { readonly packages: string; readonly port: number } | undefined

/** The others find it in their store, as an operator finds what an earlier one has fetched, and read all of it again. */
const copyPackages = (from: string, to: string): void =>
  cpSync(from, to, { recursive: true, verbatimSymlinks: true, preserveTimestamps: true })

const keepPackages = (packages: string, registry: string): void => {
  const folder = mkdtempSync(path.join(tmpdir(), "packages-"))
  process.once("exit", () => rmSync(folder, { recursive: true, force: true }))
  copyPackages(packages, folder)
  fetched = { packages: folder, port: Number(new URL(registry).port) }
}

export const installScene = Effect.gen(function* () {
  const root = yield* temporary
  for (const folder of ["state", "memory", "tmp", "plugins/resource-kubernetes-v4.25.0"]) {
    mkdirSync(`${root}/${folder}`, { recursive: true })
  }
  symlinkSync(
    programPath("pulumi-resource-kubernetes") ?? "",
    `${root}/plugins/resource-kubernetes-v4.25.0/pulumi-resource-kubernetes`,
  )
  writeFileSync(`${root}/passphrase`, "planted-passphrase")
  copyFileSync(path.join(source, "wrapper/index.js"), `${root}/wrapper.js`)
  const registry = yield* makeRegistry([yield* fixture, hostile()], undefined, fetched?.port)
  // As a user's npmrc would: one scope from another registry.
  writeFileSync(`${root}/npmrc`, `@di-framework:registry=${registry.url}\n`)
  const packages = `${root}/state/packages`
  if (fetched !== undefined) copyPackages(fetched.packages, packages)
  const api = yield* startApiServer(root)
  const context = yield* Layer.build(
    PulumiLive.layer(
      optionsIn(root, {
        pulumiPath: programPath("pulumi") ?? "",
        helmPath: programPath("helm") ?? "",
        npmrc: `${root}/npmrc`,
        wrapperPath: `${root}/wrapper.js`,
        grace: "60 seconds",
        sandbox: {
          launcher: programPath("platform-sandbox") ?? "",
          code: [
            `${repository}/src`,
            `${repository}/node_modules`,
            `${repository}/package.json`,
            // The plugin is a link to it.
            path.dirname(realpathSync(programPath("pulumi-resource-kubernetes") ?? "")),
          ],
        },
      }),
    ).pipe(Layer.provide([Layer.orDie(StateStoreLive.layer({ stateDir: `${root}/state` })), targets])),
  )
  const fetch = (version: string) =>
    Pulumi.use((pulumi) => pulumi.fetch(version)).pipe(Effect.provideContext(context))
  const platform = yield* fetch("6.0.22")
  if (fetched === undefined) keepPackages(packages, registry.url)
  // What was copied is what it was: nobody has asked the registry for it.
  else assert.deepStrictEqual(registry.requests, [])
  const request: OperationRequest = {
    key: { namespace: "team-a", name: "one" },
    generation: 1,
    kind: "FirstInstall",
    version: "6.0.22",
    package: platform,
    refresh: false,
    config: new Map([
      ["networkPolicyEngine", "existing"],
      ["storageRoot", "/data/team-a/one"],
      ["kubernetesEndpoint", "https://vcluster.pi-team-a-one.svc:443"],
      ["tenants", JSON.stringify([{ name: "acme" }])],
      ["fixtureSkipAwait", "true"],
    ]),
    secretConfig: new Map(),
    kubeconfig: Redacted.make(api.kubeconfig),
    clusterIdentifier: yield* api.kubectl(
      "get",
      "namespace",
      "kube-system",
      "-o",
      "jsonpath={.metadata.uid}",
    ),
    timeout: Duration.minutes(5),
  }
  const steps: Array<string> = []
  /** Objects set right by Helm, and what the engine has done. */
  const done: Array<string> = []
  /** Objects that differ from their release, and that the server does not let be changed. */
  const kept: Array<string> = []
  const run = (own: Partial<OperationRequest> = {}) =>
    Pulumi.use((pulumi) =>
      pulumi.run({ ...request, ...own }, ({ step, notice, restored = [], changed = [], kept: left = [] }) =>
        Effect.sync(() => {
          steps.push(notice ?? step)
          done.push(...restored, ...changed)
          kept.push(...left)
        }),
      ),
    ).pipe(Effect.provideContext(context))
  const preview = (own: Partial<PreviewRequest> = {}) =>
    Pulumi.use((pulumi) =>
      pulumi.preview({ ...request, ...own }, ({ step }) => Effect.sync(() => void steps.push(step))),
    ).pipe(Effect.provideContext(context))
  const stateDigest = Pulumi.use((pulumi) => pulumi.stateDigest(request.key, request.version)).pipe(
    Effect.provideContext(context),
  )
  return {
    root,
    preview,
    stateDigest,
    api,
    request,
    fetch,
    run,
    steps,
    done,
    kept,
    platform,
    instance: `${root}/state/instances/team-a/one`,
  }
})
