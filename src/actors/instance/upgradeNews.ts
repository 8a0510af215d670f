// What is told and remembered of an upgrade of the vCluster that comes to nothing. Pure.
import type { DayTwoMemo, VclusterUpgrade } from "../../schema/DayTwo.ts"
import { ANNOTATION_UPGRADE_VCLUSTER } from "../../schema/Names.ts"
import { truncateAtWord } from "../../schema/Text.ts"
import type { OperatorEvent } from "../../services/Events/Events.ts"

export const again = `it is not tried again until annotation ${ANNOTATION_UPGRADE_VCLUSTER} is taken away and set anew`
export const stays = ({ from, to }: Pick<VclusterUpgrade, "from" | "to">, why: string): OperatorEvent => ({
  type: "Warning",
  reason: "VclusterNotUpgraded",
  action: "Upgrade",
  note: `the vCluster keeps chart ${from}, and does not get ${to}: ${why}`,
  paced: false,
})

/** Of one that is rolled back, or whose helm has failed. */
export const failedUpgrade = (upgrade: Pick<VclusterUpgrade, "from" | "to">, why: string): OperatorEvent =>
  stays(upgrade, `${why}; what was begun is rolled back, and ${again}`)

/** Of one that has failed and is not rolled back. */
export const keptUpgrade = (
  { from, to }: Pick<VclusterUpgrade, "from" | "to">,
  why: string,
): OperatorEvent => ({
  type: "Warning",
  reason: "VclusterNotUpgraded",
  action: "Upgrade",
  note: `the upgrade of the vCluster from chart ${from} to ${to} has failed, and is not rolled back: ${why}; ${again}`,
  paced: false,
})

/** As much of it as is remembered. */
export const briefly = (why: string): string => truncateAtWord(why, 300)

/** Helm has failed in it: nothing is tried again, and what it has left is rolled back. */
export const failing = (memo: DayTwoMemo, why: string): DayTwoMemo =>
  memo.vcluster === undefined
    ? memo
    : { ...memo, vcluster: { ...memo.vcluster, outcome: "failing", why: briefly(why) } }

/** Helm has ended in it: from now on the vCluster has its time to come up. */
export const applied = (memo: DayTwoMemo, now: string): DayTwoMemo =>
  memo.vcluster === undefined ? memo : { ...memo, vcluster: { ...memo.vcluster, startedAt: now } }
