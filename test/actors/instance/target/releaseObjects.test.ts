// What counts as an edit of an object of the release, and what it costs to find out.
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Option } from "effect"
import { lookAtRelease } from "../../../../src/actors/instance/target/releaseObjects.ts"
import type { InstanceView } from "../../../../src/actors/instance/Views.ts"
import { hostNamespace } from "../../../../src/schema/Names.ts"
import { Helm } from "../../../../src/services/Helm/Helm.ts"
import {
  KubeError,
  type KubeManifest,
  type KubeObject,
  Kubernetes,
} from "../../../../src/services/Kubernetes/Kubernetes.ts"

const key = { namespace: "team-a", name: "one" }
const statefulSet: KubeManifest = {
  apiVersion: "apps/v1",
  kind: "StatefulSet",
  metadata: { name: "vcluster", labels: { app: "vcluster" } },
  spec: {
    replicas: 1,
    template: { spec: { containers: [{ name: "syncer", resources: { requests: { cpu: 1 } } }] } },
  },
}
const secret: KubeManifest = {
  apiVersion: "v1",
  kind: "Secret",
  metadata: { name: "vc-config-vcluster" },
  data: { "config.yaml": "e30=" },
}
const stored = (manifest: KubeManifest, change: Readonly<Record<string, unknown>> = {}): KubeObject => ({
  ...manifest,
  ...change,
  metadata: { ...manifest.metadata, namespace: hostNamespace(key), uid: "u", resourceVersion: "1" },
})
const view = (...releaseObjects: ReadonlyArray<KubeObject>): InstanceView => ({
  hostNamespace: Option.none(),
  networkPolicies: [],
  innerNetworkPolicies: [],
  releaseSecrets: [
    stored({
      apiVersion: "v1",
      kind: "Secret",
      metadata: {
        name: "sh.helm.release.v1.vcluster.v1",
        labels: { owner: "helm", name: "vcluster", version: "1", status: "deployed" },
      },
    }),
  ],
  statefulSet: Option.none(),
  services: [],
  releaseObjects,
  controlPlanePods: [],
  sourceSecret: Option.none(),
  kubeconfigSecret: Option.none(),
  cleanups: [],
})

/** A server with this object, whose dry run of an apply gives `becomes`. */
const looking = (manifest: KubeManifest, live: KubeObject, becomes: KubeObject | KubeError = live) => {
  const requests: Array<string> = []
  const services = Layer.merge(
    Layer.mock(Helm, {
      chartVersion: "0.37.3",
      stored: (_, revision) => {
        requests.push(`record ${revision}`)
        return Effect.succeed({ objects: [manifest], chartVersion: Option.some("0.37.3") })
      },
    }),
    Layer.mock(Kubernetes, {
      get: () => {
        requests.push("get")
        return Effect.succeedSome(live)
      },
      apply: (_, applied, options) => {
        requests.push(`dry run ${options?.dryRun} in ${applied.metadata.namespace?.slice(0, 7)}`)
        return becomes instanceof KubeError ? Effect.fail(becomes) : Effect.succeed(becomes)
      },
    }),
  )
  return {
    requests,
    look: (seen: InstanceView, known: Parameters<typeof lookAtRelease>[2] = Option.none()) =>
      Effect.provide(lookAtRelease(key, seen, known), services),
  }
}

describe("an object of the release", () => {
  it.effect("that is as it was applied, with the server's additions, is asked about nobody", () =>
    Effect.gen(function* () {
      const live = stored(statefulSet, {
        spec: {
          replicas: 1,
          updateStrategy: { type: "RollingUpdate" },
          template: {
            spec: { containers: [{ name: "syncer", image: "x", resources: { requests: { cpu: 1 } } }] },
          },
        },
        status: { replicas: 1 },
      })
      const { look, requests } = looking(statefulSet, live)
      assert.deepStrictEqual((yield* look(view(live))).lost, [])
      assert.deepStrictEqual(requests, ["record 1"])
    }),
  )

  it.effect("in the server's own notation is asked about once a version, and is no edit", () =>
    Effect.gen(function* () {
      const live = stored(statefulSet, {
        spec: {
          replicas: 1,
          template: { spec: { containers: [{ name: "syncer", resources: { requests: { cpu: "1" } } }] } },
        },
      })
      const { look, requests } = looking(statefulSet, live)
      const first = yield* look(view(live))
      const second = yield* look(view(live), first.stored)
      assert.deepStrictEqual([...first.lost, ...second.lost], [])
      assert.deepStrictEqual(requests, ["record 1", "dry run true in pi-team"])
      const touched = { ...live, metadata: { ...live.metadata, resourceVersion: "2" } }
      assert.deepStrictEqual((yield* look(view(touched), second.stored)).lost, [])
      assert.lengthOf(requests, 3)
    }),
  )

  it.effect("that an apply would change is edited, and so is one whose apply is refused", () =>
    Effect.gen(function* () {
      const live = stored(statefulSet, { spec: { replicas: 3 } })
      const refused = new KubeError({
        code: 422,
        reason: "Invalid",
        request: "PATCH x",
        message: "immutable",
      })
      for (const becomes of [stored(statefulSet), refused]) {
        const { lost } = yield* looking(statefulSet, live, becomes).look(view(live))
        assert.deepStrictEqual(lost, [{ object: "statefulset/vcluster", how: "edited", vital: true }])
      }
    }),
  )

  it.effect("about which the server cannot be asked is no edit, and the look fails", () =>
    Effect.gen(function* () {
      const live = stored(statefulSet, { spec: { replicas: 3 } })
      const silent = new KubeError({ code: 0, reason: "Transport", request: "PATCH x", message: "refused" })
      const error = yield* Effect.flip(looking(statefulSet, live, silent).look(view(live)))
      assert.strictEqual(error.code, 0)
    }),
  )

  it.effect("that is a Secret is read once a version, for no cache holds its content", () =>
    Effect.gen(function* () {
      const metadata = { ...secret.metadata, uid: "u", resourceVersion: "1" }
      const cached: KubeObject = { apiVersion: "v1", kind: "Secret", metadata }
      const whole = looking(secret, stored(secret))
      const first = yield* whole.look(view(cached))
      assert.deepStrictEqual((yield* whole.look(view(cached), first.stored)).lost, [])
      assert.deepStrictEqual(whole.requests, ["record 1", "get"])
      const edited = looking(secret, stored(secret, { data: { "config.yaml": "eDogMQ==" } }), stored(secret))
      assert.deepStrictEqual((yield* edited.look(view(cached))).lost, [
        { object: "secret/vc-config-vcluster", how: "edited", vital: false },
      ])
    }),
  )

  it.effect("of a kind that the operator does not watch is not looked at", () =>
    Effect.gen(function* () {
      const quota = { apiVersion: "v1", kind: "ResourceQuota", metadata: { name: "vc-vcluster" } }
      assert.deepStrictEqual((yield* looking(quota, stored(quota)).look(view())).lost, [])
    }),
  )
})
