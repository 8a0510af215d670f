// What each reason of a condition means. The types are those of src/schema/Conditions.ts: a reason without words, or
// words without a reason, do not compile.
import {
  type ConditionType,
  conditionTypes,
  type EventReason,
  type InstallFailureReason,
  type InstallReason,
  type ReadyWaitingReason,
  reasons,
  type TargetFailureReason,
  type TargetWaitingReason,
} from "../../src/schema/Conditions.ts"
import { code, table } from "./Markdown.ts"

export const trueWhen: Record<ConditionType, string> = {
  TargetReady: "the vCluster answers with the kubeconfig the operator holds",
  Installed: "`spec.version` is installed",
  ConfigApplied:
    "an install has applied the platform settings of the generation in `status.applied.generation`",
  Ready:
    "the instance can be used, at `status.installedVersion`. That is `spec.version` once `status.observedGeneration` is `metadata.generation`: while a change waits for the end of a pause or for a window, `spec.version` may be another one",
  OwnerServiceProtected: "the admission policy that guards `service/vcluster` is in place",
}

const targetFalse: Record<TargetWaitingReason | TargetFailureReason, string> = {
  Creating: "First steps: namespace, policies, or a vCluster release that is being installed.",
  ControlPlanePending: "`statefulset/vcluster` is not ready; the message has the pod's own words.",
  KubeconfigPending:
    "The vCluster has not written its kubeconfig Secret `vc-vcluster` yet, or has not answered yet.",
  KubeconfigMissing: "`vc-vcluster` was there and is gone; a resync begins, which writes it again.",
  Repairing: "An object of the release is missing or edited and is put back from the stored release.",
  RolledBack: "An interrupted or failed change of the release is taken back to the last deployed revision.",
  Resyncing: "A resync: the control plane is started again and writes its objects to the host.",
  TargetUnreachable: "Three checks of the API in a row failed; the message names its address.",
  TargetError:
    "A step towards the target failed; the message names step and error. Tried again with a backoff.",
  TargetDeleteFailed: "While deleting: uninstalling the release or deleting the host namespace failed.",
}

const installedTrue: Record<InstallReason, string> = {
  FirstInstall: "Nothing was installed before.",
  VersionChanged: "`spec.version` was changed.",
  SpecChanged: "Something else in `spec` was changed, or the instance took over what a retained one left.",
  Retry: "The install or repair before it had failed.",
  RepairDue: "A repair interval had passed.",
  Resync: "The platform was installed again after a resync.",
}

const installedFalse: Record<InstallFailureReason, string> = {
  InstallFailed: "An install or repair came to nothing; the message has its step, version and error.",
  TenantAuthSecretUnavailable:
    "The Secret or key of `tenantAuth.clientSecretRef` is missing, empty or cannot be read.",
  TenantHostImageUnsupported:
    "`tenantHostImage` is empty, and there is no default image that this version of the package approves. Nothing was applied.",
  InvalidStorageRoot: "The custom `storageRoot` is one a cleanup could reach. Nothing was applied.",
  UninstallFailed: "While deleting: dropping the install state, or releasing the finalizer, failed.",
  StorageCleanupFailed:
    "While deleting: the default storage root could not be removed; the message names the path.",
}

const readyFalse: Record<ReadyWaitingReason, string> = {
  TargetPending: "The target is not there yet, or is being taken away.",
  Installing: "A first install or an upgrade is running, or about to. The reason is this operator's own.",
  WaitingForStorageCleanup:
    "While deleting: cleanup Jobs or pods, named in the message, have to be gone first.",
}

export const meanings: Record<ConditionType, Record<"True" | "False", Readonly<Record<string, string>>>> = {
  TargetReady: { True: { Ready: "The target answers." }, False: targetFalse },
  Installed: { True: installedTrue, False: installedFalse },
  ConfigApplied: {
    True: { Applied: "The message has the generation, the numbers of tenants and users, and the issuer." },
    False: {
      TenantAuthSecretUnavailable: "As on `Installed`.",
      TenantHostImageUnsupported: "As on `Installed`.",
    },
  },
  Ready: { True: { Ready: "The instance can be used." }, False: readyFalse },
  OwnerServiceProtected: {
    True: { AdmissionPolicyInstalled: "Deleting `service/vcluster` is denied." },
    False: {
      AdmissionPolicyUnavailable: "The API server has no admission policies; nothing guards the Service.",
    },
  },
}

type Told = readonly [type: "Normal" | "Warning", when: string]

