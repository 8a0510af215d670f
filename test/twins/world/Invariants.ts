// What holds at every instant of every run, whatever happens: looked at with each change of the host and each call of an
// operator. What is broken is noted, not thrown: whoever plays the run asks in the end.
import { Predicate } from "effect"
import {
  ANNOTATION_INSTANCE,
  FINALIZER,
  instanceHash,
  LABEL_INSTANCE_HASH,
} from "../../../src/schema/Names.ts"
import * as Kinds from "../../../src/services/Kubernetes/Kinds.ts"
import type { KubeObject } from "../../../src/services/Kubernetes/Kubernetes.ts"
import { leaseState } from "../../../src/services/LeaderElection/Lease.ts"
import type { EdgeCall } from "../crash/Edge.ts"
import type { Change } from "../kubernetes/ApiServer.ts"
import type { Process } from "../processes/Process.ts"
import { paths } from "./Image.ts"
import { keepSecrets } from "./Secrets.ts"
import { brokenRules } from "./StatusRules.ts"
import type { World } from "./World.ts"

/** Requests to API servers, in any minute of virtual time: a first install takes some 150, so that this is a loop. */
export const requestsAMinute = 1500
/** Writes of an instance, in any minute. */
export const writesAMinute = 60

/** Who makes a call. */
export interface Caller {
  /** What runs in its container. */
  readonly processes: ReadonlyArray<Process>
  /** As it names itself in the Lease; absent when it is alone, and leads without one. */
  readonly candidate?: string
}

export interface Invariants {
  /** Each thing that was not so, in words, once. */
  readonly broken: () => ReadonlyArray<string>
  /** To be told of an operator's calls (`StartOptions.onCall`), with what runs beside it. */
  readonly onCall: (call: Pick<EdgeCall, "what" | "writes">, caller: Caller) => void
  /** To be told of each line of an operator's log. */
  readonly onLog: (line: string) => void
  /** What a user or an administrator does with an instance, where no rule of the operator's holds. */
  readonly byHand: <A>(deed: () => A) => A
}

/** Counts in a window of a minute. */
const makeMeter = (now: () => number) => {
  let times: Array<number> = []
  return () => {
    times.push(now())
    if (times.length > 4000 || (times[0] ?? 0) < now() - 120_000)
      times = times.filter((time) => time > now() - 60_000)
    return times.filter((time) => time > now() - 60_000).length
  }
}

const instanceOf = (object: KubeObject): string | undefined =>
  object.metadata.annotations?.[ANNOTATION_INSTANCE]

const isRunner = ({ facts }: Process) =>
  facts.argv.some((each) => each.endsWith("/runner.mjs")) && facts.argv.includes("operation")

const isHttp = (what: string) => /^(GET|POST|PATCH|DELETE|inside:) /.test(what)

/** What only the one that leads may do: change anything in an API but the Lease, start a child but to look at its chart. */
const isLeaders = ({ what, writes }: Pick<EdgeCall, "what" | "writes">) =>
  (isHttp(what) && writes && !what.includes("/leases")) ||
  (what.startsWith("spawn ") && !/^spawn \S*helm show /.test(what))

