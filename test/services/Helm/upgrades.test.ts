// Field report F54 over the twins: the operator's Helm, with the program and the server it talks to simulated.
import { it } from "@effect/vitest"
import { Context, Effect, FileSystem, Layer, Option } from "effect"
import { ChildProcessSpawner } from "effect/process"
import { Disk } from "../../../src/services/Disk/Disk.ts"
import { HelmLive } from "../../../src/services/Helm/HelmLive.ts"
import { Processes } from "../../../src/services/Process/Processes.ts"
import { diskOf } from "../../twins/files/DiskTwin.ts"
import { fileSystemOf } from "../../twins/files/FileSystemTwin.ts"
import { type Files, makeFiles } from "../../twins/files/Files.ts"
import { helmProgram } from "../../twins/helm/Program.ts"
import { httpOf } from "../../twins/kubernetes/Http.ts"
import { kubernetesOver } from "../../twins/kubernetes/KubernetesTwin.ts"
import { makeApiServer } from "../../twins/kubernetes/Server.ts"
import { makeContainer } from "../../twins/processes/Container.ts"
import type { ProcessContext } from "../../twins/processes/Program.ts"
import { spawnerOf } from "../../twins/processes/Spawner.ts"
import { Simulation, simulate } from "../../twins/simulation/Simulation.ts"
import { paths, unpackImage } from "../../twins/world/Image.ts"
import { upgradeMany } from "./upgrades.ts"

const filesBelow = (files: Files, folder: string): ReadonlyArray<string> =>
  files.list(folder).flatMap((name) => {
    const path = `${folder}/${name}`
    return files.isFolder(path) ? [path, ...filesBelow(files, path)] : [path]
  })

it("F54: a release that was upgraded 200 times is 5 revisions, and nothing has grown", () =>
  simulate(
    Effect.gen(function* () {
      const api = yield* makeApiServer({ name: "host" })
      const twin = yield* makeFiles
      unpackImage(twin.files, [])
      twin.files.mkdir(paths.tmp, 0o777)
      const container = yield* makeContainer({ name: "operator", files: twin })
      container.install(
        paths.helm,
        helmProgram<ProcessContext>({ connect: () => api.as("kubernetes-admin", "helm") }),
      )
      const { lifetime } = yield* Simulation
      const user = { uid: 0, gid: 0, umask: 0o022 }
      const machine = Layer.succeedContext(
        Context.make(Disk, diskOf(twin, user)).pipe(
          Context.add(FileSystem.FileSystem, fileSystemOf(twin, user)),
          Context.add(ChildProcessSpawner.ChildProcessSpawner, spawnerOf(container, lifetime())),
          Context.add(Processes, container.processesService()),
        ),
      )
      const kubernetes = Layer.effectContext(
        kubernetesOver(httpOf(api, { user: "kubernetes-admin" }), () =>
          Effect.die("there is no other cluster"),
        ),
      )
      yield* upgradeMany(
        200,
        Effect.sync(() => filesBelow(twin.files, paths.tmp)),
      ).pipe(
        Effect.provide(
          HelmLive.layer({ helm: paths.helm, chart: { path: paths.chart, digest: Option.none() } }).pipe(
            Layer.provideMerge(kubernetes),
            Layer.provide(machine),
          ),
        ),
      )
    }),
    { seed: 1 },
  ))
