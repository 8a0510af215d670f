// Pods with which the administrator of an instance would reach the node: what a policy has to refuse, and what it must let
// pass. The same are tried on the twin's API server and through a real vCluster.

export interface Asked {
  readonly name: string
  /** The pod's spec beside its one container. */
  readonly spec?: object
  /** That container, beside its name, image and command. */
  readonly container?: object
}
export interface Escape extends Asked {
  /** What the refusal names. */
  readonly says: RegExp
}

const container = { name: "sh", image: "docker.io/library/busybox:1.36", command: ["sleep", "36000"] }
const capabilities = (...add: ReadonlyArray<string>) => ({ securityContext: { capabilities: { add } } })
const init = (more: object) => ({ initContainers: [{ ...container, name: "init", ...more }] })
const mounts = (path: string) => ({ spec: { volumes: [{ name: "node", hostPath: { path } }] } })

export const podSpec = ({ spec, container: more }: Asked): object => ({
  terminationGracePeriodSeconds: 0,
  automountServiceAccountToken: false,
  ...spec,
  containers: [{ ...container, ...more }],
})

/** `root`: the instance's storage root, `<base>/<namespace>/<name>`. */
export const escapes = (root: string): ReadonlyArray<Escape> => [
  {
    name: "privileged",
    container: { securityContext: { privileged: true } },
    says: /securityContext\.privileged/,
  },
  {
    name: "privileged-init",
    spec: init({ securityContext: { privileged: true } }),
    says: /securityContext\.privileged/,
  },
  { name: "host-network", spec: { hostNetwork: true }, says: /hostNetwork/ },
  { name: "host-pid", spec: { hostPID: true }, says: /hostPID/ },
  { name: "host-ipc", spec: { hostIPC: true }, says: /hostIPC/ },
  { name: "sys-admin", container: capabilities("CHOWN", "SYS_ADMIN"), says: /capabilities\.add/ },
  { name: "every-capability", spec: init(capabilities("ALL")), says: /capabilities\.add/ },
  { name: "whole-node", ...mounts("/"), says: /storage root of its instance/ },
  { name: "runtime-socket", ...mounts("/run/containerd"), says: /storage root of its instance/ },
  { name: "neighbour", ...mounts(`${root}-2/di-tenants`), says: /storage root of its instance/ },
  { name: "all-instances", ...mounts(root.replace(/\/[^/]+$/, "")), says: /storage root of its instance/ },
]

export const harmless = (root: string): ReadonlyArray<Asked> => [
  { name: "plain" },
  { name: "of-root", container: { securityContext: { runAsUser: 0, privileged: false } } },
  { name: "low-port", container: capabilities("NET_BIND_SERVICE", "CHOWN") },
  {
    name: "storage",
    spec: { volumes: [{ name: "a", hostPath: { path: `${root}/di-tenants/x`, type: "DirectoryOrCreate" } }] },
  },
  { name: "storage-root", spec: { volumes: [{ name: "a", hostPath: { path: root } }] } },
]
