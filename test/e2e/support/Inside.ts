// The cluster of an instance, reached as the documentation says: the kubeconfig out of the instance's Secret, through
// `kubectl port-forward` from the user's own shell.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { startChild } from "./Child.ts"
import { findHostNamespace, type Key } from "./Instance.ts"
import { kubectl, kubectlPath } from "./Kubectl.ts"

/** The admin kubeconfig the operator wrote for the user. */
export const readKubeconfig = async ({ namespace, name }: Key): Promise<string> =>
  Buffer.from(
    await kubectl([
      "get",
      "secret",
      `${name}-kubeconfig`,
      "--namespace",
      namespace,
      "-o",
      "jsonpath={.data.kubeconfig}",
    ]),
    "base64",
  ).toString("utf8")

/** Gives `use` the arguments that turn kubectl to the instance. */
export const inside = async <A>(
  key: Key,
  use: (context: ReadonlyArray<string>) => Promise<A>,
): Promise<A> => {
  const host = await findHostNamespace(key)
  if (host === undefined) throw new Error(`${key.namespace}/${key.name} has no host namespace`)
  const folder = mkdtempSync(join(tmpdir(), "instance-"))
  const kubeconfig = join(folder, "kubeconfig")
  writeFileSync(kubeconfig, await readKubeconfig(key), { mode: 0o600 })
  const forward = startChild(kubectlPath, ["port-forward", "--namespace", host, "svc/vcluster", ":443"])
  try {
    const port = await new Promise<string>((resolve) => {
      forward.lines((line) => {
        const port = /^Forwarding from 127\.0\.0\.1:(\d+)/.exec(line)?.[1]
        if (port !== undefined) resolve(port)
      })
    })
    return await use([`--kubeconfig=${kubeconfig}`, `--server=https://127.0.0.1:${port}`])
  } finally {
    await forward.end()
    rmSync(folder, { recursive: true })
  }
}
