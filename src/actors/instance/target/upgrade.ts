// What an upgrade of the vCluster's release asks for next: to the chart that is embedded in the operator, and back to the revision
// before where it does not come up. Everything is decided by what is there and by what was written down before helm began, so that
// a crash goes on from it. Pure.
import { Option } from "effect"
import type { ReleaseState } from "../../../services/Helm/Helm.ts"
import { longestStart } from "./ControlPlane.ts"
import type { ActVerdict, TargetStep, TargetVerdict, UpgradeEnd } from "./TargetState.ts"

/** One that was written down and has not ended. */
export interface BegunUpgrade {
  readonly from: string
  readonly to: string
  /** What is rolled back to. */
  readonly revision: number
  readonly kubeSystemUID: string
  /** Since when it has its time, milliseconds since the epoch: anew once helm has ended. */
  readonly startedAt: number
  /** Why it is rolled back, once it is. */
  readonly failing: Option.Option<string>
}

export interface UpgradeState {
  /** Of the release that is deployed: the version of its chart. */
  readonly chartVersion: Option.Option<string>
  /** The embedded chart is asked for, is a newer one, and was not tried yet. */
  readonly due: boolean
  readonly begun: Option.Option<BegunUpgrade>
  /** So long the vCluster has to answer again: milliseconds. */
  readonly patienceMillis: number
  /** Since when this process looks at the instance: milliseconds since the epoch. */
  readonly watchedSince: number
}
export const noUpgrade: UpgradeState = {
  chartVersion: Option.none(),
  due: false,
  begun: Option.none(),
  patienceMillis: 0,
  watchedSince: 0,
}

interface Seen {
  readonly now: number
  /** The embedded chart. */
  readonly chartVersion: string
  readonly release: Option.Option<ReleaseState>
  readonly upgrade: UpgradeState
  readonly probe: { readonly _tag: "Unknown" | "Answers" | "Silent"; readonly failures?: number }
}

const act = (step: TargetStep, message: string): ActVerdict => ({
  _tag: "Act",
  step,
  condition: {
    reason: step._tag === "RollbackRelease" ? "RolledBack" : "ControlPlanePending",
    message,
  },
})

const upgrading = ({ from, to }: BegunUpgrade): string => `upgrading vcluster from chart ${from} to ${to}`
const end = (begun: BegunUpgrade, how: UpgradeEnd) => act({ _tag: "EndUpgrade", how }, upgrading(begun))
const fails = (begun: BegunUpgrade, why: string) => end(begun, { _tag: "Failing", why })

/**
 * Whether it has had its time. A process that has just begun cannot know whether the vCluster was restarted with it, as by the
 * loss of a node that both were on: it gives it the time of a start.
 */
const isOverdue = ({ now, upgrade }: Seen, { startedAt }: BegunUpgrade): boolean =>
  now >= Math.max(startedAt + upgrade.patienceMillis, upgrade.watchedSince + longestStart)

const late = ({ upgrade }: Seen, begun: BegunUpgrade, message: string): ActVerdict => {
  const minutes = Math.round(upgrade.patienceMillis / 60_000)
  return fails(begun, `the vCluster was not ready again within ${minutes} minutes: ${message}`)
}

/** Rollbacks to a revision that are cut off again and again push it out of the history, and the newest of them is a whole copy of it. */
const backTo = ({ revision }: BegunUpgrade, release: ReleaseState): number | undefined => {
  if (revision >= release.oldest) return revision
  return release.status === "deployed" ? undefined : release.revision
}

const rollBack = (begun: BegunUpgrade, why: string, release: ReleaseState): ActVerdict => {
  const revision = backTo(begun, release)
  return revision === undefined
    ? end(begun, { _tag: "Kept", why: `${why}; revision ${begun.revision} is gone` })
    : act(
        { _tag: "RollbackRelease", revision },
        `chart ${begun.to} is rolled back to revision ${revision} with chart ${begun.from}: ${why}`,
      )
}

