// The operator killed at every moment of an upgrade, and of a repair.
import { workloads } from "../workloads.ts"
import { describeCrashes } from "./describeCrashes.ts"

describeCrashes(workloads.upgrade)
describeCrashes(workloads.repair)
