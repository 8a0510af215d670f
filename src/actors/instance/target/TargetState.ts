// What was observed of the target, turned into one of a few verdicts: act, wait, stuck, or ready. Pure; the
// order of the cases is the order of design: namespace, protection, network policies, release, gates.
import { Equal, Option } from "effect"
import type { ReasonOf } from "../../../schema/Conditions.ts"
import type { ReleaseState, ReleaseStatus } from "../../../services/Helm/Helm.ts"
import { foreignNamespace } from "./HostNamespace.ts"
import { type UpgradeState, upgradeRecovery, upgradeRepair, upgradeStep, upgradeVerdict } from "./upgrade.ts"

export interface TargetCondition {
  readonly reason: ReasonOf<"TargetReady", "False">
  readonly message: string
}

/** An object of the release that is not as the release has it. */
export interface LostObject {
  /** `role/vc-vcluster`. */
  readonly object: string
  readonly how: "missing" | "edited"
  /** The vCluster does not answer without it. */
  readonly vital: boolean
}

/** One step that changes the world. */
export type TargetStep =
  /** Ends what an earlier instance of this name has left half deleted. */
  | { readonly _tag: "FinishPredecessor" }
  | { readonly _tag: "CreateNamespace" }
  /** Writes on the host namespace which storage root its pods may mount. */
  | { readonly _tag: "MarkNamespace" }
  | { readonly _tag: "ApplyProtection" }
  | { readonly _tag: "ApplyNetworkPolicies" }
  /** The policies for what runs inside: nothing that the target's readiness hangs on. */
  | { readonly _tag: "IsolateWorkloads" }
  /** The quota of the host namespace, which the target's readiness does not hang on either. */
  | { readonly _tag: "ApplyQuota" }
  | { readonly _tag: "InstallRelease" }
  /** Makes sure that nobody is at work on a release that is pending. */
  | { readonly _tag: "CheckWriter"; readonly revision: number; readonly status: ReleaseStatus }
  | { readonly _tag: "UninstallRelease" }
  | { readonly _tag: "RollbackRelease"; readonly revision: number }
  | { readonly _tag: "ReapplyRelease"; readonly lost: ReadonlyArray<LostObject> }
  | { readonly _tag: "PublishKubeconfig" }
  /** Writes down why and for which Service the control plane is restarted; the restart is a step of its own. */
  | { readonly _tag: "BeginResync"; readonly serviceUID: string; readonly podUID: Option.Option<string> }
  /** Deletes this very pod, which its StatefulSet makes anew. */
  | { readonly _tag: "RestartControlPlane"; readonly podUID: string }
  /** Writes down what runs before anything of it is taken down. */
  | { readonly _tag: "BeginSleep"; readonly ours: boolean }
  | { readonly _tag: "ScaleDown"; readonly uid: string; readonly replicas: number }
  /** Deletes the pods that the vCluster has synced, once it is gone: before, it would delete them inside, too. */
  | { readonly _tag: "EndWorkloads" }
  | { readonly _tag: "WakeUp"; readonly uid: string; readonly replicas: number }
  /** Keeps a copy of the engine's state, and writes down what is upgraded before anything of it is. */
  | {
      readonly _tag: "BeginUpgrade"
      readonly from: string
      readonly revision: number
      readonly kubeSystemUID: string
    }
  /** `carryOn`: from this revision, in which helm was cut off. */
  | { readonly _tag: "UpgradeRelease"; readonly carryOn: Option.Option<number> }
  /** Writes down, and tells, what has come of it; of one that fails, before it is rolled back. */
  | { readonly _tag: "EndUpgrade"; readonly how: UpgradeEnd }

export type UpgradeEnd =
  | { readonly _tag: "Done" | "Dropped" }
  /** `Kept`: it has failed, and cannot be rolled back. */
  | { readonly _tag: "Failing" | "Failed" | "Kept"; readonly why: string }

/** Quick steps, which a pass takes itself; the others are Helm's and run in the slot. */
export type InlineStep = Extract<
  TargetStep,
  {
    readonly _tag:
      | "CreateNamespace"
      | "MarkNamespace"
      | "CheckWriter"
      | "ApplyProtection"
      | "ApplyNetworkPolicies"
      | "IsolateWorkloads"
      | "ApplyQuota"
      | "PublishKubeconfig"
      | "BeginResync"
      | "RestartControlPlane"
      | "BeginSleep"
      | "ScaleDown"
      | "EndWorkloads"
      | "WakeUp"
      | "BeginUpgrade"
      | "EndUpgrade"
  }
