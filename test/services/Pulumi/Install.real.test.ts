// A whole install of the stand-in package, from the registry to the objects: npm, the engine, the Kubernetes
// provider and an API server are the real ones; no pod runs.
import { chmodSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs"
import { gunzipSync, gzipSync } from "node:zlib"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Redacted, Schedule } from "effect"
import { sessionProcesses } from "../../../src/services/Process/Session.ts"
import { contentDigest } from "../../../src/services/Pulumi/PackageDigest.ts"
import type { OperationRequest } from "../../../src/services/Pulumi/Pulumi.ts"
import { machine } from "../../support/machine.ts"
import { installScene } from "./installScene.ts"

describe("an install of the stand-in package", () => {
  it.live(
    "makes what the contract says, changes nothing the second time, and takes back what was edited by hand",
    () =>
      Effect.gen(function* () {
        const { api, run, request, platform, steps, done, instance } = yield* installScene
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

        // The Secret goes through the provider that the program has: another one would be another process.
        const state = gunzipSync(
          readFileSync(`${instance}/backend/.pulumi/stacks/platform-instance/instance.json.gz`),
        ).toString()
        assert.strictEqual(state.match(/"type": ?"pulumi:providers:kubernetes"/g)?.length, 1)

        const { create, ...others } = first.changes
        assert.deepStrictEqual(others, {})
        const second = yield* run({ config, secretConfig })
        assert.deepStrictEqual(second.changes, { same: create ?? 0 })

        yield* api.kubectl("-n", "wasmcloud", "delete", "service", "wasmcloud-http")
        yield* api.kubectl(
          ...["-n", "wasmcloud", "patch", "service", "di-platform-gateway", "--type=merge"],
          ...["-p", '{"spec":{"ports":[{"name":"http","port":81,"targetPort":8080}]}}'],
        )
        done.length = 0
        const repaired = yield* run({ config, secretConfig, kind: "RepairDue", refresh: true })
        assert.strictEqual(repaired.changes.create, 1)
        assert.deepStrictEqual(done.toSorted(), [
          "Service di-platform-gateway (updated)",
          "Service wasmcloud-http (created)",
        ])
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
      }).pipe(Effect.scoped, Effect.provide(machine)),
    3_600_000,
  )

  it.live(
    "changes the Secret of a client secret that was rotated, in an installation from before that was possible too",
    () =>
      Effect.gen(function* () {
        const { root, api, run, request, platform, done, instance } = yield* installScene
        const config = new Map([
          ...request.config,
          [
            "tenantAuth",
            JSON.stringify({
              image: `auth@sha256:${"a".repeat(64)}`,
              issuer: "https://id",
              oauthClient: { id: "console", secretName: "platform-operator-tenant-auth" },
            }),
          ],
        ])
        const withSecret = (secret: string, own: Partial<OperationRequest> = {}) =>
          run({ ...own, config, secretConfig: new Map([["tenantAuthClientSecret", Redacted.make(secret)]]) })
        const stored = Effect.map(
          api.kubectl(
            ...["-n", "wasmcloud", "get", "secret", "platform-operator-tenant-auth"],
            ...["-o", "jsonpath={.metadata.uid} {.data.clientSecret}"],
          ),
          (text) => {
            const [uid = "", secret = ""] = text.split(" ")
            return { uid, secret: Buffer.from(secret, "base64").toString() }
          },
        )
        const wrapper = readFileSync(`${root}/wrapper.js`, "utf8")
        const before = wrapper.replace(/\.\.\.\(clientSecret !== undefined.*\n/, "")
        assert.notStrictEqual(before, wrapper)
        writeFileSync(`${root}/wrapper.js`, before)
        yield* withSecret("planted-first")
        const made = yield* stored
        writeFileSync(`${root}/wrapper.js`, wrapper)

        // A repair: the provider is told once, and the Secret is the one that it was.
        done.length = 0
        const repair = { kind: "RepairDue", refresh: true }
        const { same: _, ...rotated } = (yield* withSecret("planted-second", repair)).changes
        assert.deepStrictEqual(rotated, { update: 2 })
        assert.deepStrictEqual(done, ["Secret platform-operator-tenant-auth (updated)"])
        assert.deepStrictEqual(yield* stored, { uid: made.uid, secret: "planted-second" })
        // What somebody writes into it by hand is taken back in the same way.
        yield* api.kubectl(
          ...["-n", "wasmcloud", "patch", "secret", "platform-operator-tenant-auth"],
          ...["-p", '{"stringData":{"clientSecret":"by hand"}}'],
        )
        const { same: __, ...repaired } = (yield* withSecret("planted-second", repair)).changes
        assert.deepStrictEqual(repaired, { update: 1 })
        assert.deepStrictEqual(yield* stored, { uid: made.uid, secret: "planted-second" })
        assert.deepStrictEqual(Object.keys((yield* withSecret("planted-second", repair)).changes), ["same"])

        // A program that has Secrets of its own gets the provider that it has asked for.
        const state = () =>
          gunzipSync(
            readFileSync(`${instance}/backend/.pulumi/stacks/platform-instance/instance.json.gz`),
          ).toString()
        assert.include(state(), "enableSecretMutable")
        const program = `${platform.directory}/node_modules/@di-framework/platform/dist/resources/platform.js`
        const own = `new kubernetes.core.v1.Secret("own", { metadata: { name: "own" }, stringData: { a: "b" } }, { provider })`
        const text = readFileSync(program, "utf8").replace(
          "  return { provider",
          `  ${own}\n  return { provider`,
        )
        chmodSync(program, 0o644)
        writeFileSync(program, text)
        const digest = yield* contentDigest(`${platform.directory}/node_modules`)
        const edited = { package: { ...platform, digest } }
        const { same: ___, ...added } = (yield* withSecret("planted-second", edited)).changes
        assert.deepStrictEqual(added, { create: 1, update: 1 })
        assert.notInclude(state(), "enableSecretMutable")
      }).pipe(Effect.scoped, Effect.provide(machine)),
    3_600_000,
  )

  it.live(
    "puts back what of the platform's Helm release was deleted or edited by hand, and otherwise leaves it alone",
    () =>
      Effect.gen(function* () {
        const { api, run, request, steps, done } = yield* installScene
        const kubectl = (...args: ReadonlyArray<string>) => api.kubectl("-n", "wasmcloud", ...args)
        const records = kubectl("get", "secret", "-l", "owner=helm,name=wasmcloud", "-o", "name")
        const token = kubectl("get", "secret", "wasmcloud-hosts", "-o", "jsonpath={.data.token}")
        const deployment = kubectl("get", "deployment", "wasmcloud-hosts", "-o", "jsonpath={.spec}")
        const repair = { kind: "RepairDue", refresh: true }
        const { changes } = yield* run()
        const same = { same: changes.create ?? 0 }
        const before = { token: yield* token, deployment: yield* deployment, records: yield* records }
        done.length = 0

        assert.deepStrictEqual((yield* run(repair)).changes, same)
        assert.include(steps, "restore releases")
        assert.deepStrictEqual(done, [])
        assert.strictEqual(yield* records, before.records)

        yield* kubectl("delete", "secret", "wasmcloud-hosts")
        const edit =
          '[{"op":"replace","path":"/spec/replicas","value":3},' +
          '{"op":"add","path":"/spec/template/spec/containers/0/command/-","value":"--insecure"},' +
          '{"op":"remove","path":"/spec/template/spec/containers/0/env"}]'
        yield* kubectl("patch", "deployment", "wasmcloud-hosts", "--type=json", "-p", edit)
        assert.notStrictEqual(yield* deployment, before.deployment)
        assert.deepStrictEqual((yield* run(repair)).changes, same)
        assert.deepStrictEqual(done, [
          "Secret wasmcloud/wasmcloud-hosts (missing)",
          "Deployment wasmcloud/wasmcloud-hosts (edited)",
        ])
        assert.strictEqual(yield* token, before.token)
        assert.strictEqual(yield* deployment, before.deployment)

        // A value of the Secret alone, and beside it something of the user's own, which stays.
        done.length = 0
        yield* kubectl(
          "patch",
          "secret",
          "wasmcloud-hosts",
          "-p",
          '{"stringData":{"token":"other","own":"x"}}',
        )
        assert.deepStrictEqual((yield* run(repair)).changes, same)
        assert.deepStrictEqual(done, ["Secret wasmcloud/wasmcloud-hosts (edited)"])
        assert.strictEqual(yield* token, before.token)
        assert.strictEqual(
          yield* kubectl("get", "secret", "wasmcloud-hosts", "-o", "jsonpath={.data.own}"),
          Buffer.from("x").toString("base64"),
        )

        // What has been put back is the engine's own for it: nothing is left to do, and an upgrade goes on from it.
        done.length = 0
        const after = yield* records
        assert.deepStrictEqual((yield* run(repair)).changes, same)
        assert.deepStrictEqual([done, yield* records], [[], after])
        yield* kubectl("delete", "secret", "wasmcloud-hosts")
        const upgraded = yield* run({ config: new Map([...request.config, ["values", '{"replicas":2}']]) })
        assert.strictEqual(upgraded.changes.update, 1)
        assert.strictEqual(
          yield* kubectl("get", "deployment", "wasmcloud-hosts", "-o", "jsonpath={.spec.replicas}"),
          "2",
        )
      }).pipe(Effect.scoped, Effect.provide(machine)),
    3_600_000,
  )

  it.live(
    "what a power cut has torn is put back from a copy; without one, a first install takes over what it has made",
    () =>
      Effect.gen(function* () {
        const { api, run, steps, instance } = yield* installScene
        const root = `${instance}/backend/.pulumi`
        const stack = "platform-instance/instance"
        const state = `${root}/stacks/${stack}.json.gz`
        const tear = (...files: ReadonlyArray<string>) => {
          for (const file of files) writeFileSync(file, "")
        }
        const uids = Effect.all([
          api.kubectl("get", "ns", "wasmcloud", "-o", "jsonpath={.metadata.uid}"),
          api.kubectl(
            ...["-n", "wasmcloud", "get", "deployments", "-o", "jsonpath={.items[*].metadata.uid}"],
          ),
        ])
        const { changes } = yield* run()
        const made = yield* uids

        tear(state, `${root}/meta.yaml`, `${instance}/project/Pulumi.instance.yaml`)
        mkdirSync(`${root}/locks/organization/${stack}`, { recursive: true })
        tear(`${root}/locks/organization/${stack}/torn.json`)
        const second = yield* run({ refresh: true })
        assert.deepStrictEqual(second.changes, { same: changes.create ?? 0 })
        assert.match(steps.join("\n"), /its content was lost.*\n[\s\S]*has been put back from/)

        const history = `${root}/history/${stack}`
        const checkpoints = readdirSync(history).filter((name) => name.includes(".checkpoint."))
        tear(state, `${state}.bak`, ...checkpoints.map((name) => `${history}/${name}`))
        tear(...readdirSync(`${instance}/exports`).map((name) => `${instance}/exports/${name}`))
        steps.length = 0
        yield* run()
        assert.match(
          steps.join("\n"),
          /begins with an empty one[\s\S]*Helm release wasmcloud\/wasmcloud .* taken over as it is/,
        )
        assert.deepStrictEqual(yield* uids, made)
        const last = yield* run({ refresh: true })
        assert.deepStrictEqual(last.changes, { same: changes.create ?? 0 })
      }).pipe(Effect.scoped, Effect.provide(machine)),
    3_600_000,
  )

  it.live(
    "a Helm release that an older state does not know is taken over as it is, known to be older or not",
    () =>
      Effect.gen(function* () {
        const { api, run, steps, instance } = yield* installScene
        const state = `${instance}/backend/.pulumi/stacks/platform-instance/instance.json.gz`
        const isRelease = ({ type }: { type: string }) => type === "kubernetes:helm.sh/v3:Release"
        const read = () => JSON.parse(gunzipSync(readFileSync(state)).toString("utf8"))
        /**
         * And what depends on it, as before it was made, or as in the moment in which it was being made. Gives how many
         * resources that is.
         */
        const forget = (begun = false): number => {
          const found = read()
          const { latest } = found.checkpoint
          const [release, ...others] = latest.resources.filter(isRelease)
          assert.lengthOf(others, 0)
          const rest = latest.resources.filter(
            (one: { urn: string; dependencies?: ReadonlyArray<string> }) =>
              one.urn !== release.urn && one.dependencies?.includes(release.urn) !== true,
          )
          const dropped = latest.resources.length - rest.length
          latest.resources = rest
          if (begun) {
            const { outputs: _, id: __, ...resource } = release
            latest.pending_operations = [{ resource, type: "creating" }]
          }
          writeFileSync(state, gzipSync(JSON.stringify(found)))
          return dropped
        }
        const uids = api.kubectl(
          ...["-n", "wasmcloud", "get", "deployments,services,serviceaccounts,configmaps"],
          ...["-o", "jsonpath={range .items[*]}{.kind} {.metadata.name} {.metadata.uid}{'\\n'}{end}"],
        )
        const revisions = api.kubectl(
          ...["-n", "wasmcloud", "get", "secrets", "-l", "owner=helm,name=wasmcloud"],
          ...["-o", "jsonpath={.items[*].metadata.labels.status}"],
        )
        const { changes } = yield* run()
        const made = yield* uids
        assert.include(made, "Deployment wasmcloud-hosts ")
        const all = changes.create ?? 0

        const dropped = forget()
        const second = yield* run({ kind: "RepairDue", refresh: true, state: "older" })
        assert.deepStrictEqual(second.changes, {
          same: all - dropped,
          update: 1,
          ...(dropped > 1 ? { create: dropped - 1 } : {}),
        })
        assert.match(
          steps.join("\n"),
          /did not know Helm release wasmcloud\/wasmcloud .* taken over as it is/,
        )
        assert.strictEqual(yield* uids, made)
        assert.strictEqual(yield* revisions, "superseded deployed")
        assert.lengthOf(read().checkpoint.latest.resources.filter(isRelease), 1)
        const third = yield* run({ kind: "RepairDue", refresh: true })
        assert.deepStrictEqual(third.changes, { same: all })

        // Nobody knows that it is older; the records tell whose the release is.
        forget()
        steps.length = 0
        yield* run({ kind: "RepairDue", refresh: true })
        assert.match(steps.join("\n"), /taken over as it is/)
        assert.strictEqual(yield* uids, made)
        const last = yield* run({ kind: "RepairDue", refresh: true })
        assert.deepStrictEqual(last.changes, { same: all })

        // A backup from the moment in which it was being made, and no status that tells of more.
        forget(true)
        steps.length = 0
        yield* run()
        assert.match(steps.join("\n"), /taken over as it is/)
        assert.notInclude(steps.join("\n"), "uninstalled")
        assert.strictEqual(yield* uids, made)
        assert.deepStrictEqual((yield* run({ kind: "RepairDue", refresh: true })).changes, { same: all })
      }).pipe(Effect.scoped, Effect.provide(machine)),
    3_600_000,
  )

  it.live(
    "F15 one pending create whose object exists and one whose does not: nothing twice, nothing lost, and both settled",
    () =>
      Effect.gen(function* () {
        const { api, run, instance } = yield* installScene
        const { changes } = yield* run()
        const services = api.kubectl(
          ...["-n", "wasmcloud", "get", "service", "-o", "jsonpath={.items[*].metadata.name}"],
        )
        const uid = api.kubectl(
          ...["-n", "wasmcloud", "get", "service", "wasmcloud-http", "-o", "jsonpath={.metadata.uid}"],
        )
        const before = { services: yield* services, uid: yield* uid }
        const state = `${instance}/backend/.pulumi/stacks/platform-instance/instance.json.gz`
        const found = JSON.parse(gunzipSync(readFileSync(state)).toString("utf8"))
        const { latest } = found.checkpoint
        const isPending = ({ type, outputs }: { type: string; outputs?: { metadata?: { name?: string } } }) =>
          type === "kubernetes:core/v1:Service" &&
          ["wasmcloud-http", "di-platform-gateway"].includes(outputs?.metadata?.name ?? "")
        const pending = latest.resources.filter(isPending)
        assert.lengthOf(pending, 2)
        latest.resources = latest.resources.filter(
          (resource: Parameters<typeof isPending>[0]) => !isPending(resource),
        )
        latest.pending_operations = pending.map(
          ({ outputs: _, id: __, ...resource }: Record<string, unknown>) => ({
            resource,
            type: "creating",
          }),
        )
        writeFileSync(state, gzipSync(JSON.stringify(found)))
        yield* api.kubectl("-n", "wasmcloud", "delete", "service", "di-platform-gateway")
        yield* run({ kind: "RepairDue", refresh: true })
        assert.deepStrictEqual({ services: yield* services, uid: yield* uid }, before)
        const after = JSON.parse(gunzipSync(readFileSync(state)).toString("utf8")).checkpoint.latest
        assert.lengthOf(after.pending_operations ?? [], 0)
        assert.lengthOf(after.resources.filter(isPending), 2)
        const last = yield* run({ kind: "RepairDue", refresh: true })
        assert.deepStrictEqual(last.changes, { same: changes.create ?? 0 })
      }).pipe(Effect.scoped, Effect.provide(machine)),
    3_600_000,
  )

  it.live(
    "killed in the first install and in an upgrade, and interrupted in one: the next operation sets it right",
    () =>
      Effect.gen(function* () {
        const { api, run, request, steps, instance } = yield* installScene
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
      }).pipe(Effect.scoped, Effect.provide(machine)),
    3_600_000,
  )
})
