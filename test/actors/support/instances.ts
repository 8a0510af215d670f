// PlatformInstances for tests, as the API server stores them.
import { decodePlatformInstance, type PlatformInstance } from "../../../src/schema/PlatformInstance.ts"
import type { KubeObject } from "../../../src/services/Kubernetes/Kubernetes.ts"

export const key = { namespace: "team-a", name: "one" }

export const instanceManifest = (options: {
  readonly uid: string
  readonly spec?: Readonly<Record<string, unknown>>
}): KubeObject => ({
  apiVersion: "platform.di-framework.dev/v1alpha1",
  kind: "PlatformInstance",
  metadata: {
    ...key,
    uid: options.uid,
    resourceVersion: "1",
    generation: 1,
    creationTimestamp: "2026-11-03T12:00:00Z",
  },
  spec: { version: "6.0.22", target: { type: "vcluster" }, deletionPolicy: "Delete", ...options.spec },
})

export const stored = decodePlatformInstance
export type { PlatformInstance }
