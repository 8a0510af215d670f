// The operator's pod: its log, its end, its state on the node.
import { existsSync, readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { Schema } from "effect"
import { fromNode, onNode, operatorNamespace } from "./Cluster.ts"
import { getJson, kubectl } from "./Kubectl.ts"
import { containersOf, podsOf } from "./Pods.ts"
import { until } from "./Until.ts"

const selector = ["--namespace", operatorNamespace, "--selector=app.kubernetes.io/name=platform-operator"]

export interface Incarnation {
  readonly pod: string
  readonly podUID: string
  readonly restarts: number
  /** containerd's id of the container. */
  readonly container: string
}

/** The operators that are ready, standing by or at work. */
export const incarnations = async (): Promise<ReadonlyArray<Incarnation>> => {
  return (await podsOf(...selector)).flatMap((pod) => {
    const [container] = containersOf(pod)
    if (!container?.ready || container.containerID === undefined) return []
    return {
      pod: pod.metadata.name,
      podUID: pod.metadata.uid,
      restarts: container.restartCount,
      container: container.containerID.replace("containerd://", ""),
    }
  })
}

/** The running operator; `undefined` while there is none that is ready. */
export const incarnation = async (): Promise<Incarnation | undefined> => (await incarnations())[0]

const another = (before: Incarnation): Promise<Incarnation> =>
  until("another operator is ready", async () => {
    const now = await incarnation()
    return now !== undefined && now.container !== before.container ? now : undefined
  })

/** SIGKILL to the first process of the container: nothing in it gets to say goodbye. */
export const killContainer = async ({ container }: Incarnation): Promise<void> => {
  const tasks = await onNode("ctr", "--namespace", "k8s.io", "tasks", "ls")
  const pid = new RegExp(`^${container}\\s+(\\d+)`, "m").exec(tasks)?.[1]
  if (pid === undefined) throw new Error(`no task of container ${container}: ${tasks}`)
  await onNode("kill", "-KILL", pid)
}

/** Kills the one operator there is. Gives the one that follows. */
export const killOperator = async (): Promise<Incarnation> => {
  const before = await until("the operator is ready", incarnation)
  await killContainer(before)
  return another(before)
}

const Lease = Schema.Struct({ spec: Schema.Struct({ holderIdentity: Schema.optionalKey(Schema.String) }) })

/** Who holds the operators' lease, as the lease says it; empty when nobody does. */
export const leaseHolder = async (): Promise<string> =>
  (await getJson(Lease, ["lease", "platform-operator", "--namespace", operatorNamespace])).spec
    .holderIdentity ?? ""

/** The operator that works, once there is one. */
export const leader = (): Promise<Incarnation> =>
  until("an operator leads", async () => {
    const holder = await leaseHolder()
    return (await incarnations()).find(({ pod, podUID }) => holder.startsWith(`${pod}_${podUID}_`))
  })

/** The pod is taken away without a grace period, as from a node that was lost. Gives the one that follows. */
export const removeOperatorPod = async (): Promise<Incarnation> => {
  const before = await until("the operator is ready", incarnation)
  await kubectl([
    "delete",
    "pod",
    before.pod,
    "--namespace",
    operatorNamespace,
    "--force",
    "--grace-period=0",
  ])
  return another(before)
}

/** The pod is deleted as a drained node's is, and has let go of its lease when it is gone. Gives the one that follows. */
export const replaceOperatorPod = async (): Promise<Incarnation> => {
  const before = await until("the operator is ready", incarnation)
  await kubectl(["delete", "pod", before.pod, "--namespace", operatorNamespace])
  return another(before)
}

export const logOf = ({ pod }: Incarnation, ...which: ReadonlyArray<string>): Promise<string> =>
  kubectl(["logs", pod, "--namespace", operatorNamespace, "--tail=-1", ...which])

/** The log of the running operator and of the one before it in the same pod. */
export const operatorLog = async (): Promise<string> => {
  const now = await until("the operator is ready", incarnation)
  const previous = now.restarts > 0 ? await logOf(now, "--previous") : ""
  return previous + (await logOf(now))
}

/** What admission refuses is "forbidden" too, to whoever asks; tests bring it about. */
const byAdmission = /because it is being terminated|exceeded quota|violates PodSecurity/

/** Lines of a log in which the API server refused the operator what its role does not allow. */
export const refusals = (log: string): ReadonlyArray<string> =>
  // By the word: a number like 403 is a fiber's, too.
  log.split("\n").filter((line) => /forbidden/i.test(line) && !byAdmission.test(line))

const Volumes = Schema.Struct({
  items: Schema.Array(
    Schema.Struct({
      spec: Schema.Struct({
        claimRef: Schema.optionalKey(Schema.Struct({ namespace: Schema.String, name: Schema.String })),
        local: Schema.optionalKey(Schema.Struct({ path: Schema.String })),
      }),
    }),
  ),
})

/** The operator's state directory, as this machine sees it. */
export const stateDirectory = async (): Promise<string> => {
  const { items } = await getJson(Volumes, ["persistentvolumes"])
  const volume = items.find(
    ({ spec }) =>
      spec.claimRef?.namespace === operatorNamespace && spec.claimRef.name === "platform-operator-state",
  )
  if (volume?.spec.local === undefined) throw new Error("the operator's state claim has no local volume")
  return fromNode(volume.spec.local.path)
}

const Record = Schema.fromJsonString(
  Schema.Struct({
    kubeSystemUID: Schema.String,
    serviceUID: Schema.String,
    installed: Schema.Struct({ reason: Schema.String, finishedAt: Schema.String }),
    resync: Schema.optionalKey(Schema.Unknown),
  }),
)
/** The record of an instance that is installed: `finishedAt` is another after each install and repair. */
export const readRecord = ({ record }: InstanceState) =>
  Schema.decodeSync(Record)(readFileSync(record, "utf8"))

/** What an administrator finds of one instance in the state directory. */
export interface InstanceState {
  readonly root: string
  readonly marker: string
  readonly record: string
  readonly project: string
  readonly backend: string
  /** Lock files of Pulumi's file backend. */
  readonly locks: () => ReadonlyArray<string>
}

export const instanceState = async (namespace: string, name: string): Promise<InstanceState> => {
  const root = join(await stateDirectory(), "instances", namespace, name)
  const backend = join(root, "backend")
  return {
    root,
    marker: join(root, "operation.json"),
    record: join(root, "instance.json"),
    project: join(root, "project"),
    backend,
    locks: () => {
      const folder = join(backend, ".pulumi", "locks")
      return existsSync(folder)
        ? readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((file) => file.endsWith(".json"))
        : []
    },
  }
}
