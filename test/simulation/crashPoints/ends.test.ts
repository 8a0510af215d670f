// The operator killed at every moment of a deletion, of a resync, and of a retained instance that comes back.
import { workloads } from "../workloads.ts"
import { describeCrashes } from "./describeCrashes.ts"

describeCrashes(workloads.deletion)
describeCrashes(workloads.resync)
describeCrashes(workloads.readoption)
