// What is gone of an instance that is being deleted, looked at again and again. Each sample asks for what should go last
// first: a later thing that is gone while an earlier one is still found afterwards is out of order, whatever the speed
// of the machine.
import { existsSync } from "node:fs"
import { BatchV1Api, CoreV1Api, CustomObjectsApi, KubeConfig } from "@kubernetes/client-node"
import { Schema } from "effect"
import { instanceHash, LABEL_INSTANCE_HASH } from "../../../src/schema/Names.ts"
import { fromNode, operatorNamespace, storageRootBase } from "./Cluster.ts"
import { type Key, SeenInstance } from "./Instance.ts"
import type { InstanceState } from "./Operator.ts"
import { watch } from "./Watch.ts"

/** What happens, in the order in which it must. */
export const deletionOrder = [
  "release uninstalled",
  "host namespace going",
  "host namespace gone",
  "state dropped",
  "cleanup Job started",
  "storage root gone",
  "storage-cleaned",
  "Jobs and pods gone",
  "instance gone",
] as const
type Happening = (typeof deletionOrder)[number]

const decodeInstance = Schema.decodeUnknownSync(SeenInstance)

const orNothing = async <A>(request: Promise<A>): Promise<A | undefined> => {
  try {
    return await request
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === 404) return undefined
    throw error
  }
}

export const logDeletion = (key: Key, hostNamespace: string, state: InstanceState) => {
  const kubeconfig = new KubeConfig()
  kubeconfig.loadFromDefault()
  const core = kubeconfig.makeApiClient(CoreV1Api)
  const batch = kubeconfig.makeApiClient(BatchV1Api)
  const custom = kubeconfig.makeApiClient(CustomObjectsApi)
  const storageRoot = fromNode(`${storageRootBase}/${key.namespace}/${key.name}`)
  const happened: Array<Happening> = []
  const violations: Array<string> = []
  let uid: string | undefined
  const ours = `${LABEL_INSTANCE_HASH}=${instanceHash(key)}`
  // It may come and go between two samples.
  const jobs = watch(
    Schema.Unknown,
    `/apis/batch/v1/namespaces/${operatorNamespace}/jobs?labelSelector=${encodeURIComponent(ours)}`,
  )

  /** `undefined`: it cannot be told (any more). */
  const ask: Readonly<Record<Happening, () => Promise<boolean | undefined>>> = {
    "instance gone": async () => (await readInstance()) === undefined,
    "Jobs and pods gone": async () => happened.includes("cleanup Job started") && !(await isCleaning()),
    "storage-cleaned": async () => {
      const instance = await readInstance()
      return instance === undefined
        ? undefined
        : instance.metadata.annotations?.["platform.di-framework.dev/storage-cleaned"] === uid
    },
    "storage root gone": async () => !existsSync(storageRoot),
    "cleanup Job started": async () => jobs.seen.length > 0,
    "state dropped": async () => !existsSync(state.project) && !existsSync(state.backend),
    "host namespace gone": async () => (await readNamespace()) === undefined,
    "host namespace going": async () => {
      const namespace = await readNamespace()
      return namespace === undefined || namespace.metadata?.deletionTimestamp !== undefined
    },
    "release uninstalled": async () => {
      const { items } = await core.listNamespacedSecret({
        namespace: hostNamespace,
        labelSelector: "owner=helm,name=vcluster",
      })
      return items.length === 0
    },
  }
  const readNamespace = () => orNothing(core.readNamespace({ name: hostNamespace }))
  const readInstance = async () => {
    const object: unknown = await orNothing(
      custom.getNamespacedCustomObject({
        group: "platform.di-framework.dev",
        version: "v1alpha1",
        plural: "platforminstances",
        ...key,
      }),
    )
    return object === undefined ? undefined : decodeInstance(object)
  }
  async function isCleaning(): Promise<boolean> {
    const at = { namespace: operatorNamespace, labelSelector: ours }
    const [jobs, pods] = await Promise.all([batch.listNamespacedJob(at), core.listNamespacedPod(at)])
    return jobs.items.length + pods.items.length > 0
  }

  /** Looks once. What has happened stays happened. */
  const sample = async (): Promise<void> => {
    uid ??= (await readInstance())?.metadata.uid
    let later: Happening | undefined
    const news: Array<Happening> = []
    for (const happening of [...deletionOrder].reverse()) {
      const known = happened.includes(happening)
      const now = known || (await ask[happening]())
      if (now === false && later !== undefined) violations.push(`${later}, but not yet: ${happening}`)
      if (now && !known) news.unshift(happening)
      if (now) later = happening
    }
    happened.push(...news)
  }
  return { happened, violations, sample, end: jobs.end }
}