>
/** Those around an upgrade's run of Helm. */
export type UpgradeStep = Extract<TargetStep, { readonly _tag: "BeginUpgrade" | "EndUpgrade" }>
/** Those that put an instance to sleep, and the one that wakes it. */
export type SleepStep = Extract<
  TargetStep,
  { readonly _tag: "BeginSleep" | "ScaleDown" | "EndWorkloads" | "WakeUp" }
>
export type SlotStep = Exclude<TargetStep, InlineStep>

const sleepSteps: ReadonlySet<TargetStep["_tag"]> = new Set<SleepStep["_tag"]>([
  "BeginSleep",
  "ScaleDown",
  "EndWorkloads",
  "WakeUp",
])
export const isSleepStep = (tag: TargetStep["_tag"]): tag is SleepStep["_tag"] => sleepSteps.has(tag)

export const isSleepOf = (step: TargetStep): step is SleepStep => isSleepStep(step._tag)

export const isUpgradeOf = (step: TargetStep): step is UpgradeStep =>
  step._tag === "BeginUpgrade" || step._tag === "EndUpgrade"

export const isInline = (step: TargetStep): step is InlineStep =>
  step._tag !== "FinishPredecessor" &&
  step._tag !== "InstallRelease" &&
  step._tag !== "UninstallRelease" &&
  step._tag !== "RollbackRelease" &&
  step._tag !== "UpgradeRelease" &&
  step._tag !== "ReapplyRelease"

/** A quick step that harms no install beside it. A resync does: the install's record would drop its mark. */
export const harmless = (step: TargetStep): step is InlineStep =>
  isInline(step) && step._tag !== "BeginResync" && step._tag !== "RestartControlPlane"

/** A repair of what the vCluster answers without. */
export const canWait = (step: TargetStep): boolean =>
  step._tag === "ReapplyRelease" && !step.lost.some(({ vital }) => vital)

export interface ActVerdict {
  readonly _tag: "Act"
  readonly step: TargetStep
  readonly condition: TargetCondition
}

export type TargetVerdict =
  | ActVerdict
  /** An event or the next poll changes it. */
  | {
      readonly _tag: "Wait"
      readonly condition: TargetCondition
      /** When to look again where no event tells of it: milliseconds since the epoch. */
      readonly again?: number
    }
  /** Only a person changes it. */
  | { readonly _tag: "Stuck"; readonly condition: TargetCondition }
  | { readonly _tag: "Ready"; readonly serviceUID: string; readonly kubeSystemUID: string }

export type NamespaceState =
  | { readonly _tag: "Missing" }
  | { readonly _tag: "Ours" }
  | { readonly _tag: "Terminating" }
  | { readonly _tag: "Foreign"; readonly owner: Option.Option<string> }

export type ProbeState =
  | { readonly _tag: "Unknown" }
  | { readonly _tag: "Answers"; readonly kubeSystemUID: string }
  /** `lastKnown` is set when this kubeconfig has answered before: one missed check is no loss yet. */
  | {
      readonly _tag: "Silent"
      readonly failures: number
      readonly message: string
      readonly lastKnown: Option.Option<string>
    }

/** A resync that has begun and not ended. */
export interface ResyncState {
  readonly serviceUID: string
  readonly podUID: Option.Option<string>
  /** The version of the kubeconfig that was published when it began. */
  readonly source: Option.Option<string>
  /** Milliseconds since the epoch. */
  readonly startedAt: number
}

/** Of the pods that a vCluster has synced: which were left when they were looked at last. */
export interface Workloads {
  /** `<pod> on <node>`. */
  readonly left: ReadonlyArray<string>
  /** Milliseconds since the epoch. */
  readonly lookedAt: number
}

/** How far an instance has come that is to be asleep. */
export interface SleepState {
  /** What ran is written down. */
  readonly noted: boolean
  /** Nothing of it runs any more. */
  readonly asleep: boolean
  readonly workloads: Option.Option<Workloads>
}

