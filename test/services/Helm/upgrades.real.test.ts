// Field report F54 with the real helm and a real API server: as over the twins (upgrades.test.ts), with fewer upgrades.
import { mkdtempSync, readdirSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import path from "node:path"
import { it } from "@effect/vitest"
import { Effect, FileSystem, Layer } from "effect"
import { machine } from "../../support/machine.ts"
import { startApiServer } from "../Pulumi/apiServer.ts"
import { realHelm } from "./realHelm.ts"
import { upgradeMany } from "./upgrades.ts"

const folder = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(path.join(tmpdir(), "helm-upgrades-"))),
  (root) => Effect.sync(() => rmSync(root, { recursive: true, force: true })),
)

/** The machine, with its temporary files in a folder of the test. */
const machineIn = (root: string) =>
  Layer.effect(
    FileSystem.FileSystem,
    Effect.map(FileSystem.FileSystem, (fs) =>
      FileSystem.make({
        ...fs,
        makeTempDirectoryScoped: (options) => fs.makeTempDirectoryScoped({ ...options, directory: root }),
      }),
    ),
  ).pipe(Layer.provideMerge(machine))

it.live("F54: a release that was upgraded 25 times is 5 revisions, and nothing has grown", () =>
  Effect.gen(function* () {
    const root = yield* folder
    const { kubeconfig } = yield* startApiServer(root)
    yield* upgradeMany(
      25,
      Effect.sync(() =>
        readdirSync(root, { recursive: true, encoding: "utf8" })
          .filter((name) => name.startsWith("helm-"))
          .toSorted(),
      ),
    ).pipe(Effect.provide(realHelm(root, kubeconfig, machineIn(root))))
  }).pipe(Effect.scoped),
)
