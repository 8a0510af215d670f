// The operator killed at every moment of looking at what differs, telling it, and putting it back in the end.
import { workloads } from "../workloads.ts"
import { describeCrashes } from "./describeCrashes.ts"

describeCrashes(workloads.drift, { oneOf: 2 })
