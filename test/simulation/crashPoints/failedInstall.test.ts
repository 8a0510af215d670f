// The operator killed at every moment of an install that fails, and is mended.
import { workloads } from "../workloads.ts"
import { describeCrashes } from "./describeCrashes.ts"

describeCrashes(workloads.retry)
