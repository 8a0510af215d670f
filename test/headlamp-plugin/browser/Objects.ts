// PlatformInstances as the tests apply them, and what an operator would write of them.

export const namespace = "team-a"

export const spec = { version: "6.0.21", target: { type: "vcluster" }, deletionPolicy: "Delete" }
export const instance = (name: string, more: object = {}, inNamespace = namespace) => ({
  apiVersion: "platform.di-framework.dev/v1alpha1",
  kind: "PlatformInstance",
  metadata: { name, namespace: inNamespace },
  spec: { ...spec, ...more },
})

export const condition = (type: string, status: string, reason: string, message: string) => ({
  type,
  status,
  reason,
  message,
  lastTransitionTime: "2026-11-03T10:00:00Z",
  observedGeneration: 1,
})
export const ready = {
  phase: "Ready",
  observedGeneration: 1,
  installedVersion: "6.0.21",
  endpoints: { kubernetes: "https://vcluster.pi-team-a-one.svc:443", http: "http://apps.example:30080" },
  kubeconfigSecretRef: { name: "one-kubeconfig" },
  applied: { generation: 1, tenants: 2, users: 1, tenantAuthIssuer: "", tenantHostImage: "wash:2" },
  conditions: [
    condition("TargetReady", "True", "Ready", "the vCluster answers"),
    condition("Installed", "True", "FirstInstall", "installed 6.0.21"),
    condition("ConfigApplied", "True", "Applied", "generation 1: 2 tenants, 1 user"),
    condition("Ready", "True", "Ready", "ready at 6.0.21"),
    condition("OwnerServiceProtected", "True", "AdmissionPolicyInstalled", "protected"),
  ],
}
