// A whole install of the stand-in package, from the registry to the objects: npm, the engine, the Kubernetes
// provider and an API server are the real ones; no pod runs.
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs"
import path from "node:path"
import { NodeServices } from "@effect/platform-node"
import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect, Fiber, FileSystem, Layer, Redacted, Schedule } from "effect"
import { sessionProcesses } from "../../../src/services/Process/Session.ts"
import { type OperationRequest, Pulumi } from "../../../src/services/Pulumi/Pulumi.ts"
import { PulumiLive } from "../../../src/services/Pulumi/PulumiLive.ts"
import { StateStoreLive } from "../../../src/services/StateStore/StateStoreLive.ts"
import { programPath, startApiServer } from "./apiServer.ts"
import { optionsIn, repository, targets, temporary } from "./harness.ts"
import { makeRegistry, type PackageSource } from "./registry.ts"

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

const scene = Effect.gen(function* () {
  const root = yield* temporary
  for (const folder of ["state", "memory", "tmp", "plugins/resource-kubernetes-v4.25.0"]) {
    mkdirSync(`${root}/${folder}`, { recursive: true })
  }
  symlinkSync(
    programPath("pulumi-resource-kubernetes") ?? "",
    `${root}/plugins/resource-kubernetes-v4.25.0/pulumi-resource-kubernetes`,
  )
  writeFileSync(`${root}/passphrase`, "planted-passphrase")
  const registry = yield* makeRegistry([yield* fixture])
  // As a user's npmrc would: one scope from another registry.
  writeFileSync(`${root}/npmrc`, `@di-framework:registry=${registry.url}\n`)
  const api = yield* startApiServer(root)
  const context = yield* Layer.build(
    PulumiLive.layer(
      optionsIn(root, {
        pulumiPath: programPath("pulumi") ?? "",
        helmPath: programPath("helm") ?? "",
        npmrc: `${root}/npmrc`,
        grace: "60 seconds",
      }),
    ).pipe(Layer.provide([Layer.orDie(StateStoreLive.layer({ stateDir: `${root}/state` })), targets])),
  )
  const platform = yield* Pulumi.use((pulumi) => pulumi.fetch("6.0.22")).pipe(Effect.provideContext(context))
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
  const run = (own: Partial<OperationRequest> = {}) =>
    Pulumi.use((pulumi) =>
      pulumi.run({ ...request, ...own }, ({ step, notice }) => Effect.sync(() => steps.push(notice ?? step))),
    ).pipe(Effect.provideContext(context))
  return { root, api, request, run, steps, platform, instance: `${root}/state/instances/team-a/one` }
})

