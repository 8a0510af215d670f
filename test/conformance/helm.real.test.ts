// The twin of helm sees and leaves what the real one does: helm 4.3 with kube-apiserver 1.35 and etcd.
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import path from "node:path"
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { at, listOf, objectOf } from "../twins/kubernetes/Json.ts"
import { simulate } from "../twins/simulation/Simulation.ts"
import { makeRealHelm } from "./helmReal.ts"
import { type HelmWorld, helmScenario } from "./helmScenario.ts"
import { makeHelmTwin } from "./helmTwin.ts"
import { observe } from "./Scenario.ts"

const folder = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(path.join(tmpdir(), "helm-conformance-"))),
  (root) => Effect.sync(() => rmSync(root, { recursive: true, force: true })),
)

const observeTwin = (seed: number) =>
  simulate(
    Effect.flatMap(makeHelmTwin, (world) => observe(helmScenario(), world)),
    { seed },
  )

it.live(
  "helm with charts/vcluster: the twin and the real one agree",
  () =>
    Effect.gen(function* () {
      const real = yield* Effect.flatMap(makeRealHelm(yield* folder), (world) =>
        observe(helmScenario(), world),
      )
      for (const seed of [1, 2]) assert.deepStrictEqual(observeTwin(seed), real)
    }).pipe(Effect.scoped),
  600_000,
)

const namespace = "conformance"
const secrets = `/api/v1/namespaces/${namespace}/secrets`
const makeNamespace = (world: HelmWorld) =>
  world.call("POST", "/api/v1/namespaces", {
    apiVersion: "v1",
    kind: "Namespace",
    metadata: { name: namespace },
  })

/** The record of a release that the twin has installed. */
const twinRecord = Effect.gen(function* () {
  const world = yield* makeHelmTwin
  yield* makeNamespace(world)
  const args = ["install", "vcluster", world.chart, "--namespace", namespace]
  assert.strictEqual((yield* world.helm(args)).exitCode, 0)
  const { body } = yield* world.call("GET", `${secrets}/sh.helm.release.v1.vcluster.v1`)
  const { type, data } = objectOf(body)
  const { name, labels } = objectOf(at(body, "metadata"))
  return { apiVersion: "v1", kind: "Secret", type, data, metadata: { name, labels } }
})

it.live(
  "a record that the twin has written is a release for the real one",
  () =>
    Effect.gen(function* () {
      const world = yield* makeRealHelm(yield* folder)
      yield* makeNamespace(world)
      assert.strictEqual((yield* world.call("POST", secrets, simulate(twinRecord, { seed: 1 }))).status, 201)
      const history = yield* world.helm(["history", "vcluster", "--namespace", namespace, "--output", "json"])
      assert.deepInclude(objectOf(listOf(JSON.parse(history.stdout))[0]), {
        status: "deployed",
        description: "Install complete",
      })
      const args = ["rollback", "vcluster", "1", "--namespace", namespace]
      assert.deepInclude(yield* world.helm(args), { exitCode: 0, stderr: "" })
      const { status } = yield* world.call(
        "GET",
        `/apis/apps/v1/namespaces/${namespace}/statefulsets/vcluster`,
      )
      assert.strictEqual(status, 200)
    }).pipe(Effect.scoped),
  300_000,
)
