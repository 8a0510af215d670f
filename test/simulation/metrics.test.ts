// What a scrape of the whole operator gets, over the lives of instances.
import { assert, describe, it } from "@effect/vitest"
import { Effect, Option } from "effect"
import releaseJson from "../../release.json" with { type: "json" }
import { ANNOTATION_DRIFT, ANNOTATION_PAUSED, ANNOTATION_SLEEP } from "../../src/schema/Names.ts"
import * as Kinds from "../../src/services/Kubernetes/Kinds.ts"
import { metricRows } from "../../src/services/Metrics/Table.ts"
import { samplesIn, valueIn } from "../services/Metrics/exposition.ts"
import { runSimulation, until } from "../twins/simulation/Simulation.ts"
import { key, makeWorld } from "../twins/world/World.ts"

const other = { namespace: key.namespace, name: "other" }
const mostSeries = 40

const seriesOf = (text: string, name: string) =>
  text.split("\n").filter((line) => line.startsWith("platforminstance_") && line.includes(`name="${name}"`))
/** Without their values. */
const names = (lines: ReadonlyArray<string>) =>
  lines.map((line) => line.slice(0, line.lastIndexOf(" "))).sort()

describe("the metrics of the operator", () => {
  it("tell of instances from their creation to their end, and nothing after it", { timeout: 600_000 }, () => {
    const { result } = runSimulation(
      Effect.gen(function* () {
        const world = yield* makeWorld({ traced: false })
        const operator = yield* world.startOperator({ metrics: true })
        const look = Effect.map(operator.scrape, Option.getOrThrow)
        world.apply()
        world.apply({ deletionPolicy: "Retain" }, other)
        yield* Effect.sleep("5 seconds")
        const begun = yield* look
        yield* until(() => world.isReady() && world.isReady(other), "20 minutes", "both are Ready")
        // What the disk holds is looked at every five minutes.
        yield* Effect.sleep("6 minutes")
        const ready = yield* look
        world.edit({ spec: { version: "6.0.90" } })
        yield* until(() => world.status()?.phase === "Failed", "20 minutes", "it has failed")
        const failed = yield* look
        world.edit({ spec: { version: "6.0.22" } })
        yield* until(() => world.isReady(), "20 minutes", "it is Ready again")
        const inner = world.inner()?.as("kubernetes-admin")
        const drifted = inner
          ?.list(Kinds.ConfigMap)
          .find(({ metadata }) => metadata.name === "di-platform-version")
        inner?.delete(Kinds.ConfigMap, {
          namespace: drifted?.metadata.namespace ?? "",
          name: "di-platform-version",
        })
        yield* Effect.sleep("40 minutes")
        const repaired = yield* look
        world.edit({ metadata: { annotations: { [ANNOTATION_PAUSED]: "true" } } })
        yield* Effect.sleep("2 hours")
        const paused = yield* look
        world.edit({ metadata: { annotations: { [ANNOTATION_PAUSED]: null } } })
        yield* Effect.sleep("10 minutes")
        const resumed = yield* look
        world.edit({ metadata: { annotations: { [ANNOTATION_SLEEP]: "true" } } })
        yield* Effect.sleep("2 hours")
        const asleep = yield* look
        world.edit({ metadata: { annotations: { [ANNOTATION_SLEEP]: null } } })
        yield* Effect.sleep("10 minutes")
        const woken = yield* look
        const findMap = () =>
          world
            .inner()
            ?.as("kubernetes-admin")
            .list(Kinds.ConfigMap)
            .find(({ metadata }) => metadata.name === "di-platform-version")
        world.edit({ metadata: { annotations: { [ANNOTATION_DRIFT]: "detect" } } })
        yield* Effect.sleep("2 hours")
        const detecting = yield* look
        const map = findMap()?.metadata ?? assert.fail("it is there")
        world.inner()?.as("kubernetes-admin").delete(Kinds.ConfigMap, map)
        yield* Effect.sleep("2 hours")
        const differing = yield* look
        assert.isUndefined(findMap())
        world.remove()
        yield* until(
          () => world.instance()?.metadata.deletionTimestamp !== undefined,
          "1 minute",
          "it is deleted",
        )
        yield* Effect.sleep("1 second")
        const deleting = yield* look
        yield* until(() => world.instance() === undefined, "20 minutes", "it is gone")
        yield* Effect.sleep("6 minutes")
        const gone = yield* look
        world.remove(other)
        yield* until(() => world.instance(other) === undefined, "20 minutes", "the other one is gone")
        yield* Effect.sleep("1 second")
        return {
          begun,
          ready,
          failed,
          repaired,
          paused,
          resumed,
          asleep,
          woken,
          detecting,
          differing,
          deleting,
          gone,
          end: yield* look,
        }
      }),
      { seed: 1, maxSteps: 20_000_000 },
    )
    const of = { namespace: key.namespace, name: key.name }
    const all = Object.values(result)
    for (const text of all)
      for (const { name } of [key, other]) assert.isAtMost(seriesOf(text, name).length, mostSeries)
    // Ready, failed and Ready again are the same series, but for the versions that one of them names.
    const stable = (text: string) =>
      names(seriesOf(text, key.name)).filter((name) => !name.startsWith("platforminstance_info"))
    assert.deepStrictEqual(stable(result.failed), stable(result.ready))
    assert.deepStrictEqual(stable(result.repaired), stable(result.ready))
    assert.deepStrictEqual(stable(result.resumed), stable(result.ready))

    const {
      begun,
      ready,
      failed,
      repaired,
      paused,
      resumed,
      asleep,
      woken,
      detecting,
      differing,
      deleting,
      gone,
      end,
    } = Object.fromEntries(Object.entries(result).map(([name, text]) => [name, samplesIn(text)]))
    const phase = (samples: typeof begun, name: string) =>
      valueIn(samples ?? [], "platforminstance_status_phase", { ...of, phase: name })
    assert.strictEqual(phase(begun, "Ready"), 0)
    assert.strictEqual(phase(ready, "Ready"), 1)
    assert.strictEqual(phase(failed, "Ready"), 0)
    assert.strictEqual(phase(failed, "Failed"), 1)
    assert.strictEqual(phase(deleting, "Deleting"), 1)
    const reason = (samples: typeof begun, name: string) =>
      valueIn(samples ?? [], "platforminstance_status_ready_reason", { ...of, reason: name })
    assert.strictEqual(reason(ready, "Ready"), 1)
    assert.strictEqual(reason(failed, "InstallFailed"), 1)
    assert.strictEqual(reason(repaired, "InstallFailed"), 0)

    const value = (samples: typeof begun, name: string, labels = {}) => valueIn(samples ?? [], name, labels)
    assert.strictEqual(value(ready, "platforminstance_info", { ...of, installed_version: "6.0.22" }), 1)
    const chart_version = releaseJson.vcluster.chartVersion
    assert.strictEqual(value(ready, "platforminstance_info", { ...of, chart_version }), 1)
    assert.strictEqual(value(failed, "platforminstance_info", { ...of, version: "6.0.90" }), 1)
    assert.isUndefined(value(failed, "platforminstance_info", { ...of, version: "6.0.22" }))
    assert.isAbove(value(failed, "platforminstance_consecutive_failures", of) ?? 0, 0)
    assert.strictEqual(value(repaired, "platforminstance_consecutive_failures", of), 0)
    assert.isAbove(value(ready, "platforminstance_state_bytes", of) ?? 0, 1000)
    for (const certificate of ["authority", "client"])
      assert.isAbove(
        value(ready, "platforminstance_certificate_expiry_timestamp_seconds", { ...of, certificate }) ?? 0,
        Date.UTC(2026, 11) / 1000,
      )
    assert.strictEqual(
      (value(ready, "platforminstance_repair_due_timestamp_seconds", of) ?? 0) -
        (value(ready, "platforminstance_last_success_timestamp_seconds", of) ?? 0),
      1800,
    )
    assert.isAtLeast(value(repaired, "platforminstance_restored_objects_total", of) ?? 0, 1)
    assert.isUndefined(value(repaired, "platforminstance_deletion_timestamp_seconds", of))
    assert.isDefined(value(deleting, "platforminstance_deletion_timestamp_seconds", of))
    assert.isUndefined(value(deleting, "platforminstance_repair_due_timestamp_seconds", of))

    // Nobody is told that repairs are overdue that are not to be.
    assert.strictEqual(value(ready, "platforminstance_paused", of), 0)
    assert.strictEqual(value(paused, "platforminstance_paused", of), 1)
    assert.isAbove(
      value(paused, "platforminstance_paused_timestamp_seconds", of) ?? 0,
      Date.UTC(2026, 0) / 1000,
    )
    assert.deepStrictEqual(
      [woken, detecting, differing, deleting].map((text) => value(text, "platforminstance_drifted", of)),
      [undefined, 0, 1, undefined],
    )
    for (const text of [detecting, differing])
      assert.strictEqual(value(text, "platform_operator_overdue_repairs"), 0)
    assert.isUndefined(value(paused, "platforminstance_repair_due_timestamp_seconds", of))
    assert.strictEqual(value(paused, "platform_operator_overdue_repairs"), 0)
    const memory = (text: typeof ready) => value(text, "platforminstance_asleep_memory_bytes", of)
    assert.strictEqual(value(resumed, "platforminstance_asleep", of), 0)
    assert.strictEqual(value(asleep, "platforminstance_asleep", of), 1)
    assert.isAbove(memory(asleep) ?? 0, 0)
    assert.isAbove(
      value(asleep, "platforminstance_asleep_timestamp_seconds", of) ?? 0,
      value(paused, "platforminstance_paused_timestamp_seconds", of) ?? 0,
    )
    assert.isUndefined(value(asleep, "platforminstance_repair_due_timestamp_seconds", of))
    assert.strictEqual(value(woken, "platforminstance_asleep", of), 0)
    assert.isUndefined(memory(woken))
    assert.strictEqual(
      value(asleep, "platform_operator_target_probe_failures_total"),
      value(resumed, "platform_operator_target_probe_failures_total"),
    )
    assert.strictEqual(value(resumed, "platforminstance_paused", of), 0)
    assert.isUndefined(value(resumed, "platforminstance_paused_timestamp_seconds", of))

    // Two creations, and one change that came to something; each counted once.
    assert.strictEqual(
      value(repaired, "platform_operator_time_to_ready_seconds_count", { after: "creation" }),
      2,
    )
    assert.strictEqual(
      value(repaired, "platform_operator_time_to_ready_seconds_count", { after: "change" }),
      1,
    )
    const ended = (operation: string, outcome: string) =>
      value(repaired, "platform_operator_operation_duration_seconds_count", { operation, outcome })
    assert.strictEqual(ended("FirstInstall", "succeeded"), 2)
    assert.isAtLeast(ended("VersionChanged", "failed") ?? 0, 1)
    assert.isAtLeast(ended("RepairDue", "succeeded") ?? 0, 2)
    assert.strictEqual(
      value(gone, "platform_operator_deletion_duration_seconds_count", { policy: "Delete" }),
      1,
    )
    assert.strictEqual(
      value(end, "platform_operator_deletion_duration_seconds_count", { policy: "Retain" }),
      1,
    )

    assert.deepStrictEqual(seriesOf(result.gone, key.name), [])
    assert.isNotEmpty(seriesOf(result.gone, other.name))
    assert.notInclude(result.end, "platforminstance_")
    // All that the table has was seen, but for the process and what needs a second replica.
    const seen = all.join("\n")
    const missing = metricRows.filter(
      ([name, { scope }]) => scope !== "process" && !seen.includes(`# TYPE ${name} `),
    )
    assert.deepStrictEqual(
      missing.map(([name]) => name),
      ["leader_election_master_status"],
    )
  })

  it("ask nothing of disk or server when a hundred instances are scraped", { timeout: 600_000 }, () => {
    const keys = Array.from({ length: 100 }, (_, index) => ({ namespace: key.namespace, name: `i${index}` }))
    const { result } = runSimulation(
      Effect.gen(function* () {
        const world = yield* makeWorld({ traced: false })
        let calls = 0
        const operator = yield* world.startOperator({ metrics: true, onCall: () => (calls += 1) })
        // They stay as they are: no node takes them.
        world.node.cordon()
        for (const each of keys) world.apply({}, each)
        yield* until(
          () => keys.every((each) => world.status(each)?.phase === "Provisioning"),
          "1 hour",
          "all begin",
        )
        const before = calls
        const began = performance.now()
        const texts: Array<string> = []
        for (let times = 0; times < 20; times += 1) texts.push(Option.getOrThrow(yield* operator.scrape))
        const millis = (performance.now() - began) / 20
        return { calls: calls - before, text: texts.at(-1) ?? "", millis }
      }),
      { seed: 1, stacks: false, maxSteps: 50_000_000 },
    )
    console.info(`a scrape of 100 instances: ${result.millis.toFixed(1)} ms, ${result.text.length} bytes`)
    assert.strictEqual(result.calls, 0)
    for (const { name } of keys) assert.isAtLeast(seriesOf(result.text, name).length, 20)
    assert.isBelow(result.text.length, 1_000_000)
  })
})
