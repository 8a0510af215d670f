// Pods that only wait, on the host or inside an instance, to ask from there whether something answers.
import { kubectl } from "./Kubectl.ts"

export const plainPod = (
  {
    namespace,
    name,
    labels = {},
    command = ["sleep", "36000"],
  }: {
    readonly namespace: string
    readonly name: string
    readonly labels?: Record<string, string>
    readonly command?: ReadonlyArray<string>
  },
  ...context: ReadonlyArray<string>
): Promise<string> =>
  kubectl([...context, "apply", "-f", "-"], {
    input: JSON.stringify({
      apiVersion: "v1",
      kind: "Pod",
      metadata: { namespace, name, labels },
      spec: {
        terminationGracePeriodSeconds: 0,
        automountServiceAccountToken: false,
        containers: [{ name: "sh", image: "docker.io/library/busybox:1.36", command }],
      },
    }),
  })

/** Where vCluster puts a pod of an instance on the host. */
export const synced = (host: string, namespace: string, name: string) => ({
  namespace: host,
  name: `${name}-x-${namespace}-x-vcluster`,
})

export interface Place {
  readonly namespace: string
  readonly name: string
}

export const untilRunning = ({ namespace, name }: Place): Promise<string> =>
  kubectl(["wait", "--for=condition=Ready", `pod/${name}`, "--namespace", namespace, "--timeout=300s"])

/** Runs a command in a pod. */
export const inPod = ({ namespace, name }: Place, ...command: ReadonlyArray<string>): Promise<string> =>
  kubectl(["exec", name, "--namespace", namespace, "--", ...command])

/** What the URL gives, asked from a pod; `undefined` when it does not answer. */
export const fetchFrom = (from: Place, url: string): Promise<string | undefined> =>
  inPod(from, "timeout", "5", "wget", "-q", "-O", "-", url).catch(() => undefined)

/** Whether the address takes a connection from a pod. */
export const connectsFrom = (from: Place, address: string, port: number): Promise<boolean> =>
  inPod(from, "sh", "-c", `timeout 5 nc ${address} ${port} < /dev/null`).then(
    () => true,
    () => false,
  )
