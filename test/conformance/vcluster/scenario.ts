// A vCluster in a namespace of its own: what it makes, what it loses, and what comes back. Each step says what is seen
// from the host and from inside.
import { Effect, Schema } from "effect"
import { get, list, ownersOf, type Rest, type Seen, until } from "../controllers/Rest.ts"
import { makeNamer, type Scenario } from "../Scenario.ts"

export interface VclusterTarget {
  readonly namespace: string
  readonly host: Rest
  /** The API inside, asked with the kubeconfig that is in `vc-vcluster`, past the Service. */
  readonly inside: Rest
  /** Installs the operator's chart with an instance's values, as helm does it. */
  readonly install: Effect.Effect<void, unknown>
  /** The Secrets of the namespace in the order of their creation, since the beginning. */
  readonly secrets: Effect.Effect<ReadonlyArray<string>>
}

const Data = Schema.Struct({
  data: Schema.optionalKey(Schema.Record(Schema.String, Schema.String)),
  type: Schema.optionalKey(Schema.String),
})
const decodeData = Schema.decodeUnknownSync(Data)

const image = "docker.io/library/busybox:1.36"
const MINUTES = 10 * 60 * 10

const workload = {
  apiVersion: "apps/v1",
  kind: "Deployment",
  metadata: { name: "app" },
  spec: {
    selector: { matchLabels: { app: "app" } },
    template: {
      metadata: { labels: { app: "app" } },
      spec: {
        terminationGracePeriodSeconds: 1,
        containers: [
          {
            name: "c",
            image,
            imagePullPolicy: "IfNotPresent",
            command: ["sleep", "36000"],
            volumeMounts: [{ name: "used", mountPath: "/used" }],
          },
        ],
        volumes: [{ name: "used", configMap: { name: "used" } }],
      },
    },
  },
}
const configMap = (name: string) => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name },
  data: { key: "value" },
})
const policy = {
  apiVersion: "networking.k8s.io/v1",
  kind: "NetworkPolicy",
  metadata: { name: "open" },
  spec: { podSelector: {}, ingress: [{}], policyTypes: ["Ingress"] },
}