/** `statefulset/vcluster`, as far as falling asleep and waking go. */
export interface ScaleState {
  readonly uid: string
  readonly replicas: number
  /** Its controller has seen this, and has no pod left. */
  readonly scaledDown: boolean
  /** It was put to sleep: with how many replicas it is woken. */
  readonly wakesWith: Option.Option<number>
}

export interface TargetObservation {
  /** Milliseconds since the epoch. */
  readonly now: number
  readonly hostNamespace: string
  /** What is left of an instance of this name that was being deleted, in words. */
  readonly predecessor: Option.Option<string>
  readonly namespace: NamespaceState
  /** The host namespace says which storage root its pods may mount. */
  readonly storageRootMarked: boolean
  readonly protectionApplied: boolean
  readonly networkPoliciesApplied: boolean
  readonly workloadsIsolated: boolean
  readonly quotaApplied: boolean
  readonly release: Option.Option<ReleaseState>
  /** The writer of a pending release is known to be gone. */
  readonly writerGone: boolean
  /** Whether the release has ever served: a recorded Service UID or a kubeconfig Secret of the instance. */
  readonly everServed: boolean
  /** What is not as the stored release has it. */
  readonly lostObjects: ReadonlyArray<LostObject>
  /** Why the stored release cannot be read. */
  readonly releaseProblem: Option.Option<string>
  readonly serviceUID: Option.Option<string>
  /** The Service's UID when the platform was last installed: what everything synced is owned by. */
  readonly recordedServiceUID: Option.Option<string>
  /** The UID of pod `vcluster-0`. */
  readonly podUID: Option.Option<string>
  /** It was asked to end and has not ended yet. */
  readonly podEnding: boolean
  /** It is older than the Service: what its process has found as its owner was another one. */
  readonly podPredatesService: boolean
  readonly resync: Option.Option<ResyncState>
  /** After this long a resync that still waits is told as unreachable: three repair intervals. */
  readonly resyncDeadlineMillis: number
  readonly controlPlane: { readonly ready: boolean; readonly message: string }
  /** It is to be asleep, and nothing is at work that ends first. */
  readonly sleep: Option.Option<SleepState>
  readonly scale: Option.Option<ScaleState>
  /** The pods of the control plane: `<pod> on <node>`. */
  readonly controlPlanePods: ReadonlyArray<string>
  /** Owner UID of `vc-vcluster`, when the Secret is there. */
  readonly kubeconfigOwner: Option.Option<string>
  /** A control plane that is ready has not shown its Secret for so long that it was lost. */
  readonly kubeconfigOverdue: boolean
  readonly kubeconfigPublished: boolean
  /** The version of the vCluster's kubeconfig that the published one holds or held. */
  readonly publishedSource: Option.Option<string>
  readonly server: string
  readonly probe: ProbeState
  readonly chartVersion: string
  readonly upgrade: UpgradeState
}

/** Failed checks in a row before a target counts as unreachable. */
export const unreachableAfter = 3

const act = (step: TargetStep, reason: TargetCondition["reason"], message: string): ActVerdict => ({
  _tag: "Act",
  step,
  condition: { reason, message },
})
const wait = (reason: TargetCondition["reason"], message: string): TargetVerdict => ({
  _tag: "Wait",
  condition: { reason, message },
})
const stuck = (reason: TargetCondition["reason"], message: string): TargetVerdict => ({
  _tag: "Stuck",
  condition: { reason, message },
})

const namespaceVerdict = (seen: TargetObservation): TargetVerdict | undefined => {
  switch (seen.namespace._tag) {
    case "Missing":
      return act({ _tag: "CreateNamespace" }, "Creating", `creating host namespace ${seen.hostNamespace}`)
    case "Terminating":
      return wait("Creating", `waiting for the earlier host namespace ${seen.hostNamespace} to be gone`)
    case "Foreign":
      return stuck(
        "TargetError",
        `host namespace: ${foreignNamespace(seen.hostNamespace, seen.namespace.owner)}`,
      )
    case "Ours":
      return undefined
  }
}

/** The Service that owns everything synced is gone after it had existed. */
const ownerLost = (seen: TargetObservation): boolean =>
  Option.isSome(seen.recordedServiceUID) && Option.isNone(seen.serviceUID)

export const described = ({ object, how }: LostObject): string =>
  how === "missing" ? object : `${object} (edited)`

