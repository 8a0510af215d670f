// A release is moved to another version of its chart, by the real helm over a real API server: what the operator's upgrade of a
// vCluster stands on.
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import path from "node:path"
import { gunzipSync, gzipSync } from "node:zlib"
import { assert, it } from "@effect/vitest"
import { Effect, Option } from "effect"
import releaseJson from "../../../release.json" with { type: "json" }
import { vclusterValues } from "../../../src/actors/instance/target/VclusterValues.ts"
import { Helm } from "../../../src/services/Helm/Helm.ts"
import { recordName } from "../../../src/services/Helm/ReleaseRecord.ts"
import * as Kinds from "../../../src/services/Kubernetes/Kinds.ts"
import { Kubernetes } from "../../../src/services/Kubernetes/Kubernetes.ts"
import { startApiServer } from "../Pulumi/apiServer.ts"
import { realHelm } from "./realHelm.ts"

const namespace = "host"
const release = { namespace, name: "vcluster" }
const values = vclusterValues({ hostNamespace: namespace })
const older = "0.36.1"
const newer = releaseJson.vcluster.chartVersion

const folder = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(path.join(tmpdir(), "helm-chart-"))),
  (root) => Effect.sync(() => rmSync(root, { recursive: true, force: true })),
)

/** The chart of an earlier operator. */
const olderChart = (root: string): string => {
  const chart = path.join(root, "older")
  cpSync("charts/vcluster", chart, { recursive: true })
  const file = path.join(chart, "Chart.yaml")
  writeFileSync(file, readFileSync(file, "utf8").replace(/^version: .*$/m, `version: ${older}`))
  return chart
}

const kubeObject = Effect.fnUntraced(function* (kind: typeof Kinds.Secret, name: string) {
  return Option.getOrThrow(yield* (yield* Kubernetes).get(kind, { namespace, name }))
})

const chartLabel = Effect.map(
  kubeObject(Kinds.StatefulSet, "vcluster"),
  ({ metadata }) => metadata.labels?.chart,
)

const chartOf = Effect.fnUntraced(function* (revision: number) {
  return (yield* (yield* Helm).stored(release, revision)).chartVersion
})

/** As a helm that was killed leaves it: the payload and the label say so. */
const leave = Effect.fnUntraced(function* (revision: number, status: string) {
  const record = yield* kubeObject(Kinds.Secret, recordName(release, revision))
  const packed = Buffer.from(Buffer.from(Object(record.data).release, "base64").toString("latin1"), "base64")
  const stored = JSON.parse(gunzipSync(packed).toString("utf8"))
  const text = JSON.stringify({ ...stored, info: { ...stored.info, status } })
  const payload = Buffer.from(gzipSync(text).toString("base64")).toString("base64")
  yield* (yield* Kubernetes).patch(Kinds.Secret, record.metadata, {
    type: "merge",
    patch: { metadata: { labels: { status } }, data: { release: payload } },
  })
})

const state = Effect.gen(function* () {
  const found = Option.getOrThrow(yield* (yield* Helm).state(release))
  const { revision, status, lastSuperseded } = found
  return [revision, status, Option.getOrUndefined(lastSuperseded)]
})

it.live(
  "a release gets another version of its chart, and goes back, and on after helm was killed in it",
  () =>
    Effect.gen(function* () {
      const root = yield* folder
      const { kubeconfig } = yield* startApiServer(root)
      yield* Effect.gen(function* () {
        const helm = yield* Helm
        yield* (yield* Kubernetes).create(Kinds.Namespace, {
          apiVersion: "v1",
          kind: "Namespace",
          metadata: { name: namespace },
        })
        assert.strictEqual(helm.chartVersion, older)
        const refused = yield* Effect.flip(helm.upgrade(release, values))
        assert.include(refused.message, "has no deployed releases", "there is nothing to upgrade")
        yield* helm.install(release, values)
        assert.deepStrictEqual(yield* chartOf(1), Option.some(older))
      }).pipe(Effect.provide(realHelm(root, kubeconfig, undefined, olderChart(root))))

      yield* Effect.gen(function* () {
        const helm = yield* Helm
        const claims = Object((yield* kubeObject(Kinds.StatefulSet, "vcluster")).spec).volumeClaimTemplates
        yield* helm.upgrade(release, values)
        assert.deepStrictEqual(yield* state, [2, "deployed", 1])
        assert.deepStrictEqual(yield* chartOf(2), Option.some(newer))
        assert.strictEqual(yield* chartLabel, `vcluster-${newer}`)
        const after = yield* kubeObject(Kinds.StatefulSet, "vcluster")
        assert.deepStrictEqual(Object(after.spec).volumeClaimTemplates, claims)

        yield* helm.rollback(release, 1)
        assert.deepStrictEqual(yield* state, [3, "deployed", 2])
        assert.deepStrictEqual(
          [yield* chartOf(3), yield* chartLabel],
          [Option.some(older), `vcluster-${older}`],
        )

        // Killed before anything of the fourth revision was applied: it is carried on from its record.
        yield* helm.upgrade(release, values)
        yield* leave(3, "deployed")
        yield* leave(4, "pending-upgrade")
        const held = yield* Effect.flip(helm.upgrade(release, values))
        assert.include(held.message, "another operation (install/upgrade/rollback) is in progress")
        yield* helm.rollback(release, 4)
        assert.deepStrictEqual(yield* state, [5, "deployed", 3])
        assert.deepStrictEqual(
          [yield* chartOf(5), yield* chartLabel],
          [Option.some(newer), `vcluster-${newer}`],
        )
      }).pipe(Effect.provide(realHelm(root, kubeconfig)))
    }).pipe(Effect.scoped),
)
