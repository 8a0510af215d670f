// What goes beyond the reference's table of values.
import { readFileSync } from "node:fs"
import { describe, expect, it } from "vitest"
import { quotaResources } from "../../../src/schema/Quota.ts"
import { find, pick, type Rendered, render, renderFailure } from "../helm.ts"

const chart = "charts/platform-operator"
const digest = `sha256:${"0123456789abcdef".repeat(4)}`
const needed = { image: { digest }, passphrase: { existingSecret: "mine" } }
const rendered = (values: object = {}) => render(chart, { values: { ...needed, ...values } })
const deployment = (values?: object) => find(rendered(values), "Deployment")
const podOf = (object: Rendered) => pick(object, "spec", "template", "spec")
const envOf = (values: object) => pick(podOf(deployment(values)), "containers", 0, "env")
const has = (objects: ReadonlyArray<Rendered>, kind: string) => objects.some((object) => object.kind === kind)

describe("state", () => {
  it("that one node alone can mount makes the old pod end first", () => {
    expect(deployment()).toMatchObject({ spec: { strategy: { type: "Recreate" } } })
    expect(find(rendered(), "PersistentVolumeClaim")).toMatchObject({
      spec: { accessModes: ["ReadWriteOnce"] },
    })
  })

  it("that every node can mount lets the new pod stand by while the old one ends", () => {
    const objects = rendered({ state: { accessMode: "ReadWriteMany" } })
    expect(find(objects, "PersistentVolumeClaim")).toMatchObject({ spec: { accessModes: ["ReadWriteMany"] } })
    expect(pick(find(objects, "Deployment"), "spec", "strategy")).toBeUndefined()
  })
})

describe("more environment", () => {
  const endpoint = { name: "OTEL_EXPORTER_OTLP_ENDPOINT", value: "http://collector:4318" }
  const headers = {
    name: "OTEL_EXPORTER_OTLP_HEADERS",
    valueFrom: { secretKeyRef: { name: "collector", key: "headers" } },
  }

  it("is the container's, beside what the chart gives it", () => {
    const before = envOf({})
    const after = envOf({ extraEnv: [endpoint, headers] })
    expect(after).toEqual(expect.arrayContaining([endpoint, headers]))
    expect(after).toHaveLength((Array.isArray(before) ? before.length : 0) + 2)
  })

  it("is refused where it is the chart's own, or has no name", () => {
    for (const extraEnv of [[{ name: "POD_UID", value: "mine" }], [{ value: "x" }]]) {
      expect(renderFailure(chart, { values: { ...needed, extraEnv } })).toContain("extraEnv")
    }
  })
})