describe("an install of the stand-in package", () => {
  it.live(
    "makes what the contract says, changes nothing the second time, and takes back what was edited by hand",
    () =>
      Effect.gen(function* () {
        const { api, run, request, platform, steps } = yield* scene
        assert.strictEqual(platform.approvedHostBuilds.length, 1)
        const secretConfig = new Map([["tenantAuthClientSecret", Redacted.make("planted-client-secret")]])
        const auth = {
          image: `auth@sha256:${"a".repeat(64)}`,
          issuer: "https://id",
          oauthClient: { id: "console", secretName: "platform-operator-tenant-auth" },
        }
        const config = new Map([...request.config, ["tenantAuth", JSON.stringify(auth)]])
        const first = yield* run({ config, secretConfig })
        assert.deepStrictEqual(first.endpoints, { kubernetes: "https://vcluster.pi-team-a-one.svc:443" })
        const names = yield* api.kubectl(
          ...["get", "namespace,crd,service,deployment,secret,tenant", "-A", "-o", "name"],
        )
        for (const name of [
          "namespace/wasmcloud",
          "namespace/di-tenant-acme",
          "namespace/di-runtime-acme",
          "customresourcedefinition.apiextensions.k8s.io/tenants.platform.di-framework.dev",
          "service/wasmcloud-http",
          "service/di-platform-gateway",
          "deployment.apps/di-platform-controller",
          "deployment.apps/wasmcloud-hosts",
          "secret/platform-operator-tenant-auth",
          "tenant.platform.di-framework.dev/acme",
        ]) {
          assert.include(names.split("\n"), name)
        }
        const stored = yield* api.kubectl(
          ...["-n", "wasmcloud", "get", "secret", "platform-operator-tenant-auth"],
          ...["-o", "jsonpath={.data.clientSecret}"],
        )
        assert.strictEqual(Buffer.from(stored, "base64").toString(), "planted-client-secret")

        const { create, ...others } = first.changes
        assert.deepStrictEqual(others, {})
        const second = yield* run({ config, secretConfig })
        assert.deepStrictEqual(second.changes, { same: create ?? 0 })

        yield* api.kubectl("-n", "wasmcloud", "delete", "service", "wasmcloud-http")
        yield* api.kubectl(
          ...["-n", "wasmcloud", "patch", "service", "di-platform-gateway", "--type=merge"],
          ...["-p", '{"spec":{"ports":[{"name":"http","port":81,"targetPort":8080}]}}'],
        )
        const repaired = yield* run({ config, secretConfig, kind: "RepairDue", refresh: true })
        assert.strictEqual(repaired.changes.create, 1)
        const port = yield* api.kubectl(
          ...[
            "-n",
            "wasmcloud",
            "get",
            "service",
            "di-platform-gateway",
            "-o",
            "jsonpath={.spec.ports[*].port}",
          ],
        )
        assert.strictEqual(port, "80")
        assert.include(steps, "export state")
      }).pipe(Effect.scoped, Effect.provide(NodeServices.layer)),
    300_000,
  )

  it.live(
    "puts back what of the platform's Helm release was deleted or edited by hand, and otherwise leaves it alone",
    () =>
      Effect.gen(function* () {
        const { api, run, request, steps } = yield* scene
        const kubectl = (...args: ReadonlyArray<string>) => api.kubectl("-n", "wasmcloud", ...args)
        const records = kubectl("get", "secret", "-l", "owner=helm,name=wasmcloud", "-o", "name")
        const notices = () => steps.filter((step) => step.startsWith("Helm release"))
        const token = kubectl("get", "secret", "wasmcloud-hosts", "-o", "jsonpath={.data.token}")
        const deployment = kubectl("get", "deployment", "wasmcloud-hosts", "-o", "jsonpath={.spec}")
        const repair = { kind: "RepairDue", refresh: true }
        const { changes } = yield* run()
        const same = { same: changes.create ?? 0 }
        const before = { token: yield* token, deployment: yield* deployment, records: yield* records }

        assert.deepStrictEqual((yield* run(repair)).changes, same)
        assert.include(steps, "restore releases")
        assert.deepStrictEqual(notices(), [])
        assert.strictEqual(yield* records, before.records)

        yield* kubectl("delete", "secret", "wasmcloud-hosts")
        const edit =
          '[{"op":"replace","path":"/spec/replicas","value":3},' +
          '{"op":"add","path":"/spec/template/spec/containers/0/command/-","value":"--insecure"},' +
          '{"op":"remove","path":"/spec/template/spec/containers/0/env"}]'
        yield* kubectl("patch", "deployment", "wasmcloud-hosts", "--type=json", "-p", edit)
        assert.notStrictEqual(yield* deployment, before.deployment)
        assert.deepStrictEqual((yield* run(repair)).changes, same)
        assert.deepStrictEqual(notices(), [
          "Helm release wasmcloud inside the instance was applied again, which put back " +
            "Secret wasmcloud/wasmcloud-hosts (missing), Deployment wasmcloud/wasmcloud-hosts (edited).",
        ])
        assert.strictEqual(yield* token, before.token)
        assert.strictEqual(yield* deployment, before.deployment)

        // A value of the Secret alone, and beside it something of the user's own, which stays.
        steps.length = 0
        yield* kubectl(
          "patch",
          "secret",
          "wasmcloud-hosts",
          "-p",
          '{"stringData":{"token":"other","own":"x"}}',
        )
        assert.deepStrictEqual((yield* run(repair)).changes, same)
        assert.strictEqual(notices().length, 1)
        assert.include(notices()[0], "put back Secret wasmcloud/wasmcloud-hosts (edited).")
        assert.strictEqual(yield* token, before.token)
        assert.strictEqual(
          yield* kubectl("get", "secret", "wasmcloud-hosts", "-o", "jsonpath={.data.own}"),
          Buffer.from("x").toString("base64"),
        )

        // What has been put back is the engine's own for it: nothing is left to do, and an upgrade goes on from it.
        steps.length = 0
        const after = yield* records
        assert.deepStrictEqual((yield* run(repair)).changes, same)
        assert.deepStrictEqual([notices(), yield* records], [[], after])
        yield* kubectl("delete", "secret", "wasmcloud-hosts")
        const upgraded = yield* run({ config: new Map([...request.config, ["values", '{"replicas":2}']]) })
        assert.strictEqual(upgraded.changes.update, 1)
        assert.strictEqual(
          yield* kubectl("get", "deployment", "wasmcloud-hosts", "-o", "jsonpath={.spec.replicas}"),
          "2",
        )
      }).pipe(Effect.scoped, Effect.provide(NodeServices.layer)),
    300_000,
  )

  it.live(
    "killed in the first install and in an upgrade, and interrupted in one: the next operation sets it right",
    () =>
      Effect.gen(function* () {
        const { api, run, request, steps, instance } = yield* scene
        const config = (own: Readonly<Record<string, string>>) =>
          new Map([...request.config, ...Object.entries(own)])
        const uid = (kind: string, name: string) =>
          api.kubectl("-n", "wasmcloud", "get", kind, name, "-o", "jsonpath={.metadata.uid}")
        const revisions = api.kubectl(
          ...["-n", "wasmcloud", "get", "secret", "-l", "owner=helm", "--sort-by=.metadata.name"],
          ...["-o", "jsonpath={.items[*].metadata.labels.status}"],
        )
        const eventually = <A, E>(effect: Effect.Effect<A, E>, until: (value: A) => boolean = () => true) =>
          effect.pipe(
            Effect.filterOrFail(until),
            Effect.retry({ schedule: Schedule.spaced("100 millis"), times: 1200 }),
          )
        /** Ends every process of the operation, children first, as when a machine's memory runs out. */
        const killed = Effect.fnUntraced(function* (
          operation: Partial<OperationRequest>,
          when: Effect.Effect<unknown, unknown>,
        ) {
          const fiber = yield* run(operation).pipe(Effect.flip, Effect.forkChild)
          yield* when
          const runner = Number(
            /"pid": ?([0-9]+)/.exec(readFileSync(`${instance}/operation.json`, "utf8"))?.[1],
          )
          for (const pid of (yield* sessionProcesses(runner)).reverse()) process.kill(pid, "SIGKILL")
          return yield* Fiber.join(fiber)
        })

        // The first install: nothing runs here, so that release and controller are awaited until the end.
        const awaited = { fixtureSkipAwait: "false" }
        yield* killed(
          { config: config(awaited) },
          eventually(
            Effect.all([uid("deployment", "wasmcloud-hosts"), uid("deployment", "di-platform-controller")]),
          ),
        )
        assert.strictEqual(yield* revisions, "pending-install")
        const before = [
          yield* uid("deployment", "di-platform-controller"),
          yield* api.kubectl("get", "ns", "wasmcloud", "-o", "jsonpath={.metadata.uid}"),
        ]
        yield* run()
        assert.include(
          steps.join("\n"),
          "Helm release wasmcloud inside the instance was left half-way and has been uninstalled",
        )
        const after = [
          yield* uid("deployment", "di-platform-controller"),
          yield* api.kubectl("get", "ns", "wasmcloud", "-o", "jsonpath={.metadata.uid}"),
        ]
        assert.deepStrictEqual(after, before)
        assert.strictEqual(yield* revisions, "deployed")
        const hosts = yield* uid("deployment", "wasmcloud-hosts")

        // An upgrade of the release.
        yield* killed(
          { config: config({ ...awaited, values: '{"replicas":2}' }) },
          eventually(revisions, (statuses) => statuses.includes("pending-upgrade")),
        )
        steps.length = 0
        yield* run({ config: config({ values: '{"replicas":2}' }) })
        assert.include(steps.join("\n"), "has been rolled back to revision 1")
        assert.strictEqual(yield* uid("deployment", "wasmcloud-hosts"), hosts)
        assert.match(yield* revisions, /deployed$/)

        // Interrupted: the engine ends by itself, and lets go of everything.
        const fiber = yield* run({ config: config({ ...awaited, values: '{"replicas":3}' }) }).pipe(
          Effect.forkChild,
        )
        yield* eventually(revisions, (statuses) => statuses.includes("pending-upgrade"))
        yield* Fiber.interrupt(fiber)
        const last = yield* run({ config: config({ values: '{"replicas":3}' }), refresh: true })
        assert.isUndefined(last.changes.replace)
        assert.strictEqual(
          yield* api.kubectl(
            "-n",
            "wasmcloud",
            "get",
            "deployment",
            "wasmcloud-hosts",
            "-o",
            "jsonpath={.spec.replicas}",
          ),
          "3",
        )
      }).pipe(Effect.scoped, Effect.provide(NodeServices.layer)),
    600_000,
  )
})
