// The real side: npm, Node and the runner's own file.
import { mkdirSync } from "node:fs"
import { NodeServices } from "@effect/platform-node"
import { Effect, Layer } from "effect"
import { DiskLive } from "../../../src/services/Disk/DiskLive.ts"
import { ProcessesLive } from "../../../src/services/Process/ProcessesLive.ts"
import { optionsIn } from "../../services/Pulumi/harness.ts"
import { serveRegistry } from "./RealRegistry.ts"
import type { NpmSide } from "./Side.ts"

export const makeRealSide = Effect.fnUntraced(function* (root: string) {
  for (const folder of ["packages", "tmp"]) mkdirSync(`${root}/${folder}`, { recursive: true })
  const { registry, url } = yield* serveRegistry
  return {
    root,
    services: yield* Layer.build(Layer.mergeAll(NodeServices.layer, DiskLive.layer, ProcessesLive.layer)),
    options: optionsIn(root, { registry: url }),
    registry,
    url,
  } satisfies NpmSide
})
