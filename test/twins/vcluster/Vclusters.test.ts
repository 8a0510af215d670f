// The failure matrix of vCluster, row by row, on a host with a node.
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as Kinds from "../../../src/services/Kubernetes/Kinds.ts"
import { podOf } from "../controllers/Shapes.ts"
import { ApiStatus } from "../kubernetes/ApiServer.ts"
import { simulate, until } from "../simulation/Simulation.ts"
import { type Host, makeHost, source, valuesFor } from "./testing/Host.ts"
import {
  asks,
  caOf,
  deployInside,
  isUp,
  ownerOf,
  pod,
  podsInside,
  space,
  uidOf,
  up,
} from "./testing/Running.ts"

const inKubeSystem = "x-kube-system-x-vcluster"

const deletePod = (host: Host) => host.admin.delete(Kinds.Pod, { namespace: space, name: pod })
const deleteService = (host: Host) => host.admin.delete(Kinds.Service, { namespace: space, name: "vcluster" })

/** Makes the Service again as it was, with another UID. */
const recreateService = (host: Host, spec: unknown, labels: Readonly<Record<string, string>> = {}) =>
  host.admin.create(Kinds.Service, {
    apiVersion: "v1",
    kind: "Service",
    metadata: { name: "vcluster", namespace: space, labels },
    spec,
  })
const serviceSpec = (host: Host) => {
  const { clusterIP: _, clusterIPs: __, ...spec } = Object(host.find(Kinds.Service, space, "vcluster")?.spec)
  return spec
}

const waiting = (host: Host): string | undefined => {
  const found = host.find(Kinds.Pod, space, pod)
  return found === undefined ? undefined : podOf(found).status?.containerStatuses?.[0]?.state?.waiting?.reason
}

describe("a vCluster that comes up", () => {
  it("makes its certificates before its kubeconfig, both owned by the Service it found", () =>
    simulate(
      Effect.gen(function* () {
        const host = yield* makeHost
        const order: Array<string> = []
        host.api.subscribe(({ type, object }) => {
          if (type === "ADDED" && object.metadata.namespace === space)
            order.push(`${object.kind} ${object.metadata.name}`)
        })
        yield* host.installVcluster(space, valuesFor(space))
        yield* until(() => isUp(host), "3 minutes", "the vCluster is up")
        const certs = order.indexOf("Secret vcluster-certs")
        const kubeconfig = order.indexOf("Secret vc-vcluster")
        assert.isAbove(certs, 0)
        assert.isAbove(kubeconfig, certs)
        assert.isTrue(order.some((each) => each.startsWith("Service test-service-delete-me-")))
        const service = uidOf(host, Kinds.Service, "vcluster")
        assert.deepStrictEqual(ownerOf(host, "vcluster-certs"), [["Service", service]])
        assert.deepStrictEqual(ownerOf(host, "vc-vcluster"), [["Service", service]])
        assert.include(host.kubeconfig(space) ?? "", `server: https://vcluster.${space}.svc:443`)
      }),
      { seed: 1 },
    ))

  it("shows its DNS on the host, and what runs inside, under translated names", () =>
    simulate(
      Effect.gen(function* () {
        const host = yield* up
        yield* deployInside(host)
        yield* until(
          () =>
            Object(
              host.connect(space).get(Kinds.Deployment, { namespace: "kube-system", name: "coredns" })
                ?.status,
            ).readyReplicas === 1,
          "2 minutes",
          "CoreDNS is ready",
        )
        assert.include(host.names(Kinds.Service, space), `kube-dns-${inKubeSystem}`)
        assert.isTrue(
          host.names(Kinds.Pod, space).some((name) => /^coredns-.*-x-kube-system-x-vcluster$/.test(name)),
        )
        assert.include(host.names(Kinds.ConfigMap, space), "used-x-default-x-vcluster")
        assert.include(host.names(Kinds.ConfigMap, space), "kube-root-ca.crt-x-default-x-vcluster")
        assert.notInclude(host.names(Kinds.ConfigMap, space), "unused-x-default-x-vcluster")
      }),
      { seed: 2 },
    ))

  it("exits while its Service or its configuration is missing, and comes up when both are there", () =>
    simulate(
      Effect.gen(function* () {
        const host = yield* up
        const spec = serviceSpec(host)
        deleteService(host)
        deletePod(host)
        yield* until(() => waiting(host) === "CrashLoopBackOff", "10 minutes", "it crashes")
        recreateService(host, spec)
        yield* until(() => isUp(host), "10 minutes", "it is up")
        host.admin.delete(Kinds.Secret, { namespace: space, name: "vc-config-vcluster" })
        deletePod(host)
        yield* until(() => !isUp(host), "1 minute", "it is down")
        yield* Effect.sleep("5 minutes")
        assert.isFalse(isUp(host))
      }),
      { seed: 3 },
    ))

  it("says why when its image cannot be had, and comes up when it can", () =>
    simulate(
      Effect.gen(function* () {
        const host = yield* makeHost
        const put = host.node.images.remove("ghcr.io/loft-sh/vcluster-oss")
        yield* host.installVcluster(space, valuesFor(space))
        yield* until(() => waiting(host) === "ImagePullBackOff", "2 minutes", "the pull backs off")
        const events = host.admin.list(Kinds.Event, { namespace: space }).map((event) => String(event.note))
        assert.isTrue(
          events.some((note) =>
            /^Failed to pull image "ghcr.io\/loft-sh\/vcluster-oss:.*not found$/.test(note),
          ),
        )
        put()
        yield* until(() => isUp(host), "10 minutes", "the vCluster is up")
      }),
      { seed: 4 },
    ))

  it("may take as long as its startup probe allows", () =>
    simulate(
      Effect.gen(function* () {
        const host = yield* makeHost
        host.vclusters.slowStart(space, 20 * 60_000)
        yield* host.installVcluster(space, valuesFor(space))
        yield* Effect.sleep("19 minutes")
        assert.isUndefined(host.kubeconfig(space))
        yield* until(() => isUp(host), "5 minutes", "the vCluster is up")
      }),
      { seed: 5 },
    ))
})

