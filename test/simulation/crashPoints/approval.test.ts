// The operator killed at every moment of looking at an upgrade, waiting for its approval and carrying it out.
import { workloads } from "../workloads.ts"
import { describeCrashes } from "./describeCrashes.ts"

describeCrashes(workloads.approval, { oneOf: 2 })
