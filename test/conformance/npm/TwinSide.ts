// The twin's side: the same machine, simulated.
import { Context, Effect, FileSystem } from "effect"
import { ChildProcessSpawner } from "effect/process"
import { Disk } from "../../../src/services/Disk/Disk.ts"
import { Processes } from "../../../src/services/Process/Processes.ts"
import { optionsIn } from "../../services/Pulumi/harness.ts"
import { diskOf } from "../../twins/files/DiskTwin.ts"
import { fileSystemOf } from "../../twins/files/FileSystemTwin.ts"
import { makeFiles } from "../../twins/files/Files.ts"
import { npmProgram } from "../../twins/npm/Npm.ts"
import { makeRegistry } from "../../twins/npm/Registry.ts"
import { makeContainer } from "../../twins/processes/Container.ts"
import { spawnerOf } from "../../twins/processes/Spawner.ts"
import { runnerProgram } from "../../twins/pulumi/Runner.ts"
import { Simulation } from "../../twins/simulation/Simulation.ts"
import type { NpmSide } from "./Side.ts"

const root = "/work"
const url = "http://127.0.0.1:4873"

/** In a simulation. */
export const makeTwinSide = Effect.gen(function* () {
  const { lifetime } = yield* Simulation
  const twin = yield* makeFiles
  const container = yield* makeContainer({ name: "operator", files: twin, uid: 0 })
  const options = optionsIn(root, { nodePath: "/usr/bin/node", npmPath: "/usr/bin/npm", registry: url })
  for (const folder of ["packages", "tmp"]) twin.files.mkdirs(`${root}/${folder}`)
  const registry = makeRegistry()
  container.install(options.npmPath, npmProgram({ [url]: registry }))
  container.install(
    options.nodePath,
    runnerProgram({
      hostname: "operator-1",
      open: () => {
        throw new Error("no target is needed here")
      },
    }),
  )
  const { user } = twin.files
  const services = Context.make(FileSystem.FileSystem, fileSystemOf(twin, user)).pipe(
    Context.add(Disk, diskOf(twin, user)),
    Context.add(Processes, container.processesService()),
    Context.add(ChildProcessSpawner.ChildProcessSpawner, spawnerOf(container, lifetime())),
  )
  return { root, services, options, registry, url } satisfies NpmSide
})
