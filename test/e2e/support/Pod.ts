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
          volumeMounts: [{ name: "programs", mountPath: "/programs", readOnly: true }],
        },
      ],
      volumes: [{ name: "programs", hostPath: { path: folder, type: "Directory" } }],
    },
  })
  const exec = ["exec", "--stdin", name, "--namespace", namespace, "--"]
  try {
    await kubectl([
      "wait",
      "--for=condition=Ready",
      `pod/${name}`,
      "--namespace",
      namespace,
      "--timeout=120s",
    ])
    await kubectl([...exec, "sh", "-c", "cat > /tmp/kubeconfig"], { input: kubeconfig })
    return await use((...args) =>
      kubectl([...exec, "/programs/kubectl", "--kubeconfig=/tmp/kubeconfig", ...args]),
    )
  } finally {
    await kubectl(["delete", "pod", name, "--namespace", namespace, "--wait=true"])
  }
}