const repairVerdict = (seen: TargetObservation): TargetVerdict | undefined => {
  if (Option.isSome(seen.releaseProblem)) {
    return stuck("TargetError", `read the stored release: ${seen.releaseProblem.value}`)
  }
  return seen.lostObjects.length === 0
    ? undefined
    : act(
        { _tag: "ReapplyRelease", lost: seen.lostObjects },
        ownerLost(seen) ? "Resyncing" : "Repairing",
        `putting back ${seen.lostObjects.map(described).join(", ")} from the stored release`,
      )
}

/** What sets a release right that was left pending or failed: always one step. */
const recoveryVerdict = (
  seen: TargetObservation,
  { status, revision, lastDeployed, lastSuperseded, oldest }: ReleaseState,
): ActVerdict => {
  if (Option.isSome(lastDeployed) && lastDeployed.value < revision) {
    return act(
      { _tag: "RollbackRelease", revision: lastDeployed.value },
      "RolledBack",
      `revision ${revision} of the release was left ${status} and is rolled back to revision ${lastDeployed.value}`,
    )
  }
  // A rollback that fails leaves none deployed, and pushes what was deployed out of the history when it fails often: what is
  // left of it are copies.
  const good = Option.getOrElse(lastSuperseded, () => oldest)
  return seen.everServed
    ? act(
        { _tag: "RollbackRelease", revision: good },
        "RolledBack",
        `revision ${revision} of the release was left ${status} and is rolled back to revision ${good}`,
      )
    : act(
        { _tag: "UninstallRelease" },
        "TargetError",
        `install vcluster ${seen.chartVersion}: the release was left ${status} at revision ${revision}; removed it to install again`,
      )
}

/** One that was put to sleep, and is to be awake. */
const wakeVerdict = ({ scale }: TargetObservation): TargetVerdict | undefined =>
  Option.match(scale, {
    onNone: () => undefined,
    onSome: ({ uid, wakesWith }) =>
      Option.isNone(wakesWith)
        ? undefined
        : act(
            { _tag: "WakeUp", uid, replicas: wakesWith.value },
            "ControlPlanePending",
            "waking the vCluster",
          ),
  })

const releaseVerdict = (seen: TargetObservation): TargetVerdict | undefined => {
  if (Option.isNone(seen.release)) {
    return act({ _tag: "InstallRelease" }, "Creating", `installing vcluster ${seen.chartVersion}`)
  }
  const release = seen.release.value
  const { status, revision } = release
  switch (status) {
    case "deployed":
      return (
        wakeVerdict(seen) ?? upgradeStep(seen, release) ?? upgradeRepair(seen, release, repairVerdict(seen))
      )
    case "uninstalled":
      return act({ _tag: "InstallRelease" }, "Creating", `installing vcluster ${seen.chartVersion}`)
    case "uninstalling":
      return act(
        { _tag: "UninstallRelease" },
        "TargetError",
        "uninstall vcluster: an earlier uninstall was interrupted; removed it to install again",
      )
    default: {
      const recovery = upgradeRecovery(seen, release) ?? recoveryVerdict(seen, release)
      const held = status.startsWith("pending-") && !seen.writerGone
      return held ? { ...recovery, step: { _tag: "CheckWriter", revision, status } } : recovery
    }
  }
}

const gateVerdict = (seen: TargetObservation): TargetVerdict => {
  if (!seen.controlPlane.ready) return wait("ControlPlanePending", seen.controlPlane.message)
  if (Option.isNone(seen.serviceUID)) return wait("ControlPlanePending", "waiting for service/vcluster")
  if (Option.isNone(seen.kubeconfigOwner) || seen.kubeconfigOwner.value !== seen.serviceUID.value) {
    return wait("KubeconfigPending", "waiting for the vCluster to write its kubeconfig Secret vc-vcluster")
  }
  if (!seen.kubeconfigPublished) {
    return act({ _tag: "PublishKubeconfig" }, "KubeconfigPending", "storing the instance's kubeconfig")
  }
  switch (seen.probe._tag) {
    case "Answers":
      return { _tag: "Ready", serviceUID: seen.serviceUID.value, kubeSystemUID: seen.probe.kubeSystemUID }
    case "Unknown":
      return wait("KubeconfigPending", `waiting for the vCluster API at ${seen.server}`)
    case "Silent":
      if (seen.probe.failures >= unreachableAfter) {
        return stuck(
          "TargetUnreachable",
          `the vCluster API at ${seen.server} failed ${seen.probe.failures} checks in a row: ${seen.probe.message}`,
        )
      }
      return Option.isSome(seen.probe.lastKnown)
        ? { _tag: "Ready", serviceUID: seen.serviceUID.value, kubeSystemUID: seen.probe.lastKnown.value }
        : wait("KubeconfigPending", `waiting for the vCluster API at ${seen.server}: ${seen.probe.message}`)
  }
}

