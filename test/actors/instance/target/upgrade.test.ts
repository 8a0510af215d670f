// What an upgrade of the vCluster's release asks for next, state by state.
import { assert, describe, it } from "@effect/vitest"
import { Option } from "effect"
import {
  judgeTarget,
  passingOver,
  type TargetObservation,
  type TargetVerdict,
} from "../../../../src/actors/instance/target/TargetState.ts"
import type { BegunUpgrade } from "../../../../src/actors/instance/target/upgrade.ts"
import type { ReleaseState, ReleaseStatus } from "../../../../src/services/Helm/Helm.ts"
import { deployed, healthy, missing } from "../../support/targets.ts"

const minute = 60_000
const begun: BegunUpgrade = {
  from: "0.36.1",
  to: "0.37.3",
  revision: 3,
  kubeSystemUID: "cluster",
  startedAt: 0,
  failing: Option.none(),
}
const failing: BegunUpgrade = { ...begun, failing: Option.some("it did not come up") }

const release = (status: ReleaseStatus, revision: number, oldest = 1): ReleaseState => ({
  ...deployed,
  status,
  revision,
  lastDeployed: Option.some(status === "deployed" ? revision : 3),
  oldest,
})

interface Choices {
  readonly begun?: BegunUpgrade
  readonly due?: boolean
  readonly chart?: string
  readonly release?: ReleaseState
  readonly watchedSince?: number
}
const seen = (
  {
    begun: known,
    due = false,
    chart = "0.36.1",
    release: there = release("deployed", 3),
    watchedSince = 0,
  }: Choices,
  more: Partial<TargetObservation> = {},
): TargetObservation => ({
  ...healthy,
  release: Option.some(there),
  upgrade: {
    chartVersion: there.status === "deployed" ? Option.some(chart) : Option.none(),
    due,
    begun: Option.fromNullishOr(known),
    patienceMillis: 30 * minute,
    watchedSince,
  },
  ...more,
})

/** The step and what it is about, or what is waited for. */
const words = (verdict: TargetVerdict): string => {
  if (verdict._tag === "Ready") return "Ready"
  if (verdict._tag !== "Act")
    return `${verdict._tag} ${verdict.condition.reason}: ${verdict.condition.message}`
  const { step } = verdict
  switch (step._tag) {
    case "BeginUpgrade":
      return `BeginUpgrade from ${step.from} at ${step.revision} of ${step.kubeSystemUID}`
    case "UpgradeRelease":
      return `UpgradeRelease${Option.match(step.carryOn, { onNone: () => "", onSome: (at) => ` on from ${at}` })}`
    case "EndUpgrade":
      return "why" in step.how ? `${step.how._tag}: ${step.how.why}` : step.how._tag
    case "RollbackRelease":
      return `RollbackRelease ${step.revision}: ${verdict.condition.reason}`
    default:
      return step._tag
  }
}

const silent = (failures: number) =>
  ({ _tag: "Silent", failures, message: "refused", lastKnown: Option.none() }) as const
const up = { begun, chart: "0.37.3", release: release("deployed", 4) }
const down: Partial<TargetObservation> = { controlPlane: { ready: false, message: "0 of 1 replicas" } }
const late = { now: 31 * minute }

