// The planner: one pure, total function from what is known to what is done next. The order of the cases is the
// order of precedence; what cannot be done yet is not in the union.
import { Option } from "effect"
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
  readonly installed: Option.Option<Installed>
  /** The last install or repair failed, and nothing has succeeded since. */
  readonly lastInstallFailed: boolean
  /** No target step or install starts before this time, after a failure. */
  readonly retryAt: Option.Option<number>
  readonly targetPollMillis: number
  readonly repairIntervalMillis: number
}

const wait = (...wakes: ReadonlyArray<Wake>): Decision => ({ _tag: "Wait", wakes })

/** What an install would run for now, if anything. */
export const installDue = (input: PlanInput): Option.Option<InstallReason> => {
  if (input.lastInstallFailed) return Option.some("Retry")
  if (Option.isNone(input.installed)) return Option.some("FirstInstall")
  const { version, generation, finishedAt } = input.installed.value
  if (version !== input.version) return Option.some("VersionChanged")
  if (generation !== input.generation) return Option.some("SpecChanged")
  return repairAt(finishedAt, input) <= input.now ? Option.some("RepairDue") : Option.none()
}

/** A time in the future (a clock that was set back, a restored status) counts as due now. */
const repairAt = (finishedAt: number, input: PlanInput): number =>
  finishedAt > input.now ? input.now : finishedAt + input.repairIntervalMillis

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
    retryAt > input.now ? wait(retry) : { _tag: "TargetStep", step }

  if (running !== undefined) {
    if (running._tag !== "Install" || input.target._tag === "Ready") return wait(poll)
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
  return { _tag: "Install", reason: due.value, refresh: due.value === "Retry" || due.value === "RepairDue" }
}
