// What the tests of this service share: folders that go away, and options that point at this repository.
import path from "node:path"
import { Effect, FileSystem, Layer } from "effect"
import { Kubernetes } from "../../../src/services/Kubernetes/Kubernetes.ts"
import { connect } from "../../../src/services/Kubernetes/KubernetesLive.ts"
import type { PulumiOptions } from "../../../src/services/Pulumi/Options.ts"

export const repository = path.resolve(import.meta.dirname, "../../..")
export const source = path.join(repository, "src/services/Pulumi")
const binaries = path.join(repository, "node_modules/.bin")

export const temporary = Effect.gen(function* () {
  const fs = yield* FileSystem.FileSystem
  return yield* fs.realPath(yield* fs.makeTempDirectoryScoped({ prefix: "pulumi-test-" }))
})

/** The door to the targets' API servers; there is no host cluster. */
export const targets = Layer.mock(Kubernetes, { connect })

/** Everything under `root`; nothing of this machine but node and npm. */
export const optionsIn = (root: string, own: Partial<PulumiOptions> = {}): PulumiOptions => ({
  nodePath: process.execPath,
  runnerPath: path.join(source, "runner/main.ts"),
  wrapperPath: path.join(source, "wrapper/index.js"),
  pulumiPath: "/nowhere/pulumi",
  npmPath: path.join(binaries, "npm"),
  helmPath: "/nowhere/helm",
  passphraseFile: path.join(root, "passphrase"),
  pluginDirectories: [path.join(root, "plugins")],
  tmpDir: path.join(root, "tmp"),
  memoryDir: path.join(root, "memory"),
  identity: { podUID: "uid-1", podName: "operator-1", incarnation: "first", hostname: "operator-1" },
  isPodAlive: () => Effect.succeed(false),
  ...own,
})