/** A scenario of its own for each side: UIDs are counted. */
export const vclusterScenario = (): Scenario<VclusterTarget> => {
  const uid = makeNamer("uid")
  const identity = makeNamer("cluster")
  const ca = makeNamer("CA")
  let spec: unknown
  let set: { readonly spec?: unknown; readonly labels?: unknown } = {}

  const core = ({ namespace }: VclusterTarget) => `/api/v1/namespaces/${namespace}`
  const apps = ({ namespace }: VclusterTarget) => `/apis/apps/v1/namespaces/${namespace}`
  const one = (target: VclusterTarget, path: string) => get(target.host, `${core(target)}/${path}`)
  const data = ({ host, namespace }: VclusterTarget, secret: string) =>
    Effect.map(
      host.request("GET", `/api/v1/namespaces/${namespace}/secrets/${secret}`),
      ({ status, body }) => (status === 200 ? decodeData(body) : undefined),
    )
  const wait = <A>(what: string, ask: Effect.Effect<A | undefined>) => until(what, ask, 5 * MINUTES)
  const names = (target: VclusterTarget, kind: string) =>
    Effect.map(list(target.host, `${core(target)}/${kind}`), (objects) =>
      objects
        .map(({ metadata }) => metadata.name)
        .filter((name) => !name.startsWith("sh.helm.release") && !name.startsWith("test-service-delete-me"))
        .map((name) => name.replace(/^(app|coredns)-[a-z0-9]+-[a-z0-9]+-x-/, "$1-…-x-")),
    )
  const insideIdentity = ({ inside }: VclusterTarget) =>
    Effect.map(get(inside, "/api/v1/namespaces/kube-system"), (found) => identity(found?.metadata.uid))
  const caOf = (target: VclusterTarget) =>
    Effect.map(data(target, "vcluster-certs"), (secret) => ca(secret?.data?.["ca.crt"]))
  const podUid = (target: VclusterTarget) =>
    Effect.map(one(target, "pods/vcluster-0"), (pod) => pod?.metadata.uid)
  const isReady = ({ status }: Seen) =>
    (Array.isArray(status?.conditions) ? status.conditions : []).some(
      (each: unknown) => Object(each).type === "Ready" && Object(each).status === "True",
    )

  /** The control plane's pod is ready and its kubeconfig is there, and answers. */
  const up = (target: VclusterTarget) =>
    wait(
      "the vCluster is up",
      Effect.gen(function* () {
        const pod = yield* one(target, "pods/vcluster-0")
        if (pod === undefined || pod.metadata.deletionTimestamp !== undefined || !isReady(pod))
          return undefined
        if ((yield* data(target, "vc-vcluster")) === undefined) return undefined
        return yield* insideIdentity(target)
      }),
    )
  const restart = (target: VclusterTarget) =>
    Effect.gen(function* () {
      const before = yield* podUid(target)
      yield* target.host.request("DELETE", `${core(target)}/pods/vcluster-0`)
      yield* wait(
        "another pod is there",
        Effect.map(podUid(target), (now) => (now !== undefined && now !== before ? now : undefined)),
      )
      yield* up(target)
      // The kubeconfig may be written again some seconds after the pod is ready.
      yield* Effect.sleep("15 seconds")
    })
  const appReady = (target: VclusterTarget) =>
    wait(
      "the workload is ready",
      Effect.map(get(target.inside, "/apis/apps/v1/namespaces/default/deployments/app"), (found) =>
        found?.status?.readyReplicas === 1 ? "ready" : undefined,
      ),
    )
  const there = (rest: Rest, path: string) =>
    Effect.map(get(rest, path), (object) => (object === undefined ? "gone" : "there"))
  const owners = (target: VclusterTarget, path: string) =>
    Effect.gen(function* () {
      const object = yield* one(target, path)
      const service = yield* one(target, "services/vcluster")
      const refs = object?.metadata.ownerReferences ?? []
      return [
        object === undefined ? [] : ownersOf(object),
        refs.every((ref) => ref.uid === service?.metadata.uid),
      ]
    })

  return {
    name: "a vCluster",
    steps: [
      {
        name: "installed, it makes its certificates, then its kubeconfig",
        run: (target) =>
          Effect.gen(function* () {
            yield* target.install
            yield* up(target)
            const made = yield* target.secrets
            return made.filter((name) => name === "vcluster-certs" || name === "vc-vcluster")
          }),
      },
      {
        name: "both belong to the Service",
        run: (target) =>
          Effect.all([owners(target, "secrets/vcluster-certs"), owners(target, "secrets/vc-vcluster")]),
      },
      {
        name: "what is in them",
        run: (target) =>
          Effect.gen(function* () {
            const certs = yield* data(target, "vcluster-certs")
            const kubeconfig = yield* data(target, "vc-vcluster")
            const labels = (yield* one(target, "secrets/vc-vcluster"))?.metadata.labels
            const text = Buffer.from(kubeconfig?.data?.config ?? "", "base64").toString("utf8")
            return [
              Object.keys(certs?.data ?? {}).toSorted(),
              Object.keys(kubeconfig?.data ?? {}).toSorted(),
              kubeconfig?.data?.token,
              kubeconfig?.type,
              labels,
              /server: (.*)/.exec(text)?.[1],
              kubeconfig?.data?.["certificate-authority"] === certs?.data?.["ca.crt"],
            ]
          }),
      },
      {
        name: "the Service says which addresses there are",
        run: (target) =>
          Effect.map(one(target, "services/vcluster"), (service) =>
            Object.keys(service?.metadata.annotations ?? {}).toSorted(),
          ),
      },
      {
        name: "inside are the namespaces of a cluster, and its DNS runs",
        run: (target) =>
          Effect.gen(function* () {
            yield* wait(
              "CoreDNS is ready",
              Effect.map(
                get(target.inside, "/apis/apps/v1/namespaces/kube-system/deployments/coredns"),
                (found) => (found?.status?.readyReplicas === 1 ? "ready" : undefined),
              ),
            )
            const spaces = yield* list(target.inside, "/api/v1/namespaces")
            return [
              spaces.map(({ metadata }) => metadata.name),
              yield* there(target.inside, "/api/v1/namespaces/default/serviceaccounts/default"),
              yield* names(target, "services"),
              yield* names(target, "pods"),
            ]
          }),
      },
      {
        name: "a workload inside is synced with what it uses, and nothing else",
        run: (target) =>
          Effect.gen(function* () {
            const maps = "/api/v1/namespaces/default/configmaps"
            for (const name of ["used", "unused"]) yield* target.inside.request("POST", maps, configMap(name))
            yield* target.inside.request("POST", "/apis/apps/v1/namespaces/default/deployments", workload)
            yield* target.inside.request(
              "POST",
              "/apis/networking.k8s.io/v1/namespaces/default/networkpolicies",
              policy,
            )
            yield* appReady(target)
            const policies = yield* wait(
              "the policy is synced",
              Effect.map(
                list(
                  target.host,
                  `/apis/networking.k8s.io/v1/namespaces/${target.namespace}/networkpolicies`,
                ),
                (all) => (all.length > 0 ? all : undefined),
              ),
            )
            return [
              yield* names(target, "pods"),
              (yield* names(target, "configmaps")).filter((name) => name.includes("used")),
              policies.map(({ metadata }) => metadata.name),
            ]
          }),
      },
      {
        name: "its pod on the host is marked and owned",
        run: (target) =>
          Effect.gen(function* () {
            const pods = yield* list(
              target.host,
              `${core(target)}/pods?labelSelector=vcluster.loft.sh/namespace=default`,
            )
            return pods.map((pod) => [
              ownersOf(pod),
              pod.metadata.labels?.["vcluster.loft.sh/managed-by"],
              pod.metadata.labels?.app,
              pod.metadata.annotations?.["vcluster.loft.sh/object-namespace"],
              pod.metadata.annotations?.["vcluster.loft.sh/object-name"]?.replace(/^app-.*/, "app-…"),
              pod.metadata.annotations?.["vcluster.loft.sh/object-kind"],
            ])
          }),
      },
      {
        name: "restarted, it is the same cluster, and its workload ran on",
        run: (target) =>
          Effect.gen(function* () {
            const pods = "/api/v1/namespaces/default/pods"
            const before = (yield* list(target.inside, pods)).map(({ metadata }) => metadata.uid)
            const secret = yield* data(target, "vc-vcluster")
            const authority = yield* caOf(target)
            yield* restart(target)
            const cluster = yield* up(target)
            const after = (yield* list(target.inside, pods)).map(({ metadata }) => metadata.uid)
            const rewritten = yield* data(target, "vc-vcluster")
            return [
              cluster,
              authority === (yield* caOf(target)),
              before.join() === after.join(),
              rewritten?.data?.config === secret?.data?.config,
            ]
          }),
      },
      {
        name: "its kubeconfig, deleted, is not written again",
        run: (target) =>
          Effect.gen(function* () {
            yield* target.host.request("DELETE", `${core(target)}/secrets/vc-vcluster`)
            yield* Effect.sleep("25 seconds")
            return yield* names(target, "secrets")
          }),
      },
      {
        name: "until it is restarted",
        run: (target) =>
          Effect.gen(function* () {
            yield* restart(target)
            return [yield* up(target), yield* owners(target, "secrets/vc-vcluster")]
          }),
      },
      {
        name: "its certificates, deleted, come back with a restart, of the same CA",
        run: (target) =>
          Effect.gen(function* () {
            const before = yield* caOf(target)
            yield* target.host.request("DELETE", `${core(target)}/secrets/vcluster-certs`)
            yield* Effect.sleep("15 seconds")
            const meanwhile = yield* names(target, "secrets")
            yield* restart(target)
            const cluster = yield* up(target)
            return [meanwhile, cluster, (yield* caOf(target)) === before]
          }),
      },
      {
        name: "its Service, deleted, takes everything synced along",
        run: (target) =>
          Effect.gen(function* () {
            const service = yield* one(target, "services/vcluster")
            const { clusterIP: _, clusterIPs: __, ...rest } = Object(service?.spec)
            spec = { metadata: { name: "vcluster", labels: service?.metadata.labels }, spec: rest }
            uid(service?.metadata.uid)
            yield* target.host.request("DELETE", `${core(target)}/services/vcluster`)
            yield* Effect.sleep("30 seconds")
            return [
              yield* names(target, "secrets"),
              yield* names(target, "services"),
              (yield* names(target, "configmaps")).filter((name) => !name.startsWith("kube-root-ca.crt")),
              (yield* names(target, "pods")).filter((name) => name === "vcluster-0"),
            ]
          }),
      },
      {
        name: "made again, and the pod restarted, it is the same cluster; what was used is gone inside",
        run: (target) =>
          Effect.gen(function* () {
            yield* target.host.request("POST", `${core(target)}/services`, {
              apiVersion: "v1",
              kind: "Service",
              ...Object(spec),
            })
            yield* restart(target)
            const cluster = yield* up(target)
            const maps = "/api/v1/namespaces/default/configmaps"
            const dns = "/api/v1/namespaces/kube-system/services/kube-dns"
            // It goes inside when it went on the host, and comes back on either side in its own time.
            yield* wait(
              "its DNS is back",
              Effect.gen(function* () {
                const outside = yield* one(target, "services/kube-dns-x-kube-system-x-vcluster")
                return outside !== undefined && (yield* get(target.inside, dns)) !== undefined
                  ? "back"
                  : undefined
              }),
            )
            return [
              cluster,
              yield* owners(target, "secrets/vc-vcluster"),
              yield* there(target.inside, `${maps}/used`),
              yield* there(target.inside, `${maps}/unused`),
            ]
          }),
      },
      {
        name: "its workload waits for what it mounts, and runs when that is there",
        run: (target) =>
          Effect.gen(function* () {
            yield* wait(
              "its pod is synced",
              Effect.map(
                list(target.host, `${core(target)}/pods?labelSelector=vcluster.loft.sh/namespace=default`),
                (pods) => (pods.length > 0 ? pods : undefined),
              ),
            )
            yield* Effect.sleep("10 seconds")
            const waiting = yield* get(target.inside, "/apis/apps/v1/namespaces/default/deployments/app")
            yield* target.inside.request("POST", "/api/v1/namespaces/default/configmaps", configMap("used"))
            return [waiting?.status?.readyReplicas ?? 0, yield* appReady(target)]
          }),
      },
      {
        name: "its StatefulSet, deleted and made again, finds its claim",
        run: (target) =>
          Effect.gen(function* () {
            const path = `${apps(target)}/statefulsets/vcluster`
            const found = yield* get(target.host, path)
            set = { spec: found?.spec, labels: found?.metadata.labels }
            const claim = yield* one(target, "persistentvolumeclaims/data-vcluster-0")
            yield* target.host.request("DELETE", path)
            yield* wait(
              "its pod is gone",
              Effect.map(podUid(target), (now) => (now === undefined ? "gone" : undefined)),
            )
            const kept = yield* one(target, "persistentvolumeclaims/data-vcluster-0")
            yield* target.host.request("POST", `${apps(target)}/statefulsets`, {
              apiVersion: "apps/v1",
              kind: "StatefulSet",
              metadata: { name: "vcluster", labels: set.labels },
              spec: set.spec,
            })
            return [kept?.metadata.uid === claim?.metadata.uid, yield* up(target)]
          }),
      },
      {
        name: "its claim, deleted under it, stays until the pod goes; then it is another cluster with the CA it had",
        run: (target) =>
          Effect.gen(function* () {
            const before = yield* caOf(target)
            yield* target.host.request("DELETE", `${core(target)}/persistentvolumeclaims/data-vcluster-0`)
            yield* Effect.sleep("5 seconds")
            const held = yield* one(target, "persistentvolumeclaims/data-vcluster-0")
            yield* restart(target)
            return [
              held?.metadata.deletionTimestamp !== undefined,
              yield* up(target),
              (yield* caOf(target)) === before,
            ]
          }),
      },
      {
        name: "its namespace, deleted, takes everything along",
        run: (target) =>
          Effect.gen(function* () {
            yield* target.host.request("DELETE", core(target))
            return yield* wait(
              "the namespace is gone",
              Effect.map(get(target.host, core(target)), (found) =>
                found === undefined ? "gone" : undefined,
              ),
            )
          }),
      },
    ],
  }
}