/** Of a release that is deployed: what comes before anything else is looked at. */
export const upgradeStep = (seen: Seen, release: ReleaseState): ActVerdict | undefined => {
  if (Option.isNone(seen.upgrade.begun)) return undefined
  const begun = seen.upgrade.begun.value
  const chart = Option.getOrUndefined(seen.upgrade.chartVersion)
  const arrived = chart === begun.to
  // Another release by now, as after the loss of the host namespace: what was begun has gone with the one before.
  if (release.revision < begun.revision || (arrived && release.revision === begun.revision)) {
    return end(begun, { _tag: "Dropped" })
  }
  if (Option.isSome(begun.failing)) {
    const why = begun.failing.value
    // One that cannot be read may be either: a rollback to what was there before harms neither.
    return arrived || chart === undefined
      ? rollBack(begun, why, release)
      : end(begun, { _tag: "Failed", why })
  }
  if (arrived || chart === undefined) return undefined
  if (release.revision > begun.revision) {
    return end(begun, { _tag: "Failed", why: `somebody has given the release chart ${chart} meanwhile` })
  }
  // Another operator by now, and nothing of it was done.
  if (begun.to !== seen.chartVersion) return end(begun, { _tag: "Dropped" })
  return isOverdue(seen, begun)
    ? end(begun, { _tag: "Failed", why: "helm could not begin in time" })
    : act({ _tag: "UpgradeRelease", carryOn: Option.none() }, upgrading(begun))
}

/** Helm keeps five revisions: what is to be rolled back to must not be pushed out. */
const mostRevisions = 4
const hasRoom = ({ revision }: ReleaseState, begun: BegunUpgrade): boolean =>
  revision - begun.revision < mostRevisions

/** What is lost or cannot be read in the middle of it is mended for as long as it has time, and can be rolled back. */
export const upgradeRepair = (
  seen: Seen,
  release: ReleaseState,
  repair: TargetVerdict | undefined,
): TargetVerdict | undefined => {
  const begun = Option.getOrUndefined(seen.upgrade.begun)
  if (begun === undefined || repair === undefined || repair._tag === "Ready") return repair
  if (isOverdue(seen, begun)) return late(seen, begun, repair.condition.message)
  return hasRoom(release, begun)
    ? repair
    : fails(begun, `the release does not stay as it is: ${repair.condition.message}`)
}

/**
 * Of a release that helm was cut off in. A record is whole before anything of it is applied: what was begun is ended with it, and
 * no control plane is restarted in vain.
 */
export const upgradeRecovery = (seen: Seen, release: ReleaseState): ActVerdict | undefined => {
  const begun = Option.getOrUndefined(seen.upgrade.begun)
  if (begun === undefined || release.revision <= begun.revision) return undefined
  if (Option.isSome(begun.failing)) return rollBack(begun, begun.failing.value, release)
  return hasRoom(release, begun)
    ? act({ _tag: "UpgradeRelease", carryOn: Option.some(release.revision) }, upgrading(begun))
    : fails(begun, "helm was cut off in it several times")
}

/** One check that has failed says nothing. */
const isJudged = ({ probe }: Seen, unreachable: number): boolean =>
  probe._tag !== "Silent" || (probe.failures ?? 0) >= unreachable

/** Over what the gates say: one that is under way has to come up as the same cluster; one that is asked for begins over a target that is ready. */
export const upgradeVerdict = (seen: Seen, gate: TargetVerdict, unreachable: number): TargetVerdict => {
  const { begun: known, chartVersion, due } = seen.upgrade
  const answers = seen.probe._tag === "Answers"
  if (Option.isNone(known)) {
    if (!due || gate._tag !== "Ready" || !answers) return gate
    if (Option.isNone(chartVersion) || Option.isNone(seen.release)) return gate
    const from = chartVersion.value
    const { revision } = seen.release.value
    return act(
      { _tag: "BeginUpgrade", from, revision, kubeSystemUID: gate.kubeSystemUID },
      `upgrading vcluster from chart ${from} to ${seen.chartVersion}`,
    )
  }
  const begun = known.value
  if (gate._tag === "Ready") {
    if (gate.kubeSystemUID !== begun.kubeSystemUID) {
      return fails(begun, `namespace kube-system inside has another UID than before: ${gate.kubeSystemUID}`)
    }
    return answers ? end(begun, { _tag: "Done" }) : waits(begun, "waiting for its API to answer")
  }
  if (isOverdue(seen, begun) && isJudged(seen, unreachable)) return late(seen, begun, gate.condition.message)
  return gate._tag === "Act" ? gate : waits(begun, gate.condition.message)
}

const waits = (begun: BegunUpgrade, message: string): TargetVerdict => ({
  _tag: "Wait",
  condition: { reason: "ControlPlanePending", message: `${upgrading(begun)}: ${message}` },
})
