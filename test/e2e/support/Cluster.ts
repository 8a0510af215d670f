// The cluster of this run: where it lies, its programs, its node.
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { run } from "./Child.ts"

const setting = (name: string): string => {
  const value = process.env[name]
  if (value === undefined) throw new Error(`${name} is not set: it comes from test/e2e/setup.ts`)
  return value
}

/** The folder of the cluster. */
export const cluster = setting("PLATFORM_OPERATOR_CLUSTER")
/** Holds kubectl, helm and the other real programs. */
export const programs = readFileSync(join(cluster, "programs"), "utf8").trim()

const tools = join(import.meta.dirname, "..", "..", "..", "tools")

/** Runs a command on the node, as root. */
export const onNode = (...command: ReadonlyArray<string>): Promise<string> =>
  run(join(tools, "cluster", "exec"), ["--", ...command])

/** Where a path under the node's /var/lib lies on this machine. */
export const fromNode = (path: string): string => {
  if (!path.startsWith("/var/lib/")) throw new Error(`${path} is not one of the node's own`)
  return join(cluster, "disk", "var-lib", path.slice("/var/lib/".length))
}

/** As the chart has it by default. */
export const storageRootBase = "/var/lib/kubesolo/instances"
export const operatorNamespace = "platform-operator"

/** `make e2e-full`. */
export const full = process.env.E2E_FULL !== undefined
