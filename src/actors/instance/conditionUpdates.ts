// What the conditions say: facts turned into updates. Conditions keep what the last finished operation proved.
import { Option } from "effect"
import { type ConditionUpdate, targetFailureReasons } from "../../schema/Conditions.ts"
import type { InstanceRecord } from "../../services/StateStore/StateStore.ts"
import type { DeletionReport, Facts, InstallFailure } from "./Facts.ts"

type Installed = NonNullable<InstanceRecord["installed"]>

export const isTargetFailure = ({ reason }: { readonly reason: string }): boolean =>
  targetFailureReasons.some((each) => each === reason)

const counted = (count: number, what: string): string => `${count} ${what}${count === 1 ? "" : "s"}`

const appliedMessage = (installed: Installed): string =>
  `generation ${installed.generation}: ${counted(installed.tenants, "tenant")}, ${counted(installed.users, "user")}, ${
    installed.issuer === undefined || installed.issuer === ""
      ? "no tenant auth issuer"
      : `issuer ${installed.issuer}`
  }`

/** The control plane was restarted for what was lost, or is another one, and the platform is not installed again yet. */
export const isResyncing = (facts: Facts): boolean =>
  Option.exists(facts.record, ({ resync, anew }) => resync !== undefined || anew !== undefined)

const ready = (
  status: "True" | "False",
  message: string,
  observedGeneration: number,
): ReadonlyArray<ConditionUpdate> => [
  status === "True"
    ? { type: "Ready", status, reason: "Ready", message, observedGeneration }
    : { type: "Ready", status, reason: "Installing", message, observedGeneration },
]

/** What the last successful operation proved, whether or not anybody has been told: it stands until the next one. */
const proved = (
  facts: Facts,
): {
  readonly installed: ReadonlyArray<ConditionUpdate>
  readonly applied: ReadonlyArray<ConditionUpdate>
} => {
  const installed = Option.getOrUndefined(facts.record)?.installed
  if (installed === undefined) return { installed: [], applied: [] }
  const { version, reason, generation: observedGeneration } = installed
  const message = `version ${version} is installed`
  return {
    installed: [{ type: "Installed", status: "True", reason, message, observedGeneration }],
    applied: [
      {
        type: "ConfigApplied",
        status: "True",
        reason: "Applied",
        message: appliedMessage(installed),
        observedGeneration,
      },
    ],
  }
}

const failureUpdates = (
  { reason, message, generation: observedGeneration }: InstallFailure,
  applied: ReadonlyArray<ConditionUpdate>,
): ReadonlyArray<ConditionUpdate> => {
  const stopped = reason === "TenantAuthSecretUnavailable" || reason === "TenantHostImageUnsupported"
  return [
    { type: "Installed", status: "False", reason, message, observedGeneration },
    ...(stopped
      ? [{ type: "ConfigApplied", status: "False", reason, message, observedGeneration } as const]
      : applied),
    { type: "Ready", status: "False", reason, message, observedGeneration },
  ]
}

/** What the conditions about the install say now, `Ready` included, when the target is ready. */
const installUpdates = (facts: Facts): ReadonlyArray<ConditionUpdate> => {
  const running = Option.getOrUndefined(facts.running)
  const install = running?._tag === "Install" ? running : undefined
  const { installed, applied } = proved(facts)
  const standing = Option.isSome(facts.failure) ? [] : [...installed, ...applied]
  // Until a resync's install has put back what was lost, the instance is not usable.
  if (isResyncing(facts) && (install !== undefined || Option.isNone(facts.failure))) {
    const message = Option.exists(facts.record, ({ anew }) => anew !== undefined)
      ? "installing the platform anew: the state of the one before is not to be used"
      : "installing again what was lost with service/vcluster or its kubeconfig"
    return [...standing, ...ready("False", message, facts.generation)]
  }
  // One over the same version changes nothing before it has ended: what the last one proved stands meanwhile.
  if (install !== undefined && install.over !== "sameVersion") {
    const message =
      install.progress.stage === "waiting"
        ? `version ${install.version} waits for its turn: other instances are being installed or repaired`
        : `installing version ${install.version}`
    return [...standing, ...ready("False", message, install.generation)]
  }
  if (Option.isSome(facts.failure)) return failureUpdates(facts.failure.value, applied)
  const record = Option.getOrUndefined(facts.record)?.installed
  // Without a Ready condition a generic client takes an object for done.
  if (record === undefined) return ready("False", "the platform is to be installed", facts.generation)
  const next = Option.getOrUndefined(facts.outstanding)
  if (next?.over === "otherVersion") {
    return [...standing, ...ready("False", `version ${next.version} is to be installed`, facts.generation)]
  }
  const message = [...Option.toArray(facts.upgradeWaits), `version ${record.version} is ready`].join("; ")
  return [...standing, ...ready("True", message, record.generation)]
}

