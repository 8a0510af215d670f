// The twin's side: the same machine, package and target, simulated.
import { readFileSync } from "node:fs"
import { Context, Effect, FileSystem, Redacted } from "effect"
import { ChildProcessSpawner } from "effect/process"
import { Disk } from "../../../src/services/Disk/Disk.ts"
import { Processes } from "../../../src/services/Process/Processes.ts"
import { versions } from "../../fixtures/platform/pack.mts"
import { optionsIn } from "../../services/Pulumi/harness.ts"
import { diskOf } from "../../twins/files/DiskTwin.ts"
import { fileSystemOf } from "../../twins/files/FileSystemTwin.ts"
import { type Files, makeFiles } from "../../twins/files/Files.ts"
import { makeNetwork } from "../../twins/kubernetes/Network.ts"
import { makeApiServer } from "../../twins/kubernetes/Server.ts"
import { fixturePackages } from "../../twins/npm/Registry.ts"
import { makeContainer } from "../../twins/processes/Container.ts"
import { spawnerOf } from "../../twins/processes/Spawner.ts"
import { runnerProgram } from "../../twins/pulumi/Runner.ts"
import { Simulation } from "../../twins/simulation/Simulation.ts"
import type { EngineSide } from "./Side.ts"

const root = "/work"
const port = 6443
const ca = "planted-ca"
const token = "planted-admin-token"
const source = { namespace: "platform-operator", labels: {} }

/** A version with its libraries, as npm would lay it out. */
const layOut = (files: Files, version: string): void => {
  const packages = fixturePackages()
  const platform = packages.find((one) => one.name === "@di-framework/platform" && one.version === version)
  const libraries = packages.filter((one) => platform?.dependencies[one.name] === one.version)
  for (const one of platform === undefined ? [] : [platform, ...libraries]) {
    for (const [name, text] of Object.entries(one.files)) {
      const file = `${root}/packages/${version}/node_modules/${one.name}/${name}`
      files.mkdirs(file.slice(0, file.lastIndexOf("/")))
      files.writeText(file, text)
    }
  }
}

/** In a simulation. */
export const makeTwinSide = Effect.gen(function* () {
  const { lifetime } = yield* Simulation
  const twin = yield* makeFiles
  const container = yield* makeContainer({ name: "operator", files: twin, uid: 0 })
  const own = optionsIn(root, {
    nodePath: "/usr/bin/node",
    pulumiPath: "/usr/bin/pulumi",
    grace: "60 seconds",
  })
  twin.files.mkdirs(root)
  const files = twin.files
  for (const folder of ["memory", "tmp/pulumi", "plugins"]) files.mkdirs(`${root}/${folder}`)
  files.writeText(`${root}/passphrase`, "planted-passphrase")
  files.mkdirs(own.wrapperPath.slice(0, own.wrapperPath.lastIndexOf("/")))
  files.writeText(own.wrapperPath, readFileSync(own.wrapperPath, "utf8"))
  for (const version of versions) layOut(files, version)

  const network = yield* makeNetwork
  const api = yield* makeApiServer({ name: "target" })
  const endpoint = {
    api,
    ca,
    certificateNames: ["127.0.0.1", "localhost"],
    tokens: new Map([[token, "admin"]]),
  }
  for (const host of ["127.0.0.1", "localhost"]) network.listen(host, port, endpoint)
  const kubeconfig: EngineSide["kubeconfig"] = ({
    user = "u",
    server = "https://127.0.0.1",
    bundled = false,
  } = {}) =>
    JSON.stringify({
      apiVersion: "v1",
      kind: "Config",
      clusters: [
        {
          name: "c",
          cluster: {
            server: /:[0-9]+$/.test(server) ? server : `${server}:${port}`,
            "certificate-authority-data": Buffer.from(bundled ? `${ca}\n${ca}` : ca).toString("base64"),
          },
        },
      ],
      users: [{ name: user, user: { token } }],
      contexts: [{ name: "c", context: { cluster: "c", user } }],
      "current-context": "c",
    })

  container.install(
    own.nodePath,
    runnerProgram({
      hostname: "operator-1",
      open: (text, manager) => network.open(source, text, manager),
    }),
  )
  const user = { ...files.user }
  const services = Context.make(FileSystem.FileSystem, fileSystemOf(twin, user)).pipe(
    Context.add(Disk, diskOf(twin, user)),
    Context.add(Processes, container.processesService()),
    Context.add(ChildProcessSpawner.ChildProcessSpawner, spawnerOf(container, lifetime())),
  )
  return {
    root,
    services,
    client: yield* network.connectFrom(source)(Redacted.make(kubeconfig())),
    kubeconfig,
    options: own,
    pluginDirectory: `${root}/plugins`,
    packageOf: (version) => `${root}/packages/${version}`,
  } satisfies EngineSide
})
