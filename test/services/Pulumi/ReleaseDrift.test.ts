// Which objects of a release count as missing or edited, and what is no difference.
import { assert, describe, it } from "@effect/vitest"
import { Effect, Option } from "effect"
import type { KubeManifest, KubeObject } from "../../../src/services/Kubernetes/Kubernetes.ts"
import { findDrift, secretValues } from "../../../src/services/Pulumi/ReleaseDrift.ts"
import { makeTarget, refused, stored } from "./fakeTarget.ts"

const settings: KubeManifest = {
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name: "settings", namespace: "wasmcloud" },
  data: { level: "info" },
}
const hosts: KubeManifest = {
  apiVersion: "apps/v1",
  kind: "Deployment",
  metadata: { name: "hosts", namespace: "wasmcloud" },
  spec: { replicas: 1, command: ["run"] },
}

const drift = (
  documents: ReadonlyArray<unknown>,
  live: ReadonlyArray<KubeObject>,
  refusal?: Parameters<typeof makeTarget>[1],
) =>
  Effect.map(
    findDrift(
      makeTarget(() => live, refusal),
      documents,
      "wasmcloud",
    ),
    ({ found }) => found,
  )

describe("an object of a release", () => {
  it.effect("that is as its manifest says has not drifted, whatever the server and others have added", () =>
    Effect.gen(function* () {
      const more = stored({
        ...hosts,
        metadata: { ...hosts.metadata, labels: { by: "Helm" } },
        spec: { ...{ replicas: 1, command: ["run"] }, strategy: "RollingUpdate" },
      })
      assert.deepStrictEqual(yield* drift([settings, hosts], [stored(settings), more]), [])
    }),
  )

  it.effect("is missing or edited, and told apart", () =>
    Effect.gen(function* () {
      const scaled = stored({ ...hosts, spec: { replicas: 0, command: ["run"] } })
      assert.deepStrictEqual(yield* drift([settings, hosts], [scaled]), [
        { object: "ConfigMap wasmcloud/settings", how: "missing" },
        { object: "Deployment wasmcloud/hosts", how: "edited" },
      ])
    }),
  )

  it.effect("is edited when a label of its manifest is gone, or an item of a list", () =>
    Effect.gen(function* () {
      const labelled = { ...settings, metadata: { ...settings.metadata, labels: { part: "a" } } }
      const longer = stored({ ...hosts, spec: { replicas: 1, command: ["run", "--insecure"] } })
      const found = yield* drift([labelled, hosts], [stored(settings), longer])
      assert.deepStrictEqual(
        found.map(({ how }) => how),
        ["edited", "edited"],
      )
    }),
  )

  it.effect("without a namespace is in the release's, and one of the whole cluster in none", () =>
    Effect.gen(function* () {
      const documents = [
        { ...settings, metadata: { name: "settings" } },
        { apiVersion: "v1", kind: "Namespace", metadata: { name: "extra", namespace: "wasmcloud" } },
      ]
      const namespace = stored({ apiVersion: "v1", kind: "Namespace", metadata: { name: "extra" } })
      assert.deepStrictEqual(yield* drift(documents, [stored(settings), namespace]), [])
      assert.deepStrictEqual(yield* drift(documents, []), [
        { object: "ConfigMap wasmcloud/settings", how: "missing" },
        { object: "Namespace extra", how: "missing" },
      ])
    }),
  )

  it.effect("of a kind that the server does not know is missing", () =>
    Effect.gen(function* () {
      const document = { apiVersion: "example.com/v1", kind: "Widget", metadata: { name: "one" } }
      const scale = { apiVersion: "apps/v1", kind: "Scale", metadata: { name: "two" } }
      assert.deepStrictEqual(yield* drift([document, scale], []), [
        { object: "Widget one", how: "missing" },
        { object: "Scale two", how: "missing" },
      ])
    }),
  )

  it.effect("that goes away by itself is not missing; a Job that stays is", () =>
    Effect.gen(function* () {
      const job = (name: string, spec: object) => ({
        ...{ apiVersion: "batch/v1", kind: "Job", metadata: { name, namespace: "wasmcloud" } },
        spec,
      })
      const found = yield* drift([job("once", { ttlSecondsAfterFinished: 60 }), job("stays", {})], [])
      assert.deepStrictEqual(found, [{ object: "Job wasmcloud/stays", how: "missing" }])
    }),
  )

  it.effect("has no edits where its template left a field empty", () =>
    Effect.gen(function* () {
      const empty = { ...settings, metadata: { ...settings.metadata, labels: null }, binaryData: null }
      assert.deepStrictEqual(yield* drift([empty], [stored(settings)]), [])
    }),
  )

  it.effect("that cannot be compared says nothing of the others", () =>
    Effect.gen(function* () {
      const scaled = stored({ ...hosts, spec: { replicas: 0 } })
      const found = yield* drift([settings, hosts], [stored(settings), scaled], ({ kind }) =>
        kind === "ConfigMap" ? Option.some(refused(422, "Invalid")) : Option.none(),
      )
      assert.deepStrictEqual(found, [{ object: "Deployment wasmcloud/hosts", how: "edited" }])
    }),
  )

  it.effect(
    "that nobody can change is told with its fields, and one that a policy refuses as one that cannot be compared",
    () =>
      Effect.gen(function* () {
        const policed = { ...settings, metadata: { ...settings.metadata, name: "policed" } }
        const target = makeTarget(
          () => [stored(settings), stored(policed), stored(hosts)],
          ({ metadata }) =>
            Option.fromUndefinedOr(
              {
                settings: refused(422, "Invalid", "data"),
                policed: refused(422, "Invalid"),
                hosts: refused(403, "Forbidden", "spec"),
              }[metadata.name],
            ),
        )
        assert.deepStrictEqual(yield* findDrift(target, [settings, policed, hosts], "wasmcloud"), {
          found: [],
          refused: [{ object: "ConfigMap wasmcloud/settings", fields: ["data"] }],
          uncompared: [
            { object: "ConfigMap wasmcloud/policed", reason: "Invalid" },
            { object: "Deployment wasmcloud/hosts", reason: "Forbidden" },
          ],
        })
      }),
  )

  it.effect("of a server that does not answer is not called edited", () =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(
        drift([settings], [stored(settings)], () => Option.some(refused(0, "Transport"))),
      )
      assert.strictEqual(error.reason, "Transport")
    }),
  )
})

it("the values of Secrets are known in both of their forms, those of nothing else", () => {
  const data = { a: Buffer.from("planted-a").toString("base64") }
  const values = secretValues([
    { apiVersion: "v1", kind: "Secret", metadata: { name: "s" }, data, stringData: { b: "planted-b" } },
    settings,
  ])
  assert.sameMembers([...values], [data.a, "planted-a", "planted-b"])
})