/**
 * What the last operation came to, when the target is not ready: one may have ended just before it went, as where an instance is
 * put to sleep during an install.
 */
const ended = (facts: Facts): ReadonlyArray<ConditionUpdate> => {
  const { installed, applied } = proved(facts)
  return Option.match(facts.failure, {
    onNone: () => [...installed, ...applied],
    onSome: (failure) => failureUpdates(failure, applied).filter(({ type }) => type !== "Ready"),
  })
}

const targetUpdates = (facts: Facts): ReadonlyArray<ConditionUpdate> => {
  const observedGeneration = facts.generation
  if (Option.isNone(facts.targetNotReady)) {
    return [
      {
        type: "TargetReady",
        status: "True",
        reason: "Ready",
        message: "the target cluster answers",
        observedGeneration,
      },
      ...installUpdates(facts),
    ]
  }
  const { reason, message } = facts.targetNotReady.value
  const failed = targetFailureReasons.find((each) => each === reason)
  return [
    { type: "TargetReady", status: "False", reason, message, observedGeneration },
    ...ended(facts),
    failed === undefined
      ? {
          type: "Ready",
          status: "False",
          reason: "TargetPending",
          message: "waiting for the target cluster",
          observedGeneration,
        }
      : { type: "Ready", status: "False", reason: failed, message, observedGeneration },
  ]
}

const deletionUpdates = (
  report: DeletionReport,
  observedGeneration: number,
): ReadonlyArray<ConditionUpdate> => {
  switch (report._tag) {
    case "Working":
      return [
        {
          type: "Ready",
          status: "False",
          reason: "TargetPending",
          message: report.message,
          observedGeneration,
        },
      ]
    case "WaitingForCleanup":
      return [
        {
          type: "Ready",
          status: "False",
          reason: "WaitingForStorageCleanup",
          message: report.message,
          observedGeneration,
        },
      ]
    case "Failed": {
      const { reason, message } = report
      return [
        reason === "TargetDeleteFailed"
          ? { type: "TargetReady", status: "False", reason, message, observedGeneration }
          : { type: "Installed", status: "False", reason, message, observedGeneration },
        { type: "Ready", status: "False", reason, message, observedGeneration },
      ]
    }
  }
}

/** Of a step that does not begin yet. */
const isStep = (update: ConditionUpdate): boolean =>
  update.reason === "TargetPending" ||
  (update.type === "TargetReady" && update.status === "False" && !isTargetFailure(update))

/** `Ready` says why nothing begins; and so does what fails, because it has the same message as `Ready`. */
const withHold = (
  held: Option.Option<string>,
  updates: ReadonlyArray<ConditionUpdate>,
): ReadonlyArray<ConditionUpdate> =>
  Option.match(held, {
    onNone: () => updates,
    onSome: (words) =>
      updates.map((update) =>
        update.type === "Ready" || update.status === "False"
          ? { ...update, message: `${words}; ${isStep(update) ? "then " : ""}${update.message}` }
          : update,
      ),
  })

export const conditionUpdates = (facts: Facts): ReadonlyArray<ConditionUpdate> => {
  const observedGeneration = facts.generation
  const protection: ReadonlyArray<ConditionUpdate> = Option.match(facts.protection, {
    onNone: () => [],
    onSome: ({ installed, message }) => [
      installed
        ? {
            type: "OwnerServiceProtected",
            status: "True",
            reason: "AdmissionPolicyInstalled",
            message,
            observedGeneration,
          }
        : {
            type: "OwnerServiceProtected",
            status: "False",
            reason: "AdmissionPolicyUnavailable",
            message,
            observedGeneration,
          },
    ],
  })
  if (Option.isSome(facts.deletion)) return deletionUpdates(facts.deletion.value, observedGeneration)
  if (!facts.begun) {
    const message = "waiting for the target cluster"
    return [{ type: "Ready", status: "False", reason: "TargetPending", message, observedGeneration }]
  }
  return [...withHold(facts.held, targetUpdates(facts)), ...protection]
}
