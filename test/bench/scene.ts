// What is measured: one install and one repair of the stand-in package, once by this operator's service and once by a
// bare script, each on an API server of its own, with one package, one plugin and the same engine.
import { execFileSync, spawn } from "node:child_process"
import { copyFileSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs"
import path from "node:path"
import { Data, Duration, Effect, Layer, Redacted, Schema } from "effect"
import { engineEnvironment } from "../../src/services/Pulumi/Environment.ts"
import { projectName } from "../../src/services/Pulumi/Layout.ts"
import { type OperationRequest, type PlatformPackage, Pulumi } from "../../src/services/Pulumi/Pulumi.ts"
import { PulumiLive } from "../../src/services/Pulumi/PulumiLive.ts"
import { StateStoreLive } from "../../src/services/StateStore/StateStoreLive.ts"
import { packVersion } from "../fixtures/platform/pack.mts"
import { programPath, startApiServer } from "../services/Pulumi/apiServer.ts"
import { optionsIn, repository, targets, temporary } from "../services/Pulumi/harness.ts"
import { makeRegistry } from "../services/Pulumi/registry.ts"

const version = "6.0.22"
export const tenants = 32
export const users = 128

/** The stack config of a large instance. Nothing is awaited: no pod runs, and neither side is helped by waiting. */
const configOf = (fillers: number): ReadonlyArray<readonly [string, string]> => [
  ["networkPolicyEngine", "existing"],
  ["storageRoot", "/data/bench/one"],
  ["kubernetesEndpoint", "https://vcluster.pi-bench-one.svc:443"],
  ["tenants", JSON.stringify(Array.from({ length: tenants }, (_, index) => ({ name: `tenant-${index}` })))],
  [
    "users",
    JSON.stringify(
      Array.from({ length: users }, (_, index) => ({
        name: `user-${index}`,
        memberships: [
          { tenant: `tenant-${index % tenants}`, role: "developer" },
          { tenant: `tenant-${(index + 1) % tenants}`, role: "viewer" },
        ],
      })),
    ),
  ],
  [
    "tenantAuth",
    JSON.stringify({
      image: `auth@sha256:${"a".repeat(64)}`,
      issuer: "https://id.example",
      oauthClient: { id: "console", secretName: "platform-operator-tenant-auth" },
    }),
  ],
  ["fixtureSkipAwait", "true"],
  ["fixtureResources", String(fillers)],
]
const secretConfig = { tenantAuthClientSecret: "planted-client-secret" }

export class BareError extends Data.TaggedError("BareError")<{ readonly message: string }> {}

/** Folders, the fetched package and the two programs: once a benchmark. `fillers`: ConfigMaps beside all else. */
export const makeScene = Effect.fnUntraced(function* (fillers: number) {
  const root = yield* temporary
  const plugins = `${root}/plugins/resource-kubernetes-v4.25.0`
  for (const folder of ["state", "memory", "tmp", "bare", "bundle"]) mkdirSync(`${root}/${folder}`)
  mkdirSync(plugins, { recursive: true })
  symlinkSync(programPath("pulumi-resource-kubernetes") ?? "", `${plugins}/pulumi-resource-kubernetes`)
  writeFileSync(`${root}/passphrase`, "planted-passphrase")
  const registry = yield* makeRegistry([packVersion(version)])
  writeFileSync(`${root}/npmrc`, `@di-framework:registry=${registry.url}\n`)
  // The runner as the image has it.
  execFileSync(process.execPath, ["tools/bundle.ts", `${root}/bundle`, "runner"], { cwd: repository })
  const options = optionsIn(root, {
    runnerPath: `${root}/bundle/runner.mjs`,
    pulumiPath: programPath("pulumi") ?? "",
    helmPath: programPath("helm") ?? "",
    npmrc: `${root}/npmrc`,
    // Each operation verifies its package, as one long after the last fetch does.
    verifiedFor: Duration.zero,
  })
  const context = yield* Layer.build(
    PulumiLive.layer(options).pipe(
      Layer.provide([Layer.orDie(StateStoreLive.layer({ stateDir: `${root}/state` })), targets]),
    ),
  )
  const platform = yield* Pulumi.use((pulumi) => pulumi.fetch(version)).pipe(Effect.provideContext(context))
  return { root, options, context, platform, config: configOf(fillers) }
})
export type Scene = Effect.Success<ReturnType<typeof makeScene>>

const Changes = Schema.Record(Schema.String, Schema.Finite)
export type Changes = typeof Changes.Type
const decodeChanges = Schema.decodeSync(Schema.fromJsonString(Changes))
/** One of the two who install and repair, on an API server that nobody else uses. */
export interface Side {
  readonly install: Effect.Effect<Changes, unknown>
  readonly repair: Effect.Effect<Changes, unknown>
}

const startTarget = Effect.fnUntraced(function* (scene: Scene, name: string) {
  mkdirSync(`${scene.root}/${name}`)
  const api = yield* startApiServer(`${scene.root}/${name}`)
  const get = (...args: ReadonlyArray<string>) => api.kubectl("get", ...args)
  yield* get("--raw", "/readyz").pipe(Effect.retry({ times: 100 }))
  return {
    kubeconfig: api.kubeconfig,
    clusterIdentifier: yield* get("namespace", "kube-system", "-o", "jsonpath={.metadata.uid}"),
  }
})

/** This operator's service, from the look at the package to the end of the runner's session. */
export const makeOurs = Effect.fnUntraced(function* (scene: Scene, round: number) {
  const target = yield* startTarget(scene, `ours-${round}`)
  const run = Effect.fnUntraced(function* (own: Pick<OperationRequest, "kind" | "refresh">) {
    const pulumi = yield* Pulumi
    const request: OperationRequest = {
      ...own,
      key: { namespace: "bench", name: `round-${round}` },
      generation: 1,
      version,
      package: yield* pulumi.fetch(version),
      config: new Map(scene.config),
      secretConfig: new Map(Object.entries(secretConfig).map(([key, value]) => [key, Redacted.make(value)])),
      kubeconfig: Redacted.make(target.kubeconfig),
      clusterIdentifier: target.clusterIdentifier,
      timeout: Duration.minutes(30),
    }
    return (yield* pulumi.run(request, () => Effect.void)).changes
  }, Effect.provideContext(scene.context))
  return {
    install: run({ kind: "FirstInstall", refresh: false }),
    repair: run({ kind: "RepairDue", refresh: true }),
  } satisfies Side
})

/** What a bare script needs beside itself: a project with the program, and a home for the engine. */
const prepareProject = (scene: Scene, platform: PlatformPackage, folder: string) => {
  for (const part of ["project", "backend", "pulumi"]) mkdirSync(`${folder}/${part}`, { recursive: true })
  symlinkSync(`${platform.directory}/node_modules`, `${folder}/project/node_modules`)
  symlinkSync(`${scene.root}/plugins`, `${folder}/pulumi/plugins`)
  copyFileSync(scene.options.wrapperPath, `${folder}/project/index.js`)
}

/** The Automation API by itself, in a process of its own. */
export const makeBare = Effect.fnUntraced(function* (scene: Scene, round: number) {
  const target = yield* startTarget(scene, `bare-${round}`)
  const folder = `${scene.root}/bare/${round}`
  prepareProject(scene, scene.platform, folder)
  writeFileSync(`${folder}/kubeconfig`, target.kubeconfig)
  const plain = [
    ...scene.config,
    ["kubeconfig", `${folder}/kubeconfig`],
    ["clusterIdentifier", target.clusterIdentifier],
  ] as const
  const config = [
    ...plain.map(([key, value]) => [`${projectName}:${key}`, { value }]),
    ...Object.entries(secretConfig).map(([key, value]) => [`${projectName}:${key}`, { value, secret: true }]),
  ]
  writeFileSync(`${folder}/project/config.json`, JSON.stringify(Object.fromEntries(config)))
  // The same backend and engine. What this operator asks of them to save memory is its own affair.
  const { GOGC: _, ...env } = engineEnvironment({
    from: process.env,
    home: folder,
    pulumiHome: `${folder}/pulumi`,
    pulumiDirectory: path.dirname(scene.options.pulumiPath),
    backendUrl: `file://${folder}/backend`,
    passphraseFile: scene.options.passphraseFile,
    incarnation: "bare",
  })
  const run = (operation: "install" | "repair") =>
    Effect.callback<Changes, BareError>((resume) => {
      const script = path.join(import.meta.dirname, "bare.js")
      const child = spawn(process.execPath, [script, operation, `${folder}/project`], {
        env,
        detached: true,
        stdio: ["ignore", "pipe", "pipe"],
      })
      let [out, err] = ["", ""]
      child.stdout.on("data", (chunk) => {
        out += chunk
      })
      child.stderr.on("data", (chunk) => {
        err += chunk
      })
      child.on("close", (code) =>
        resume(
          code === 0
            ? Effect.succeed(decodeChanges(out))
            : Effect.fail(new BareError({ message: err.slice(-4000) })),
        ),
      )
    })
  return { install: run("install"), repair: run("repair") } satisfies Side
})