describe("a vCluster that loses something", () => {
  it("its pod: it is the same cluster after a gap, and workloads run on", () =>
    simulate(
      Effect.gen(function* () {
        const host = yield* up
        yield* deployInside(host)
        const [identity, ca] = [asks(host), caOf(host)]
        const before = podsInside(host).map(({ metadata }) => metadata.uid)
        deletePod(host)
        yield* until(() => !isUp(host), "1 minute", "it is down")
        yield* until(() => isUp(host), "3 minutes", "it is up")
        assert.strictEqual(asks(host), identity)
        assert.strictEqual(caOf(host), ca)
        yield* Effect.sleep("1 minute")
        assert.deepStrictEqual(
          podsInside(host).map(({ metadata }) => metadata.uid),
          before,
        )
      }),
      { seed: 6 },
    ))

  it("its kubeconfig Secret: nobody writes it again before a restart", () =>
    simulate(
      Effect.gen(function* () {
        const host = yield* up
        host.admin.delete(Kinds.Secret, { namespace: space, name: "vc-vcluster" })
        yield* Effect.sleep("10 minutes")
        assert.isUndefined(host.kubeconfig(space))
        deletePod(host)
        yield* until(() => isUp(host), "3 minutes", "it is up")
      }),
      { seed: 7 },
    ))

  it("its certificates: a restart takes those on its volume", () =>
    simulate(
      Effect.gen(function* () {
        const host = yield* up
        const ca = caOf(host)
        host.admin.delete(Kinds.Secret, { namespace: space, name: "vcluster-certs" })
        yield* Effect.sleep("1 minute")
        assert.isTrue(isUp(host))
        assert.isUndefined(caOf(host))
        deletePod(host)
        yield* until(() => caOf(host) !== undefined, "2 minutes", "the Secret is back")
        assert.strictEqual(caOf(host), ca)
      }),
      { seed: 8 },
    ))

  it("its Service: everything synced is collected within seconds, and only what the release made stays", () =>
    simulate(
      Effect.gen(function* () {
        const host = yield* up
        yield* deployInside(host)
        deleteService(host)
        yield* Effect.sleep("12 seconds")
        assert.deepStrictEqual(
          host.names(Kinds.Secret, space).filter((name) => !name.startsWith("sh.helm.release")),
          ["vc-config-vcluster"],
        )
        assert.deepStrictEqual(host.names(Kinds.Service, space), ["vcluster-headless"])
        // The process lives on, and takes inside what was taken from it.
        assert.isDefined(host.vclusters.inner(space))
        const direct = host.vclusters.inner(space)?.as("admin")
        assert.isUndefined(direct?.get(Kinds.ConfigMap, { namespace: "default", name: "used" }))
        assert.isDefined(direct?.get(Kinds.ConfigMap, { namespace: "default", name: "unused" }))
        assert.isUndefined(direct?.get(Kinds.Service, { namespace: "kube-system", name: "kube-dns" }))
      }),
      { seed: 9 },
    ))

  it("its Service, made again: all it makes is collected until it is restarted, and is the same cluster then", () =>
    simulate(
      Effect.gen(function* () {
        const host = yield* up
        yield* deployInside(host)
        const [identity, ca] = [asks(host), caOf(host)]
        const spec = serviceSpec(host)
        deleteService(host)
        yield* Effect.sleep("12 seconds")
        const service = recreateService(host, spec).metadata.uid
        yield* Effect.sleep("3 minutes")
        assert.isUndefined(host.kubeconfig(space))
        assert.notStrictEqual(host.vclusters.ownerUID(space), service)
        deletePod(host)
        yield* until(() => isUp(host), "3 minutes", "it is up")
        assert.strictEqual(asks(host), identity)
        assert.strictEqual(caOf(host), ca)
        assert.deepStrictEqual(ownerOf(host, "vc-vcluster"), [["Service", service]])
        const inner = host.connect(space)
        assert.isUndefined(inner.get(Kinds.ConfigMap, { namespace: "default", name: "used" }))
        assert.isDefined(inner.get(Kinds.ConfigMap, { namespace: "default", name: "unused" }))
        yield* until(
          () => host.names(Kinds.Pod, space).some((name) => name.endsWith("-x-default-x-vcluster")),
          "2 minutes",
          "the pod is synced",
        )
        // It waits for what it mounts.
        yield* Effect.sleep("2 minutes")
        assert.isUndefined(
          Object(inner.get(Kinds.Deployment, { namespace: "default", name: "app" })?.status).readyReplicas,
        )
        inner.create(Kinds.ConfigMap, {
          apiVersion: "v1",
          kind: "ConfigMap",
          metadata: { name: "used", namespace: "default" },
        })
        yield* until(
          () =>
            Object(inner.get(Kinds.Deployment, { namespace: "default", name: "app" })?.status)
              .readyReplicas === 1,
          "5 minutes",
          "the workload is ready",
        )
      }),
      { seed: 10 },
    ))

  it("its StatefulSet: the claim stays, and what is made again is the same cluster", () =>
    simulate(
      Effect.gen(function* () {
        const host = yield* up
        const identity = asks(host)
        const claim = uidOf(host, Kinds.PersistentVolumeClaim, "data-vcluster-0")
        const set = host.find(Kinds.StatefulSet, space, "vcluster")
        host.admin.delete(Kinds.StatefulSet, { namespace: space, name: "vcluster" })
        yield* until(() => host.find(Kinds.Pod, space, pod) === undefined, "2 minutes", "the pod is gone")
        const { name, namespace, labels } = set?.metadata ?? { name: "", namespace: "", labels: {} }
        host.admin.create(Kinds.StatefulSet, {
          apiVersion: "apps/v1",
          kind: "StatefulSet",
          metadata: { name, namespace: namespace ?? "", labels: labels ?? {} },
          spec: set?.spec,
        })
        yield* until(() => isUp(host), "3 minutes", "it is up")
        assert.strictEqual(asks(host), identity)
        assert.strictEqual(uidOf(host, Kinds.PersistentVolumeClaim, "data-vcluster-0"), claim)
      }),
      { seed: 11 },
    ))

  it("its claim: another, empty cluster with the CA it had", () =>
    simulate(
      Effect.gen(function* () {
        const host = yield* up
        const [identity, ca] = [asks(host), caOf(host)]
        host.admin.delete(Kinds.PersistentVolumeClaim, { namespace: space, name: "data-vcluster-0" })
        yield* Effect.sleep("1 minute")
        assert.isTrue(isUp(host))
        deletePod(host)
        yield* until(() => !isUp(host), "1 minute", "it is down")
        yield* until(() => isUp(host), "5 minutes", "it is up")
        assert.notStrictEqual(asks(host), identity)
        assert.strictEqual(caOf(host), ca)
      }),
      { seed: 12 },
    ))

  it("its namespace: nothing is left of it", () =>
    simulate(
      Effect.gen(function* () {
        const host = yield* up
        yield* deployInside(host)
        host.admin.delete(Kinds.Namespace, { name: space })
        yield* until(
          () => host.admin.get(Kinds.Namespace, { name: space }) === undefined,
          "5 minutes",
          "the namespace is gone",
        )
        yield* Effect.sleep("1 minute")
        assert.isUndefined(host.vclusters.inner(space))
        assert.isEmpty(host.admin.list(Kinds.Pod))
      }),
      { seed: 13 },
    ))
})

