// Pod Security admission: what a namespace's enforced level refuses of a pod, in the words of kube-apiserver 1.35
// (k8s.io/pod-security-admission). The checks that pods of this product can fail: ports, AppArmor, SELinux, sysctls and
// Windows are left out.
import { Namespace } from "../../../src/services/Kubernetes/Kinds.ts"
import { type ApiClient, ApiStatus, type Writable } from "../kubernetes/ApiServer.ts"

type Fields = Readonly<Record<string, unknown>>
const fields = (value: unknown): Fields => Object(value)
const list = (value: unknown): ReadonlyArray<Fields> => (Array.isArray(value) ? value.map(fields) : [])
const texts = (value: unknown): ReadonlyArray<string> => (Array.isArray(value) ? value.map(String) : [])

interface Checked {
  readonly pod: Fields
  readonly containers: ReadonlyArray<{ readonly name: string; readonly security: Fields }>
  readonly volumes: ReadonlyArray<Fields>
}

const quote = (items: ReadonlyArray<string>) => items.map((item) => `"${item}"`).join(", ")
const container = (names: ReadonlyArray<string>) =>
  `container${names.length === 1 ? "" : "s"} ${quote(names)}`

/** `reason (detail)`, or nothing. */
type Check = (checked: Checked) => string | undefined

const those = ({ containers }: Checked, bad: (security: Fields) => boolean) =>
  containers.filter(({ security }) => bad(security)).map(({ name }) => name)

const hostNamespaces: Check = ({ pod }) => {
  const used = ["hostNetwork", "hostPID", "hostIPC"].filter((field) => fields(pod.spec)[field] === true)
  return used.length === 0
    ? undefined
    : `host namespaces (${used.map((field) => `${field}=true`).join(", ")})`
}

const hostPath: Check = ({ volumes }) => {
  const names = volumes.filter((volume) => volume.hostPath !== undefined).map(({ name }) => String(name))
  return names.length === 0
    ? undefined
    : `hostPath volumes (volume${names.length === 1 ? "" : "s"} ${quote(names)})`
}

const privileged: Check = (checked) => {
  const names = those(checked, (security) => security.privileged === true)
  return names.length === 0
    ? undefined
    : `privileged (${container(names)} must not set securityContext.privileged=true)`
}

const DEFAULT_CAPABILITIES = new Set(
  "AUDIT_WRITE CHOWN DAC_OVERRIDE FOWNER FSETID KILL MKNOD NET_BIND_SERVICE SETFCAP SETGID SETPCAP SETUID SYS_CHROOT".split(
    " ",
  ),
)
const added = (security: Fields) => texts(fields(security.capabilities).add)

const baselineCapabilities: Check = (checked) => {
  const foreign = (security: Fields) => added(security).filter((each) => !DEFAULT_CAPABILITIES.has(each))
  const names = those(checked, (security) => foreign(security).length > 0)
  const values = [...new Set(checked.containers.flatMap(({ security }) => foreign(security)))].toSorted()
  return names.length === 0
    ? undefined
    : `non-default capabilities (${container(names)} must not include ${quote(values)} in securityContext.capabilities.add)`
}

const allowPrivilegeEscalation: Check = (checked) => {
  const names = those(checked, (security) => security.allowPrivilegeEscalation !== false)
  return names.length === 0
    ? undefined
    : `allowPrivilegeEscalation != false (${container(names)} must set securityContext.allowPrivilegeEscalation=false)`
}

const restrictedCapabilities: Check = (checked) => {
  const undropped = those(checked, (security) => !texts(fields(security.capabilities).drop).includes("ALL"))
  const foreign = (security: Fields) => added(security).filter((each) => each !== "NET_BIND_SERVICE")
  const adding = those(checked, (security) => foreign(security).length > 0)
  const values = [...new Set(checked.containers.flatMap(({ security }) => foreign(security)))].toSorted()
  const details = [
    ...(undropped.length === 0
      ? []
      : [`${container(undropped)} must set securityContext.capabilities.drop=["ALL"]`]),
    ...(adding.length === 0
      ? []
      : [`${container(adding)} must not include ${quote(values)} in securityContext.capabilities.add`]),
  ]
  return details.length === 0 ? undefined : `unrestricted capabilities (${details.join("; ")})`
}

