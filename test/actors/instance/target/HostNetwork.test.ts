import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { TestClock } from "effect/testing"
import { Settings } from "../../../../src/actors/instance/Settings.ts"
import { HostNetwork, hostNetworkFacts } from "../../../../src/actors/instance/target/HostNetwork.ts"
import { KubeError, type KubeObject, Kubernetes } from "../../../../src/services/Kubernetes/Kubernetes.ts"
import { settings } from "../../support/World.ts"

const object = (kind: string, rest: object): KubeObject => ({
  apiVersion: "v1",
  kind,
  metadata: { name: "x", uid: "u", resourceVersion: "1" },
  ...rest,
})
const node = object("Node", {
  spec: { podCIDR: "10.244.0.0/24", podCIDRs: ["10.244.0.0/24", "fd00:10:244::/64"] },
  status: {
    addresses: [
      { type: "Hostname", address: "node1" },
      { type: "InternalIP", address: "10.240.0.1" },
      { type: "ExternalIP", address: "192.0.2.7" },
    ],
  },
})
const slice = (address: string) =>
  object("EndpointSlice", { endpoints: [{ addresses: [address] }], ports: [{ name: "https", port: 6443 }] })
const service = object("Service", { spec: { clusterIPs: ["10.96.0.1"] } })

describe("what is known of the host's network", () => {
  it("is the ranges of its pods, and every address of the node that the API server is on", () => {
    assert.deepStrictEqual(hostNetworkFacts([node], [slice("10.240.0.1")], [service]), {
      podRanges: ["10.244.0.0/24", "fd00:10:244::/64"],
      apiServers: [
        { address: "10.240.0.1", port: 6443 },
        { address: "192.0.2.7", port: 6443 },
      ],
      apiServices: ["10.96.0.1"],
    })
  })

  it("is the API server's own address where it is on no node", () => {
    const { apiServers } = hostNetworkFacts([node], [slice("203.0.113.1")], [])
    assert.deepStrictEqual(apiServers, [{ address: "203.0.113.1", port: 6443 }])
  })

  it("is nothing where nobody says anything", () => {
    const bare = object("Node", {})
    assert.deepStrictEqual(
      hostNetworkFacts([bare], [object("EndpointSlice", { endpoints: null, ports: null })], []),
      {
        podRanges: [],
        apiServers: [],
        apiServices: [],
      },
    )
  })

  const over = (
    answer: Effect.Effect<ReadonlyArray<KubeObject>, KubeError>,
    podRanges: ReadonlyArray<string>,
  ) => {
    let asked = 0
    const kubernetes = Layer.mock(Kubernetes, {
      list: ({ kind }) =>
        Effect.suspend(() => {
          asked += 1
          return kind === "Node" ? answer : Effect.succeed([slice("10.240.0.1")])
        }),
      get: () => Effect.succeedSome(service),
    })
    const layer = HostNetwork.layer.pipe(
      Layer.provide(Layer.mergeAll(kubernetes, Layer.succeed(Settings, { ...settings, podRanges }))),
    )
    return { asked: () => asked, layer }
  }

  it.effect("is read once, and the flag goes before what nodes say", () => {
    const { asked, layer } = over(Effect.succeed([node]), ["10.0.0.0/8"])
    return Effect.gen(function* () {
      const { facts } = yield* HostNetwork
      assert.deepStrictEqual((yield* facts).podRanges, ["10.0.0.0/8"])
      yield* facts
      assert.strictEqual(asked(), 2)
    }).pipe(Effect.provide(layer))
  })

  const refused = (code: number) =>
    new KubeError({ code, reason: "x", request: "GET nodes", message: "refused" })
  it.effect("lacks what the operator may not see, for as long as it may not", () => {
    const answers = [Effect.fail(refused(403)), Effect.fail(refused(404)), Effect.succeed([node])]
    const { asked, layer } = over(
      Effect.suspend(() => answers.shift() ?? assert.fail("asked too often")),
      [],
    )
    return Effect.gen(function* () {
      const known = yield* (yield* HostNetwork).facts
      assert.isEmpty(known.podRanges)
      assert.isNotEmpty(known.apiServers)
      const { facts } = yield* HostNetwork
      yield* facts
      assert.strictEqual(asked(), 2)
      yield* TestClock.adjust("2 seconds")
      assert.isEmpty((yield* facts).podRanges)
      yield* TestClock.adjust("5 seconds")
      assert.isNotEmpty((yield* facts).podRanges)
      yield* TestClock.adjust("30 days")
      yield* facts
      assert.strictEqual(asked(), 6)
    }).pipe(Effect.provide(layer))
  })

  it.effect("is asked for again where the API was away", () => {
    const answers = [Effect.fail(refused(503)), Effect.succeed([node])]
    const { layer } = over(
      Effect.suspend(() => answers.shift() ?? assert.fail("asked too often")),
      [],
    )
    return Effect.gen(function* () {
      const { facts } = yield* HostNetwork
      assert.strictEqual((yield* Effect.flip(facts)).code, 503)
      assert.isNotEmpty((yield* facts).podRanges)
    }).pipe(Effect.provide(layer))
  })
})
