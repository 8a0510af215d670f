// What the API server fills in where a manifest is silent, by kind; as kube-apiserver 1.35 does it. Defaults belong to
// who writes the object. What is `prepared` (addresses, selectors, finalizers) comes later and belongs to nobody.
import { at, isJson, type Json, listOf, objectOf, textOf, withPath } from "./Json.ts"

/** The object with values for the fields that it lacks. */
const fill = (object: Json, values: Json): Json => {
  const missing = Object.entries(values).filter(([field]) => object[field] === undefined)
  return missing.length === 0 ? object : { ...object, ...Object.fromEntries(missing) }
}

const mapList = (object: Json, field: string, change: (item: Json) => Json): Json =>
  object[field] === undefined
    ? object
    : { ...object, [field]: listOf(object[field]).map((item) => (isJson(item) ? change(item) : item)) }

const mapField = (object: Json, field: string, change: (inner: Json) => Json): Json => {
  const inner = object[field]
  return isJson(inner) ? { ...object, [field]: change(inner) } : object
}

const probe = (given: Json): Json =>
  mapField(
    fill(given, { timeoutSeconds: 1, periodSeconds: 10, successThreshold: 1, failureThreshold: 3 }),
    "httpGet",
    (get) => fill(get, { scheme: "HTTP" }),
  )

const pullPolicy = (image: unknown): string => {
  const name = (textOf(image) ?? "").split("/").at(-1) ?? ""
  return name.includes("@") || (name.includes(":") && !name.endsWith(":latest")) ? "IfNotPresent" : "Always"
}

const environment = (entry: Json): Json =>
  mapField(entry, "valueFrom", (from) =>
    mapField(from, "fieldRef", (reference) => fill(reference, { apiVersion: "v1" })),
  )

const container = (given: Json): Json => {
  const filled = fill(given, {
    resources: {},
    terminationMessagePath: "/dev/termination-log",
    terminationMessagePolicy: "File",
    imagePullPolicy: pullPolicy(given.image),
  })
  const probed = ["livenessProbe", "readinessProbe", "startupProbe"].reduce(
    (it, field) => mapField(it, field, probe),
    mapList(filled, "ports", (port) => fill(port, { protocol: "TCP" })),
  )
  return mapList(probed, "env", environment)
}

const MODE = { defaultMode: 420 }

const volume = (given: Json): Json => {
  const moded = ["secret", "configMap", "projected", "downwardAPI"].reduce(
    (it, field) => mapField(it, field, (source) => fill(source, MODE)),
    given,
  )
  return mapField(moded, "hostPath", (source) => fill(source, { type: "" }))
}

export const podSpec = (given: Json): Json => {
  const filled = fill(given, {
    restartPolicy: "Always",
    terminationGracePeriodSeconds: 30,
    dnsPolicy: "ClusterFirst",
    securityContext: {},
    schedulerName: "default-scheduler",
    ...(given.serviceAccountName !== undefined && { serviceAccount: given.serviceAccountName }),
  })
  const contained = ["containers", "initContainers"].reduce(
    (it, list) => mapList(it, list, container),
    filled,
  )
  return mapList(contained, "volumes", volume)
}

const template = (spec: Json): Json => {
  const given = objectOf(spec.template)
  return {
    ...spec,
    template: fill({ ...given, spec: podSpec(objectOf(given.spec)) }, { metadata: {} }),
  }
}

const claim = (given: Json): Json =>
  fill(
    { ...given, spec: fill(objectOf(given.spec), { volumeMode: "Filesystem", resources: {} }) },
    { status: { phase: "Pending" } },
  )

const inSpec =
  (change: (spec: Json) => Json) =>
  (object: Json): Json => ({ ...object, spec: change(objectOf(object.spec)) })

/** Limits are requests, too, in a Pod; a template stays as it is. */
const requests = (given: Json): Json =>
  mapField(given, "resources", (resources) =>
    isJson(resources.limits)
      ? { ...resources, requests: fill(objectOf(resources.requests), resources.limits) }
      : resources,
  )

const statefulSet = (spec: Json): Json =>
  mapList(
    template(
      fill(spec, {
        replicas: 1,
        podManagementPolicy: "OrderedReady",
        updateStrategy: { type: "RollingUpdate", rollingUpdate: { partition: 0 } },
        revisionHistoryLimit: 10,
        persistentVolumeClaimRetentionPolicy: { whenDeleted: "Retain", whenScaled: "Retain" },
      }),
    ),
    "volumeClaimTemplates",
    (it) => fill(claim(it), { kind: "PersistentVolumeClaim", apiVersion: "v1" }),
  )

