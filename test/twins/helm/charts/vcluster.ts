// What the templates of charts/vcluster make. Chart.real.test.ts holds it to what Helm makes of them.
import { createHash } from "node:crypto"
import { at, type Json, listOf, objectOf } from "../../kubernetes/Json.ts"
import type { Manifest, RenderContext, Templates } from "../Chart.ts"
import { goYaml, type Json as Plain } from "../GoYaml.ts"

/** Go templates take these for false. */
const isBlank = (value: unknown): boolean =>
  value === undefined ||
  value === null ||
  value === "" ||
  value === false ||
  value === 0 ||
  (typeof value === "object" && Object.keys(value).length === 0)

/** `with`: the field is there when the value is something. */
const given = (field: string, value: unknown): Json => (isBlank(value) ? {} : { [field]: value })

/** The value at a path such as `controlPlane.proxy.port`. */
const reader = (values: Json) => {
  const value = (path: string): unknown => at(values, ...path.split("."))
  return {
    value,
    object: (path: string) => objectOf(value(path)),
    list: (path: string) => listOf(value(path)),
    text: (path: string) => String(value(path) ?? ""),
  }
}
type Values = ReturnType<typeof reader>

const plain = (value: unknown): Plain => JSON.parse(JSON.stringify(value))

/** The text that becomes `config.yaml`: every value, as it was merged. */
const configText = (values: Json): string => goYaml(plain(values))

const chartLabel = ({ chart }: RenderContext): string =>
  `${chart.name}-${chart.version}`.replaceAll("+", "_").slice(0, 63)

const metadata = (
  context: RenderContext,
  name: string,
  options: { readonly labels?: Json; readonly annotations?: Json; readonly cluster?: boolean } = {},
): Manifest["metadata"] => ({
  name,
  ...(options.cluster === true ? {} : { namespace: context.release.namespace }),
  labels: {
    app: "vcluster",
    chart: chartLabel(context),
    release: context.release.name,
    heritage: "Helm",
    ...options.labels,
  },
  ...given("annotations", {
    ...objectOf(at(context.values, "controlPlane", "advanced", "globalMetadata", "annotations")),
    ...options.annotations,
  }),
})

const selector = ({ release }: RenderContext) => ({ app: "vcluster", release: release.name })

const serviceAccounts = (context: RenderContext, values: Values): ReadonlyArray<Manifest> => {
  const pullSecrets = values.list("controlPlane.advanced.serviceAccount.imagePullSecrets")
  const account = (prefix: string, path: string, secrets: ReadonlyArray<unknown>): ReadonlyArray<Manifest> =>
    values.value(`${path}.enabled`) === true
      ? [
          {
            apiVersion: "v1",
            kind: "ServiceAccount",
            metadata: metadata(context, `${prefix}${context.release.name}`, values.object(path)),
            ...given("imagePullSecrets", secrets),
          },
        ]
      : []
  const workload = "controlPlane.advanced.workloadServiceAccount"
  const all = [...pullSecrets, ...values.list(`${workload}.imagePullSecrets`)]
  const unique = all.filter(
    (item, index) => all.findIndex((other) => JSON.stringify(other) === JSON.stringify(item)) === index,
  )
  return [
    ...account("vc-", "controlPlane.advanced.serviceAccount", pullSecrets),
    ...account("vc-workload-", workload, unique),
  ]
}

const configSecret = (context: RenderContext): ReadonlyArray<Manifest> => [
  {
    apiVersion: "v1",
    kind: "Secret",
    metadata: metadata(context, `vc-config-${context.release.name}`),
    type: "Opaque",
    data: { "config.yaml": Buffer.from(configText(context.values)).toString("base64") },
  },
]

const RBAC = "rbac.authorization.k8s.io"

const binding = (
  context: RenderContext,
  role: "Role" | "ClusterRole",
  described: Manifest["metadata"],
): Manifest => ({
  apiVersion: `${RBAC}/v1`,
  kind: `${role}Binding`,
  metadata: described,
  roleRef: { apiGroup: RBAC, kind: role, name: described.name },
  subjects: [
    { kind: "ServiceAccount", name: `vc-${context.release.name}`, namespace: context.release.namespace },
  ],
})

const rule = (apiGroups: ReadonlyArray<string>, resources: string, verbs: string) => ({
  apiGroups,
  resources: resources.split(" "),
  verbs: verbs.split(" "),
})

const all = "create delete get list patch update watch"
const read = "get list watch"

