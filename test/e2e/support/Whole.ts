// An install in the middle, and what every end of one has in common.
import { existsSync } from "node:fs"
import { assert } from "@effect/vitest"
import { findHostNamespace, type Key, revisions } from "./Instance.ts"
import { instanceState } from "./Operator.ts"
import { flaws, readPulumiState } from "./PulumiState.ts"
import { until, untilTrue } from "./Until.ts"

/** The engine holds its lock and has begun to create: the marker is there, the state has resources. */
export const duringUp = async (key: Key): Promise<void> => {
  const state = await instanceState(key.namespace, key.name)
  await untilTrue("an up that has created something", () => {
    if (!existsSync(state.marker) || state.locks().length === 0) return false
    return (readPulumiState(state)?.resources.length ?? 0) > 2
  })
}

/** One revision of the vCluster's release serves, no operation is under way, and the state has no flaw. */
export const assertWhole = async (key: Key): Promise<void> => {
  const host = await until("the host namespace", () => findHostNamespace(key))
  const outer = await revisions("vcluster", host)
  assert.lengthOf(
    outer.filter((revision) => revision.endsWith(" deployed")),
    1,
    outer.join(", "),
  )
  const state = await instanceState(key.namespace, key.name)
  assert.isFalse(existsSync(state.marker))
  assert.isEmpty(state.locks())
  assert.isEmpty(flaws(readPulumiState(state)))
}
