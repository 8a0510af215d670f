// Global set-up of the tests that run real programs without a cluster: builds what is not built yet.
import { spawnSync } from "node:child_process"
import { fileURLToPath } from "node:url"

export const setup = (): void => {
  const build = fileURLToPath(new URL("../../tools/programs/build.sh", import.meta.url))
  const wanted = ["kubernetes", "etcd", "pulumi", "pulumi-resource-kubernetes", "platform-sandbox", "helm"]
  const { status } = spawnSync(build, wanted, { stdio: ["ignore", "ignore", "inherit"] })
  if (status !== 0) throw new Error(`${build} ended with ${status}`)
}
