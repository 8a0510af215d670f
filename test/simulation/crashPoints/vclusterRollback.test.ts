// The operator killed at every moment of a vCluster upgrade that does not come up, and of its way back.
import { workloads } from "../workloads.ts"
import { describeCrashes } from "./describeCrashes.ts"

describeCrashes(workloads.vclusterBack, { oneOf: 2 })
