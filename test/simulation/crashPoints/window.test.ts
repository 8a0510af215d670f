// The operator killed at every moment of an upgrade that waits for its maintenance window: none begins before it opens.
import { workloads } from "../workloads.ts"
import { describeCrashes } from "./describeCrashes.ts"

describeCrashes(workloads.windowed, { oneOf: 2 })