const deployment = (spec: Json): Json =>
  template(
    fill(spec, {
      replicas: 1,
      strategy: { type: "RollingUpdate", rollingUpdate: { maxUnavailable: "25%", maxSurge: "25%" } },
      revisionHistoryLimit: 10,
      progressDeadlineSeconds: 600,
    }),
  )

const job = (spec: Json): Json =>
  template(
    fill(spec, {
      parallelism: 1,
      completions: 1,
      backoffLimit: 6,
      manualSelector: false,
      completionMode: "NonIndexed",
      suspend: false,
      podReplacementPolicy: "TerminatingOrFailed",
    }),
  )

const service = (spec: Json): Json => {
  const filled = fill(spec, { type: "ClusterIP", sessionAffinity: "None" })
  const exposed = filled.type === "NodePort" || filled.type === "LoadBalancer"
  const routed = fill(filled, {
    ...(filled.type !== "ExternalName" && { internalTrafficPolicy: "Cluster" }),
    ...(exposed && { externalTrafficPolicy: "Cluster" }),
  })
  return mapList(routed, "ports", (port) => fill(port, { protocol: "TCP", targetPort: port.port }))
}

const secret = (object: Json): Json => {
  const { stringData, ...rest } = object
  const texts = Object.entries(objectOf(stringData)).map(([key, text]) => [
    key,
    Buffer.from(String(text)).toString("base64"),
  ])
  const data =
    texts.length === 0 ? rest : { ...rest, data: { ...objectOf(rest.data), ...Object.fromEntries(texts) } }
  return fill(data, { type: "Opaque" })
}

const networkPolicy = (spec: Json): Json =>
  mapList(
    mapList(
      fill(spec, { policyTypes: spec.egress === undefined ? ["Ingress"] : ["Ingress", "Egress"] }),
      "ingress",
      (rule) => mapList(rule, "ports", (port) => fill(port, { protocol: "TCP" })),
    ),
    "egress",
    (rule) => mapList(rule, "ports", (port) => fill(port, { protocol: "TCP" })),
  )

const namespace = (object: Json): Json =>
  withPath(object, ["metadata", "labels", "kubernetes.io/metadata.name"], at(object, "metadata", "name"))

const RBAC = "rbac.authorization.k8s.io"

const binding = (object: Json): Json =>
  mapField(
    mapList(object, "subjects", (subject) =>
      subject.kind === "ServiceAccount" ? subject : fill(subject, { apiGroup: RBAC }),
    ),
    "roleRef",
    (reference) => fill(reference, { apiGroup: RBAC }),
  )

const matchResources = (given: Json): Json =>
  mapList(
    fill(given, { matchPolicy: "Equivalent", namespaceSelector: {}, objectSelector: {} }),
    "resourceRules",
    (rule) => fill(rule, { scope: "*" }),
  )

const definition = (spec: Json): Json =>
  mapField(fill(spec, { conversion: { strategy: "None" } }), "names", (names) =>
    fill(names, {
      singular: (textOf(names.kind) ?? "").toLowerCase(),
      listKind: `${textOf(names.kind) ?? ""}List`,
    }),
  )

const DEFAULTS: Readonly<Record<string, (object: Json) => Json>> = {
  Namespace: namespace,
  Secret: secret,
  Pod: inSpec((spec) =>
    fill(
      ["containers", "initContainers"].reduce((it, list) => mapList(it, list, requests), podSpec(spec)),
      { enableServiceLinks: true },
    ),
  ),
  PersistentVolumeClaim: claim,
  Service: inSpec(service),
  StatefulSet: inSpec(statefulSet),
  Deployment: inSpec(deployment),
  ReplicaSet: inSpec((spec) => template(fill(spec, { replicas: 1 }))),
  Job: inSpec(job),
  NetworkPolicy: inSpec(networkPolicy),
  RoleBinding: binding,
  ClusterRoleBinding: binding,
  ValidatingAdmissionPolicy: inSpec((spec) =>
    mapField(fill(spec, { failurePolicy: "Fail" }), "matchConstraints", matchResources),
  ),
  ValidatingAdmissionPolicyBinding: inSpec((spec) => mapField(spec, "matchResources", matchResources)),
  CustomResourceDefinition: inSpec(definition),
}

export const defaulted = (kind: string, object: Json): Json => DEFAULTS[kind]?.(object) ?? object
