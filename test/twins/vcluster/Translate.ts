// What of a virtual object goes to the host, and what of a host object comes back, by kind.
import {
  ConfigMap,
  NetworkPolicy,
  PersistentVolumeClaim,
  Pod,
  Secret,
  Service,
} from "../../../src/services/Kubernetes/Kinds.ts"
import type { KubeObject, ResourceKind } from "../../../src/services/Kubernetes/Kubernetes.ts"
import { claimOf, podOf } from "../controllers/Shapes.ts"
import type { Config } from "./Config.ts"
import { hostName, MANAGED_BY, NAMESPACE_LABEL, type Place } from "./Names.ts"

export type Content = Readonly<Record<string, unknown>>

export interface Synced {
  readonly kind: ResourceKind
  readonly enabled: (config: Config) => boolean
  /** Only while a pod uses it. */
  readonly whenUsed: boolean
  readonly toHost: (place: Place, virtual: KubeObject) => Content
  /** The parts of the host object that are compared with those of `toHost` and mended. */
  readonly compared: ReadonlyArray<string>
  /** The status for the virtual object, and what of its spec the host decides. */
  readonly back: (
    host: KubeObject,
    virtual: KubeObject,
  ) => { readonly status?: unknown; readonly spec?: Content }
}

const isRecord = (value: unknown): value is Content =>
  typeof value === "object" && value !== null && !Array.isArray(value)
const record = (value: unknown): Content => (isRecord(value) ? value : {})
const list = (value: unknown): ReadonlyArray<Content> => (Array.isArray(value) ? value.map(record) : [])

const rename = (place: Place, namespace: string, value: unknown, field: string): Content => {
  const inner = record(value)
  const name = inner[field]
  return typeof name === "string"
    ? { ...inner, [field]: hostName({ namespace, name }, place.vcluster) }
    : inner
}

const within = (object: Content, field: string, change: (value: unknown) => unknown): Content =>
  object[field] === undefined ? object : { ...object, [field]: change(object[field]) }

const volumeToHost =
  (place: Place, namespace: string) =>
  (volume: Content): Content => {
    const byName = (value: unknown) => rename(place, namespace, value, "name")
    return [
      (it: Content) => within(it, "secret", (value) => rename(place, namespace, value, "secretName")),
      (it: Content) => within(it, "configMap", byName),
      (it: Content) =>
        within(it, "persistentVolumeClaim", (value) => rename(place, namespace, value, "claimName")),
      (it: Content) =>
        within(it, "projected", (projected) =>
          within(record(projected), "sources", (sources) =>
            list(sources).map((source) => within(within(source, "secret", byName), "configMap", byName)),
          ),
        ),
    ].reduce((it, change) => change(it), volume)
  }

const containerToHost =
  (place: Place, namespace: string) =>
  (container: Content): Content => {
    const reference = (value: unknown) => rename(place, namespace, value, "name")
    const env = within(container, "env", (entries) =>
      list(entries).map((entry) =>
        within(entry, "valueFrom", (from) =>
          within(within(record(from), "secretKeyRef", reference), "configMapKeyRef", reference),
        ),
      ),
    )
    return within(env, "envFrom", (sources) =>
      list(sources).map((source) =>
        within(within(source, "secretRef", reference), "configMapRef", reference),
      ),
    )
  }

const podToHost = (place: Place, virtual: KubeObject): Content => {
  const { namespace = "" } = virtual.metadata
  const spec = record(virtual.spec)
  const { nodeName: _, serviceAccountName: __, serviceAccount: ___, ...rest } = spec
  const containers = (value: unknown) => list(value).map(containerToHost(place, namespace))
  const changed = [
    (it: Content) => within(it, "containers", containers),
    (it: Content) => within(it, "initContainers", containers),
    (it: Content) => within(it, "volumes", (volumes) => list(volumes).map(volumeToHost(place, namespace))),
    (it: Content) =>
      within(it, "imagePullSecrets", (secrets) =>
        list(secrets).map((each) => rename(place, namespace, each, "name")),
      ),
  ].reduce((it, change) => change(it), rest)
  // Tokens of the host would be of no use inside; what runs as whom is the workload account's.
  return {
    spec: {
      ...changed,
      automountServiceAccountToken: false,
      enableServiceLinks: false,
      serviceAccountName: `vc-workload-${place.vcluster}`,
    },
  }
}

const selectorToHost = (place: Place, namespace: string, selector: unknown): Content => ({
  ...record(selector),
  [MANAGED_BY]: place.vcluster,
  [NAMESPACE_LABEL]: namespace,
})

