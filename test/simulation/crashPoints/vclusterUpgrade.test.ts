// The operator killed at every moment of moving a vCluster to its own chart.
import { workloads } from "../workloads.ts"
import { describeCrashes } from "./describeCrashes.ts"

describeCrashes(workloads.vcluster)
