// All controllers of one cluster. They end with the scope.
import { Effect, type Scope } from "effect"
import type { ApiServer } from "../kubernetes/ApiServer.ts"
import { type Cluster, makeCluster } from "./Cluster.ts"
import { runDeployments, runReplicaSets } from "./Deployments.ts"
import { runGarbageCollector } from "./GarbageCollector.ts"
import { runJobs } from "./Jobs.ts"
import { runNamespaceDefaults, runNamespaceLifecycle } from "./Namespaces.ts"
import { runServices } from "./Services.ts"
import { runStatefulSets } from "./StatefulSets.ts"
import { type Delay, makeTasks } from "./Tasks.ts"
import { runClaimProtection } from "./Volumes.ts"

export interface ControllerManagerOptions {
  /** What `kube-root-ca.crt` holds. */
  readonly ca?: string
  /** How long the garbage collector takes to look at what has lost its owner, on a busy cluster; else moments. */
  readonly collection?: Delay
}

export const runControllerManager = Effect.fnUntraced(function* (
  api: ApiServer,
  options: ControllerManagerOptions = {},
): Effect.fn.Return<Cluster, never, Scope.Scope> {
  const cluster = makeCluster(api, yield* makeTasks)
  yield* Effect.addFinalizer(() => Effect.sync(cluster.close))
  runNamespaceDefaults(cluster, options.ca ?? `CA of ${api.name}`)
  runNamespaceLifecycle(cluster)
  runGarbageCollector(cluster, options.collection)
  runStatefulSets(cluster)
  runReplicaSets(cluster)
  runDeployments(cluster)
  runJobs(cluster)
  runServices(cluster)
  runClaimProtection(cluster)
  return cluster
})
