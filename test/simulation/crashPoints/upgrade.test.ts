// The operator killed at every moment of an upgrade.
import { workloads } from "../workloads.ts"
import { describeCrashes } from "./describeCrashes.ts"

describeCrashes(workloads.upgrade)