const rows: ReadonlyArray<readonly [string, Choices, Partial<TargetObservation>, string]> = [
  ["nobody asks for", {}, {}, "Ready"],
  ["is asked for", { due: true }, {}, "BeginUpgrade from 0.36.1 at 3 of cluster"],
  [
    "is asked for over one that is not ready",
    { due: true },
    down,
    "Wait ControlPlanePending: 0 of 1 replicas",
  ],
  [
    "is asked for over one that lacks something",
    { due: true },
    { lostObjects: missing("role/vc-vcluster") },
    "ReapplyRelease",
  ],
  [
    "is asked for over one that is silent just now",
    { due: true },
    { probe: { ...silent(1), lastKnown: Option.some("cluster") } },
    "Ready",
  ],
  ["is written down", { begun }, {}, "UpgradeRelease"],
  ["is written down, over one that is down by now", { begun }, down, "UpgradeRelease"],
  ["is written down, and the operator is another one", { begun: { ...begun, to: "0.37.0" } }, {}, "Dropped"],
  ["was cut off", { begun, release: release("pending-upgrade", 4) }, {}, "UpgradeRelease on from 4"],
  ["was ended by a signal", { begun, release: release("failed", 4) }, {}, "UpgradeRelease on from 4"],
  [
    "was cut off where it was carried on",
    { begun, release: release("pending-rollback", 6) },
    {},
    "UpgradeRelease on from 6",
  ],
  [
    "was cut off again and again",
    { begun, release: release("pending-rollback", 7, 3) },
    {},
    "Failing: helm was cut off in it several times",
  ],
  [
    "was cut off by somebody who may live",
    { begun, release: release("pending-upgrade", 4) },
    { writerGone: false },
    "CheckWriter",
  ],
  [
    "comes up",
    up,
    down,
    "Wait ControlPlanePending: upgrading vcluster from chart 0.36.1 to 0.37.3: 0 of 1 replicas",
  ],
  [
    "comes up and has lost something",
    up,
    { ...down, lostObjects: missing("role/vc-vcluster") },
    "ReapplyRelease",
  ],
  [
    "was repaired as often as leaves what is rolled back to",
    { ...up, release: release("deployed", 7, 3) },
    { ...down, lostObjects: missing("role/vc-vcluster") },
    "Failing: the release does not stay as it is: putting back role/vc-vcluster from the stored release",
  ],
  [
    "has lost something when its time has passed",
    up,
    { ...down, ...late, lostObjects: missing("role/vc-vcluster") },
    "Failing: the vCluster was not ready again within 30 minutes: putting back role/vc-vcluster from the stored release",
  ],
  [
    "has a release that cannot be read",
    up,
    { ...down, releaseProblem: Option.some("it is no JSON") },
    "Stuck TargetError: read the stored release: it is no JSON",
  ],
  [
    "has a release that cannot be read when its time has passed",
    up,
    { ...down, ...late, releaseProblem: Option.some("it is no JSON") },
    "Failing: the vCluster was not ready again within 30 minutes: read the stored release: it is no JSON",
  ],
  ["cannot be begun in its time", { begun }, late, "Failed: helm could not begin in time"],
  [
    "was rolled back by somebody else",
    { begun, release: release("deployed", 5) },
    {},
    "Failed: somebody has given the release chart 0.36.1 meanwhile",
  ],
  ["has got another release", { begun, chart: "0.37.3", release: release("deployed", 3) }, {}, "Dropped"],
  ["has got another release of fewer revisions", { ...up, release: release("deployed", 1) }, {}, "Dropped"],
  [
    "does not come up",
    up,
    { ...down, ...late },
    "Failing: the vCluster was not ready again within 30 minutes: 0 of 1 replicas",
  ],
  [
    "cannot be asked, and has had its time",
    up,
    { ...late, probe: { _tag: "Unknown" } },
    "Failing: the vCluster was not ready again within 30 minutes: waiting for the vCluster API at https://vcluster.pi-team-a-one-hash.svc:443",
  ],
  [
    "has had its time while no operator looked",
    { ...up, watchedSince: 27 * minute },
    { ...down, ...late },
    "Wait ControlPlanePending: upgrading vcluster from chart 0.36.1 to 0.37.3: 0 of 1 replicas",
  ],
  [
    "is silent, and has time",
    up,
    { probe: silent(9) },
    "Wait ControlPlanePending: upgrading vcluster from chart 0.36.1 to 0.37.3: the vCluster API at https://vcluster.pi-team-a-one-hash.svc:443 failed 9 checks in a row: refused",
  ],
  [
    "has missed one check",
    up,
    { ...late, probe: silent(1) },
    "Wait ControlPlanePending: upgrading vcluster from chart 0.36.1 to 0.37.3: waiting for the vCluster API at https://vcluster.pi-team-a-one-hash.svc:443: refused",
  ],
  [
    "answers as another cluster",
    up,
    { probe: { _tag: "Answers", kubeSystemUID: "another" } },
    "Failing: namespace kube-system inside has another UID than before: another",
  ],
  ["answers", up, {}, "Done"],
  ["answers late", up, late, "Done"],
  ["lacks its kubeconfig", up, { kubeconfigPublished: false }, "PublishKubeconfig"],
  ["has failed", { ...up, begun: failing }, {}, "RollbackRelease 3: RolledBack"],
  [
    "has failed and lacks something",
    { ...up, begun: failing },
    { lostObjects: missing("role/vc-vcluster") },
    "RollbackRelease 3: RolledBack",
  ],
  [
    "has failed in helm",
    { begun: failing, release: release("failed", 4) },
    {},
    "RollbackRelease 3: RolledBack",
  ],
  [
    "has failed and was cut off on its way back",
    { begun: failing, release: release("pending-rollback", 5) },
    {},
    "RollbackRelease 3: RolledBack",
  ],
  ["has failed before helm wrote anything", { begun: failing }, {}, "Failed: it did not come up"],
  ["is rolled back", { begun: failing, release: release("deployed", 5) }, down, "Failed: it did not come up"],
  [
    "has failed, and nothing is left to roll back to",
    { ...up, begun: failing, release: release("deployed", 9, 5) },
    {},
    "Kept: it did not come up; revision 3 is gone",
  ],
  [
    "has failed, and was cut off on its way back until what is rolled back to was gone",
    { begun: failing, release: release("pending-rollback", 8, 4) },
    {},
    "RollbackRelease 8: RolledBack",
  ],
  [
    "lacks its kubeconfig when its time has passed",
    up,
    { ...late, kubeconfigPublished: false },
    "Failing: the vCluster was not ready again within 30 minutes: storing the instance's kubeconfig",
  ],
]

describe("an upgrade that", () => {
  it.each(rows)("%s", (_, choices, more, expected) => {
    assert.strictEqual(words(judgeTarget(seen(choices, more))), expected)
  })

  it("may not begin is not seen, and one that may not go on is judged as it stands", () => {
    const never = () => false
    assert.strictEqual(words(judgeTarget(passingOver(seen({ due: true }), never))), "Ready")
    assert.strictEqual(words(judgeTarget(passingOver(seen({ begun }), never))), "Ready")
    const window = (step: string) => step !== "BeginUpgrade"
    assert.strictEqual(words(judgeTarget(passingOver(seen({ due: true }), window))), "Ready")
    assert.strictEqual(words(judgeTarget(passingOver(seen({ begun }), window))), "UpgradeRelease")
  })
})
