// The operator killed at every moment of the install of two instances.
import { workloads } from "../workloads.ts"
import { describeCrashes } from "./describeCrashes.ts"

describeCrashes(workloads.two)
