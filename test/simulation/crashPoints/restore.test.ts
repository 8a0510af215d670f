// The operator killed at every moment of a restore: it installs nothing before the data is back, and nothing anew after it.
import { workloads } from "../workloads.ts"
import { describeCrashes } from "./describeCrashes.ts"

describeCrashes(workloads.restore, { oneOf: 2 })
