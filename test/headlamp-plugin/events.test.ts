import { assert, describe, it } from "@effect/vitest"
import { eventsOf } from "../../headlamp-plugin/src/logic/events.ts"

describe("Events", () => {
  it("come newest first, with the words, times and counts of either API", () => {
    const core = {
      metadata: { uid: "1" },
      type: "Normal",
      reason: "FirstInstall",
      message: "installed",
      lastTimestamp: "2026-11-03T10:00:00Z",
      count: 2,
    }
    const series = {
      metadata: { uid: "2" },
      type: "Warning",
      reason: "InstallFailed",
      note: "failed",
      eventTime: "2026-11-03T09:00:00.000000Z",
      series: { count: 7, lastObservedTime: "2026-11-03T11:00:00.000000Z" },
    }
    const bare = { metadata: { uid: "3", creationTimestamp: "2026-11-03T10:30:00Z" }, lastTimestamp: null }
    assert.deepStrictEqual(
      eventsOf([core, series, bare]).map(({ key, message, count }) => [key, message, count]),
      [
        ["2", "failed", 7],
        ["3", "", 1],
        ["1", "installed", 2],
      ],
    )
  })
  it("that are none are left out", () => {
    assert.deepStrictEqual(eventsOf([null, "x", undefined]), [])
  })
})