const role = (context: RenderContext, values: Values): ReadonlyArray<Manifest> => {
  if (values.value("rbac.role.enabled") !== true) return []
  const synced = (what: string) => values.value(`sync.toHost.${what}.enabled`) === true
  const described = metadata(context, `vc-${context.release.name}`)
  const rules = [
    rule([""], "configmaps persistentvolumeclaims pods secrets services", all),
    rule([""], "pods/attach pods/exec pods/portforward", all),
    rule([""], "pods/ephemeralcontainers pods/resize pods/status", "patch update"),
    rule([""], "pods/log", read),
    rule([""], "endpoints", synced("endpoints") ? all : read),
    ...(synced("endpointSlices") ? [rule(["discovery.k8s.io"], "endpointslices", all)] : []),
    ...(synced("networkPolicies") ? [rule(["networking.k8s.io"], "networkpolicies", all)] : []),
    rule(["", "events.k8s.io"], "events", "create get list watch"),
    rule(["apps"], "deployments replicasets statefulsets", "get list patch update watch"),
    ...values.list("rbac.role.extraRules"),
  ]
  return [
    { apiVersion: `${RBAC}/v1`, kind: "Role", metadata: described, rules },
    binding(context, "Role", described),
  ]
}

const clusterRole = (context: RenderContext, values: Values): ReadonlyArray<Manifest> => {
  const fromHost = (what: string) => values.value(`sync.fromHost.${what}.enabled`) === true
  const rules = [
    ...(fromHost("nodes")
      ? [
          rule([""], "nodes nodes/status pods", read),
          rule([""], "nodes/metrics nodes/proxy nodes/stats", "get"),
        ]
      : []),
    ...(fromHost("ingressClasses") ? [rule(["networking.k8s.io"], "ingressclasses", read)] : []),
    ...values.list("rbac.clusterRole.extraRules"),
  ]
  const enabled = values.text("rbac.clusterRole.enabled")
  if (enabled !== "true" && !(enabled === "auto" && rules.length > 0)) return []
  const { name, namespace } = context.release
  const described = metadata(context, `vc-${name}-v-${namespace}`.slice(0, 63).replace(/-$/, ""), {
    cluster: true,
  })
  return [
    { apiVersion: `${RBAC}/v1`, kind: "ClusterRole", metadata: described, rules },
    binding(context, "ClusterRole", described),
  ]
}

const port = (name: string, number: number) => ({ name, port: number, targetPort: 8443, protocol: "TCP" })

const services = (context: RenderContext, values: Values): ReadonlyArray<Manifest> => {
  const service = values.object("controlPlane.service")
  const owner: Manifest = {
    apiVersion: "v1",
    kind: "Service",
    metadata: metadata(context, context.release.name, {
      annotations: objectOf(service.annotations),
      labels: { ...objectOf(service.labels), "vcluster.loft.sh/service": "true" },
    }),
    spec: {
      ...objectOf(service.spec),
      ports: [
        port("https", 443),
        ...(values.value("networking.advanced.proxyKubelets.byHostname") === true
          ? [port("kubelet", 10250)]
          : []),
      ],
      selector: selector(context),
    },
  }
  const headless: Manifest = {
    apiVersion: "v1",
    kind: "Service",
    metadata: metadata(
      context,
      `${context.release.name}-headless`,
      values.object("controlPlane.advanced.headlessService"),
    ),
    spec: {
      clusterIP: "None",
      publishNotReadyAddresses: true,
      ports: [port("https", 443)],
      selector: selector(context),
    },
  }
  return [owner, headless]
}

const image = (values: Values, path: string, tag: string): string => {
  const registry =
    values.text("controlPlane.advanced.defaultImageRegistry") || values.text(`${path}.registry`)
  return `${registry === "" ? "" : `${registry}/`}${values.text(`${path}.repository`)}:${tag}`
}

const fieldReferences = Object.entries({
  NODE_IP: "status.hostIP",
  NODE_NAME: "spec.nodeName",
  POD_IP: "status.podIP",
  POD_NAME: "metadata.name",
}).map(([name, fieldPath]) => ({ name, valueFrom: { fieldRef: { fieldPath } } }))

const probes = (values: Values): Json =>
  Object.fromEntries(
    Object.entries({ livenessProbe: "/healthz", readinessProbe: "/readyz", startupProbe: "/readyz" })
      .map(([probe, path]) => ({ probe, path, ...values.object(`controlPlane.statefulSet.probes.${probe}`) }))
      .filter((settings) => at(settings, "enabled") === true)
      .map(({ probe, path, ...settings }) => [
        probe,
        {
          httpGet: { path, port: 8443, scheme: "HTTPS" },
          ...Object.fromEntries(Object.entries(settings).filter(([key]) => key !== "enabled")),
        },
      ]),
  )

const mounts = {
  data: "/data",
  binaries: "/binaries",
  certs: "/pki",
  "helm-cache": "/.cache/helm",
  config: "/var/lib/vcluster",
  tmp: "/tmp",
}

