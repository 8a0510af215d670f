// A pod with kubectl in it, to be somewhere in the cluster and ask from there.

import { realpathSync } from "node:fs"
import { dirname } from "node:path"
import { apply, kubectl } from "./Kubectl.ts"

/** Runs kubectl in the pod, with the kubeconfig the pod was given. */
export type KubectlInPod = (...args: ReadonlyArray<string>) => Promise<string>

const name = "kubectl"

/** `programs` is the machine's folder of programs, which the node sees at the same place. */
export const withPod = async <A>(
  namespace: string,
  programs: string,
  kubeconfig: string,
  use: (kubectlInPod: KubectlInPod) => Promise<A>,
): Promise<A> => {
  const folder = dirname(realpathSync(`${programs}/kubectl`))
  // As a volume: what is piped through `kubectl exec` can arrive as nothing at all where the machine is busy.
  await apply({
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name, namespace },
    stringData: { kubeconfig },
  })
  await apply({
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, namespace },
    spec: {
      terminationGracePeriodSeconds: 0,
      automountServiceAccountToken: false,
      containers: [
        {
          name,
          image: "docker.io/library/busybox:1.36",
          command: ["sleep", "3600"],
          volumeMounts: [
            { name: "programs", mountPath: "/programs", readOnly: true },
            { name: "kubeconfig", mountPath: "/kubeconfig", readOnly: true },
          ],
        },
      ],
      volumes: [
        { name: "programs", hostPath: { path: folder, type: "Directory" } },
        { name: "kubeconfig", secret: { secretName: name } },
      ],
    },
  })
  try {
    await kubectl([
      "wait",
      "--for=condition=Ready",
      `pod/${name}`,
      "--namespace",
      namespace,
      "--timeout=120s",
    ])
    const exec = ["exec", name, "--namespace", namespace, "--"]
    return await use((...args) =>
      kubectl([...exec, "/programs/kubectl", "--kubeconfig=/kubeconfig/kubeconfig", ...args]),
    )
  } finally {
    await kubectl(["delete", `pod/${name}`, `secret/${name}`, "--namespace", namespace])
  }
}