const serviceToHost = (place: Place, virtual: KubeObject): Content => {
  const { clusterIP, clusterIPs: _, selector, ...rest } = record(virtual.spec)
  return {
    spec: {
      ...rest,
      ...(clusterIP === "None" ? { clusterIP } : {}),
      ...(selector === undefined
        ? {}
        : { selector: selectorToHost(place, virtual.metadata.namespace ?? "", selector) }),
    },
  }
}

const policyToHost = (place: Place, virtual: KubeObject): Content => {
  const { namespace = "" } = virtual.metadata
  const selector = (value: unknown) => ({
    ...record(value),
    matchLabels: selectorToHost(place, namespace, record(value).matchLabels),
  })
  const peer = (value: Content) =>
    value.podSelector === undefined && value.namespaceSelector === undefined
      ? value
      : { podSelector: selector(value.podSelector) }
  const rules = (field: string) => (value: unknown) =>
    list(value).map((rule) => within(rule, field, (peers) => list(peers).map(peer)))
  const spec = record(virtual.spec)
  return {
    spec: within(
      within({ ...spec, podSelector: selector(spec.podSelector) }, "ingress", rules("from")),
      "egress",
      rules("to"),
    ),
  }
}

const data = (_: Place, virtual: KubeObject): Content => ({
  ...(virtual.data === undefined ? {} : { data: virtual.data }),
  ...(virtual.type === undefined
    ? {}
    : { type: virtual.type === "kubernetes.io/service-account-token" ? "Opaque" : virtual.type }),
})

/** In the order of their controllers. */
export const SYNCED: ReadonlyArray<Synced> = [
  {
    kind: Service,
    enabled: ({ sync }) => sync?.toHost?.services?.enabled === true,
    whenUsed: false,
    toHost: serviceToHost,
    compared: ["spec"],
    back: (host) => ({ status: host.status }),
  },
  {
    kind: Secret,
    enabled: ({ sync }) => sync?.toHost?.secrets?.enabled === true,
    whenUsed: true,
    toHost: data,
    compared: ["data"],
    back: () => ({}),
  },
  {
    kind: ConfigMap,
    enabled: ({ sync }) => sync?.toHost?.configMaps?.enabled === true,
    whenUsed: true,
    toHost: data,
    compared: ["data"],
    back: () => ({}),
  },
  {
    kind: PersistentVolumeClaim,
    enabled: ({ sync }) => sync?.toHost?.persistentVolumeClaims?.enabled === true,
    whenUsed: false,
    toHost: (_, virtual) => {
      const { volumeName: __, ...spec } = record(virtual.spec)
      return { spec }
    },
    compared: [],
    back: (host) => {
      const { volumeName } = claimOf(host).spec
      return { status: host.status, ...(volumeName === undefined ? {} : { spec: { volumeName } }) }
    },
  },
  {
    kind: NetworkPolicy,
    enabled: ({ sync }) => sync?.toHost?.networkPolicies?.enabled === true,
    whenUsed: false,
    toHost: policyToHost,
    compared: ["spec"],
    back: () => ({}),
  },
  {
    kind: Pod,
    enabled: ({ sync }) => sync?.toHost?.pods?.enabled === true,
    whenUsed: false,
    toHost: podToHost,
    compared: [],
    back: (host) => {
      const { nodeName } = podOf(host).spec
      return { status: host.status, ...(nodeName === undefined ? {} : { spec: { nodeName } }) }
    },
  },
]

/** What a pod needs of its namespace: `secrets/<name>` and `configmaps/<name>`. */
export const usedBy = (pod: KubeObject): ReadonlyArray<string> => {
  const spec = record(pod.spec)
  const names: Array<string> = []
  const note = (kind: "secrets" | "configmaps", value: unknown, field = "name") => {
    const name = record(value)[field]
    if (typeof name === "string") names.push(`${kind}/${name}`)
  }
  for (const volume of list(spec.volumes)) {
    note("secrets", volume.secret, "secretName")
    note("configmaps", volume.configMap)
    for (const source of list(record(volume.projected).sources)) {
      note("secrets", source.secret)
      note("configmaps", source.configMap)
    }
  }
  for (const container of [...list(spec.containers), ...list(spec.initContainers)]) {
    for (const entry of list(container.env)) {
      note("secrets", record(entry.valueFrom).secretKeyRef)
      note("configmaps", record(entry.valueFrom).configMapKeyRef)
    }
    for (const source of list(container.envFrom)) {
      note("secrets", source.secretRef)
      note("configmaps", source.configMapRef)
    }
  }
  for (const secret of list(spec.imagePullSecrets)) note("secrets", secret)
  // The volume that every pod with a service account token gets carries the cluster's CA.
  if (spec.automountServiceAccountToken !== false) names.push("configmaps/kube-root-ca.crt")
  return names
}