/** Keeps watch over a world from now on. */
export const keepInvariants = (world: World): Invariants => {
  const broken = new Set<string>()
  const say = (what: string) => void (broken.size < 20 && broken.add(what))
  const { elapsed } = world.simulation
  const requests = makeMeter(elapsed)
  const writes = new Map<string, () => number>()
  let hands = false
  /** Whose finalizer a person has taken away. */
  const unguarded = new Set<string>()

  const left = (object: KubeObject): ReadonlyArray<string> => {
    const { name, namespace = "" } = object.metadata
    const key = { namespace, name }
    const host = world.hostNamespace(key)
    const hash = instanceHash(key)
    const spec: unknown = object.spec
    const retains = Predicate.isObject(spec) && "deletionPolicy" in spec && spec.deletionPolicy === "Retain"
    const ours = world.admin.get(Kinds.Namespace, { name: host })
    const cleanups = [Kinds.Job, Kinds.Pod].flatMap((kind) =>
      world.admin
        .list(kind, { namespace: world.settings.cleanupNamespace })
        .filter(({ metadata }) => metadata.labels?.[LABEL_INSTANCE_HASH] === hash)
        .map(({ metadata }) => `${kind.kind} ${metadata.name}`),
    )
    if (retains) return cleanups
    return [
      ...(ours !== undefined && instanceOf(ours) === `${namespace}/${name}` ? [`Namespace ${host}`] : []),
      ...cleanups,
      ...(world.files.exists(`${paths.state}/instances/${namespace}/${name}`) ? ["the install state"] : []),
    ]
  }

  const lookAtInstance = ({ type, object, previous }: Change) => {
    const { name, namespace = "", uid, finalizers = [] } = object.metadata
    const had = previous?.metadata.finalizers?.includes(FINALIZER) === true
    const has = type !== "DELETED" && finalizers.includes(FINALIZER)
    if (hands && had && !has) unguarded.add(uid)
    if (type === "DELETED" && !unguarded.has(uid) && !hands)
      for (const each of left(object)) say(`the finalizer of ${namespace}/${name} went before ${each}`)
    if (hands || type !== "MODIFIED") return
    const meter = writes.get(uid) ?? makeMeter(elapsed)
    writes.set(uid, meter)
    if (meter() > writesAMinute)
      say(`${namespace}/${name} was written more than ${writesAMinute} times in a minute`)
    for (const each of brokenRules(object, previous)) say(`${namespace}/${name}: ${each}`)
  }

  const lookAtNamespace = ({ type, object }: Change) => {
    const [namespace = "", name] = instanceOf(object)?.split("/") ?? []
    if (type !== "ADDED" || name === undefined || hands) return
    const instance = world.instance({ namespace, name })
    if (
      instance?.metadata.finalizers?.includes(FINALIZER) !== true &&
      !unguarded.has(instance?.metadata.uid ?? "")
    )
      say(`Namespace ${object.metadata.name} was made without a finalizer on its instance`)
  }

  const leader = (): string | undefined => {
    const namespace = world.settings.operatorNamespace
    const lease = world.admin.get(Kinds.Lease, { namespace, name: "platform-operator" })
    return lease === undefined ? undefined : leaseState(lease).holder
  }

  const secrets = keepSecrets(world)
  world.host.subscribe((change) => {
    if (change.kind.plural === Kinds.PlatformInstance.plural) lookAtInstance(change)
    if (change.kind.kind === "Namespace") lookAtNamespace(change)
    if (change.kind.kind === "Secret") return
    const secret = secrets.foundIn(JSON.stringify(change.object))
    if (secret !== undefined) say(`${secret} is in ${change.kind.kind} ${change.object.metadata.name}`)
  })

  /** What a process was started with does not change. */
  const looked = new WeakSet<Process>()
  const lookAtProcess = (process: Process) => {
    if (looked.has(process)) return
    looked.add(process)
    const { argv, env } = process.facts
    const secret = secrets.foundIn([...argv, ...Object.values(env)].join("\n"))
    if (secret !== undefined) say(`${secret} is in argv or environment of ${argv[0]}`)
  }

  return {
    broken: () => [...broken],
    onCall: (call, { processes, candidate }) => {
      const { what } = call
      if (candidate !== undefined && isLeaders(call) && leader() !== candidate)
        say(`${candidate} does not lead, and calls ${what}`)
      if (isHttp(what) && requests() > requestsAMinute)
        say(`more than ${requestsAMinute} requests in a minute, the last: ${what}`)
      const runners = processes.filter(isRunner)
      if (runners.length > world.settings.maxConcurrentInstalls)
        say(`${runners.length} operations at once, and ${world.settings.maxConcurrentInstalls} are allowed`)
      const folders = new Set(runners.map(({ facts }) => facts.cwd))
      if (folders.size < runners.length)
        say(`two operations at once of one instance: ${[...folders].join(", ")}`)
      for (const process of processes) lookAtProcess(process)
    },
    onLog: (line) => {
      const secret = secrets.foundIn(line)
      if (secret !== undefined) say(`${secret} is in the log`)
    },
    byHand: (deed) => {
      hands = true
      try {
        return deed()
      } finally {
        hands = false
      }
    },
  }
}

/** Edits of an instance by a person: a finalizer that is taken away is no fault of the operator's. */
export const editByHand =
  (world: World, { byHand }: Invariants): World["edit"] =>
  (patch, of) => {
    const { metadata } = patch
    const takesFinalizers = Predicate.isObject(metadata) && "finalizers" in metadata
    return takesFinalizers ? byHand(() => world.edit(patch, of)) : world.edit(patch, of)
  }
