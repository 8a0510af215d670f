// The planner: one pure, total function from what is known to what is done next. The order of the cases is the
// order of precedence; what cannot be done yet is not in the union.
import { Equal, Option } from "effect"
import type { InstallReason } from "../../schema/Conditions.ts"
import type { Decision, Detecting, Planning, Wake } from "./Decision.ts"
import { type Closed, isHeld, type Rules, whyNot } from "./gate.ts"
import type { InstallOperation, Operation, PlanOperation, Urgency } from "./Operation.ts"
import { canWait, harmless, type TargetStep, type TargetVerdict } from "./target/TargetState.ts"

export interface Installed {
  readonly version: string
  readonly generation: number
  /** Milliseconds since the epoch: when the last install or repair ended. */
  readonly finishedAt: number
  /** The share of the repair interval by which the next repair comes early: 0 to 0.05, drawn when the last one ended. */
  readonly early: number
}

export interface PlanInput {
  /** Milliseconds since the epoch. */
  readonly now: number
  readonly deleting: boolean
  readonly hasFinalizer: boolean
  readonly version: string
  readonly generation: number
  readonly target: TargetVerdict
  /** What may begin now. */
  readonly rules: Rules
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
  /** The preview that is to be made. */
  readonly planning: Option.Option<Planning>
  /** Repairs look, and do nothing. */
  readonly detecting: Option.Option<Detecting>
  /** How an install would ask for its permit now. */
  readonly urgency: Urgency
  readonly targetPollMillis: number
  readonly repairIntervalMillis: number
  /** Since when the target has been seen ready: milliseconds since the epoch. */
  readonly readySince: number
}

const wait = (...wakes: ReadonlyArray<Wake>): Decision => ({ _tag: "Wait", wakes })
const hold = (closed: Closed, ...wakes: ReadonlyArray<Wake>): Decision => ({ _tag: "Hold", closed, wakes })

/** What an install would run for now, if anything. */
export const installDue = (input: PlanInput): Option.Option<InstallReason> => {
  if (input.resyncPending) return Option.some("Resync")
  if (input.lastInstallFailed) return Option.some("Retry")
  if (Option.isNone(input.installed)) return Option.some("FirstInstall")
  const { version, generation } = input.installed.value
  if (version !== input.version) return Option.some("VersionChanged")
  if (generation !== input.generation) return Option.some("SpecChanged")
  if (Option.isSome(input.detecting)) return Option.none()
  return repairAt(input.installed.value, input) <= input.now ? Option.some("RepairDue") : Option.none()
}

/** What looks at the target before it changes it: something may be there that the state does not know, or gone. */
const refreshes: ReadonlySet<InstallReason> = new Set(["Retry", "RepairDue", "Resync"])

/** A time in the future (a clock that was set back, a restored record) counts as due now. */
const repairAt = ({ finishedAt, early }: Installed, input: PlanInput): number => {
  const share = input.repairIntervalMillis * early
  const due = finishedAt > input.now ? input.now : finishedAt + input.repairIntervalMillis - share
  // After an outage many are overdue at once: each waits for its own share once its target is there again.
  return Math.max(due, input.readySince + share)
}

/** When a repair is due, or a look where repairs do nothing: an interval after the last of either. */
const nextAt = (installed: Installed, input: PlanInput): number =>
  Option.match(input.detecting, {
    onNone: () => repairAt(installed, input),
    onSome: ({ lookedAt, at }) => {
      // A look sets no record right: once there was one, a record in the future says nothing.
      const isRecordAhead = installed.finishedAt > input.now && Number.isFinite(lookedAt)
      const finishedAt = isRecordAhead ? lookedAt : Math.max(installed.finishedAt, lookedAt)
      return Math.max(at, repairAt({ ...installed, finishedAt }, input))
    },
  })

/** A clock may be set, and a machine may sleep: nobody sleeps for a week at once until a window opens. */
export const lookAgainMillis = 60 * 60_000

/** How long a spec has to stay as it is before it interrupts an operation. */
const quietMillis = 2_000

/** An operation in which nothing was begun or done for so long stands still. It may be waiting for what never comes. */
const stillMillis = 2 * 60_000

/**
 * From when on a newer generation takes the place of an install, if it does: milliseconds since the epoch. One that has
 * not begun, that fails or stands still, or that installs another version is not waited out; any other runs to its end.
 */
