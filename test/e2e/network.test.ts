// Who reaches whom: the vCluster's own API is closed, and to nobody who needs it; an instance's pods do not reach another's, the
// operator, the host's API server and metadata services; what is made inside an instance (Services, NodePorts, NetworkPolicies)
// works on the host.
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { hostNamespace } from "../../src/schema/Names.ts"
import { full, onNode, operatorNamespace } from "./support/Cluster.ts"
import { inside } from "./support/Inside.ts"
import { deleteInstance, type Key, manifest, untilReady } from "./support/Instance.ts"
import { apply, createNamespace, exists, getJson, kubectl } from "./support/Kubectl.ts"
import { leavesNothing } from "./support/Leaks.ts"
import { instanceState, leader, readRecord } from "./support/Operator.ts"
import { holdOperator } from "./support/OperatorLock.ts"
import {
  connectsFrom,
  fetchFrom,
  inPod,
  type Place,
  plainPod,
  synced,
  untilRunning,
} from "./support/PlainPod.ts"
import { type Told, tellOf } from "./support/Told.ts"
import { untilTrue } from "./support/Until.ts"

holdOperator("shared")
leavesNothing("network")

const key: Key = { namespace: "network", name: "one" }
const other: Key = { namespace: "network", name: "two" }
const host = hostNamespace(key)
const nodePort = 30081
const gateway = `http://10.240.0.1:${nodePort}/`
const web = "http://wasmcloud-http.wasmcloud.svc.cluster.local/"

const Address = Schema.Struct({
  spec: Schema.Struct({ clusterIP: Schema.optionalKey(Schema.String) }),
  status: Schema.Struct({ podIP: Schema.optionalKey(Schema.String) }),
})
const serviceAddress = async (): Promise<string> =>
  (await getJson(Address, ["service", "vcluster", "--namespace", host])).spec.clusterIP ?? ""
const addressOf = async ({ namespace, name }: Place): Promise<string> =>
  (await getJson(Address, ["pod", name, "--namespace", namespace])).status.podIP ?? ""
const podAddress = (): Promise<string> => addressOf({ namespace: host, name: "vcluster-0" })

const ofOperator: Place = { namespace: operatorNamespace, name: "network-asks" }
const third: Place = { namespace: "network-third", name: "asks" }
const friend = synced(host, "net", "friend")
const stranger = synced(host, "net", "stranger")
const neighbour = synced(hostNamespace(other), "net", "neighbour")

/** A pod that listens on its port 8080. */
const port = 8080
const serving = (place: Place, ...context: ReadonlyArray<string>): Promise<string> =>
  plainPod(
    { ...place, command: ["sh", "-c", `while true; do echo here | nc -l -p ${port}; done`] },
    ...context,
  )

beforeAll(async () => {
  for (const name of [key.namespace, third.namespace]) await createNamespace(name)
  await apply(manifest(key, { gateway: { httpNodePort: nodePort } }))
  await apply(manifest(other))
  await Promise.all([serving(ofOperator), serving(third)])
  await untilReady(key)
  await untilReady(other)
  await inside(key, async (context) => {
    await kubectl([...context, "create", "namespace", "net"])
    await plainPod({ namespace: "net", name: "friend", labels: { role: "friend" } }, ...context)
    await plainPod({ namespace: "net", name: "stranger" }, ...context)
  })
  await inside(other, async (context) => {
    await kubectl([...context, "create", "namespace", "net"])
    await serving({ namespace: "net", name: "neighbour" }, ...context)
  })
  await untilTrue("pods made inside are on the host", async () =>
    (await Promise.all([friend, stranger].map(({ name }) => exists("pod", name, "--namespace", host)))).every(
      (found) => found,
    ),
  )
  await untilTrue("and the other's", () => exists("pod", neighbour.name, "--namespace", neighbour.namespace))
  for (const pod of [ofOperator, third, friend, stranger, neighbour]) await untilRunning(pod)
})
afterAll(async () => {
  await kubectl(["delete", "pod", ofOperator.name, "--namespace", ofOperator.namespace, "--wait=false"])
  await deleteInstance(key)
  await deleteInstance(other)
})

