// Objects for tests, as the API server would send them.
import * as Kinds from "../../../src/services/Kubernetes/Kinds.ts"
import type { KubeObject } from "../../../src/services/Kubernetes/Kubernetes.ts"

export const kind = Kinds.ConfigMap

export const configMap = (
  name: string,
  version: string,
  more?: { uid?: string; text?: string },
): KubeObject => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name, namespace: "ns", uid: more?.uid ?? `uid-${name}`, resourceVersion: version },
  ...(more?.text !== undefined && { data: { text: more.text } }),
})

export const line = (type: string, object: unknown): string => `${JSON.stringify({ type, object })}\n`

export const bookmark = (version: string): string =>
  line("BOOKMARK", { kind: "ConfigMap", metadata: { resourceVersion: version, creationTimestamp: null } })

export const status = (code: number, reason: string, details?: unknown): string =>
  line("ERROR", { kind: "Status", status: "Failure", code, reason, message: `${reason} it is`, details })
