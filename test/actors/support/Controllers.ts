// What runs in the host cluster beside the operator: the namespace controller, and Jobs with their pods.
import { Effect, type Scope } from "effect"
import { Job, Namespace, Pod } from "../../../src/services/Kubernetes/Kinds.ts"
import type { KubeObject } from "../../../src/services/Kubernetes/Kubernetes.ts"
import type { Cluster } from "./Cluster.ts"

/** A terminating namespace is emptied, and goes after this long. */
const NAMESPACE_ENDS = "3 seconds"
const JOB_TAKES = "5 seconds"
const POD_ENDS = "1 second"

/** `outcomes` are those of the Jobs to come; without one left they succeed. */
export const runControllers = Effect.fnUntraced(function* (
  cluster: Cluster,
  kinds: ReadonlyArray<Parameters<Cluster["all"]>[0]>,
  outcomes: Array<"Complete" | "Failed">,
): Effect.fn.Return<void, never, Scope.Scope> {
  const scope = yield* Effect.scope
  const context = yield* Effect.context()
  const later = (duration: Parameters<typeof Effect.sleep>[0], act: () => void) => {
    Effect.runForkWith(context)(
      Effect.forkIn(Effect.andThen(Effect.sleep(duration), Effect.sync(act)), scope),
    )
  }

  const emptyNamespace = (namespace: KubeObject) => {
    for (const kind of kinds) {
      for (const object of cluster.all(kind, { namespace: namespace.metadata.name })) {
        const { finalizers: _, ...metadata } = object.metadata
        cluster.remove(kind, { ...object, metadata })
      }
    }
    const live = cluster.find(Namespace, namespace.metadata)
    if (live !== undefined) cluster.remove(Namespace, live)
  }

  const finishJob = (job: KubeObject) => {
    const live = cluster.find(Job, job.metadata)
    if (live?.metadata.uid !== job.metadata.uid || live.metadata.deletionTimestamp !== undefined) return
    const type = outcomes.shift() ?? "Complete"
    cluster.put(Job, live, { ...live, status: { conditions: [{ type, status: "True" }] } })
  }

  const seen = new Set<string>()
  cluster.listeners.push(({ kind, object, deleted }) => {
    const { uid, deletionTimestamp, name, namespace = "", labels } = object.metadata
    if (kind === Namespace && deletionTimestamp !== undefined && !deleted && !seen.has(uid)) {
      seen.add(uid)
      later(NAMESPACE_ENDS, () => emptyNamespace(object))
    }
    if (kind !== Job) return
    if (!deleted && !seen.has(uid)) {
      seen.add(uid)
      cluster.create(Pod, {
        apiVersion: "v1",
        kind: "Pod",
        metadata: { name: `${name}-pod`, namespace, labels: labels ?? {} },
      })
      later(JOB_TAKES, () => finishJob(object))
    }
    if (deleted) later(POD_ENDS, () => cluster.end(Pod, { namespace, name: `${name}-pod` }))
  })
})
