import type { KubeObject } from "../../../src/services/Kubernetes/Kubernetes.ts"

/** A PriorityClass as it is found. */
export const priorityClass = (
  name: string,
  value: number,
  globalDefault = false,
  preemptionPolicy = "Never",
): KubeObject => ({
  apiVersion: "scheduling.k8s.io/v1",
  kind: "PriorityClass",
  metadata: { name, uid: "c", resourceVersion: "1" },
  value,
  globalDefault,
  preemptionPolicy,
})
