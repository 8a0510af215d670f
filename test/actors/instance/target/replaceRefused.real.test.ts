// The real helm and a real API server: what Helm cannot apply over an edit, as often as it tries, and what lets it.
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import path from "node:path"
import { assert, it } from "@effect/vitest"
import { Effect, Layer, Option, Schema } from "effect"
import { releaseRef } from "../../../../src/actors/instance/target/observeTarget.ts"
import { replaceRefused } from "../../../../src/actors/instance/target/replaceRefused.ts"
import { vclusterValues } from "../../../../src/actors/instance/target/VclusterValues.ts"
import { Views } from "../../../../src/actors/instance/Views.ts"
import { Helm } from "../../../../src/services/Helm/Helm.ts"
import * as Kinds from "../../../../src/services/Kubernetes/Kinds.ts"
import { Kubernetes } from "../../../../src/services/Kubernetes/Kubernetes.ts"
import { realHelm } from "../../../services/Helm/realHelm.ts"
import { startApiServer } from "../../../services/Pulumi/apiServer.ts"
import { machine } from "../../../support/machine.ts"

const key = { namespace: "team-a", name: "one" }
const release = releaseRef(key)
const service = { namespace: release.namespace, name: "vcluster" }

const folder = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(path.join(tmpdir(), "replace-refused-"))),
  (root) => Effect.sync(() => rmSync(root, { recursive: true, force: true })),
)

const ports = Effect.gen(function* () {
  const kubernetes = yield* Kubernetes
  return Option.getOrThrow(yield* kubernetes.get(Kinds.Service, service)).spec
})

const decodePorts = Schema.decodeUnknownSync(
  Schema.Struct({ ports: Schema.Array(Schema.Struct({ name: Schema.String, port: Schema.Finite })) }),
)

/** As `kubectl edit` does. */
const renumber = Effect.gen(function* () {
  const kubernetes = yield* Kubernetes
  yield* kubernetes.patch(Kinds.Service, service, {
    type: "json",
    operations: [{ op: "replace", path: "/spec/ports/0/port", value: 444 }],
  })
})

const state = Effect.gen(function* () {
  const helm = yield* Helm
  return Option.getOrThrow(yield* helm.state(release))
})

const scene = Effect.gen(function* () {
  const helm = yield* Helm
  const kubernetes = yield* Kubernetes
  const metadata = { name: release.namespace }
  yield* kubernetes.create(Kinds.Namespace, { apiVersion: "v1", kind: "Namespace", metadata })
  yield* helm.install(release, vclusterValues({ hostNamespace: release.namespace }))
  const before = yield* ports
  yield* renumber
  assert.notDeepEqual(yield* ports, before)

  // By Helm alone it never comes back. Each try is one more revision that has failed, none is deployed any more, and in the end
  // the first one is gone from the history.
  const refused = yield* Effect.flip(helm.reapply(release))
  assert.match(refused.message, /spec\.ports\[\d\]\.name: Duplicate value: "https"/)
  for (let time = 1; time <= 6; time += 1) {
    const { status, lastDeployed, oldest } = yield* state
    assert.deepStrictEqual([status, lastDeployed], ["failed", Option.none()])
    yield* Effect.flip(helm.rollback(release, oldest))
  }
  const { oldest } = yield* state
  assert.isAbove(oldest, 1)
  assert.match((yield* Effect.flip(helm.rollback(release, 1))).message, /no 1 version/)

  yield* replaceRefused(key, (yield* state).oldest)
  yield* helm.rollback(release, (yield* state).oldest)
  assert.deepStrictEqual(yield* ports, before)
  assert.strictEqual((yield* state).status, "deployed")

  // Of the objects that are known to be edited, and of no other one.
  yield* renumber
  const { revision } = yield* state
  const edited = yield* ports
  yield* replaceRefused(key, revision, new Set(["service/vcluster-headless"]))
  assert.deepStrictEqual(yield* ports, edited)
  yield* replaceRefused(key, revision, new Set(["service/vcluster"]))
  yield* helm.reapply(release)
  assert.deepStrictEqual(yield* ports, before)
  assert.strictEqual((yield* state).status, "deployed")
})

/** The operator's chart, which numbers a port of a Service anew. */
const renumbering = (root: string): string => {
  const chart = path.join(root, "renumbering")
  cpSync(path.resolve("charts/vcluster"), chart, { recursive: true })
  const services = `${chart}/templates/services.yaml`
  const text = readFileSync(services, "utf8")
  writeFileSync(services, text.replace("port: 443", "port: 445"))
  return chart
}

const upgrade = Effect.gen(function* () {
  const helm = yield* Helm
  yield* helm.install(release, vclusterValues({ hostNamespace: release.namespace }))
  const numbers = decodePorts(yield* ports).ports.map(({ name, port }) => `${name} ${port}`)
  assert.deepStrictEqual(numbers.toSorted(), ["https 445", "kubelet 10250"])
  assert.strictEqual((yield* state).status, "deployed")
})

it.live("a port that was given another number has its own again, with Helm's records as they should be", () =>
  Effect.gen(function* () {
    const root = yield* folder
    const { kubeconfig } = yield* startApiServer(root)
    yield* scene.pipe(
      Effect.provide([realHelm(root, kubeconfig), Layer.mock(Views, { awaitWrite: () => Effect.void })]),
    )
    // Nobody but Helm holds on to the port that was put back: a chart that numbers it anew leaves no other one beside it.
    yield* upgrade.pipe(Effect.provide(realHelm(root, kubeconfig, machine, renumbering(root))))
  }).pipe(Effect.scoped),
)