const kubernetesContainer = (values: Values) => {
  const k8s = "controlPlane.distro.k8s"
  const tag = values.text(`${k8s}.version`) || values.text(`${k8s}.image.tag`)
  return {
    name: "kubernetes",
    image: image(values, `${k8s}.image`, tag),
    ...given("imagePullPolicy", values.value(`${k8s}.imagePullPolicy`)),
    command: ["cp", "-r", "/kubernetes/.", "/binaries/"],
    ...given("securityContext", values.value(`${k8s}.securityContext`)),
    resources: values.object(`${k8s}.resources`),
    volumeMounts: [{ name: "binaries", mountPath: "/binaries" }],
  }
}

const syncerContainer = (context: RenderContext, values: Values) => {
  const set = "controlPlane.statefulSet"
  return {
    name: "syncer",
    image: image(values, `${set}.image`, values.text(`${set}.image.tag`) || context.chart.version),
    ...given("imagePullPolicy", values.value(`${set}.imagePullPolicy`)),
    env: [
      { name: "VCLUSTER_NAME", value: context.release.name },
      { name: "LOFT_LOG_ENCODING", value: values.text("logging.encoding") },
      ...fieldReferences,
      ...values.list(`${set}.env`),
    ],
    ...probes(values),
    ...given("securityContext", values.value(`${set}.security.containerSecurityContext`)),
    resources: values.object(`${set}.resources`),
    volumeMounts: Object.entries(mounts).map(([name, mountPath]) => ({ name, mountPath })),
  }
}

const podTemplate = (context: RenderContext, values: Values) => {
  const set = "controlPlane.statefulSet"
  const scheduling = values.object(`${set}.scheduling`)
  return {
    metadata: {
      annotations: {
        vClusterConfigHash: createHash("sha256").update(configText(context.values)).digest("hex"),
        ...values.object(`${set}.pods.annotations`),
      },
      labels: { ...selector(context), ...values.object(`${set}.pods.labels`) },
    },
    spec: {
      serviceAccountName: `vc-${context.release.name}`,
      terminationGracePeriodSeconds: 15,
      enableServiceLinks: values.value(`${set}.enableServiceLinks`),
      ...given("priorityClassName", scheduling.priorityClassName),
      ...given("nodeSelector", scheduling.nodeSelector),
      ...given("affinity", scheduling.affinity),
      ...given("tolerations", scheduling.tolerations),
      ...given("topologySpreadConstraints", scheduling.topologySpreadConstraints),
      ...given("securityContext", values.value(`${set}.security.podSecurityContext`)),
      initContainers: [kubernetesContainer(values)],
      containers: [syncerContainer(context, values)],
      volumes: [
        ...["binaries", "certs", "helm-cache", "tmp"].map((name) => ({ name, emptyDir: {} })),
        { name: "config", secret: { secretName: `vc-config-${context.release.name}` } },
      ],
    },
  }
}

const statefulSet = (context: RenderContext, values: Values): ReadonlyArray<Manifest> => {
  const set = "controlPlane.statefulSet"
  const claim = `${set}.persistence.volumeClaim`
  return [
    {
      apiVersion: "apps/v1",
      kind: "StatefulSet",
      metadata: metadata(context, context.release.name, {
        labels: values.object(`${set}.labels`),
        annotations: values.object(`${set}.annotations`),
      }),
      spec: {
        replicas: values.value(`${set}.highAvailability.replicas`),
        serviceName: `${context.release.name}-headless`,
        podManagementPolicy: values.value(`${set}.scheduling.podManagementPolicy`),
        selector: { matchLabels: selector(context) },
        persistentVolumeClaimRetentionPolicy: {
          whenDeleted: values.value(`${claim}.retentionPolicy`),
          whenScaled: "Retain",
        },
        volumeClaimTemplates: [
          {
            metadata: { name: "data" },
            spec: {
              accessModes: values.list(`${claim}.accessModes`),
              ...given("storageClassName", values.value(`${claim}.storageClass`)),
              resources: { requests: { storage: values.value(`${claim}.size`) } },
            },
          },
        ],
        template: podTemplate(context, values),
      },
    },
  ]
}

export const vclusterTemplates: Templates = (context) => {
  const values = reader(context.values)
  return {
    "templates/clusterrole.yaml": clusterRole(context, values),
    "templates/config-secret.yaml": configSecret(context),
    "templates/role.yaml": role(context, values),
    "templates/serviceaccounts.yaml": serviceAccounts(context, values),
    "templates/services.yaml": services(context, values),
    "templates/statefulset.yaml": statefulSet(context, values),
  }
}
