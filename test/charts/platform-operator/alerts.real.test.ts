// The chart's alerts, evaluated by the real promtool over what a scrape of the simulated operator gets: each is fired by its
// fault, and none in days in which nothing happens.
import { assert, describe, expect, it } from "vitest"
import { faults, pauses, play, sleeps } from "../../simulation/alertFaults.ts"
import { quietDays } from "../../simulation/quietDays.ts"
import { alertRules } from "../../simulation/scraping.ts"
import { askRules, checkRules } from "../../support/promtool.ts"

/** How many alerts of a name are firing, and whether any was up to then. */
const firing = (alert: string) => `count(ALERTS{alertname="${alert}",alertstate="firing"}) or vector(0)`
const hasFired = (alert: string, scrapes: number) =>
  `count(count_over_time(ALERTS{alertname="${alert}",alertstate="firing"}[${scrapes}m])) > bool 0`

describe("the alerts", () => {
  it("can be read by Prometheus", () => {
    const { ok, said } = checkRules()
    assert.isTrue(ok, said)
    expect(said).toContain(`${alertRules.length} rules found`)
  })

  it("have a fault each", () => {
    expect(faults.map(({ alert }) => alert).toSorted()).toEqual(
      alertRules.map(({ alert }) => alert).toSorted(),
    )
  })

  it.each(faults.map((fault) => [fault.alert, fault.name, fault] as const))("%s: %s", (alert, _, fault) => {
    const recording = play(fault)
    const end = recording.scrapes() - 1
    const said = askRules(recording, [
      { at: recording.calm - 1, expr: firing(alert), expected: [0] },
      { at: end, expr: hasFired(alert, end), expected: [1] },
    ])
    assert.strictEqual(said, "")
  })

  it.each(pauses.map((pause) => [pause.name, pause] as const))("are silent over a pause: %s", (_, pause) => {
    const recording = play(pause)
    const end = recording.scrapes() - 1
    const fired = `count(count_over_time(ALERTS{alertstate="firing"}[${end}m])) or vector(0)`
    const said = askRules(recording, [
      { at: end, expr: fired, expected: [0] },
      { at: end, expr: "count(platforminstance_paused == 1)", expected: [1] },
    ])
    assert.strictEqual(said, "")
  })

  it.each(sleeps.map((sleep) => [sleep.name, sleep] as const))("are silent over one %s", (_, sleep) => {
    const recording = play(sleep)
    const end = recording.scrapes() - 1
    const fired = `count(count_over_time(ALERTS{alertstate="firing"}[${end}m])) or vector(0)`
    const said = askRules(recording, [
      { at: end, expr: fired, expected: [0] },
      { at: end, expr: `count(max_over_time(platforminstance_asleep[${end}m]) == 1)`, expected: [1] },
      { at: end, expr: "count(platforminstance_asleep == 1) or vector(0)", expected: [0] },
    ])
    assert.strictEqual(said, "")
  })

  it("are silent for days in which nothing happens", { timeout: 7_200_000 }, () => {
    // Nothing in here waits in real time: how long it takes says what else the machine is doing. A month, DAYS=30, takes
    // ten minutes and more.
    const days = Number(process.env.DAYS ?? 3)
    const { result } = quietDays(days, true, true)
    const recording = result.recording
    if (recording === undefined) throw new Error("nothing was recorded")
    const end = recording.scrapes() - 1
    assert.isAtLeast(end, days * 24 * 60)
    const fired = `count(count_over_time(ALERTS{alertstate="firing"}[${end}m])) or vector(0)`
    assert.strictEqual(
      askRules(recording, [
        { at: end, expr: fired, expected: [0] },
        // It was looked at something.
        { at: end, expr: 'count(platforminstance_status_phase{phase="Ready"} == 1)', expected: [3] },
      ]),
      "",
    )
  })

  it("are silent for a day over the operator's edge, with its requests and watches", {
    timeout: 7_200_000,
  }, () => {
    const { result } = quietDays(1, false, true)
    const recording = result.recording
    if (recording === undefined) throw new Error("nothing was recorded")
    const end = recording.scrapes() - 1
    const fired = `count(count_over_time(ALERTS{alertstate="firing"}[${end}m])) or vector(0)`
    assert.strictEqual(
      askRules(recording, [
        { at: end, expr: fired, expected: [0] },
        { at: end, expr: "count(platform_operator_watch_age_seconds) > bool 10", expected: [1] },
      ]),
      "",
    )
  })
})
