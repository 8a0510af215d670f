// Moves the vCluster's release of an instance to the chart of the operator, when somebody asks for it: what of that is remembered
// and told. What is done next is in target/upgrade.ts.
import { Clock, DateTime, Duration, Effect, Option } from "effect"
import { isNewer } from "../../schema/ChartVersion.ts"
import { type DayTwoMemo, isUnderWay, upgradesIn, type VclusterUpgrade } from "../../schema/DayTwo.ts"
import { instanceKey } from "../../schema/PlatformInstance.ts"
import { epochMillis, formatTime } from "../../schema/Time.ts"
import { Events, type OperatorEvent } from "../../services/Events/Events.ts"
import { Helm } from "../../services/Helm/Helm.ts"
import type { Kubernetes } from "../../services/Kubernetes/Kubernetes.ts"
import { Pulumi } from "../../services/Pulumi/Pulumi.ts"
import { writeMemo } from "./dayTwo.ts"
import { type Closed, type Rules, waitsForWindow, whyNot } from "./gate.ts"
import type { Memory } from "./Memory.ts"
import { OperationError } from "./Operation.ts"
import type { Pass } from "./Pass.ts"
import type { UpgradeEnd, UpgradeStep } from "./target/TargetState.ts"
import type { BegunUpgrade, UpgradeState } from "./target/upgrade.ts"
import { again, briefly, failedUpgrade, keptUpgrade, stays } from "./upgradeNews.ts"
import type { Views } from "./Views.ts"

const begunOf = (upgrade: VclusterUpgrade | undefined): Option.Option<BegunUpgrade> => {
  if (upgrade === undefined || !isUnderWay(upgrade)) return Option.none()
  const { from, to, startedAt, revision = 0, kubeSystemUID = "", outcome, why = "" } = upgrade
  const failing = outcome === "failing" ? Option.some(why) : Option.none()
  return Option.some({ from, to, revision, kubeSystemUID, startedAt: epochMillis(startedAt), failing })
}

export const isUpgrading = ({ dayTwo }: Memory): boolean =>
  Option.exists(dayTwo, ({ vcluster }) => vcluster !== undefined && isUnderWay(vcluster))

/** What was lost is put back first, what was cut off is ended first, and another cluster is installed into first. */
const isSettled = ({ record, halfway }: Memory, kubeSystemUID: string | undefined): boolean => {
  const { resync, anew, kubeSystemUID: known } = Option.getOrUndefined(record) ?? {}
  return !halfway && resync === undefined && anew === undefined && (known ?? kubeSystemUID) === kubeSystemUID
}

/** That chart is asked for, and neither it nor a newer one was tried. */
const isOpen = (memo: DayTwoMemo, embedded: string): boolean =>
  upgradesIn(memo) &&
  (memo.vcluster === undefined || (!isUnderWay(memo.vcluster) && isNewer(embedded, memo.vcluster.to)))

/** What has failed is not forgotten over a chart that would not be taken anyway. */
const isRefused = ({ vcluster, ...memo }: DayTwoMemo, from: string, embedded: string): boolean =>
  upgradesIn(memo) &&
  isNewer(from, embedded) &&
  (vcluster === undefined ||
    (!isUnderWay(vcluster) && vcluster.outcome !== "failed" && vcluster.to !== embedded))

export interface UpgradeKnowledge {
  /** Of the deployed release. */
  readonly chartVersion: Option.Option<string>
  /** Inside, by its last answer. */
  readonly kubeSystemUID: string | undefined
  readonly patience: Duration.Duration
  /** Milliseconds since the epoch. */
  readonly watchedSince: number
}

export const upgradeState = (
  memory: Memory,
  embedded: string,
  { chartVersion, kubeSystemUID, patience, watchedSince }: UpgradeKnowledge,
): UpgradeState => {
  const memo = Option.getOrUndefined(memory.dayTwo)
  const newer = Option.exists(chartVersion, (installed) => isNewer(embedded, installed))
  return {
    chartVersion,
    due: memo !== undefined && newer && isOpen(memo, embedded) && isSettled(memory, kubeSystemUID),
    begun: begunOf(memo?.vcluster),
    patienceMillis: Duration.toMillis(patience),
    watchedSince,
  }
}

/** Milliseconds since the epoch: when one that is due may begin, where it waits for its window. */
export const upgradeOpensAt = ({ due }: UpgradeState, rules: Rules, now: number): Option.Option<number> =>
  due
    ? whyNot({ _tag: "TargetStep", step: "BeginUpgrade" }, rules, now).pipe(
        Option.filter(
          (closed): closed is Extract<Closed, { readonly _tag: "OutsideWindow" }> =>
            closed._tag === "OutsideWindow",
        ),
        Option.map(({ opensAt }) => opensAt),
      )
    : Option.none()

