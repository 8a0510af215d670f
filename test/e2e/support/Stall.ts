// Holds writes in a namespace: an admission webhook that takes a request and does not answer, so that whoever has sent it
// can be killed in the middle of its work, on a machine of any speed.
import { join } from "node:path"
import { type Running, startChild } from "./Child.ts"
import { apply, kubectl } from "./Kubectl.ts"

const address = "10.240.0.1"
const exec = join(import.meta.dirname, "..", "..", "..", "tools", "cluster", "exec")

export interface Stall {
  /** What is held stays held, for 30 s since it came; what comes from now on passes. */
  readonly end: () => Promise<void>
}

/** Listens on a port of the node, and says nothing to anybody. */
const silentServer = (port: number): Running =>
  startChild(exec, ["socat", "-u", `TCP-LISTEN:${port},bind=${address},fork,reuseaddr`, "OPEN:/dev/null"])

/** Holds each write of StatefulSets in the namespace, which need not be there yet. */
export const stallStatefulSets = async (namespace: string, port: number): Promise<Stall> => {
  const name = `stall-${namespace}`
  const server = silentServer(port)
  await apply({
    apiVersion: "admissionregistration.k8s.io/v1",
    kind: "ValidatingWebhookConfiguration",
    metadata: { name },
    webhooks: [
      {
        name: "stall.example.com",
        clientConfig: { url: `https://${address}:${port}/` },
        namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": namespace } },
        rules: [
          {
            apiGroups: ["apps"],
            apiVersions: ["v1"],
            operations: ["CREATE", "UPDATE"],
            resources: ["statefulsets"],
          },
        ],
        timeoutSeconds: 30,
        failurePolicy: "Ignore",
        sideEffects: "None",
        admissionReviewVersions: ["v1"],
      },
    ],
  })
  return {
    end: async () => {
      await kubectl(["delete", "validatingwebhookconfiguration", name])
      await server.end()
    },
  }
}
