// The machine the tests run on: files, disk, child processes and processes, as the operator has them.
import { NodeServices } from "@effect/platform-node"
import { Layer } from "effect"
import { DiskLive } from "../../src/services/Disk/DiskLive.ts"
import { ProcessesLive } from "../../src/services/Process/ProcessesLive.ts"

export const machine = Layer.mergeAll(NodeServices.layer, DiskLive.layer, ProcessesLive.layer)