describe("a vCluster that is ill", () => {
  it("whose API dies is restarted by its pod", () =>
    simulate(
      Effect.gen(function* () {
        const host = yield* up
        const uid = uidOf(host, Kinds.Pod, pod)
        host.vclusters.crash(space)
        yield* until(() => !isUp(host), "1 minute", "it is down")
        yield* until(() => isUp(host), "3 minutes", "it is up")
        const after = host.find(Kinds.Pod, space, pod)
        assert.strictEqual(after?.metadata.uid, uid)
        assert.strictEqual(
          after === undefined ? 0 : podOf(after).status?.containerStatuses?.[0]?.restartCount,
          1,
        )
      }),
      { seed: 14 },
    ))

  it("whose API hangs stays Ready for two minutes, and is then restarted", () =>
    simulate(
      Effect.gen(function* () {
        const host = yield* up
        host.vclusters.hang(space)
        yield* Effect.sleep("100 seconds")
        const ready = host.find(Kinds.StatefulSet, space, "vcluster")
        assert.strictEqual(Object(ready?.status).readyReplicas, 1)
        yield* until(() => isUp(host), "10 minutes", "it is up")
      }),
      { seed: 15 },
    ))

  it("that rotates its certificates restarts, and the kubeconfig of before is refused", () =>
    simulate(
      Effect.gen(function* () {
        const host = yield* up
        const old = host.kubeconfig(space) ?? ""
        const before = uidOf(host, Kinds.Pod, pod)
        host.vclusters.rotate(space)
        yield* until(
          () => uidOf(host, Kinds.Pod, pod) !== before && host.kubeconfig(space) !== old && isUp(host),
          "5 minutes",
          "it has restarted",
        )
        assert.throws(() => host.network.open(source, old, "test").get(Kinds.Namespace, { name: "default" }))
      }),
      { seed: 16 },
    ))

  it("whose client certificate has expired answers 401", () =>
    simulate(
      Effect.gen(function* () {
        const host = yield* up
        host.vclusters.expire(space)
        const code = yield* Effect.sync(() =>
          host.connect(space).get(Kinds.Namespace, { name: "default" }),
        ).pipe(
          Effect.as(0),
          Effect.catchDefect((error) => Effect.succeed(error instanceof ApiStatus ? error.code : -1)),
        )
        assert.strictEqual(code, 401)
      }),
      { seed: 17 },
    ))

  it("whose node loses its power comes back as the same pod and the same cluster", () =>
    simulate(
      Effect.gen(function* () {
        const host = yield* up
        yield* deployInside(host)
        const [identity, uid] = [asks(host), uidOf(host, Kinds.Pod, pod)]
        host.node.powerOff()
        yield* Effect.sleep("10 minutes")
        assert.isFalse(isUp(host))
        host.node.powerOn()
        yield* until(() => isUp(host), "5 minutes", "it is up")
        assert.strictEqual(asks(host), identity)
        assert.strictEqual(uidOf(host, Kinds.Pod, pod), uid)
      }),
      { seed: 18 },
    ))
})