describe("the pods of an instance", () => {
  const metadata = "169.254.169.254"

  it("reach their own, what the host offers outside of instances, and the gateway", async () => {
    await untilTrue("a pod of another namespace of the host", async () =>
      connectsFrom(stranger, await addressOf(third), port),
    )
    assert.strictEqual(await fetchFrom(stranger, gateway), "wasmcloud\n")
    // The node offers more than its API server: here the registry.
    assert.isTrue(await connectsFrom(stranger, "10.240.0.1", 4873))
  })

  it("do not reach another instance's, by no way, nor the operator's", async () => {
    const address = await addressOf(neighbour)
    const operator = await addressOf({ namespace: operatorNamespace, name: (await leader()).pod })
    await untilTrue("the host gets to the other", () => connectsFrom(third, address, port))
    assert.isFalse(await connectsFrom(stranger, address, port))
    assert.isFalse(await connectsFrom(stranger, await addressOf(ofOperator), port))
    await untilTrue("the host gets to the operator", () => connectsFrom(third, operator, 8080))
    assert.isFalse(await connectsFrom(stranger, operator, 8080))
    const control = await addressOf({ namespace: neighbour.namespace, name: "vcluster-0" })
    assert.isFalse(await connectsFrom(stranger, control, 8443))
  })

  it("do not reach the host's API server, by its Service or past it, nor a metadata service", async () => {
    // The node's API server answers at every address of it: here at one where clouds have another service.
    await onNode("ip", "address", "add", `${metadata}/32`, "dev", "node0")
    try {
      await untilTrue("the host gets to the metadata service", () => connectsFrom(third, metadata, 6443))
      assert.isFalse(await connectsFrom(stranger, metadata, 6443))
    } finally {
      await onNode("ip", "address", "delete", `${metadata}/32`, "dev", "node0")
    }
    assert.isTrue(await connectsFrom(third, "10.96.0.1", 443))
    assert.isFalse(await connectsFrom(stranger, "10.96.0.1", 443))
    assert.isFalse(await connectsFrom(stranger, "10.240.0.1", 6443))
  })

  it("are kept from another instance's also where that one's NetworkPolicies would let them out", async () => {
    const open = {
      apiVersion: "networking.k8s.io/v1",
      kind: "NetworkPolicy",
      metadata: { name: "everywhere", namespace: "net" },
      spec: { podSelector: {}, policyTypes: ["Egress"], egress: [{}] },
    }
    await inside(key, async (context) => {
      await kubectl([...context, "apply", "-f", "-"], { input: JSON.stringify(open) })
      // By it the instance's administrator has opened its way out; the neighbour's way in is not theirs to open.
      await untilTrue("the way out is open", () => connectsFrom(stranger, "10.240.0.1", 6443))
      assert.isFalse(await connectsFrom(stranger, await addressOf(neighbour), port))
      await kubectl([...context, "delete", "networkpolicy", "everywhere", "--namespace", "net"])
      await untilTrue("it is closed", async () => !(await connectsFrom(stranger, "10.240.0.1", 6443)))
    })
  })
})

describe("the network of an instance", () => {
  it("lets the operator's namespace to the API, and no third one, by the Service or past it", async () => {
    const [service, pod] = await Promise.all([serviceAddress(), podAddress()])
    await untilTrue("the operator's namespace gets in by the Service", () =>
      connectsFrom(ofOperator, service, 443),
    )
    await untilTrue("the operator's namespace gets in", () => connectsFrom(ofOperator, pod, 8443))
    assert.isFalse(await connectsFrom(third, service, 443))
    assert.isFalse(await connectsFrom(third, pod, 8443))
    // It is not cut off from everything.
    assert.isTrue(await connectsFrom(third, "10.240.0.1", 6443))
  })

  it("lets a pod made inside ask the DNS inside, its Services and the API", async () => {
    assert.include(await inPod(stranger, "nslookup", "wasmcloud-http.wasmcloud.svc.cluster.local"), "Address")
    await untilTrue("the Service answers", async () => (await fetchFrom(stranger, web)) === "wasmcloud\n")
    assert.isTrue(await connectsFrom(stranger, "kubernetes.default.svc.cluster.local", 443))
  })

  it("has the gateway on its NodePort, asked from the node", async () => {
    assert.strictEqual(await onNode("curl", "--silent", "--max-time", "5", gateway), "wasmcloud\n")
  })

  it("isolates pods on the host by a NetworkPolicy made inside, for as long as it is there", async () => {
    const policy = {
      apiVersion: "networking.k8s.io/v1",
      kind: "NetworkPolicy",
      metadata: { name: "friends", namespace: "wasmcloud" },
      spec: {
        podSelector: { matchLabels: { app: "wasmcloud" } },
        policyTypes: ["Ingress"],
        ingress: [
          {
            from: [
              {
                namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": "net" } },
                podSelector: { matchLabels: { role: "friend" } },
              },
            ],
          },
        ],
      },
    }
    await untilTrue("both get in", async () =>
      [await fetchFrom(friend, web), await fetchFrom(stranger, web)].every((text) => text === "wasmcloud\n"),
    )
    await inside(key, async (context) => {
      await kubectl([...context, "apply", "-f", "-"], { input: JSON.stringify(policy) })
      await untilTrue("the stranger is refused", async () => (await fetchFrom(stranger, web)) === undefined)
      await untilTrue("the friend gets in", async () => (await fetchFrom(friend, web)) === "wasmcloud\n")
      assert.isUndefined(await fetchFrom(stranger, web))
      await kubectl([...context, "delete", "networkpolicy", "friends", "--namespace", "wasmcloud"])
      await untilTrue(
        "the stranger gets in again",
        async () => (await fetchFrom(stranger, web)) !== undefined,
      )
    })
  })
})

