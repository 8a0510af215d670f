// Before the first end-to-end test: a cluster of the tests' own, the operator's image in it, the chart installed as a
// user would install it. Afterwards the cluster stays, to be looked at.
import { execFileSync } from "node:child_process"
import { homedir } from "node:os"
import { join } from "node:path"
import { startChild } from "./support/Child.ts"
import { collectorAddress, testValues } from "./support/installation.ts"
import { takeLock } from "./support/Lock.ts"

const repository = join(import.meta.dirname, "..", "..")

const defaultCluster = (): string => {
  const cache =
    process.env.PLATFORM_OPERATOR_CACHE ??
    join(process.env.XDG_CACHE_HOME ?? join(homedir(), ".cache"), "platform-operator")
  return join(cache, "cluster-e2e")
}

/** Runs a tool of the repository; its progress goes where ours goes. */
const tool = (command: string, ...args: ReadonlyArray<string>): string =>
  execFileSync(join(repository, command), args, {
    encoding: "utf8",
    stdio: ["ignore", "pipe", "inherit"],
    maxBuffer: 64 * 1024 * 1024,
  })

/** The operator's spans: the one place that says to the millisecond where the time went. */
const startCollector = (cluster: string) =>
  startChild(join(repository, "tools/cluster/exec"), [
    join(repository, "node_modules/.bin/node"),
    join(repository, "test/e2e/support/collector.ts"),
    collectorAddress,
    join(cluster, "spans.jsonl"),
  ])

/** The chart as a user installs it, and the operator's spans sent to the collector. */
const installOperator = (): void => {
  tool("tools/install-operator", ...testValues)
}

const setup = async (): Promise<() => Promise<void>> => {
  // Workers inherit the environment of this process.
  const cluster = process.env.PLATFORM_OPERATOR_CLUSTER ?? defaultCluster()
  process.env.PLATFORM_OPERATOR_CLUSTER = cluster
  process.env.KUBECONFIG = join(cluster, "kubeconfig")
  const lock = await takeLock(`${cluster}.tests`, "exclusive")
  try {
    if (process.env.E2E_REUSE === undefined) tool("tools/cluster/down")
    tool("tools/cluster/up")
    const collector = startCollector(cluster)
    try {
      installOperator()
    } catch (error) {
      await collector.end()
      throw error
    }
    return async () => {
      await collector.end()
      await lock.release()
    }
  } catch (error) {
    await lock.release()
    throw error
  }
}

export default setup
