// The planner: one pure, total function from what is known to what is done next. The order of the cases is the
// order of precedence; what cannot be done yet is not in the union.
import { Equal, Option } from "effect"
import type { InstallReason } from "../../schema/Conditions.ts"
import type { Decision, Wake } from "./Decision.ts"
import type { Operation } from "./Operation.ts"
import { isInline, type TargetStep, type TargetVerdict } from "./target/TargetState.ts"

export interface Installed {
  readonly version: string
  readonly generation: number
  /** Milliseconds since the epoch: when the last install or repair ended. */
  readonly finishedAt: number
}

export interface PlanInput {
  /** Milliseconds since the epoch. */
  readonly now: number
  readonly deleting: boolean
  readonly hasFinalizer: boolean
  readonly version: string
  readonly generation: number
  readonly target: TargetVerdict
  readonly running: Option.Option<Operation>
  /** What the spec of this generation renders to. */
  readonly config: ReadonlyMap<string, string>
  /** When this generation was first seen: milliseconds since the epoch. */
  readonly editedAt: number
  /** The last operation was interrupted for a newer generation, and none has ended since. */
  readonly superseded: boolean
  readonly installed: Option.Option<Installed>
  /** The control plane was restarted for a lost Service or Secret, and the platform not installed again since. */
  readonly resyncPending: boolean
  /** The last install or repair failed, and nothing has succeeded since. */
  readonly lastInstallFailed: boolean
  /** After a failure nothing starts before this time, but that a failed install keeps no target step waiting. */
  readonly retryAt: Option.Option<number>
  /** Whose failure that was. */
  readonly retryOf: "Target" | "Install" | "Uninstall"
  readonly targetPollMillis: number
  readonly repairIntervalMillis: number
}

const wait = (...wakes: ReadonlyArray<Wake>): Decision => ({ _tag: "Wait", wakes })

/** What an install would run for now, if anything. */
export const installDue = (input: PlanInput): Option.Option<InstallReason> => {
  if (input.resyncPending) return Option.some("Resync")
  if (input.lastInstallFailed) return Option.some("Retry")
  if (Option.isNone(input.installed)) return Option.some("FirstInstall")
  const { version, generation, finishedAt } = input.installed.value
  if (version !== input.version) return Option.some("VersionChanged")
  if (generation !== input.generation) return Option.some("SpecChanged")
  return repairAt(finishedAt, input) <= input.now ? Option.some("RepairDue") : Option.none()
}

/** What looks at the target before it changes it: something may be there that the state does not know, or gone. */
const refreshes: ReadonlySet<InstallReason> = new Set(["Retry", "RepairDue", "Resync"])

/** A time in the future (a clock that was set back, a restored status) counts as due now. */
const repairAt = (finishedAt: number, input: PlanInput): number =>
  finishedAt > input.now ? input.now : finishedAt + input.repairIntervalMillis

/** How long a spec has to stay as it is before it interrupts an operation. */
const quietMillis = 2_000

/** One that fails, or installs another version, is not waited out; any other runs to its end. */
const outdated = (running: Extract<Operation, { readonly _tag: "Install" }>, input: PlanInput): boolean =>
  input.generation > running.generation &&
  !running.superseding &&
  (running.version !== input.version || running.reason === "Retry") &&
  !(running.version === input.version && Equal.equals(running.config, input.config))

/** Whoever mends a broken spec does not wait out the broken one's timeout; a stream of edits starves no install. */
const supersede = (
  running: Extract<Operation, { readonly _tag: "Install" }>,
  input: PlanInput,
  poll: Wake,
): Decision => {
  if (!outdated(running, input)) return wait(poll)
  const quietAt = input.editedAt + quietMillis
  return quietAt > input.now
    ? wait({ timer: "retry", at: quietAt }, poll)
    : { _tag: "CancelOperation", because: "a newer generation takes its place" }
}

export const plan = (input: PlanInput): Decision => {
  const running = Option.getOrUndefined(input.running)
  if (input.deleting) {
    return running !== undefined && running._tag !== "Uninstall"
      ? { _tag: "CancelOperation", because: "the instance is being deleted" }
      : { _tag: "Delete" }
  }
  if (!input.hasFinalizer) return { _tag: "AddFinalizer" }

  const poll: Wake = { timer: "poll", at: input.now + input.targetPollMillis }
  const retryAt = Option.getOrElse(input.retryAt, () => input.now)
  const retry: Wake = { timer: "retry", at: retryAt }
  const targetStep = (step: TargetStep): Decision =>
    retryAt > input.now && input.retryOf === "Target" ? wait(retry) : { _tag: "TargetStep", step }

  if (running !== undefined) {
    if (running._tag !== "Install") return wait(poll)
    if (input.target._tag === "Ready") return supersede(running, input, poll)
    // What a pass mends by itself, such as an edited policy, is no reason to give up a healthy operation.
    return input.target._tag === "Act" && isInline(input.target.step)
      ? targetStep(input.target.step)
      : { _tag: "CancelOperation", because: "the target was lost" }
  }
  if (input.target._tag === "Act") return targetStep(input.target.step)
  if (input.target._tag !== "Ready") return wait(poll)

  const due = installDue(input)
  if (Option.isNone(due)) {
    const finishedAt = Option.match(input.installed, { onNone: () => input.now, onSome: (i) => i.finishedAt })
    return wait({ timer: "repair", at: repairAt(finishedAt, input) })
  }
  if (retryAt > input.now) return wait(retry)
  return { _tag: "Install", reason: due.value, refresh: refreshes.has(due.value) || input.superseded }
}
