// The chart, installed, changed and removed with helm as a user does it.
import { join } from "node:path"
import { Schema } from "effect"
import { run } from "./Child.ts"
import { operatorNamespace, programs } from "./Cluster.ts"
import { testValues } from "./installation.ts"
import { getJson, kubectl } from "./Kubectl.ts"

const repository = join(import.meta.dirname, "..", "..", "..")
const deployment = ["deployment/platform-operator", "--namespace", operatorNamespace]

/** As the tests have it, and what is set beside. Waits until it is available. */
export const installChart = async (...args: ReadonlyArray<string>): Promise<void> => {
  await run(join(repository, "tools/install-operator"), [...testValues, ...args])
}

/** To the revision before, which had been waited for. */
export const rollBackChart = async (...args: ReadonlyArray<string>): Promise<void> => {
  const inNamespace = ["--namespace", operatorNamespace]
  await run(join(programs, "helm"), ["rollback", "platform-operator", ...inNamespace, ...args])
  await kubectl(["rollout", "status", ...deployment, "--timeout=300s"])
}

const Deployment = Schema.Struct({
  spec: Schema.Struct({
    template: Schema.Struct({
      spec: Schema.Struct({ containers: Schema.Array(Schema.Struct({ args: Schema.Array(Schema.String) })) }),
    }),
  }),
})

/** The flags that the operator has. */
export const operatorArgs = async (): Promise<ReadonlyArray<string>> =>
  (await getJson(Deployment, deployment)).spec.template.spec.containers[0]?.args ?? []

/** The operator anew, with these flags. Waits until it is available. */
export const restartWith = async (args: ReadonlyArray<string>): Promise<void> => {
  const patch = [{ op: "replace", path: "/spec/template/spec/containers/0/args", value: args }]
  await kubectl(["patch", ...deployment, "--type=json", "--patch", JSON.stringify(patch)])
  await kubectl(["rollout", "status", ...deployment, "--timeout=300s"])
}

export const uninstallChart = (): Promise<string> =>
  run(join(programs, "helm"), ["uninstall", "platform-operator", "--namespace", operatorNamespace, "--wait"])