/** Of one that is due: what it waits for, in words. */
export const upgradeWaits = (
  embedded: string,
  waits: { readonly upgradeOpensAt: Option.Option<number>; readonly upgradeQueued: Option.Option<string> },
): Option.Option<string> => {
  const what = `chart ${embedded} of the vCluster`
  return Option.map(waits.upgradeOpensAt, (at) => waitsForWindow(what, at)).pipe(
    Option.orElse(() => Option.map(waits.upgradeQueued, (words) => `${what} ${words}`)),
  )
}

const timeNow = Effect.map(Clock.currentTimeMillis, (millis) => formatTime(DateTime.makeUnsafe(millis)))

const emit = Effect.fnUntraced(function* ({ object }: Pass, event: OperatorEvent) {
  yield* (yield* Events).emit(object, event)
})

/** Tells once where the operator's chart is older than what is asked to be upgraded. */
export const refuseDowngrade = Effect.fnUntraced(function* (pass: Pass, { chartVersion }: UpgradeState) {
  const { memory } = pass
  const { chartVersion: to } = yield* Helm
  const memo = Option.getOrUndefined(memory.dayTwo)
  const from = Option.getOrUndefined(chartVersion)
  if (memo === undefined || from === undefined || !isRefused(memo, from, to)) return
  yield* emit(pass, stays({ from, to }, "that is the older one, and nothing is downgraded"))
  memory.dayTwo = Option.some({
    ...memo,
    vcluster: { from, to, startedAt: yield* timeNow, outcome: "refused" },
  })
})

/** Taken away and set anew in the middle of it, the annotation asks for another try. */
const failedAs = ({ from, to, startedAt, takenBack }: VclusterUpgrade, why: string) =>
  takenBack === true ? undefined : ({ from, to, startedAt, outcome: "failed", why: briefly(why) } as const)

type Needs = Kubernetes | Views | Events | Helm | Pulumi

const remember = Effect.fnUntraced(function* (pass: Pass, vcluster: VclusterUpgrade | undefined) {
  const { vcluster: _, ...rest } = Option.getOrElse(
    pass.memory.dayTwo,
    (): DayTwoMemo => ({ uid: pass.memory.uid }),
  )
  const memo: DayTwoMemo = vcluster === undefined ? rest : { ...rest, vcluster }
  yield* writeMemo(pass, memo)
  pass.memory.dayTwo = Option.some(memo)
})

const begin = Effect.fn("Upgrade.begin")(function* (
  pass: Pass,
  { from, revision, kubeSystemUID }: Extract<UpgradeStep, { readonly _tag: "BeginUpgrade" }>,
) {
  const { instance } = pass
  const { chartVersion: to } = yield* Helm
  const pulumi = yield* Pulumi
  const startedAt = yield* timeNow
  const kept = yield* pulumi.exportState(instanceKey(instance), instance.spec.version).pipe(
    Effect.as(Option.none<string>()),
    Effect.catchTag("PulumiError", ({ message }) => Effect.succeedSome(message)),
  )
  if (Option.isNone(kept)) return yield* remember(pass, { from, to, startedAt, revision, kubeSystemUID })
  const why = `no copy of the engine's state could be kept: ${kept.value}`
  yield* emit(pass, stays({ from, to }, `${why}; ${again}`))
  yield* remember(pass, { from, to, startedAt, outcome: "failed", why: briefly(why) })
})

/** Told before it is written down: what was not written down is told again. */
const finish = Effect.fn("Upgrade.end")(function* (pass: Pass, how: UpgradeEnd) {
  const upgrade = Option.getOrUndefined(pass.memory.dayTwo)?.vcluster
  if (upgrade === undefined) return
  const { from, to, startedAt } = upgrade
  switch (how._tag) {
    case "Dropped":
      return yield* remember(pass, undefined)
    case "Done":
      yield* emit(pass, {
        type: "Normal",
        reason: "VclusterUpgraded",
        action: "Upgrade",
        note: `the vCluster was upgraded from chart ${from} to ${to}, and is the same cluster inside`,
        paced: false,
      })
      return yield* remember(pass, { from, to, startedAt, outcome: "done" })
    case "Failing":
      yield* emit(pass, failedUpgrade(upgrade, how.why))
      return yield* remember(pass, { ...upgrade, outcome: "failing", why: briefly(how.why) })
    case "Kept":
      yield* emit(pass, keptUpgrade(upgrade, how.why))
      return yield* remember(pass, failedAs(upgrade, how.why))
    case "Failed":
      if (upgrade.outcome !== "failing") yield* emit(pass, stays(upgrade, `${how.why}; ${again}`))
      return yield* remember(pass, failedAs(upgrade, how.why))
  }
})

/** Takes one step; fails with `TargetError`. */
export const runUpgradeStep = (pass: Pass, step: UpgradeStep): Effect.Effect<void, OperationError, Needs> =>
  Effect.mapError(
    step._tag === "BeginUpgrade" ? begin(pass, step) : finish(pass, step.how),
    ({ message }) =>
      new OperationError({
        reason: "TargetError",
        message: `upgrade vcluster: ${message}`,
        cancelled: false,
      }),
  )
