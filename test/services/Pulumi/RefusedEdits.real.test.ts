// Edits inside the instance over which neither an apply nor Helm itself puts the release's own back, with the real engine, Helm,
// provider and API server.
import { chmodSync, writeFileSync } from "node:fs"
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { contentDigest } from "../../../src/services/Pulumi/PackageDigest.ts"
import { machine } from "../../support/machine.ts"
import { installScene } from "./installScene.ts"

const templates = {
  service: `apiVersion: v1
kind: Service
metadata: { name: numbered }
spec:
  selector: { app: wasmcloud }
  ports: [{ name: http, port: {{ .Values.port | default 443 }} }]
`,
  deployment: `apiVersion: apps/v1
kind: Deployment
metadata: { name: worker }
spec:
  replicas: 0
  strategy: { type: Recreate }
  selector: { matchLabels: { app: worker } }
  template:
    metadata: { labels: { app: worker } }
    spec:
      containers:
        - name: one
          image: busybox
          ports: [{ name: http, containerPort: 80 }]
          livenessProbe: { httpGet: { path: /, port: http } }
`,
  settings: `apiVersion: v1
kind: ConfigMap
metadata: { name: settings }
data: { level: info }
`,
} as const

/** The stand-in package with a chart that renders these objects, too. */
const scene = Effect.gen(function* () {
  const { platform, api, request, ...others } = yield* installScene
  const chart = `${platform.directory}/node_modules/@di-framework/platform/dist/chart/templates`
  chmodSync(chart, 0o755)
  for (const [name, text] of Object.entries(templates)) writeFileSync(`${chart}/own-${name}.yaml`, text)
  const digest = yield* contentDigest(`${platform.directory}/node_modules`)
  const kubectl = (...args: ReadonlyArray<string>) => api.kubectl("-n", "wasmcloud", ...args)
  const edit = (what: string, operations: ReadonlyArray<object>) =>
    kubectl("patch", ...what.split("/"), "--type=json", "-p", JSON.stringify(operations))
  const run = (port?: number, own: object = {}) =>
    others.run({
      ...own,
      package: { ...platform, digest },
      config: new Map([
        ...request.config,
        ...(port === undefined ? [] : [["values", JSON.stringify({ port })] as const]),
      ]),
    })
  return {
    ...others,
    kubectl,
    edit,
    run,
    repair: (port?: number) => run(port, { kind: "RepairDue", refresh: true }),
    renumber: (port: number) =>
      edit("service/numbered", [{ op: "replace", path: "/spec/ports/0/port", value: port }]),
    ports: kubectl("get", "service", "numbered", "-o", "jsonpath={.spec.ports[*].port}"),
    /** In the order of their revisions, of which there are few. */
    records: kubectl("get", "secret", "-l", "owner=helm,name=wasmcloud", "-o", "name"),
    failures: kubectl("get", "secret", "-l", "owner=helm,name=wasmcloud,status=failed", "-o", "name"),
  }
})

it.live(
  "what the server does not let be applied over an edit is put back, an upgrade gets through, and what cannot be changed stays",
  () =>
    Effect.gen(function* () {
      const { run, repair, renumber, edit, kubectl, ports, records, failures, steps, done, kept } =
        yield* scene
      const spec = kubectl("get", "deployment", "worker", "-o", "jsonpath={.spec}")
      yield* run()
      const before = yield* spec
      done.length = 0

      yield* renumber(444)
      yield* edit("deployment/worker", [
        { op: "replace", path: "/spec/strategy", value: { type: "RollingUpdate" } },
        { op: "replace", path: "/spec/template/spec/containers/0/ports/0/containerPort", value: 81 },
        {
          op: "replace",
          path: "/spec/template/spec/containers/0/livenessProbe",
          value: { tcpSocket: { port: 81 } },
        },
      ])
      yield* repair()
      assert.sameMembers(done, [
        "Service wasmcloud/numbered (edited)",
        "Deployment wasmcloud/worker (edited)",
      ])
      assert.strictEqual(yield* ports, "443")
      assert.strictEqual(yield* spec, before)
      // It stays so, and an upgrade to a chart that numbers the port anew leaves no other one beside it.
      done.length = 0
      yield* repair()
      assert.deepStrictEqual(done, [])
      yield* run(445)
      assert.strictEqual(yield* ports, "445")

      // An edit that nobody has repaired does not stop an upgrade either.
      yield* renumber(444)
      yield* run(446)
      assert.strictEqual(yield* ports, "446")
      assert.strictEqual(yield* failures, "")

      // Nor the rollback of one that was cut off: only its record is set right by it.
      const newest = (yield* records).split("\n").at(-1) ?? ""
      yield* kubectl("label", "--overwrite", newest, "status=pending-upgrade")
      yield* renumber(444)
      yield* repair(446)
      assert.isTrue(steps.some((step) => /has been rolled back to revision \d+\.$/.test(step)))
      assert.match(yield* ports, /^44[56]$/)
      assert.strictEqual(yield* failures, "")

      // Nor the try after an upgrade that has failed: Helm still goes from what was deployed before it.
      yield* Effect.flip(run(70_000))
      assert.strictEqual((yield* failures).split("\n").length, 1)
      yield* renumber(444)
      yield* repair(447)
      assert.strictEqual(yield* ports, "447")
      assert.strictEqual((yield* failures).split("\n").length, 1)

      // What nobody can change is no more than told: its content and its life stay.
      yield* edit("configmap/settings", [
        { op: "replace", path: "/data/level", value: "debug" },
        { op: "add", path: "/immutable", value: true },
      ])
      const frozen = kubectl("get", "configmap", "settings", "-o", "jsonpath={.metadata.uid} {.data.level}")
      const held = yield* frozen
      assert.include(held, "debug")
      done.length = 0
      yield* repair(447)
      assert.deepStrictEqual(done, [])
      assert.deepStrictEqual(kept, ["ConfigMap wasmcloud/settings (data)"])
      assert.strictEqual(yield* frozen, held)
      assert.strictEqual((yield* failures).split("\n").length, 1)
    }).pipe(Effect.scoped, Effect.provide(machine)),
  3_600_000,
)
