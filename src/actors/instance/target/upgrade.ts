// What an upgrade of the vCluster's release asks for next: to the chart that is embedded in the operator, and back to the revision
// before where it does not come up. Everything is decided by what is there and by what was written down before helm began, so that
// a crash goes on from it. Pure.
import { Option } from "effect"
import type { ReleaseState } from "../../../services/Helm/Helm.ts"
import type { ActVerdict, TargetStep, TargetVerdict, UpgradeStep } from "./TargetState.ts"

/** One that was written down and has not ended. */
export interface BegunUpgrade {
  readonly from: string
  readonly to: string
  /** What is rolled back to. */
  readonly revision: number
  readonly kubeSystemUID: string
  /** Milliseconds since the epoch. */
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
}
export const noUpgrade: UpgradeState = {
  chartVersion: Option.none(),
  due: false,
  begun: Option.none(),
  patienceMillis: 0,
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
const end = (begun: BegunUpgrade, how: Extract<UpgradeStep, { readonly _tag: "EndUpgrade" }>["how"]) =>
  act({ _tag: "EndUpgrade", how }, upgrading(begun))
const fails = (begun: BegunUpgrade, why: string) => end(begun, { _tag: "Failing", why })

const rollBack = (begun: BegunUpgrade, why: string, { oldest }: ReleaseState): ActVerdict =>
  begun.revision < oldest
    ? end(begun, {
        _tag: "Failed",
        why: `${why}; revision ${begun.revision} is gone, and nothing is rolled back`,
      })
    : act(
        { _tag: "RollbackRelease", revision: begun.revision },
        `chart ${begun.to} is rolled back to revision ${begun.revision} with chart ${begun.from}: ${why}`,
      )

/** Of a release that is deployed: what comes before anything else is looked at. */
export const upgradeStep = (seen: Seen, release: ReleaseState): ActVerdict | undefined => {
  const { begun: known, chartVersion } = seen.upgrade
  if (Option.isNone(known) || Option.isNone(chartVersion)) return undefined
  const begun = known.value
  const arrived = chartVersion.value === begun.to
  if (Option.isSome(begun.failing)) {
    const why = begun.failing.value
    return arrived ? rollBack(begun, why, release) : end(begun, { _tag: "Failed", why })
  }
  if (arrived) return undefined
  // Another operator by now, and nothing of it was done.
  return begun.to === seen.chartVersion
    ? act({ _tag: "UpgradeRelease", carryOn: Option.none() }, upgrading(begun))
    : end(begun, { _tag: "Dropped" })
}

/** Helm keeps five revisions: what is to be rolled back to must not be pushed out. */
const mostRevisions = 4

/**
 * Of a release that helm was cut off in. A record is whole before anything of it is applied: what was begun is ended with it, and
 * no control plane is restarted in vain.
 */
export const upgradeRecovery = (seen: Seen, release: ReleaseState): ActVerdict | undefined => {
  const begun = Option.getOrUndefined(seen.upgrade.begun)
  if (begun === undefined || release.revision <= begun.revision) return undefined
  if (Option.isSome(begun.failing)) return rollBack(begun, begun.failing.value, release)
  return release.revision - begun.revision < mostRevisions
    ? act({ _tag: "UpgradeRelease", carryOn: Option.some(release.revision) }, upgrading(begun))
    : fails(begun, "helm was cut off in it several times")
}

/** A prober that has not asked yet says nothing, nor does one check that has failed. */
const isJudged = (
  { probe }: Seen,
  { condition }: Exclude<TargetVerdict, { _tag: "Ready" | "Act" }>,
  unreachable: number,
) => {
  if (condition.reason !== "KubeconfigPending") return true
  return probe._tag === "Silent" && (probe.failures ?? 0) >= unreachable
}

/** Over what the gates say: one that is under way has to come up as the same cluster; one that is asked for begins over a target that is ready. */
export const upgradeVerdict = (seen: Seen, gate: TargetVerdict, unreachable: number): TargetVerdict => {
  const { begun: known, chartVersion, due, patienceMillis } = seen.upgrade
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
  if (gate._tag === "Act") return gate
  if (gate._tag === "Ready") {
    if (gate.kubeSystemUID !== begun.kubeSystemUID) {
      return fails(begun, `namespace kube-system inside has another UID than before: ${gate.kubeSystemUID}`)
    }
    return answers ? end(begun, { _tag: "Done" }) : waits(begun, "waiting for its API to answer")
  }
  const deadline = begun.startedAt + patienceMillis
  if (seen.now < deadline || !isJudged(seen, gate, unreachable)) return waits(begun, gate.condition.message)
  const minutes = Math.round(patienceMillis / 60_000)
  return fails(begun, `the vCluster was not ready again within ${minutes} minutes: ${gate.condition.message}`)
}

const waits = (begun: BegunUpgrade, message: string): TargetVerdict => ({
  _tag: "Wait",
  condition: { reason: "ControlPlanePending", message: `${upgrading(begun)}: ${message}` },
})