/** Begun for the Service that is there now: nothing of it is begun again. */
const resyncOf = (seen: TargetObservation, serviceUID: string): ResyncState | undefined => {
  const resync = Option.getOrUndefined(seen.resync)
  return resync?.serviceUID === serviceUID ? resync : undefined
}

/**
 * What was lost by evidence: the owner Service has another UID than the recorded one, or the vCluster's kubeconfig
 * Secret is gone although it had been there and its control plane runs. Either way only a restart of the control plane
 * writes the Secret again (a vCluster writes it once a process start).
 */
const resyncVerdict = (seen: TargetObservation): TargetVerdict | undefined => {
  const serviceUID = Option.getOrUndefined(seen.serviceUID)
  if (serviceUID === undefined) return undefined
  const running = resyncOf(seen, serviceUID)
  const begin: TargetStep = { _tag: "BeginResync", serviceUID, podUID: seen.podUID }
  const secretMissing = seen.controlPlane.ready && !Option.contains(seen.kubeconfigOwner, serviceUID)
  if (running !== undefined) {
    const old = Option.getOrUndefined(running.podUID)
    if (old === undefined || !Option.contains(seen.podUID, old)) {
      // What the restart has written was published, and is gone: nothing but another restart writes it again.
      const lostAgain =
        secretMissing &&
        Option.isSome(seen.publishedSource) &&
        !Equal.equals(seen.publishedSource, running.source)
      return lostAgain
        ? act(begin, "Resyncing", "the vCluster's kubeconfig Secret vc-vcluster was lost again")
        : undefined
    }
    return seen.podEnding
      ? wait("Resyncing", "waiting for the old control plane pod to end")
      : act(
          { _tag: "RestartControlPlane", podUID: old },
          "Resyncing",
          "restarting the vCluster control plane",
        )
  }
  if (Option.isSome(seen.recordedServiceUID) && seen.recordedServiceUID.value !== serviceUID) {
    return act(begin, "Resyncing", "service/vcluster was replaced; what it owned was collected")
  }
  if (secretMissing && seen.podPredatesService) {
    return act(begin, "Resyncing", "service/vcluster was replaced before it had ever served")
  }
  return secretMissing && (seen.everServed || seen.kubeconfigOverdue)
    ? act(
        begin,
        "KubeconfigMissing",
        "the vCluster's kubeconfig Secret vc-vcluster was lost; a resync writes it again",
      )
    : undefined
}

/** Where a resync waits, in the resync's words; too long a wait is told as unreachable. */
const duringResync = (seen: TargetObservation, gate: TargetVerdict): TargetVerdict => {
  const resync = Option.getOrUndefined(seen.resync)
  if (resync === undefined || gate._tag === "Ready") return gate
  const { message } = gate.condition
  return gate._tag === "Wait" && seen.now - resync.startedAt > seen.resyncDeadlineMillis
    ? stuck("TargetUnreachable", `the resync has waited for more than three repair intervals: ${message}`)
    : { ...gate, condition: { reason: "Resyncing", message } }
}

/**
 * The same target without what its vCluster answers without: how it is to be judged where these steps may not be taken.
 */
export const passingOver = (
  seen: TargetObservation,
  may: (step: TargetStep["_tag"]) => boolean,
): TargetObservation => ({
  ...seen,
  storageRootMarked: seen.storageRootMarked || !may("MarkNamespace"),
  protectionApplied: seen.protectionApplied || !may("ApplyProtection"),
  networkPoliciesApplied: seen.networkPoliciesApplied || !may("ApplyNetworkPolicies"),
  workloadsIsolated: seen.workloadsIsolated || !may("IsolateWorkloads"),
  quotaApplied: seen.quotaApplied || !may("ApplyQuota"),
  lostObjects: may("ReapplyRelease") ? seen.lostObjects : seen.lostObjects.filter(({ vital }) => vital),
  kubeconfigPublished: seen.kubeconfigPublished || (seen.everServed && !may("PublishKubeconfig")),
  upgrade: {
    ...seen.upgrade,
    due: seen.upgrade.due && may("BeginUpgrade"),
    begun: may("UpgradeRelease") ? seen.upgrade.begun : Option.none(),
  },
})