const RESTRICTED_VOLUMES = new Set(
  "configMap csi downwardAPI emptyDir ephemeral persistentVolumeClaim projected secret image".split(" "),
)

const restrictedVolumes: Check = ({ volumes }) => {
  const typeOf = (volume: Fields) => Object.keys(volume).find((key) => key !== "name") ?? "emptyDir"
  const bad = volumes.filter((volume) => !RESTRICTED_VOLUMES.has(typeOf(volume)))
  const types = [...new Set(bad.map(typeOf))].toSorted()
  const many = bad.length !== 1
  return bad.length === 0
    ? undefined
    : `restricted volume types (volume${many ? "s" : ""} ${quote(bad.map(({ name }) => String(name)))} use${many ? "" : "s"} restricted volume type${types.length === 1 ? "" : "s"} ${quote(types)})`
}

const podSecurity = ({ pod }: Checked) => fields(fields(pod.spec).securityContext)

const runAsNonRoot: Check = (checked) => {
  const whole = podSecurity(checked).runAsNonRoot
  const wrong = those(checked, (security) => security.runAsNonRoot === false)
  const setters = [...(whole === false ? ["pod"] : []), ...(wrong.length === 0 ? [] : [container(wrong)])]
  if (setters.length > 0)
    return `runAsNonRoot != true (${setters.join(" and ")} must not set securityContext.runAsNonRoot=false)`
  const silent = whole === true ? [] : those(checked, (security) => security.runAsNonRoot !== true)
  return silent.length === 0
    ? undefined
    : `runAsNonRoot != true (pod or ${container(silent)} must set securityContext.runAsNonRoot=true)`
}

const runAsUser: Check = (checked) => {
  const wrong = those(checked, (security) => security.runAsUser === 0)
  const setters = [
    ...(podSecurity(checked).runAsUser === 0 ? ["pod"] : []),
    ...(wrong.length === 0 ? [] : [container(wrong)]),
  ]
  return setters.length === 0 ? undefined : `runAsUser=0 (${setters.join(" and ")} must not set runAsUser=0)`
}

const seccomp: Check = (checked) => {
  const typeOf = (security: Fields) => fields(security.seccompProfile).type
  if (typeOf(podSecurity(checked)) !== undefined) return undefined
  const silent = those(checked, (security) => typeOf(security) === undefined)
  return silent.length === 0
    ? undefined
    : `seccompProfile (pod or ${container(silent)} must set securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost")`
}

const BASELINE = [baselineCapabilities, hostNamespaces, hostPath, privileged]
const RESTRICTED = [
  ...[hostNamespaces, privileged, allowPrivilegeEscalation, restrictedCapabilities, restrictedVolumes],
  ...[runAsNonRoot, runAsUser, seccomp],
]

/** Throws what the API server answers when the namespace of the pod does not admit it. */
export const admitPod = (client: ApiClient, pod: Writable & { readonly spec?: unknown }) => {
  const { namespace = "default", name, generateName = "" } = pod.metadata
  const level = client.get(Namespace, { name: namespace })?.metadata.labels?.[
    "pod-security.kubernetes.io/enforce"
  ]
  const checks = level === "restricted" ? RESTRICTED : level === "baseline" ? BASELINE : []
  const spec = fields(pod.spec)
  const containers = [...list(spec.initContainers), ...list(spec.containers)].map((each) => ({
    name: String(each.name),
    security: fields(each.securityContext),
  }))
  const checked: Checked = { pod, containers, volumes: list(spec.volumes) }
  const failed = checks.flatMap((check) => check(checked) ?? [])
  if (failed.length === 0) return
  const message = `pods "${name ?? generateName}" is forbidden: violates PodSecurity "${level}:latest": ${failed.join(", ")}`
  throw new ApiStatus(403, "Forbidden", message)
}
