// PlatformInstances for tests, as the API server stores them.
import { Effect } from "effect"
import { decodePlatformInstance, type PlatformInstance } from "../../../src/schema/PlatformInstance.ts"
import type { KubeManifest, KubeObject } from "../../../src/services/Kubernetes/Kubernetes.ts"

export const key = { namespace: "team-a", name: "one" }

/** What a user applies; `spec` is put over a spec without any choices. */
export const manifestOf = (spec: Readonly<Record<string, unknown>> = {}): KubeManifest => ({
  apiVersion: "platform.di-framework.dev/v1alpha1",
  kind: "PlatformInstance",
  metadata: key,
  spec: { version: "6.0.22", target: { type: "vcluster" }, deletionPolicy: "Delete", ...spec },
})

/** Of a platform: users log in, with a client secret that is kept in Secret `oauth`. */
export const tenantAuth = {
  image: `auth@sha256:${"0".repeat(64)}`,
  issuer: "https://id.example",
  clientId: "console",
  clientSecretRef: { name: "oauth", key: "clientSecret" },
}

/** The same as the server stores it, in the life `uid`. */
export const storedAs = (uid: string, spec?: Readonly<Record<string, unknown>>): KubeObject => ({
  ...manifestOf(spec),
  metadata: {
    ...key,
    uid,
    resourceVersion: "1",
    generation: 1,
    creationTimestamp: "2026-11-03T12:00:00Z",
  },
})

export const decoded = (object: KubeObject): PlatformInstance =>
  Effect.runSync(decodePlatformInstance(object))
