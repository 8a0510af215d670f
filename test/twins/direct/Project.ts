// What of an operation's files the program itself reads: the project, and the kubeconfig.
import { createHash } from "node:crypto"
import { Redacted } from "effect"
import { formatKey, type InstanceKey } from "../../../src/schema/InstanceKey.ts"
import { projectName, wrapperConfig } from "../../../src/services/Pulumi/Layout.ts"
import type { OperationRequest, PlatformPackage } from "../../../src/services/Pulumi/Pulumi.ts"
import type { InstancePaths } from "../../../src/services/StateStore/StateStore.ts"
import type { Files } from "../files/Files.ts"
import type { StackConfig } from "../pulumi/sdk/Sdk.ts"
import { readText } from "../pulumi/Volume.ts"

/** The wrapper beside the package's modules. */
export const writeProject = (
  files: Files,
  { project }: InstancePaths,
  { directory }: PlatformPackage,
  wrapperPath: string,
): void => {
  const [program, link] = [`${project}/index.js`, `${project}/node_modules`]
  const target = `${directory}/node_modules`
  const isLinked = files.lstat(link)?.kind === "link" && files.readlink(link) === target
  if (isLinked && files.isFile(program)) return
  files.writeText(program, files.readText(wrapperPath), 0o600)
  files.remove(link)
  files.symlink(target, link)
}

/** Under the path it has in the live layer: it is in the stack config. */
export const kubeconfigFile = (
  files: Files,
  memoryDir: string,
  key: InstanceKey,
  kubeconfig: string,
): string => {
  const name = createHash("sha256").update(formatKey(key)).digest("hex").slice(0, 16)
  const folder = `${memoryDir}/platform-instance-${name}`
  const file = `${folder}/kubeconfig`
  if (readText(files, file) === kubeconfig) return file
  files.mkdir(folder, 0o700)
  files.writeText(file, kubeconfig, 0o600)
  return file
}

export const configOf = (
  request: Pick<OperationRequest, "config" | "secretConfig" | "clusterIdentifier">,
  kubeconfig: string,
): StackConfig =>
  new Map(
    [
      ...[...request.config].map(([key, value]) => ({ key, value, secret: false })),
      { key: wrapperConfig.kubeconfig, value: kubeconfig, secret: false },
      { key: wrapperConfig.clusterIdentifier, value: request.clusterIdentifier, secret: false },
      ...[...request.secretConfig].map(([key, value]) => ({
        key,
        value: Redacted.value(value),
        secret: true,
      })),
    ].map(({ key, value, secret }) => [`${projectName}:${key}`, { value, secret }]),
  )