const replaceableAt = (running: InstallOperation, input: PlanInput): Option.Option<number> => {
  if (input.generation <= running.generation) return Option.none()
  if (running.version === input.version && Equal.equals(running.config, input.config)) return Option.none()
  const quietAt = input.editedAt + quietMillis
  const { stage, movedAt } = running.progress
  if (stage === "waiting") return Option.some(quietAt)
  const stoodAt = Math.max(quietAt, movedAt + stillMillis)
  const isOther = running.version !== input.version
  // A stream of edits starves no install; but a package that does not come holds up nobody who asks for another.
  if (running.superseding) return isOther && stage === "preparing" ? Option.some(stoodAt) : Option.none()
  if (isOther || running.reason === "Retry") return Option.some(quietAt)
  return stage === "running" ? Option.some(stoodAt) : Option.none()
}

/** Whoever mends a broken spec does not wait out the broken one's timeout. */
const supersede = (running: InstallOperation, input: PlanInput, poll: Wake): Decision => {
  const closed = whyNot({ _tag: "Install", reason: running.reason }, input.rules, input.now)
  // What counts is an older one again, or another than was planned: nobody has agreed to this one any more.
  const isWithdrawn =
    input.generation < running.generation || (running.planned && input.generation !== running.generation)
  const onlyLooks = running.reason === "RepairDue" && Option.isSome(input.detecting)
  if ((Option.isSome(closed) || isWithdrawn || onlyLooks) && running.progress.stage !== "running") {
    return { _tag: "CancelOperation", because: "it may not begin any more" }
  }
  // What the engine has begun is let finish: nothing could take its place.
  if (isHeld(input.rules)) return wait(poll)
  if (running.progress.stage === "waiting" && !Equal.equals(running.urgency, input.urgency)) {
    return { _tag: "CancelOperation", because: "it is to wait in another place" }
  }
  const at = Option.getOrUndefined(replaceableAt(running, input))
  if (at === undefined) return wait(poll)
  // What has begun is not cut off for what could not begin now: the mark of an unfinished one is this one's.
  const rules = { ...input.rules, unfinished: false }
  const next = Option.flatMap(installDue(input), (reason) =>
    whyNot({ _tag: "Install", reason }, rules, input.now),
  )
  if (Option.isSome(next) && running.progress.stage === "running") return wait(poll)
  return at > input.now
    ? wait({ timer: "retry", at }, poll)
    : { _tag: "CancelOperation", because: "a newer generation takes its place" }
}

/** One that is asleep waits for its annotation; any other target for events, or until it is to be looked at again. */
const notReady = ({ rules, target }: PlanInput, poll: Wake): Decision => {
  const sleep = Option.getOrUndefined(rules.sleep)
  if (sleep?.since !== undefined) return hold({ _tag: "Asleep", sleep }, poll)
  const { again = poll.at } = target._tag === "Wait" ? target : {}
  return wait({ ...poll, at: Math.min(again, poll.at) })
}

/** Why what is due may not begin; nothing when it may, or when nothing is due. */
export const heldBack = (input: PlanInput): Option.Option<Closed> =>
  Option.flatMap(installDue(input), (reason) => whyNot({ _tag: "Install", reason }, input.rules, input.now))

/** What somebody waits for, or cannot do without; repairs and retries come again, and let a look end that may be of their cure. */
const goesBeforeLooks: ReadonlySet<InstallReason> = new Set([
  "FirstInstall",
  "VersionChanged",
  "SpecChanged",
  "Resync",
])

/** Somebody waits for what was asked for: it goes before a look at drift. */
const isWanted = ({ slot, version, generation }: PlanOperation, input: PlanInput): boolean => {
  if (slot !== "drift") {
    return Option.exists(
      input.planning,
      (wanted) => wanted.slot === slot && wanted.version === version && wanted.generation === generation,
    )
  }
  return (
    maySeeDrift(input) &&
    version === input.version &&
    generation === input.generation &&
    !Option.exists(input.planning, ({ at }) => at <= input.now)
  )
}

/** Where nobody knows what counts, nobody can say what differs from it. */
const maySeeDrift = ({ detecting, rules }: PlanInput): boolean =>
  Option.isSome(detecting) && Option.isNone(rules.undecided)

