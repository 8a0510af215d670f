// The operator killed at every moment of a retained instance's way back.
import { workloads } from "../workloads.ts"
import { describeCrashes } from "./describeCrashes.ts"

describeCrashes(workloads.readoption)
