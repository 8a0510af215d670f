// The chart once more beside the one that is installed, as far as a cluster lets it: helm itself refuses what another
// release owns, so what is not shared is applied past it.
import { join } from "node:path"
import { Schema } from "effect"
import { parseAllDocuments } from "yaml"
import { run } from "./Child.ts"
import { operatorNamespace, programs } from "./Cluster.ts"
import { apply, kubectl } from "./Kubectl.ts"
import { containersOf, podsOf } from "./Pods.ts"

const repository = join(import.meta.dirname, "..", "..", "..")
const chart = join(repository, "charts/platform-operator")
const helm = join(programs, "helm")

export const secondNamespace = "second-operator"

/** What helm says to a user who installs the chart again in another namespace. */
export const secondInstall = (): Promise<string> =>
  run(helm, [
    "install",
    "second",
    chart,
    "--namespace",
    secondNamespace,
    "--set",
    `image.digest=sha256:${"0".repeat(64)}`,
  ]).then(
    () => "it was installed",
    (error: unknown) => String(error),
  )

const Rendered = Schema.Struct({
  kind: Schema.String,
  metadata: Schema.Struct({ name: Schema.String, namespace: Schema.optionalKey(Schema.String) }),
})

/** Its Deployment with an account and rights of its own, and a state directory that goes with the pod. */
export const applySecondOperator = async (): Promise<void> => {
  const values = await run(helm, [
    "get",
    "values",
    "platform-operator",
    "--namespace",
    operatorNamespace,
    "--output",
    "json",
  ])
  const own = ["--set", "state.existingClaim=none", "--set", "passphrase.existingSecret=passphrase"]
  const text = await run(
    helm,
    ["template", "platform-operator", chart, "--namespace", secondNamespace, "--values", "-", ...own],
    { input: values },
  )
  await kubectl([
    "create",
    "secret",
    "generic",
    "passphrase",
    "--from-literal=passphrase=of-its-own",
    "--namespace",
    secondNamespace,
  ])
  for (const document of parseAllDocuments(text)) {
    const manifest = document.toJS()
    if (manifest === null) continue
    const { kind, metadata } = Schema.decodeUnknownSync(Rendered)(manifest)
    if (kind === "ClusterRoleBinding")
      await apply({ ...manifest, metadata: { name: `second-${metadata.name}` } })
    if (metadata.namespace !== secondNamespace) continue
    const claim = /"persistentVolumeClaim":\{"claimName":"none"\}/
    await apply(JSON.stringify(manifest).replace(claim, '"emptyDir":{}'))
  }
}

export const removeSecondOperator = async (): Promise<void> => {
  await kubectl(["delete", "namespace", secondNamespace, "--ignore-not-found"])
  await kubectl(["delete", "clusterrolebinding", "second-platform-operator", "--ignore-not-found"])
}

/** What it said before it ended; `undefined` while it has not ended yet. */
export const lastWords = async (): Promise<string | undefined> => {
  const [pod] = await podsOf("--namespace", secondNamespace)
  const [container] = pod === undefined ? [] : containersOf(pod)
  if (pod === undefined || container === undefined) return undefined
  const logs = ["logs", pod.metadata.name, "--namespace", secondNamespace, "--tail=-1"]
  if (container.state.terminated !== undefined) return kubectl(logs)
  return container.lastState.terminated === undefined ? undefined : kubectl([...logs, "--previous"])
}