describe("what an instance may take", () => {
  const args = (values: object) => pick(podOf(deployment(values)), "containers", 0, "args")

  it("is one argument, and none where nothing is said", () => {
    const instanceQuota = { pods: 50, "requests.cpu": "1500m", "requests.memory": "8Gi" }
    expect(args({ instanceQuota })).toContain(
      "--instance-quota=pods=50,requests.cpu=1500m,requests.memory=8Gi",
    )
    expect(JSON.stringify(args({}))).not.toContain("instance-quota")
  })

  it("is written out, however large", () => {
    const [argument = ""] =
      JSON.stringify(args({ instanceQuota: { "requests.memory": 8589934592 } })).match(
        /--instance-quota=[^"]*/,
      ) ?? []
    expect(argument).toBe("--instance-quota=requests.memory=8589934592")
  })

  it("is refused where it is no amount, or of nothing that can be counted", () => {
    for (const instanceQuota of [
      { "limits.cpu": 4 },
      { requestsxcpu: 4 },
      { pods: "many" },
      { pods: 0 },
      { pods: "5Gi" },
      { "requests.cpu": "4Gi" },
      { "requests.memory": "8GB" },
      { "requests.memory": "0Gi" },
    ])
      expect(renderFailure(chart, { values: { ...needed, instanceQuota } })).toContain("instanceQuota")
  })

  it("names what the operator knows", () => {
    const schema = JSON.parse(readFileSync(`${chart}/values.schema.json`, "utf8"))
    const patterns = Object.keys(schema.properties.instanceQuota.patternProperties).map(
      (pattern) => new RegExp(pattern, "u"),
    )
    expect(quotaResources.filter((name) => !patterns.some((pattern) => pattern.test(name)))).toEqual([])
  })
})

describe("a PodDisruptionBudget", () => {
  it("is there with several replicas only", () => {
    expect(has(rendered(), "PodDisruptionBudget")).toBe(false)
    const objects = rendered({ replicaCount: 2 })
    expect(find(objects, "PodDisruptionBudget")).toMatchObject({
      spec: {
        maxUnavailable: 1,
        selector: { matchLabels: pick(find(objects, "Deployment"), "spec", "selector", "matchLabels") },
      },
    })
  })
})

describe("metrics", () => {
  it("have a Service that finds the pods", () => {
    const objects = rendered()
    const service = find(objects, "Service", "platform-operator-metrics")
    expect(pick(service, "spec", "selector")).toEqual(
      pick(find(objects, "Deployment"), "spec", "selector", "matchLabels"),
    )
    expect(has(rendered({ metrics: { service: false } }), "Service")).toBe(false)
  })

  it("have a ServiceMonitor on request, which finds that Service", () => {
    expect(has(rendered(), "ServiceMonitor")).toBe(false)
    const metrics = { serviceMonitor: { enabled: true, interval: "1m", labels: { release: "prometheus" } } }
    const objects = rendered({ metrics })
    const monitor = find(objects, "ServiceMonitor")
    expect(monitor.metadata.labels).toMatchObject({ release: "prometheus" })
    const selected = Object(pick(monitor, "spec", "selector", "matchLabels"))
    expect(find(objects, "Service").metadata.labels).toMatchObject(selected)
    expect(pick(monitor, "spec", "endpoints")).toEqual([
      { port: "metrics", interval: "1m", honorLabels: true },
    ])
  })
})

const noInstances = [
  {
    namespaceSelector: {
      matchExpressions: [{ key: "platform.di-framework.dev/host-namespace", operator: "DoesNotExist" }],
    },
  },
]

describe("a NetworkPolicy of the operator's own", () => {
  it("closes the pod but for its metrics, its probes and what it asks", () => {
    const names = (objects: ReadonlyArray<Rendered>) =>
      objects.filter(({ kind }) => kind === "NetworkPolicy").map(({ metadata }) => metadata.name)
    expect(names(rendered({ networkPolicy: { admitInstances: true } }))).toEqual([
      "platform-operator-cleanup",
    ])
    const objects = rendered({ networkPolicy: { enabled: true } })
    expect(pick(find(objects, "NetworkPolicy", "platform-operator"), "spec")).toEqual({
      podSelector: { matchLabels: pick(find(objects, "Deployment"), "spec", "selector", "matchLabels") },
      policyTypes: ["Ingress", "Egress"],
      ingress: [
        {
          ports: [
            { port: "metrics", protocol: "TCP" },
            { port: "health", protocol: "TCP" },
          ],
          from: noInstances,
        },
      ],
      egress: [{}],
    })
  })

  it("keeps the pods of instances away, unless they are to be let in", () => {
    const specOf = (networkPolicy: object) =>
      pick(find(rendered({ networkPolicy }), "NetworkPolicy", "platform-operator"), "spec")
    expect(specOf({})).toMatchObject({ policyTypes: ["Ingress"], ingress: [{ from: noInstances }] })
    expect(specOf({})).not.toHaveProperty("egress")
    const open = specOf({ enabled: true, admitInstances: true })
    expect(JSON.stringify(open)).not.toContain("namespaceSelector")
  })
})

describe("the way out", () => {
  it("through a proxy never leads to the cluster's own addresses", () => {
    const env = envOf({ proxy: { https: "http://proxy:3128", noProxy: "10.0.0.0/8" } })
    expect(env).toEqual(
      expect.arrayContaining([
        { name: "HTTPS_PROXY", value: "http://proxy:3128" },
        {
          name: "NO_PROXY",
          value: "localhost,127.0.0.1,::1,$(KUBERNETES_SERVICE_HOST),.svc,.cluster.local,10.0.0.0/8",
        },
      ]),
    )
    expect(JSON.stringify(env)).not.toContain('"HTTP_PROXY"')
    expect(JSON.stringify(envOf({}))).not.toContain("PROXY")
  })

  it("trusts certificates of the user's beside the image's", () => {
    const caBundle = "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n"
    const objects = rendered({ npm: { caBundle } })
    expect(pick(find(objects, "ConfigMap", "platform-operator-ca"), "data")).toEqual({ "ca.crt": caBundle })
    const pod = podOf(find(objects, "Deployment"))
    expect(pick(pod, "volumes")).toContainEqual({ name: "ca", configMap: { name: "platform-operator-ca" } })
    expect(pick(pod, "containers", 0, "volumeMounts")).toContainEqual({
      name: "ca",
      mountPath: "/etc/platform-operator/ca",
      readOnly: true,
    })
    expect(pick(pod, "containers", 0, "env")).toEqual(
      expect.arrayContaining([
        { name: "NODE_EXTRA_CA_CERTS", value: "/etc/platform-operator/ca/ca.crt" },
        { name: "SSL_CERT_DIR", value: "/etc/ssl/certs:/etc/platform-operator/ca" },
      ]),
    )
  })

  it("leads to a server of plugins of the user's", () => {
    const args = pick(
      podOf(deployment({ plugins: { server: "https://mirror/plugins" } })),
      "containers",
      0,
      "args",
    )
    expect(args).toContain("--plugin-server=https://mirror/plugins")
  })
})

describe("the namespaces served", () => {
  it("are all, or those named", () => {
    expect(JSON.stringify(deployment())).not.toContain("--watch-namespaces")
    expect(JSON.stringify(deployment({ watchNamespaces: ["team-a", "team-b"] }))).toContain(
      "--watch-namespaces=team-a,team-b",
    )
  })
})

describe("the pod", () => {
  it("is placed, named and pulled as the values say", () => {
    const values = {
      imagePullSecrets: [{ name: "pull" }],
      priorityClassName: "system-cluster-critical",
      nodeSelector: { "kubernetes.io/os": "linux" },
      tolerations: [{ operator: "Exists" }],
      affinity: { nodeAffinity: {} },
    }
    expect(podOf(deployment(values))).toMatchObject(values)
  })

  it("has labels and annotations of its own, and those of every object", () => {
    const objects = rendered({
      commonLabels: { team: "platform" },
      podLabels: { sidecar: "no" },
      podAnnotations: { note: "here" },
    })
    expect(
      objects.filter(({ metadata }) => metadata.labels?.team !== "platform").map(({ kind }) => kind),
    ).toEqual(["CustomResourceDefinition"])
    expect(pick(find(objects, "Deployment"), "spec", "template", "metadata")).toMatchObject({
      labels: { team: "platform", sidecar: "no" },
      annotations: { note: "here" },
    })
    expect(JSON.stringify(pick(find(objects, "Deployment"), "spec", "selector"))).not.toContain("team")
  })

  it("has each label and annotation once, the nearer one where there are two", () => {
    const objects = rendered({
      commonLabels: { team: "platform" },
      podLabels: { team: "pod" },
      podAnnotations: { "kubectl.kubernetes.io/default-container": "sidecar" },
      metrics: {
        serviceMonitor: { enabled: true, labels: { team: "monitor" } },
        prometheusRule: { enabled: true, labels: { team: "rules" } },
        dashboard: { enabled: true, labels: { team: "dashboard" } },
      },
    })
    const pod = pick(find(objects, "Deployment"), "spec", "template", "metadata")
    expect(pod).toMatchObject({ labels: { team: "pod", "app.kubernetes.io/name": "platform-operator" } })
    expect(find(objects, "ServiceMonitor").metadata.labels).toMatchObject({ team: "monitor" })
    expect(find(objects, "PrometheusRule").metadata.labels).toMatchObject({ team: "rules" })
    expect(find(objects, "ConfigMap").metadata.labels).toMatchObject({ team: "dashboard" })
    expect(find(objects, "Service").metadata.labels).toMatchObject({ team: "platform" })
  })
})

describe("a value", () => {
  it.each([
    ["proxy.https", { proxy: { https: "http://me:planted@proxy" } }, "/proxy/https"],
    ["plugins.server", { plugins: { server: "mirror" } }, "/plugins/server"],
    ["npm.caBundle", { npm: { caBundle: "no certificate" } }, "/npm/caBundle"],
    ["state.accessMode", { state: { accessMode: "ReadOnlyMany" } }, "/state/accessMode"],
    ["imagePullSecrets", { imagePullSecrets: ["pull"] }, "/imagePullSecrets/0"],
    ["commonLabels", { commonLabels: { team: "a b" } }, "/commonLabels/team"],
    [
      "commonLabels",
      { commonLabels: { "a team": "b" } },
      "at '/commonLabels': additional properties 'a team'",
    ],
    [
      "podAnnotations",
      { podAnnotations: { "a note": "b" } },
      "at '/podAnnotations': additional properties 'a note'",
    ],
    [
      "commonLabels",
      { commonLabels: { "helm.sh/chart": "mine" } },
      "commonLabels: helm.sh/chart is the chart's own",
    ],
    [
      "metrics.dashboard.labels",
      { metrics: { dashboard: { enabled: true, labels: { "app.kubernetes.io/name": "mine" } } } },
      "metrics.dashboard.labels: app.kubernetes.io/name is the chart's own",
    ],
    [
      "metrics.serviceMonitor.interval",
      { metrics: { serviceMonitor: { enabled: true, interval: "1.5m" } } },
      "/metrics/serviceMonitor/interval",
    ],
    [
      "metrics.prometheusRule.disabled",
      { metrics: { prometheusRule: { enabled: true, disabled: ["PlatformOperatorNope"] } } },
      "metrics.prometheusRule.disabled: there is no alert PlatformOperatorNope; there are ",
    ],
    [
      "npm.caBundle",
      {
        npm: {
          caBundle:
            "-----BEGIN PRIVATE KEY-----\nx\n-----END PRIVATE KEY-----\n-----BEGIN CERTIFICATE-----\nx\n-----END CERTIFICATE-----",
        },
      },
      "npm.caBundle: a private key is in it",
    ],
    [
      "extraEnv",
      { extraEnv: ["1", "2"].map((value) => ({ name: "TWICE", value })) },
      "extraEnv: TWICE is set by extraEnv already",
    ],
    [
      "extraEnv",
      { proxy: { https: "http://proxy:3128" }, extraEnv: [{ name: "NO_PROXY", value: "me" }] },
      "extraEnv: NO_PROXY is set by proxy.noProxy already",
    ],
    ["extraEnv", { extraEnv: [{ name: "A", value: "1", valueFrom: { fieldRef: {} } }] }, "/extraEnv/0"],
    ["plugins.existingClaim", { plugins: { existingClaim: "A claim" } }, "/plugins/existingClaim"],
    ["watchNamespaces", { watchNamespaces: ["a", "a"] }, "/watchNamespaces"],
    ["tolerations", { tolerations: [{ keys: "a" }] }, "/tolerations/0"],
    ["replicaCount", { replicaCount: 1_000_000 }, "/replicaCount"],
    [
      "podLabels",
      { podLabels: { "app.kubernetes.io/name": "mine" } },
      "podLabels: app.kubernetes.io/name is the chart's own",
    ],
    [
      "metrics.serviceMonitor",
      { metrics: { service: false, serviceMonitor: { enabled: true } } },
      "metrics.serviceMonitor.enabled requires metrics.service",
    ],
    ["networkPolicy.egress", { networkPolicy: { egress: "all" } }, "/networkPolicy/egress"],
  ])("that is wrong is refused by name: %s", (_, values, message) => {
    expect(renderFailure(chart, { values: { ...needed, ...values } })).toContain(message)
  })
})
