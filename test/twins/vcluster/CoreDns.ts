// What the process applies inside for DNS, again at each of its starts.
import {
  ClusterRole,
  ClusterRoleBinding,
  ConfigMap,
  Deployment,
  Service,
  ServiceAccount,
} from "../../../src/services/Kubernetes/Kinds.ts"
import type { KubeManifest, ResourceKind } from "../../../src/services/Kubernetes/Kubernetes.ts"
import type { ApiClient } from "../kubernetes/ApiServer.ts"
import type { Config } from "./Config.ts"

/** The one that belongs to Kubernetes 1.36 in vCluster 0.36.1 (`pkg/constants/coredns.go`). */
const IMAGE = "coredns/coredns:1.14.1"
const LABEL = { "k8s-app": "vcluster-kube-dns" }
const SYSTEM = "kube-system"

export const applyCoreDns = (client: ApiClient, config: Config) => {
  const { deployment, enabled } = config.controlPlane?.coredns ?? {}
  if (enabled !== true) return
  const registry = config.controlPlane?.advanced?.defaultImageRegistry || "docker.io"
  const image = deployment?.image || `${registry.replace(/\/$/, "")}/${IMAGE}`
  const rbac = "rbac.authorization.k8s.io"
  const manifests: ReadonlyArray<readonly [ResourceKind, KubeManifest]> = [
    [
      ServiceAccount,
      { apiVersion: "v1", kind: "ServiceAccount", metadata: { name: "coredns", namespace: SYSTEM } },
    ],
    [
      ClusterRole,
      {
        apiVersion: `${rbac}/v1`,
        kind: "ClusterRole",
        metadata: { name: "system:coredns" },
        rules: [
          {
            apiGroups: [""],
            resources: ["endpoints", "services", "pods", "namespaces"],
            verbs: ["list", "watch"],
          },
        ],
      },
    ],
    [
      ClusterRoleBinding,
      {
        apiVersion: `${rbac}/v1`,
        kind: "ClusterRoleBinding",
        metadata: { name: "system:coredns" },
        roleRef: { apiGroup: rbac, kind: "ClusterRole", name: "system:coredns" },
        subjects: [{ kind: "ServiceAccount", name: "coredns", namespace: SYSTEM }],
      },
    ],
    [
      ConfigMap,
      {
        apiVersion: "v1",
        kind: "ConfigMap",
        metadata: { name: "coredns", namespace: SYSTEM },
        data: { Corefile: ".:1053 {\n}\n" },
      },
    ],
    [
      Deployment,
      {
        apiVersion: "apps/v1",
        kind: "Deployment",
        metadata: { name: "coredns", namespace: SYSTEM, labels: LABEL },
        spec: {
          replicas: deployment?.replicas ?? 1,
          strategy: { type: "RollingUpdate", rollingUpdate: { maxUnavailable: 1 } },
          selector: { matchLabels: LABEL },
          template: {
            metadata: { labels: LABEL },
            spec: {
              serviceAccountName: "coredns",
              containers: [
                {
                  name: "coredns",
                  image,
                  imagePullPolicy: "IfNotPresent",
                  args: ["-conf", "/etc/coredns/Corefile"],
                  readinessProbe: { httpGet: { path: "/ready", port: 8181 } },
                  volumeMounts: [{ name: "config-volume", mountPath: "/etc/coredns", readOnly: true }],
                },
              ],
              volumes: [
                {
                  name: "config-volume",
                  configMap: { name: "coredns", items: [{ key: "Corefile", path: "Corefile" }] },
                },
              ],
            },
          },
        },
      },
    ],
    [
      Service,
      {
        apiVersion: "v1",
        kind: "Service",
        metadata: { name: "kube-dns", namespace: SYSTEM, labels: LABEL },
        spec: {
          type: "ClusterIP",
          selector: LABEL,
          ports: [
            { name: "dns", port: 53, targetPort: 1053, protocol: "UDP" },
            { name: "dns-tcp", port: 53, targetPort: 1053, protocol: "TCP" },
            { name: "metrics", port: 9153, protocol: "TCP" },
          ],
        },
      },
    ],
  ]
  for (const [kind, manifest] of manifests) client.apply(kind, manifest)
}
