// The Helm releases that a state knows, as src/services/Pulumi/StateFile.ts reads them from its file.
import { releaseType } from "../../../src/services/Pulumi/Layout.ts"
import type { InnerRelease } from "../../../src/services/Pulumi/StateFile.ts"
import type { Deployment, ResourceState } from "../pulumi/Snapshot.ts"
import { unwrapped } from "../pulumi/sdk/Output.ts"

const releaseOf =
  (recorded: boolean) =>
  (resource: ResourceState): ReadonlyArray<InnerRelease> => {
    if (resource.type !== releaseType) return []
    const field = (name: string) => unwrapped(resource.outputs?.[name] ?? resource.inputs?.[name])
    const [name, namespace = "default"] = [field("name"), field("namespace")]
    return typeof name === "string" && typeof namespace === "string" ? [{ name, namespace, recorded }] : []
  }

export const releasesIn = ({ resources, pending }: Deployment): ReadonlyArray<InnerRelease> => {
  const recorded = resources.flatMap(releaseOf(true))
  const begun = pending
    .flatMap(({ resource }) => releaseOf(false)(resource))
    .filter((one) => !recorded.some((other) => other.name === one.name && other.namespace === one.namespace))
  return [...recorded, ...begun]
}
