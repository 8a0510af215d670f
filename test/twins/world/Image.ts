// The operator's image: where its programs and files lie in a container, as the Dockerfile puts them there.
import { readdirSync, readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import type { Files } from "../files/Files.ts"

const home = "/opt/platform-operator"

export const paths = {
  chart: `${home}/charts/vcluster`,
  runner: `${home}/runner.mjs`,
  wrapper: `${home}/wrapper/index.js`,
  node: "/usr/local/bin/node",
  npm: "/usr/local/bin/npm",
  helm: "/usr/local/bin/helm",
  pulumi: "/usr/local/bin/pulumi",
  plugins: "/opt/pulumi/plugins",
  /** Mounts of the pod. */
  state: "/var/lib/platform-operator",
  passphrase: "/etc/platform-operator/passphrase",
  npmrc: "/etc/platform-operator/npm/.npmrc",
  memory: "/run/platform-operator",
  tmp: "/tmp",
} as const

/** In the npmrc of the pod. */
export const registryToken = "planted-registry-token"

/** Who the operator runs as. */
export const operatorUser = { uid: 1000, gid: 1000 }

interface Source {
  readonly path: string
  readonly content: Uint8Array
}

const sourcesBelow = (from: string, to: string): ReadonlyArray<Source> => {
  const root = fileURLToPath(new URL(`../../../${from}`, import.meta.url))
  return readdirSync(root, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => {
      const file = `${entry.parentPath}/${entry.name}`
      return { path: `${to}${file.slice(root.length)}`, content: readFileSync(file) }
    })
    .sort((left, right) => (left.path < right.path ? -1 : 1))
}

/** Read once a process: thousands of worlds have the same image. */
const sources: ReadonlyArray<Source> = [
  ...sourcesBelow("charts/vcluster", paths.chart),
  ...sourcesBelow("src/services/Pulumi/wrapper", paths.wrapper.slice(0, -"/index.js".length)),
]

const programs = [paths.node, paths.npm, paths.helm, paths.pulumi]

const folderOf = (path: string) => path.slice(0, path.lastIndexOf("/"))

/** Unpacks the image over an empty root. `plugins`: names as `resource-kubernetes-v4.25.0`. */
export const unpackImage = (files: Files, plugins: ReadonlyArray<string>): void => {
  for (const { path, content } of sources) {
    files.mkdir(folderOf(path))
    files.writeFile(path, content, 0o644)
  }
  files.writeText(paths.runner, "// the runner", 0o644)
  for (const path of programs) {
    files.mkdir(folderOf(path))
    files.writeText(path, "#!program", 0o755)
  }
  for (const plugin of plugins) {
    files.mkdir(`${paths.plugins}/${plugin}`)
    files.writeText(`${paths.plugins}/${plugin}/pulumi-resource-kubernetes`, "#!plugin", 0o755)
  }
}
