// The operator killed at every moment of putting an instance to sleep and waking it.
import { workloads } from "../workloads.ts"
import { describeCrashes } from "./describeCrashes.ts"

describeCrashes(workloads.sleep)
