// The chart, installed, changed and removed with helm as a user does it.
import { join } from "node:path"
import { run } from "./Child.ts"
import { operatorNamespace, programs } from "./Cluster.ts"
import { testValues } from "./installation.ts"
import { kubectl } from "./Kubectl.ts"

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

export const uninstallChart = (): Promise<string> =>
  run(join(programs, "helm"), ["uninstall", "platform-operator", "--namespace", operatorNamespace, "--wait"])