/** When an Event of each reason is written. */
const events: Record<EventReason, Told> = {
  AnnotationInvalid: [
    "Warning",
    "An annotation has a value that it does not take; the note names it, what counts instead and the way out.",
  ],
  Paused: ["Normal", "The instance is paused by its annotation."],
  Resumed: ["Normal", "It is paused no longer; the note says for how long it was."],
  Asleep: [
    "Normal",
    "The instance is asleep by its annotation: the note says how many pods are gone, what memory they had asked for, and which of them nothing inside makes anew.",
  ],
  Waking: ["Normal", "It is woken; the note says for how long it was asleep."],
  Planned: [
    "Normal",
    "A plan was made; the note has how much would be made, changed, replaced and deleted, and the names of what would be replaced or deleted.",
  ],
  PlanFailed: ["Warning", "A plan could not be made; the note says why, and it is tried again."],
  DriftFound: [
    "Warning",
    "Where repairs look and do nothing, objects inside the instance are not as they should be; the note says how many of which kind, and names what would be replaced, deleted or put back.",
  ],
  DriftGone: ["Normal", "What was told to differ does not any more."],
  VclusterUpgraded: ["Normal", "The vCluster has the operator's chart now; the note has both versions."],
  VclusterNotUpgraded: [
    "Warning",
    "The vCluster keeps the chart it had, or is rolled back to it; the note says why.",
  ],
  ApprovalPending: ["Normal", "A change waits for approval; the note says which, and why."],
  FirstInstall: ["Normal", "The first install has succeeded; the note has the version."],
  VersionChanged: ["Normal", "An install of another version has succeeded."],
  SpecChanged: [
    "Normal",
    "An install of other settings has succeeded; the note says whether anything of the platform had to change.",
  ],
  Retry: ["Normal", "An install has succeeded after one that had failed."],
  Resync: ["Normal", "The install that ends a resync has succeeded."],
  Repaired: [
    "Normal",
    "Objects inside the instance were missing or edited and are set right; the note names them. A repair that finds nothing to do writes no Event.",
  ],
  NotRepaired: [
    "Warning",
    "A repair has left an object of a Helm release inside the instance as it is, because the API server there refuses what the release says of it; the note names it and the fields.",
  ],
  Recovered: [
    "Normal",
    "An operation has set something right: a dead holder's lock, or a Helm release inside the instance that was left half-way; the note says what.",
  ],
  Adopted: [
    "Normal",
    "A retained instance of this name was picked up: its vCluster, state and storage root.",
  ],
  LeftBehind: [
    "Normal",
    "What stays although the instance is deleted: a custom storage root, one that was to be skipped, that of an instance switched to `Retain` half-way, and what is somebody else's.",
  ],
  InstallFailed: [
    "Warning",
    "An install or repair has failed, or the instance's spec or record cannot be read.",
  ],
  TenantAuthSecretUnavailable: ["Warning", "An install has failed with this reason of the condition."],
  TenantHostImageUnsupported: ["Warning", "An install has failed with this reason of the condition."],
  InvalidStorageRoot: ["Warning", "An install has failed with this reason of the condition."],
  TargetError: ["Warning", "A step towards the target has failed; the note names it."],
  TargetUnreachable: ["Warning", "The API of the vCluster has begun not to answer."],
  TargetDeleteFailed: ["Warning", "A deletion has begun to fail at the target."],
  UninstallFailed: ["Warning", "A deletion has begun to fail at the install state or the finalizer."],
  StorageCleanupFailed: ["Warning", "A deletion has begun to fail at the storage root."],
  AdmissionPolicyUnavailable: ["Warning", "The API server has no admission policies."],
  DnsUnavailable: [
    "Warning",
    "The DNS inside a Ready instance has had no ready pod for three checks in a row; no condition says so.",
  ],
  StatusCorrected: [
    "Warning",
    "When the operator first looked, the status said something else than the record, which stands. After a restore it tells what that has brought back; after a crash at the wrong moment it is harmless.",
  ],
  StateOlder: [
    "Warning",
    "The state directory is older than what the instance has shown, as after a restore: the next operation refreshes before it changes anything.",
  ],
  ClusterReplaced: [
    "Warning",
    "The vCluster is another cluster than the platform was installed into: it is installed anew, and the state of the old one is kept; or a state that was kept is back with its cluster.",
  ],
  DiskLow: [
    "Warning",
    "The volume of the state directory is nearly full: below the free space in the note no operation starts.",
  ],
  StorageRootKept: [
    "Warning",
    "Once a start of the operator: the storage root stays under the `--storage-root-base` of its first install, though the operator has another one now.",
  ],
  InternalError: [
    "Warning",
    "A defect of the operator met this instance; it is tried again, and the operator's log has the details. From the third in a row on, `TargetReady` and `Ready` say so too, as `TargetError`.",
  ],
}

/** Where a reason has its section, below docs/; a test looks whether it is there. */
const sectionOf = (reason: string): string => `[${code(reason)}](reasons.md#${reason.toLowerCase()})`

export const eventTable = (): string =>
  table(
    ["Type", "Reason", "When"],
    Object.entries(events).map(([reason, [type, when]]) => [type, sectionOf(reason), when]),
  )

/** A failure is told under its own condition, and once more on `Ready`. */
const shared = (type: ConditionType, reason: string): boolean =>
  type === "Ready" && (reason in targetFalse || reason in installedFalse)

const rows = conditionTypes.flatMap((type) =>
  (["True", "False"] as const).flatMap((status) =>
    reasons[type][status]
      .filter((reason) => !shared(type, reason))
      .map((reason) => {
        const meaning = meanings[type][status][reason]
        if (meaning === undefined) throw new Error(`no words for ${type}=${status} ${reason}`)
        return [code(type), status, sectionOf(reason), meaning]
      }),
  ),
)

export const conditionTable = (): string =>
  table(
    ["Condition", "True when"],
    conditionTypes.map((type) => [code(type), trueWhen[type]]),
  )

/** Every reason once, with the conditions and Events that say it. */
export const reasonIndex = (): string => {
  const said = new Map<string, Array<string>>()
  const say = (reason: string, where: string) => said.set(reason, [...(said.get(reason) ?? []), where])
  for (const type of conditionTypes) {
    for (const status of ["True", "False"] as const) {
      for (const reason of reasons[type][status]) say(reason, code(`${type}=${status}`))
    }
  }
  for (const [reason, [type]] of Object.entries(events)) say(reason, `Event, ${type}`)
  return table(
    ["Reason", "Said by"],
    [...said]
      .toSorted(([one], [other]) => (one < other ? -1 : 1))
      .map(([reason, where]) => [sectionOf(reason), where.join(", ")]),
  )
}

export const reasonTable = (): string =>
  table(
    ["Condition", "Status", "Reason", "Meaning"],
    [
      ...rows,
      [
        code("Ready"),
        "False",
        "any failure of `TargetReady` or `Installed`",
        "With the same message as there.",
      ],
    ],
  )
