// An operator that sees a kind as it was, or not all that happens to it: whatever is done meanwhile comes to the same end as
// for one that sees everything, for every kind it watches. `FULL=1` plays each kind with each view and each workload; a part
// of them, in which each kind and each view is, is played without.
import { assert, describe, it } from "@effect/vitest"
import { note } from "../support/figures.ts"
import { replayCommand, seeds } from "../twins/simulation/seeds.ts"
import { full } from "./crashes.ts"
import { deletionWorkloads } from "./deletionWorkloads.ts"
import { differencesOf, playViewed, type Viewed, views, watchedBy, watchedKinds } from "./views.ts"
import { targetTroubles, workloads } from "./workloads.ts"

const timeout = 24 * 3_600_000

const played = [
  workloads.install,
  workloads.upgrade,
  workloads.resync,
  workloads.deletion,
  workloads.readoption,
  deletionWorkloads.successor,
  ...targetTroubles,
]
const names = Object.keys(views)

const rows = watchedKinds.flatMap((kind, index) =>
  names.flatMap((view, number) => {
    // Each kind with one view, in turn, and one workload.
    if (!full && (index + number) % names.length !== 0) return []
    const those = full ? played : played.slice((index * 5 + number) % played.length).slice(0, 1)
    return those.map((workload) => ({ kind, view, workload, name: workload.name, of: kind.kind }))
  }),
)

const undisturbed = new Map<string, Viewed>()
const without = (workload: (typeof played)[number], seed: number): Viewed => {
  const known = undisturbed.get(`${workload.name} ${seed}`)
  const found = known ?? playViewed(workload, seed)
  undisturbed.set(`${workload.name} ${seed}`, found)
  return found
}

describe("what is seen of a kind", () => {
  it.each(rows)(
    "$of by $view, during $name: comes to the same end",
    { timeout },
    ({ kind, view, workload }) => {
      for (const seed of seeds(1)) {
        const before = without(workload, seed)
        assert.deepStrictEqual(before.broken, [])
        note({ suite: "views", plans: 1 })
        const begin = views[view] ?? assert.fail(view)
        const found = differencesOf(before, playViewed(workload, seed, { kind, begin }))
        assert.deepStrictEqual(
          found,
          [],
          `to replay it: ${replayCommand(seed, { FULL: full ? "1" : undefined })}`,
        )
      }
    },
  )

  it("is that of every kind the operator watches", { timeout }, () => {
    const { watched } = without(workloads.install, 1)
    assert.deepStrictEqual(
      [...watched].map(({ kind }) => kind).sort(),
      watchedKinds.map(({ kind }) => kind).sort(),
    )
    assert.isUndefined(watchedBy("GET /api/v1/pods?resourceVersion=0"))
  })
})
