// The real side: Node with the runner's own file, the pulumi CLI, the Kubernetes provider, a kube-apiserver without
// controllers, and the stand-in package with the libraries that npm installs.
import { execFileSync } from "node:child_process"
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs"
import path from "node:path"
import { NodeServices } from "@effect/platform-node"
import { Effect, Layer, Redacted } from "effect"
import { DiskLive } from "../../../src/services/Disk/DiskLive.ts"
import { connect } from "../../../src/services/Kubernetes/KubernetesLive.ts"
import { ProcessesLive } from "../../../src/services/Process/ProcessesLive.ts"
import { versions, writeVersion } from "../../fixtures/platform/pack.mts"
import manifest from "../../fixtures/platform/package.json" with { type: "json" }
import { programPath, startApiServer } from "../../services/Pulumi/apiServer.ts"
import { optionsIn, repository } from "../../services/Pulumi/harness.ts"
import type { EngineSide } from "./Side.ts"

/** The libraries of the package, once: every version shares them by links. */
export const installLibraries = (folder: string): void => {
  mkdirSync(folder, { recursive: true })
  writeFileSync(
    `${folder}/package.json`,
    JSON.stringify({ name: "libraries", private: true, dependencies: manifest.dependencies }),
  )
  execFileSync(
    path.join(repository, "node_modules/.bin/npm"),
    [
      "install",
      "--ignore-scripts",
      "--omit=dev",
      "--no-audit",
      "--no-fund",
      "--loglevel=error",
      "--prefer-offline",
    ],
    { cwd: folder, stdio: ["ignore", "ignore", "inherit"] },
  )
}

/** Needs the folder of `installLibraries`. Lives as long as the scope. */
export const makeRealSide = Effect.fnUntraced(function* (root: string, libraries: string) {
  for (const folder of ["memory", "tmp/pulumi", "plugins/resource-kubernetes-v4.25.0"]) {
    mkdirSync(`${root}/${folder}`, { recursive: true })
  }
  symlinkSync(
    programPath("pulumi-resource-kubernetes") ?? "",
    `${root}/plugins/resource-kubernetes-v4.25.0/pulumi-resource-kubernetes`,
  )
  symlinkSync(`${root}/plugins`, `${root}/tmp/pulumi/plugins`)
  writeFileSync(`${root}/passphrase`, "planted-passphrase")
  for (const version of versions) {
    const modules = `${root}/packages/${version}/node_modules`
    mkdirSync(`${modules}/@di-framework`, { recursive: true })
    writeVersion(version, `${modules}/@di-framework/platform`)
    symlinkSync(`${libraries}/node_modules/@pulumi`, `${modules}/@pulumi`)
  }
  const api = yield* startApiServer(root)
  const kubeconfig: EngineSide["kubeconfig"] = ({ user = "u", server, bundled = false } = {}) => {
    const config = JSON.parse(api.kubeconfig)
    const [cluster] = config.clusters
    const port = new URL(cluster.cluster.server).port
    if (server !== undefined) cluster.cluster.server = /:[0-9]+$/.test(server) ? server : `${server}:${port}`
    // The server has made its certificate itself, and the kubeconfig trusts any; now it trusts that one.
    if (bundled) {
      delete cluster.cluster["insecure-skip-tls-verify"]
      const pem = readFileSync(`${root}/api-server/certs/apiserver.crt`)
      cluster.cluster["certificate-authority-data"] = pem.toString("base64")
    }
    config.users[0].name = user
    config.contexts[0].context.user = user
    return JSON.stringify(config)
  }
  return {
    root,
    services: yield* Layer.build(Layer.mergeAll(NodeServices.layer, DiskLive.layer, ProcessesLive.layer)),
    client: yield* connect(Redacted.make(api.kubeconfig)),
    kubeconfig,
    options: optionsIn(root, { pulumiPath: programPath("pulumi") ?? "", grace: "60 seconds" }),
    pluginDirectory: `${root}/plugins`,
    packageOf: (version) => `${root}/packages/${version}`,
  } satisfies EngineSide
})