/** A few of them by name. */
const some = (pods: ReadonlyArray<string>): string =>
  pods.length <= 5 ? pods.join(", ") : `${pods.slice(0, 5).join(", ")} and ${pods.length - 5} more`

/** Deleted pods take their time to end, and nobody watches those of tenants. */
const workloadsAgainMillis = 2_000

const takingDown = (step: SleepStep, what: string): ActVerdict =>
  act(step, "ControlPlanePending", `falling asleep: ${what}`)

const falling = (what: string): Extract<TargetVerdict, { readonly _tag: "Wait" }> => ({
  _tag: "Wait",
  condition: { reason: "ControlPlanePending", message: `falling asleep: ${what}` },
})

/**
 * The control plane first, and what it has synced once it is gone: a vCluster that sees its pods being deleted deletes them
 * inside, too. A host namespace that is not there, or not this instance's, has nothing to be taken down.
 */
const sleepVerdict = (seen: TargetObservation, sleep: SleepState): TargetVerdict => {
  const ours = seen.namespace._tag === "Ours"
  if (ours && !seen.protectionApplied) {
    return act({ _tag: "ApplyProtection" }, "Creating", "protecting service/vcluster by an admission policy")
  }
  const scale = ours ? Option.getOrUndefined(seen.scale) : undefined
  const runs = scale !== undefined && scale.replicas > 0
  // Also one that was this instance's when what ran was written down.
  const elsewhere = !ours && !sleep.asleep
  if (!sleep.noted || elsewhere || (runs && sleep.asleep)) {
    return takingDown({ _tag: "BeginSleep", ours }, "writing down what runs")
  }
  if (runs) {
    return takingDown({ _tag: "ScaleDown", uid: scale.uid, replicas: scale.replicas }, "ending the vCluster")
  }
  if (sleep.asleep) return wait("ControlPlanePending", "waking the vCluster")
  if (seen.controlPlanePods.length > 0) {
    return falling(`waiting for ${seen.controlPlanePods.join(", ")} to end`)
  }
  if (scale !== undefined && !scale.scaledDown) {
    return falling("waiting for statefulset/vcluster to be scaled to 0 replicas")
  }
  const { left, lookedAt } = Option.getOrElse(
    sleep.workloads,
    (): Workloads => ({ left: [], lookedAt: Number.NEGATIVE_INFINITY }),
  )
  const again = lookedAt + workloadsAgainMillis
  if (again > seen.now && lookedAt <= seen.now) {
    return { ...falling(`waiting for ${some(left)} to end`), again }
  }
  return takingDown({ _tag: "EndWorkloads" }, "ending what runs inside")
}

/** The verdict over one observation. */
export const judgeTarget = (seen: TargetObservation): TargetVerdict => {
  if (Option.isSome(seen.sleep)) return sleepVerdict(seen, seen.sleep.value)
  if (Option.isSome(seen.predecessor)) {
    return act({ _tag: "FinishPredecessor" }, "Creating", seen.predecessor.value)
  }
  const namespace = namespaceVerdict(seen)
  if (namespace !== undefined) return namespace
  if (!seen.storageRootMarked) {
    return act({ _tag: "MarkNamespace" }, "Creating", "writing the storage root on the host namespace")
  }
  if (!seen.protectionApplied) {
    return act({ _tag: "ApplyProtection" }, "Creating", "protecting service/vcluster by an admission policy")
  }
  if (!seen.networkPoliciesApplied) {
    return act({ _tag: "ApplyNetworkPolicies" }, "Creating", "applying the host namespace's network policies")
  }
  if (!seen.workloadsIsolated) {
    return act({ _tag: "IsolateWorkloads" }, "Creating", "applying the network policies of workloads")
  }
  if (!seen.quotaApplied) {
    return act({ _tag: "ApplyQuota" }, "Creating", "applying the quota of the host namespace")
  }
  const release = releaseVerdict(seen)
  if (release !== undefined) return release
  return upgradeVerdict(seen, duringResync(seen, resyncVerdict(seen) ?? gateVerdict(seen)), unreachableAfter)
}