/** Nothing wakes one that sleeps, and what is inside before its data is back says nothing. */
const mayLook = ({ sleep, restores }: Rules): boolean => Option.isNone(sleep) && Option.isNone(restores)

/** One that nobody waits for any more gives its place to what is next. */
const lookOn = (running: PlanOperation, input: PlanInput, retryAt: number, poll: Wake): Decision => {
  if (!isWanted(running, input))
    return { _tag: "CancelOperation", because: "nobody waits for this plan any more" }
  if (!mayLook(input.rules)) {
    return {
      _tag: "CancelOperation",
      because: "nothing is looked at in one that is to sleep or is being restored",
    }
  }
  const next = Option.filter(installDue(input), (reason) => goesBeforeLooks.has(reason))
  return Option.isSome(next) && Option.isNone(heldBack(input)) && retryAt <= input.now
    ? { _tag: "CancelOperation", because: "an install goes before it" }
    : wait(poll)
}

/** It writes nothing: neither a pause nor a window holds it up. */
const lookForDrift = (input: PlanInput, ...wakes: ReadonlyArray<Wake>): Decision => {
  const { version, generation, rules } = input
  if (Option.isSome(rules.sleep)) return hold({ _tag: "Asleep", sleep: rules.sleep.value }, ...wakes)
  if (Option.isSome(rules.restores))
    return hold({ _tag: "Restoring", backup: rules.restores.value }, ...wakes)
  if (Option.isSome(rules.undecided)) return hold(rules.undecided.value, ...wakes)
  return { _tag: "Plan", slot: "drift", version, generation }
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
  const targetStep = (step: TargetStep): Decision => {
    const closed = whyNot({ _tag: "TargetStep", step: step._tag }, input.rules, input.now)
    if (Option.isSome(closed)) return hold(closed.value, poll)
    return retryAt > input.now && input.retryOf === "Target" ? wait(retry) : { _tag: "TargetStep", step }
  }

  if (running !== undefined) {
    if (running._tag !== "Install" && running._tag !== "Plan") return wait(poll)
    if (input.target._tag === "Ready") {
      return running._tag === "Plan" ? lookOn(running, input, retryAt, poll) : supersede(running, input, poll)
    }
    if (input.target._tag === "Act" && harmless(input.target.step)) {
      // What a pass mends by itself, such as an edited policy, is no reason to give up a healthy operation.
      return targetStep(input.target.step)
    }
    // Nor is an object of the release that the vCluster answers without.
    return input.target._tag === "Act" && canWait(input.target.step)
      ? wait(poll)
      : { _tag: "CancelOperation", because: "the target was lost" }
  }
  if (input.target._tag === "Act") return targetStep(input.target.step)
  if (input.target._tag !== "Ready") return notReady(input, poll)

  const due = installDue(input)
  const closed = heldBack(input)
  const mayBegin = Option.isSome(due) && Option.isNone(closed)
  const looks = mayLook(input.rules) ? Option.getOrUndefined(input.planning) : undefined
  // What may begin is not kept waiting by a look at what may come.
  if (looks !== undefined && looks.at <= input.now && !(mayBegin && retryAt <= input.now)) {
    const { at: _, ...subject } = looks
    return { _tag: "Plan", ...subject }
  }
  const lookAgain: ReadonlyArray<Wake> = looks === undefined ? [] : [{ timer: "retry", at: looks.at }]
  if (Option.isNone(due)) {
    const at = Option.match(input.installed, {
      onNone: () => input.now,
      onSome: (installed) => nextAt(installed, input),
    })
    return at > input.now || Option.isNone(input.detecting)
      ? wait({ timer: "repair", at }, ...lookAgain)
      : lookForDrift(input, ...lookAgain)
  }
  if (Option.isSome(closed)) {
    const wakes: ReadonlyArray<Wake> =
      closed.value._tag === "OutsideWindow"
        ? [{ timer: "repair", at: Math.min(closed.value.opensAt, input.now + lookAgainMillis) }]
        : // Its end is written into the record, of which nobody tells.
          closed.value._tag === "Restoring"
          ? [poll]
          : []
    return hold(closed.value, ...wakes, ...lookAgain)
  }
  if (retryAt > input.now) {
    return wait(looks !== undefined && looks.at < retryAt ? { timer: "retry", at: looks.at } : retry)
  }
  return { _tag: "Install", reason: due.value, refresh: refreshes.has(due.value) || input.superseded }
}