const Events = Schema.Struct({ items: Schema.Array(Schema.Struct({ type: Schema.String })) })
const dnsWarnings = async (): Promise<number> => {
  const which = "--field-selector=involvedObject.name=one,reason=DnsUnavailable"
  const { items } = await getJson(Events, ["events", "--namespace", key.namespace, which])
  return items.filter(({ type }) => type === "Warning").length
}

if (full) {
  describe("an instance whose DNS inside has no pod", () => {
    it("is told of by one Warning, and is Ready all the same", async () => {
      const told = await tellOf(key)
      const mark = told.mark()
      await inside(key, async (context) => {
        const scale = [...context, "scale", "deployment/coredns", "--namespace=kube-system"]
        await kubectl([...scale, "--replicas=0"])
        await untilTrue("the Warning", async () => (await dnsWarnings()) > 0)
        await kubectl([...scale, "--replicas=1"])
        await untilTrue("names resolve again", async () => (await fetchFrom(stranger, web)) !== undefined)
      })
      assert.strictEqual(await dnsWarnings(), 1)
      assert.isEmpty(told.targetSince(mark).filter((text) => !text.startsWith("True")))
      await told.end()
    })
  })

  /** Keeps the operator from this host namespace alone, whatever the policies there allow. */
  const wall = {
    apiVersion: "networking.k8s.io/v1",
    kind: "NetworkPolicy",
    metadata: { name: "somebody-elses", namespace: operatorNamespace },
    spec: {
      podSelector: { matchLabels: { "app.kubernetes.io/name": "platform-operator" } },
      policyTypes: ["Egress"],
      egress: [
        {
          to: [
            {
              namespaceSelector: {
                matchExpressions: [{ key: "kubernetes.io/metadata.name", operator: "NotIn", values: [host] }],
              },
            },
            { ipBlock: { cidr: "0.0.0.0/0", except: ["10.244.0.0/16"] } },
          ],
        },
      ],
    },
  }

  const Policy = Schema.Struct({ spec: Schema.Unknown })

  describe("an operator that is cut off from an instance", () => {
    let told: Told
    beforeAll(async () => {
      told = await tellOf(key)
    })
    afterAll(() => told.end())

    it("says so after three checks, naming the address, and is straight back", async () => {
      const state = await instanceState(key.namespace, key.name)
      const before = readRecord(state)
      const mark = told.mark()
      await apply(wall)
      try {
        // A connection that is there stays; the next one is refused.
        await untilTrue("it is seen", async () => {
          await onNode("conntrack", "-D", "--proto", "tcp", "--reply-src", await podAddress()).catch(() => "")
          return told.targetSince(mark).some((text) => text.startsWith("False"))
        })
      } finally {
        await kubectl(["delete", "networkpolicy", wall.metadata.name, "--namespace", operatorNamespace])
      }
      const address = `https://vcluster.${host}.svc:443`
      await told.untilReadyAfter(
        new RegExp(`^False TargetUnreachable: the vCluster API at ${address} failed 3 checks in a row: `),
        mark,
      )
      console.log(told.targetSince(mark).join("\n"))
      assert.deepStrictEqual(readRecord(state), before)
      assert.notInclude(told.phasesSince(mark), "Installing")
    })

    const ours = ["networkpolicy", "platform-operator-control-plane", "--namespace", host]
    it.each([
      [
        "edited",
        ["patch", ...ours, "--type=json", "--patch", '[{"op":"replace","path":"/spec/ingress","value":[]}]'],
      ],
      ["removed", ["delete", ...ours]],
    ])("gets its own policy back when it is %s, and loses nothing", async (_, disturb) => {
      const state = await instanceState(key.namespace, key.name)
      const before = readRecord(state)
      const { spec } = await getJson(Policy, ours)
      await kubectl(disturb)
      await untilTrue("it is as it was", async () => {
        if (!(await exists(...ours))) return false
        return JSON.stringify((await getJson(Policy, ours)).spec) === JSON.stringify(spec)
      })
      await untilReady(key)
      assert.deepStrictEqual(readRecord(state), before)
    })
  })
}
