// `kubectl pi` over a kubectl that answers as it is told to.

import {
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs"
import { createServer } from "node:http"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { parse } from "yaml"
import { instance, PI, runPi, withConditions } from "./FakeKubectl.ts"

const operations = [
  {
    what: "install vCluster",
    why: "installing vcluster 0.37.3",
    startedAt: "2026-01-01T00:00:00.000Z",
    endedAt: "2026-01-01T00:00:20.000Z",
    outcome: "succeeded",
    changed: [],
    traceId: "a".repeat(32),
  },
  {
    what: "install",
    why: "FirstInstall",
    version: "6.0.22",
    generation: 1,
    startedAt: "2026-01-01T00:01:00.000Z",
    endedAt: "2026-01-01T00:03:00.000Z",
    outcome: "failed",
    reason: "InstallFailed",
    message: "up (version 6.0.22): npm is away",
    changed: ["ConfigMap settings (created)", "Secret oauth (created)"],
    more: 3,
    traceId: "c".repeat(32),
  },
]
const historyMap = { items: [{ data: { "history.json": JSON.stringify({ format: 1, operations }) } }] }
const HISTORY = "get configmaps --field-selector=metadata.name=one-history"
const kubeconfig = {
  apiVersion: "v1",
  kind: "Config",
  clusters: [
    { name: "c", cluster: { server: "https://vcluster.x.svc:443", "certificate-authority-data": "Q0E=" } },
  ],
  users: [{ name: "u", user: { token: "hush" } }],
}
const secret = { data: { kubeconfig: Buffer.from(JSON.stringify(kubeconfig)).toString("base64") } }
const SECRET = "get secrets one-kubeconfig"

describe("status", () => {
  it.effect("of a Ready instance waits for nothing, and every gate is passed", () =>
    Effect.gen(function* () {
      const said = yield* runPi(["status", "one", "-n", "team-a"], { [PI]: instance })
      assert.strictEqual(said.exitCode, 0)
      assert.notInclude(said.out, "Waiting for")
      assert.match(said.out, /^team-a\/one\n {2}Phase: +Ready\n/)
      assert.strictEqual(said.out.match(/ passed$/gm)?.length, 6)
      assert.match(said.out, /^ConfigApplied +True +Applied +/m)
      assert.deepStrictEqual(said.asked, [`${PI} --output=json --namespace=team-a`])
    }),
  )

  it.effect("says since when an instance is asleep, what that saves, and that its spec waits", () =>
    Effect.gen(function* () {
      const askedAt = "2026-01-01T00:00:00Z"
      const asleep = { askedAt, pods: 7, memory: 1288 * 2 ** 20, since: "2026-01-01T00:01:00Z" }
      const conditions = [
        { type: "TargetReady", status: "False", reason: "ControlPlanePending", message: "asleep since then" },
        { type: "Ready", status: "False", reason: "TargetPending", message: "asleep since then" },
      ]
      const generation = (instance.metadata.generation ?? 0) + 1
      const shown = (sleep: unknown, more: Readonly<Record<string, string>> = {}) => {
        const annotations = {
          "platform.di-framework.dev/sleep": "true",
          ...(sleep === undefined
            ? {}
            : { "platform.di-framework.dev/day-two": JSON.stringify({ uid: instance.metadata.uid, sleep }) }),
          ...more,
        }
        const metadata = { ...instance.metadata, generation, annotations }
        return { ...instance, metadata, status: { ...instance.status, conditions } }
      }
      const text = yield* runPi(["status", "one"], { [PI]: shown(asleep) })
      assert.match(
        text.out,
        /^ {2}Asleep: +for \d+[sd], since 2026-01-01T00:01:00Z: 7 pods with 1288 MiB of memory asked for ended$/m,
      )
      assert.match(text.out, /^Waiting for: Asleep, for \d+[sd]$/m)
      assert.include(text.out, `generation ${generation} is applied then`)
      const json = JSON.parse((yield* runPi(["status", "one", "-o", "json"], { [PI]: shown(asleep) })).out)
      assert.deepStrictEqual([json.asleepPods, json.asleepSince], [7, "2026-01-01T00:01:00Z"])
      const gates = (what: { readonly out: string }) =>
        what.out
          .match(/^.+? {2,}(?=(passed|waiting|failed|not yet|asleep)$).+$/gm)
          ?.map((line) => line.split(/ {2,}/)[1])
      assert.deepStrictEqual(gates(text), ["asleep", "asleep", "asleep", "asleep", "asleep", "asleep"])
      const falling = yield* runPi(["status", "one"], { [PI]: shown({ askedAt }) })
      assert.match(falling.out, /^ {2}Asleep: +falls asleep$/m)
      const unseen = yield* runPi(["status", "one"], { [PI]: shown(undefined) })
      assert.match(unseen.out, /^ {2}Asleep: +asked for, and not yet seen/m)
    }),
  )

  it.effect("says which backup is being restored, and what goes on with it", () =>
    Effect.gen(function* () {
      const annotations = { "platform.di-framework.dev/restore": "00112233445566aa" }
      const restored = { ...instance, metadata: { ...instance.metadata, annotations } }
      const { out } = yield* runPi(["status", "one"], { [PI]: restored })
      assert.match(out, /^ {2}Restoring: +backup 00112233445566aa; kubectl pi restore, run again/m)
    }),
  )

  it.effect(
    "says since when an instance is paused, and that its newest generation waits for the end of it",
    () =>
      Effect.gen(function* () {
        const pausedSince = "2026-01-01T00:00:00Z"
        const annotations = {
          "platform.di-framework.dev/paused": "true",
          "platform.di-framework.dev/day-two": JSON.stringify({ uid: instance.metadata.uid, pausedSince }),
        }
        const generation = instance.metadata.generation + 1
        const paused = { ...instance, metadata: { ...instance.metadata, generation, annotations } }
        const text = yield* runPi(["status", "one"], { [PI]: paused })
        assert.match(text.out, /^ {2}Paused: +for \d+[sd], since 2026-01-01T00:00:00Z$/m)
        assert.match(text.out, /^Waiting for: Paused, for \d+[sd]$/m)
        const json = JSON.parse((yield* runPi(["status", "one", "-o", "json"], { [PI]: paused })).out)
        assert.strictEqual(json.pausedSince, pausedSince)
        const copy = { ...paused, metadata: { ...paused.metadata, uid: "another life" } }
        const unseen = yield* runPi(["status", "one"], { [PI]: copy })
        assert.match(unseen.out, /^ {2}Paused: +asked for, and not yet seen/m)
      }),
  )

  it.effect("says when the maintenance window of an instance opens, and that an upgrade waits for it", () =>
    Effect.gen(function* () {
      const memo = {
        uid: instance.metadata.uid,
        kept: { "platform.di-framework.dev/window": "Sat 02:00-04:00 Europe/Berlin" },
      }
      const annotations = { "platform.di-framework.dev/day-two": JSON.stringify(memo) }
      const generation = instance.metadata.generation + 1
      const upgraded = {
        ...instance,
        metadata: { ...instance.metadata, generation, annotations },
        spec: { ...instance.spec, version: "6.0.99" },
      }
      // A Thursday.
      yield* TestClock.setTime(Date.parse("2026-01-01T00:00:00Z"))
      const text = yield* runPi(["status", "one"], { [PI]: upgraded })
      assert.match(text.out, /^ {2}Window: +Sat 02:00-04:00 Europe\/Berlin \(opens 2026-01-03T01:00:00Z\)$/m)
      assert.include(text.out, "is applied from 2026-01-03T01:00:00Z on")
      assert.match(text.out, /^Waiting for: MaintenanceWindow$/m)
      assert.include(text.out, "docs/day-two.md#maintenance-windows")
      const wrong = {
        ...upgraded,
        metadata: {
          ...upgraded.metadata,
          annotations: { ...annotations, "platform.di-framework.dev/window": "Satt 2-4" },
        },
      }
      const told = yield* runPi(["status", "one"], { [PI]: wrong })
      assert.match(told.out, /^ {2}Window: +Sat 02:00-04:00 Europe\/Berlin/m)
      assert.match(told.out, /^ {2}Wrong: +.*Satt 2-4/m)
      const json = JSON.parse((yield* runPi(["status", "one", "-o", "json"], { [PI]: upgraded })).out)
      assert.strictEqual(json.windowOpens, "2026-01-03T01:00:00Z")
      const retried = yield* runPi(["retry", "one"], { [PI]: upgraded, annotate: "annotated" })
      assert.include(retried.out, "is tried when the window opens, 2026-01-03T01:00:00Z (MaintenanceWindow)")
    }),
  )

  it.effect("names the gate, what is waited for and since when", () =>
    Effect.gen(function* () {
      const pending = withConditions([
        { type: "TargetReady", status: "False", reason: "ControlPlanePending" },
        { type: "Ready", status: "False", reason: "TargetPending" },
      ])
      const text = yield* runPi(["status", "one"], { [PI]: pending })
      assert.match(text.out, /^Waiting for: ControlPlanePending, TargetReady=False for \d/m)
      assert.include(text.out, "about ControlPlanePending")
      assert.match(text.out, /^vCluster release +passed$/m)
      assert.match(text.out, /^control plane +waiting$/m)
      assert.match(text.out, /^kubeconfig +not yet$/m)
      const json = JSON.parse((yield* runPi(["status", "one", "-o", "json"], { [PI]: pending })).out)
      assert.deepInclude(json.waitingFor, {
        reason: "ControlPlanePending",
        message: "about ControlPlanePending",
        since: "2026-01-01T00:00:00Z",
      })
      assert.deepInclude(json.gates, { gate: "control plane", state: "waiting" })
    }),
  )

  it.effect("counts from when what is waited for began, not from when Ready went", () =>
    Effect.gen(function* () {
      const at = (hour: number) => `2026-01-01T0${hour}:00:00Z`
      const gone = (reason: string, hour: number) => ({
        type: "Ready",
        status: "False",
        reason,
        lastTransitionTime: at(hour),
      })
      const cases = [
        [
          "a failure",
          at(3),
          [
            { type: "Installed", status: "False", reason: "InstallFailed", lastTransitionTime: at(3) },
            gone("InstallFailed", 1),
          ],
        ],
        [
          "a target",
          at(2),
          [
            { type: "TargetReady", status: "False", reason: "Creating", lastTransitionTime: at(2) },
            gone("TargetPending", 1),
          ],
        ],
        [
          "a first install",
          at(2),
          [
            { type: "TargetReady", status: "True", reason: "Ready", lastTransitionTime: at(2) },
            gone("Installing", 1),
          ],
        ],
        [
          "an upgrade",
          at(4),
          [
            { type: "TargetReady", status: "True", reason: "Ready", lastTransitionTime: at(2) },
            gone("Installing", 4),
          ],
        ],
      ] as const
      for (const [name, since, conditions] of cases) {
        const { out } = yield* runPi(["status", "one", "-o", "json"], { [PI]: withConditions(conditions) })
        assert.strictEqual(JSON.parse(out).waitingFor.since, since, name)
      }
      const [, , failing] = cases[0]
      const { metadata, ...rest } = withConditions(failing)
      for (const [hour, since] of [
        [2, at(3)],
        [5, at(5)],
      ] as const) {
        const deleted = { ...rest, metadata: { ...metadata, deletionTimestamp: at(hour) } }
        const { out } = yield* runPi(["status", "one", "-o", "json"], { [PI]: deleted })
        assert.strictEqual(JSON.parse(out).waitingFor.since, since, `deleted at ${hour}`)
      }
    }),
  )

  it.effect("says that a target or an install has failed", () =>
    Effect.gen(function* () {
      for (const [reason, gate] of [
        ["TargetUnreachable", "API"],
        ["TargetError", "vCluster release"],
      ] as const) {
        const failed = withConditions([
          { type: "TargetReady", status: "False", reason },
          { type: "Ready", status: "False", reason },
        ])
        const { out } = yield* runPi(["status", "one"], { [PI]: failed })
        assert.match(out, new RegExp(`^${gate} +failed$`, "m"))
        assert.include(out, `Waiting for: ${reason}`)
      }
      const install = withConditions([
        { type: "TargetReady", status: "True", reason: "Ready" },
        { type: "Installed", status: "False", reason: "InstallFailed" },
        { type: "Ready", status: "False", reason: "InstallFailed" },
      ])
      assert.match((yield* runPi(["status", "one"], { [PI]: install })).out, /^platform installed +failed$/m)
    }),
  )

  it.effect("has the words of a failure in one condition, and refers to it in Ready", () =>
    Effect.gen(function* () {
      const failing = withConditions(
        ["Installed", "Ready"].map((type) => ({
          type,
          status: "False",
          reason: "InstallFailed",
          message: "npm is away",
        })),
      )
      const { out } = yield* runPi(["status", "one"], { [PI]: failing })
      assert.match(out, /^Installed +False +InstallFailed .*npm is away$/m)
      assert.match(out, /^Ready +False +InstallFailed .*as Installed$/m)
    }),
  )

  it.effect("of a newer generation that is not settled waits for it", () =>
    Effect.gen(function* () {
      const edited = { ...instance, metadata: { ...instance.metadata, generation: 3 } }
      const said = yield* runPi(["status", "one", "--exit-code"], { [PI]: edited })
      assert.include(said.out, "generation 3 is not applied yet")
      assert.include(
        said.out,
        "kubectl -n platform-operator get deployments,pods,leases says whether an operator runs",
      )
      assert.strictEqual(said.exitCode, 3)
      assert.include(said.err, "the newest generation of one is not Ready: Installing")
    }),
  )

  it.effect("ends with 0 under --exit-code when it is Ready", () =>
    Effect.gen(function* () {
      assert.strictEqual((yield* runPi(["status", "one", "--exit-code"], { [PI]: instance })).exitCode, 0)
    }),
  )

  it.effect("has colour only where it is wanted, and obeys no words of others", () =>
    Effect.gen(function* () {
      const control = String.fromCharCode(27)
      const turned = String.fromCharCode(0x202e)
      const mean = withConditions([{ type: "Ready", status: "False", reason: `Bad${control}[2J${turned}` }])
      const { out } = yield* runPi(["status", "one"], { [PI]: mean })
      assert.notInclude(out, control)
      assert.notInclude(out, turned)
      assert.include((yield* runPi(["status", "one"], { [PI]: mean }, true)).out, `${control}[31m`)
    }),
  )
})

describe("history", () => {
  it.effect("tells what was done, how long it took and what came of it", () =>
    Effect.gen(function* () {
      const said = yield* runPi(["history", "one"], { [PI]: instance, [HISTORY]: historyMap })
      assert.match(
        said.out,
        /^2026-01-01T00:00:00Z +install vCluster +installing vcluster 0\.37\.3 +20s +succeeded/m,
      )
      assert.match(
        said.out,
        /^2026-01-01T00:01:00Z +install +FirstInstall +6\.0\.22 +2m +failed +5 objects +c{32}$/m,
      )
      assert.include(said.out, "InstallFailed: up (version 6.0.22): npm is away")
    }),
  )

  it.effect("says once, by its last try, what every try has failed with", () =>
    Effect.gen(function* () {
      const failed = (minute: string, message: string) => ({
        what: "install",
        why: "FirstInstall",
        startedAt: `2026-01-01T00:${minute}:00.000Z`,
        outcome: "failed",
        reason: "InstallFailed",
        message,
        changed: [],
      })
      const tries = ["01", "02", "03", "04"].map((minute) => failed(minute, "npm is away"))
      const other = failed("05", "the disk is full")
      const data = { "history.json": JSON.stringify({ format: 1, operations: [...tries, other] }) }
      const said = yield* runPi(["history", "one"], { [PI]: instance, [HISTORY]: { items: [{ data }] } })
      assert.strictEqual(said.out.match(/ failed/g)?.length, 5)
      assert.match(
        said.out,
        /\n\n2026-01-01T00:04:00Z InstallFailed: npm is away\n\n2026-01-01T00:05:00Z InstallFailed: the disk is full$/,
      )
      assert.strictEqual(said.out.split("npm is away").length, 2)
    }),
  )

  it.effect("as JSON is what is kept", () =>
    Effect.gen(function* () {
      const said = yield* runPi(["history", "one", "-o", "json"], { [PI]: instance, [HISTORY]: historyMap })
      assert.deepStrictEqual(JSON.parse(said.out), { operations })
    }),
  )

  it.effect("of an instance without one says so, and fails nobody", () =>
    Effect.gen(function* () {
      const { status: _, ...fresh } = instance
      const said = yield* runPi(["history", "one"], { [PI]: fresh, [HISTORY]: { items: [] } })
      assert.strictEqual(said.exitCode, 0)
      assert.include(said.err, "no operation of this instance has ended yet")
      assert.strictEqual(said.out, "")
      const old = { ...fresh, status: { installedVersion: "6.0.22" } }
      const lost = yield* runPi(["history", "one"], { [PI]: old, [HISTORY]: { items: [] } })
      assert.strictEqual(lost.exitCode, 0)
      assert.include(lost.err, "ConfigMap team-a/one-history is not there, though operations have ended")
    }),
  )

  it.effect("that somebody has edited is named with the way out", () =>
    Effect.gen(function* () {
      const edited = { items: [{ data: { "history.json": "{" } }] }
      const said = yield* runPi(["history", "one"], { [PI]: instance, [HISTORY]: edited })
      assert.strictEqual(said.exitCode, 1)
      assert.match(
        said.err,
        /^kubectl pi: ConfigMap team-a\/one-history .*the next operation writes it again/,
      )
    }),
  )

  it.effect("is refused to whoever may not read ConfigMaps there", () =>
    Effect.gen(function* () {
      const forbidden = new Error(
        'Error from server (Forbidden): configmaps is forbidden: User "dev" cannot list resource "configmaps"',
      )
      const said = yield* runPi(["history", "one"], { [PI]: instance, [HISTORY]: forbidden })
      assert.strictEqual(said.exitCode, 1)
      assert.include(said.err, "Ask whoever runs the cluster for that right")
      assert.strictEqual(said.out, "")
    }),
  )
})

it.effect("events are those of this life of the instance, of either API, oldest first", () =>
  Effect.gen(function* () {
    const list = {
      items: [
        {
          type: "Warning",
          reason: "InstallFailed",
          message: "npm is away",
          eventTime: "2026-01-01T00:00:00.000000Z",
          firstTimestamp: null,
          lastTimestamp: null,
          series: { count: 7, lastObservedTime: "2026-01-01T02:00:00.000000Z" },
          metadata: { creationTimestamp: "2026-01-01T00:00:00Z" },
        },
        {
          type: "Normal",
          reason: "FirstInstall",
          message: "installed",
          count: 2,
          eventTime: null,
          firstTimestamp: "2026-01-01T00:30:00Z",
          lastTimestamp: "2026-01-01T01:00:00Z",
          metadata: { creationTimestamp: "2026-01-01T00:30:00Z" },
        },
      ],
    }
    const said = yield* runPi(["events", "one"], { [PI]: instance, "get events": list })
    assert.include(said.asked[1], "--field-selector=involvedObject.uid=uid-one")
    assert.match(said.out, /2 +Normal +FirstInstall +installed\n.* +7 +Warning +InstallFailed +npm is away$/)
    const json = yield* runPi(["events", "one", "-o", "json"], { [PI]: instance, "get events": list })
    assert.deepInclude(JSON.parse(json.out).events[1], { count: 7, last: "2026-01-01T02:00:00.000000Z" })
  }),
)

it.effect("events that there are not are no answer but a hint where there is more", () =>
  Effect.gen(function* () {
    const answers = { [PI]: instance, "get events": { items: [] } }
    const said = yield* runPi(["events", "one"], answers)
    assert.deepStrictEqual([said.exitCode, said.out], [0, ""])
    assert.include(said.err, "no Events of team-a/one")
    assert.include(said.err, "kubectl pi history one -n team-a")
    const json = yield* runPi(["events", "one", "-o", "json"], answers)
    assert.deepStrictEqual(JSON.parse(json.out), { events: [] })
  }),
)

describe("logs", () => {
  const line = (about: string, message: string) =>
    JSON.stringify({
      timestamp: "2026-01-01T00:00:00.000Z",
      level: "WARN",
      message,
      annotations: { instance: about, generation: 1, pass: 2, reason: "InstallFailed" },
    })
  const log = [
    line("team-a/one", "operation failed"),
    line("team-b/one", "another"),
    "no line of the log",
  ].join("\n")

  it.effect("are the lines about this instance, for a person", () =>
    Effect.gen(function* () {
      const said = yield* runPi(["logs", "one", "--since", "5m"], { [PI]: instance, logs: log })
      assert.strictEqual(said.out, "2026-01-01T00:00:00.000Z WARN  operation failed reason=InstallFailed")
      assert.match(said.asked[1] ?? "", /^logs --selector=.* --since=5m --namespace=platform-operator$/)
    }),
  )

  it.effect("as JSON are as they were written", () =>
    Effect.gen(function* () {
      const said = yield* runPi(["logs", "one", "-o", "json"], { [PI]: instance, logs: log })
      assert.strictEqual(said.out, line("team-a/one", "operation failed"))
    }),
  )

  const pod = (name: string, restartCount: number) => ({
    metadata: { name, creationTimestamp: "1969-12-31T23:57:00Z" },
    status: { containerStatuses: [{ name: "operator", restartCount }] },
  })

  it.effect("without a line say whose log that is, since when, and what outlives a pod", () =>
    Effect.gen(function* () {
      const pods = { items: [pod("platform-operator-b", 0)] }
      const said = yield* runPi(["logs", "one"], { [PI]: instance, logs: "", "get pods": pods })
      assert.match(
        said.err,
        /^nothing about team-a\/one in the log of platform-operator-b \(there for 3m\)$/m,
      )
      assert.match(said.err, /^A pod's log goes with the pod: /m)
      assert.include(said.err, "kubectl pi history one -n team-a")
      assert.match(
        said.err,
        /^An operator that does not lead .* kubectl -n platform-operator get deployments,pods,leases /m,
      )
      assert.notInclude(said.err, "--previous")
      assert.notInclude(said.err, "--since")
      assert.match(
        said.asked[2] ?? "",
        /^get pods --selector=\S+ --output=json --namespace=platform-operator$/,
      )
    }),
  )

  it.effect("without a line name the log before a restart, and what --since leaves out", () =>
    Effect.gen(function* () {
      const pods = { items: [pod("platform-operator-a", 0), pod("platform-operator-b", 2)] }
      const said = yield* runPi(["logs", "one", "--since=5m"], {
        [PI]: instance,
        logs: log.split("\n")[1],
        "get pods": pods,
      })
      assert.match(said.err, /^nothing in the last 5m about .*platform-operator-a .*, platform-operator-b /)
      assert.match(said.err, /^Without --since /m)
      assert.deepStrictEqual(said.err.match(/kubectl -n \S+ logs \S+ -c operator --previous/g), [
        "kubectl -n platform-operator logs platform-operator-b -c operator --previous",
      ])
    }),
  )

  it.effect("of an operator that is not there say so", () =>
    Effect.gen(function* () {
      const said = yield* runPi(["logs", "one"], { [PI]: instance, logs: "", "get pods": { items: [] } })
      assert.match(
        said.err,
        /^kubectl pi: no pod of the operator is in namespace platform-operator: .*--operator-namespace/,
      )
      assert.strictEqual(said.exitCode, 1)
    }),
  )

  it.effect("of an operator that a rotation has stopped say so, and how that goes on", () =>
    Effect.gen(function* () {
      const of = (annotations: object) => ({
        items: [
          {
            metadata: { name: "platform-operator", annotations },
            spec: {
              replicas: 0,
              selector: { matchLabels: {} },
              template: { spec: { containers: [] } },
            },
          },
        ],
      })
      const said = (deployments: object) =>
        Effect.map(
          runPi(["logs", "one"], {
            [PI]: instance,
            logs: "",
            "get pods": { items: [] },
            "get deployments": deployments,
          }),
          ({ err }) => err,
        )
      assert.match(
        yield* said(of({ "platform.di-framework.dev/replicas-before-rotation": "1" })),
        /a rotation of the passphrase .* Deployment platform-operator stopped: kubectl pi rotate-passphrase -n platform-operator --yes/,
      )
      assert.match(yield* said(of({})), /: Deployment platform-operator is scaled to 0$/m)
    }),
  )

  it.effect("that are followed say when there is no more to follow", () =>
    Effect.gen(function* () {
      const said = yield* runPi(["logs", "one", "-f"], { [PI]: instance, logs: log })
      assert.match(said.err, /^the log has ended: /)
    }),
  )

  it.effect.each(["banana", "10", "-1m", ""])("take no since that is no duration: %s", (since) =>
    Effect.gen(function* () {
      const said = yield* runPi(["logs", "one", `--since=${since}`], { [PI]: instance })
      assert.strictEqual(said.exitCode, 2)
      assert.deepStrictEqual(said.asked, [])
      const taken = yield* runPi(["logs", "one", "--since=1h30m"], { [PI]: instance })
      assert.notStrictEqual(taken.exitCode, 2)
    }),
  )
})

it.effect("retry of what is Ready writes nothing, and says so", () =>
  Effect.gen(function* () {
    const said = yield* runPi(["retry", "one"], { [PI]: instance })
    assert.strictEqual(said.exitCode, 0)
    assert.strictEqual(said.out, "team-a/one is Ready: there is nothing to retry, and nothing was written")
    assert.lengthOf(said.asked, 1)
    const json = yield* runPi(["retry", "one", "-o", "json"], { [PI]: instance })
    assert.deepStrictEqual(JSON.parse(json.out), {
      instance: "team-a/one",
      requestedAt: null,
      waitingFor: null,
    })
  }),
)

it.effect("retry sets the annotation to a new value, in the instance's namespace", () =>
  Effect.gen(function* () {
    const failed = withConditions([{ type: "Ready", status: "False", reason: "InstallFailed" }])
    const said = yield* runPi(["retry", "one"], { [PI]: failed, annotate: "annotated" })
    assert.match(
      said.asked[1] ?? "",
      /^annotate platforminstances\.platform\.di-framework\.dev one --overwrite platform\.di-framework\.dev\/reconcile-requested-at=\S+ --namespace=team-a$/,
    )
    assert.include(said.out, "what is due is tried at once (InstallFailed)")
  }),
)

describe("kubeconfig", () => {
  const folder = () => mkdtempSync(join(tmpdir(), "pi-test-"))
  const answers = { [PI]: instance, [SECRET]: secret }

  it.effect("goes nowhere that nobody has named", () =>
    Effect.gen(function* () {
      const said = yield* runPi(["kubeconfig", "one"], answers)
      assert.strictEqual(said.exitCode, 2)
      assert.deepStrictEqual([said.out, said.asked], ["", []])
    }),
  )

  it.effect("goes to a file that its owner alone can read, whoever could read the one before", () =>
    Effect.gen(function* () {
      const file = join(folder(), "one.kubeconfig")
      writeFileSync(file, "old", { mode: 0o644 })
      const said = yield* runPi(["kubeconfig", "one", "--file", file], answers)
      assert.strictEqual(said.exitCode, 0)
      assert.strictEqual(statSync(file).mode & 0o777, 0o600)
      assert.deepStrictEqual(JSON.parse(readFileSync(file, "utf8")), kubeconfig)
      assert.notInclude(said.out + said.err, "hush")
      assert.include(said.err, `${file}: the kubeconfig of team-a/one, in place of the file that was there;`)
      const other = join(folder(), "one.kubeconfig")
      assert.notInclude((yield* runPi(["kubeconfig", "one", "--file", other], answers)).err, "in place of")
    }),
  )

  it.effect("takes the place of no folder, device or socket, and leaves nothing of a write that fails", () =>
    Effect.gen(function* () {
      const at = folder()
      const link = join(at, "link")
      symlinkSync("/dev/null", link)
      for (const file of [at, link]) {
        const said = yield* runPi(["kubeconfig", "one", "--file", file], answers)
        assert.strictEqual(said.exitCode, 1)
        assert.include(said.err, `--file ${file} is no file`)
      }
      const nowhere = join(at, "missing", "file")
      assert.include(
        (yield* runPi(["kubeconfig", "one", "--file", nowhere], answers)).err,
        `--file ${nowhere}: there is no folder ${join(at, "missing")}: make it, or name another file`,
      )
      assert.deepStrictEqual(readdirSync(at), ["link"])
      assert.isTrue(statSync(link).isCharacterDevice())
      assert.isFalse(existsSync(`${at}.new`))
    }),
  )

  it.effect("goes to standard output where that is asked for", () =>
    Effect.gen(function* () {
      const said = yield* runPi(["kubeconfig", "one", "--stdout"], answers)
      assert.deepStrictEqual(JSON.parse(said.out), kubeconfig)
      const yaml = { data: { kubeconfig: Buffer.from("kind: Config\n").toString("base64") } }
      const asked = { [PI]: instance, [SECRET]: yaml }
      assert.strictEqual((yield* runPi(["kubeconfig", "one", "--stdout"], asked)).out, "kind: Config")
      const json = yield* runPi(["kubeconfig", "one", "--stdout", "-o", "json"], asked)
      assert.deepStrictEqual(JSON.parse(json.out), { kind: "Config" })
    }),
  )

  it.effect("leads over a port of this machine, to the host namespace's Service", () =>
    Effect.gen(function* () {
      const file = join(folder(), "one.kubeconfig")
      const said = yield* runPi(["kubeconfig", "one", "--port-forward", "--file", file], {
        ...answers,
        "port-forward": "Forwarding from 127.0.0.1:41231 -> 8443",
      })
      assert.strictEqual(said.out, `export KUBECONFIG=${file}`)
      assert.match(
        said.asked[2] ?? "",
        /^port-forward .*service\/vcluster :443 --namespace=pi-team-a-one-[a-z2-7]{12}$/,
      )
      const { clusters, users } = parse(readFileSync(file, "utf8"))
      assert.strictEqual(clusters[0].cluster.server, "https://127.0.0.1:41231")
      assert.strictEqual(clusters[0].cluster["certificate-authority-data"], "Q0E=")
      assert.strictEqual(users[0].user.token, "hush")
      assert.strictEqual(statSync(file).mode & 0o777, 0o600)
    }),
  )

  it.effect("of an instance that has none yet names what has to come first", () =>
    Effect.gen(function* () {
      const { kubeconfigSecretRef: _, installedVersion: __, ...rest } = instance.status
      const status = { ...rest, conditions: [] }
      const said = yield* runPi(["kubeconfig", "one", "--stdout"], { [PI]: { ...instance, status } })
      assert.strictEqual(said.exitCode, 1)
      assert.include(said.err, "has no kubeconfig yet")
      const message = "store kubeconfig: Secret team-a/one-kubeconfig belongs to somebody else"
      const failed = { type: "TargetReady", status: "False", reason: "TargetError", message }
      const taken = { ...instance, status: { ...rest, conditions: [failed] } }
      assert.include((yield* runPi(["kubeconfig", "one", "--stdout"], { [PI]: taken })).err, message)
    }),
  )

  it.effect("whose Secret was deleted says so, and when it is written again; a pause holds it up", () =>
    Effect.gen(function* () {
      const { kubeconfigSecretRef: _, ...status } = instance.status
      const memo = JSON.stringify({ uid: instance.metadata.uid, pausedSince: "2026-01-01T00:00:00Z" })
      const annotations = { "platform.di-framework.dev/day-two": memo }
      const lost = { ...instance, status }
      const paused = { ...lost, metadata: { ...instance.metadata, annotations } }
      const refused = {
        type: "TargetReady",
        status: "False",
        reason: "TargetError",
        message: "store kubeconfig: it is forbidden in namespace team-a because it is being terminated",
      }
      const ending = { ...lost, status: { ...status, conditions: [refused] } }
      for (const [each, what] of [
        [lost, "the operator writes it again once the control plane answers"],
        [paused, "the operator writes it again when annotation platform.di-framework.dev/paused goes"],
        [ending, "it cannot be written again, because namespace team-a is being deleted"],
      ] as const) {
        const words = `Secret team-a/one-kubeconfig is missing: ${what}`
        const said = yield* runPi(["kubeconfig", "one", "--stdout"], { [PI]: each })
        assert.strictEqual(said.exitCode, 1)
        assert.include(said.err, words)
        const shown = yield* runPi(["status", "one"], { [PI]: each })
        assert.include(shown.out, words)
        if (each !== ending) assert.match(shown.out, /^kubeconfig +waiting$/m)
      }
    }),
  )

  it.effect("whose Secret is gone before an operator has looked leads to whether one is at work", () =>
    Effect.gen(function* () {
      const gone = new Error('Error from server (NotFound): secrets "one-kubeconfig" not found')
      const said = yield* runPi(["kubeconfig", "one", "--stdout"], { [PI]: instance, [SECRET]: gone })
      assert.strictEqual(said.exitCode, 1)
      assert.include(said.err, "Secret team-a/one-kubeconfig is missing")
      assert.include(said.err, "kubectl -n platform-operator get deployments,pods,leases says whether")
    }),
  )

  it.effect("of an instance that is being deleted is given with the warning that its API may be gone", () =>
    Effect.gen(function* () {
      const metadata = { ...instance.metadata, deletionTimestamp: "2026-01-01T00:00:00Z" }
      const said = yield* runPi(["kubeconfig", "one", "--stdout"], {
        ...answers,
        [PI]: { ...instance, metadata },
      })
      assert.strictEqual(said.exitCode, 0)
      assert.deepStrictEqual(JSON.parse(said.out), kubeconfig)
      assert.include(said.err, "team-a/one is being deleted")
    }),
  )
})

describe("trace", () => {
  it.effect("of an instance that nobody has traced is a hint, no empty table", () =>
    Effect.gen(function* () {
      const { annotations: _, ...metadata } = instance.metadata
      const answers = { [PI]: { ...instance, metadata }, [HISTORY]: { items: [] } }
      const said = yield* runPi(["trace", "one"], answers)
      assert.deepStrictEqual([said.exitCode, said.out], [0, ""])
      assert.include(said.err, "OTEL_EXPORTER_OTLP_ENDPOINT")
      const json = yield* runPi(["trace", "one", "-o", "json"], answers)
      assert.deepStrictEqual(JSON.parse(json.out), { traces: [] })
      const spans = yield* runPi(["trace", "one", "--jaeger", "http://127.0.0.1:1"], answers)
      assert.deepStrictEqual([spans.exitCode, spans.out], [1, ""])
      assert.match(spans.err, /^kubectl pi: no trace .* OTEL_EXPORTER_OTLP_ENDPOINT .*; --id names one/)
    }),
  )

  it.effect("lists the newest change and the operations, each trace once", () =>
    Effect.gen(function* () {
      const said = yield* runPi(["trace", "one", "-o", "json"], { [PI]: instance, [HISTORY]: historyMap })
      assert.deepStrictEqual(
        JSON.parse(said.out).traces.map(({ traceId }: { readonly traceId: string }) => traceId),
        ["a".repeat(32), "c".repeat(32)],
      )
    }),
  )

  it.live("shows the spans of one as Jaeger has them", () =>
    Effect.gen(function* () {
      const span = (spanID: string, operationName: string, startTime: number, parent?: string) => ({
        spanID,
        operationName,
        startTime,
        duration: 1_500_000,
        references: parent === undefined ? [] : [{ refType: "CHILD_OF", spanID: parent }],
        tags: operationName === "up" ? [{ key: "error", value: true }] : [],
      })
      const spans = [span("3", "up", 30, "2"), span("2", "install", 20, "1"), span("1", "change", 10)]
      const server = yield* Effect.acquireRelease(
        Effect.callback<ReturnType<typeof createServer>>((resume) => {
          const made = createServer((request, response) => {
            const known = request.url === `/api/traces/${"a".repeat(32)}`
            response.writeHead(known ? 200 : 404).end(JSON.stringify({ data: known ? [{ spans }] : [] }))
          })
          made.listen(0, "127.0.0.1", () => resume(Effect.succeed(made)))
        }),
        (made) => Effect.sync(() => made.close()),
      )
      const address = server.address()
      const jaeger = `http://127.0.0.1:${typeof address === "object" ? address?.port : ""}`
      const answers = { [PI]: instance, [HISTORY]: historyMap }
      const said = yield* runPi(["trace", "one", "--jaeger", jaeger], answers)
      assert.strictEqual(said.out, "change  1500ms\n  install  1500ms\n    up  1500ms  failed")
      const unknown = yield* runPi(["trace", "one", "--jaeger", jaeger, "--id", "f".repeat(32)], answers)
      assert.include(unknown.err, "has no trace")
      assert.strictEqual(unknown.exitCode, 1)
    }),
  )
})

describe("a mistake", () => {
  it.effect.each([
    [["status"], 2, /Missing required argument: name/],
    [["statsu", "one"], 2, /Unknown subcommand[\s\S]*Did you mean this\?\n +status$/m],
    [["status", "one", "--exitcode"], 2, /Did you mean this\?\n +--exit-code$/m],
    [["status", "one", "--contxt", "a"], 2, /Did you mean this\?\n +--context$/m],
    [["status", "one", "--namspace", "a"], 2, /Did you mean this\?\n +--namespace$/m],
    [["logs", "one", "--hepl"], 2, /Did you mean this\?\n +--help$/m],
    [["status", "one", "-o", "yaml"], 2, /"text" \| "json"/],
    [["kubeconfig", "one", "--stdout", "--port-forward"], 2, /exclude one another/],
    [["kubeconfig", "one", "--stdout", "--file", "x"], 2, /--stdout and --file x exclude one another/],
    [["kubeconfig", "one", "--port", "70000", "--stdout"], 2, /0 to 65535/],
    [["kubeconfig", "one", "--file", ""], 2, /name of a file/],
    [["trace", "one", "--id", "f".repeat(32)], 2, /needs --jaeger/],
    [["status", "--", "-A"], 2, /"-A".*name of one PlatformInstance/],
    [["retry", ""], 2, /"".*name of one PlatformInstance/],
    [["history", "one,two"], 2, /name of one PlatformInstance/],
  ] as const)("%j is named in a line", ([args, exitCode, words]) =>
    Effect.gen(function* () {
      const said = yield* runPi(args, {})
      assert.strictEqual(said.exitCode, exitCode)
      assert.match(said.err, words)
      assert.deepStrictEqual(said.asked, [])
    }),
  )

  it.effect.each([["bogus"], ["zz"], ["status", "one", "-x"]])("%j is near to nothing", (args) =>
    Effect.gen(function* () {
      const said = yield* runPi(args, {})
      assert.strictEqual(said.exitCode, 2)
      assert.notInclude(said.err, "Did you mean")
    }),
  )

  it.effect.each([
    ["stat /none: no such file or directory", "none is there"],
    ['error loading config file "/none": read /none: is a directory', "a folder"],
  ])("in --kubeconfig is named with its value and the way out: %s", ([stderr]) =>
    Effect.gen(function* () {
      const answers = { get: new Error(`error: ${stderr}`) }
      const said = yield* runPi(["status", "one", "--kubeconfig", "/none"], answers)
      assert.strictEqual(said.exitCode, 1)
      assert.match(
        said.err,
        /^kubectl pi: --kubeconfig \/none cannot be used: .*\nName another file, or leave it out/,
      )
      assert.match(
        (yield* runPi(["status", "one"], answers)).err,
        /\nKUBECONFIG in the environment, or --kube/,
      )
    }),
  )

  it.effect.each([
    ['Error from server (NotFound): platforminstances "one" not found', "kubectl get pi --all-namespaces"],
    ['error: the server doesn\'t have a resource type "platforminstances"', "install the operator's chart"],
    ['error: context "nope" does not exist', "--context and --kubeconfig"],
  ] as const)("of kubectl's, %s, has the way out", ([stderr, way]) =>
    Effect.gen(function* () {
      const said = yield* runPi(["status", "one", "--context", "nope"], { get: new Error(stderr) })
      assert.strictEqual(said.exitCode, 1)
      assert.include(said.err, way)
    }),
  )
})

it.effect("whom to act for is handed on to kubectl, for each look and each change", () =>
  Effect.gen(function* () {
    const failed = withConditions([{ type: "Ready", status: "False", reason: "InstallFailed" }])
    const flags = ["--as", "dev", "--as-group", "a", "--as-group=b"]
    const said = yield* runPi(["retry", "one", ...flags], { [PI]: failed, annotate: "annotated" })
    assert.strictEqual(said.exitCode, 0)
    assert.lengthOf(said.asked, 2)
    for (const asked of said.asked) assert.match(asked, / --as=dev --as-group=a --as-group=b$/)
  }),
)

describe("plan", () => {
  const { uid, generation = 0 } = instance.metadata
  const made = {
    id: "0123456789ab",
    version: "6.0.23",
    generation,
    madeAt: "2026-01-01T00:00:00Z",
    after: "2025-12-31T23:00:00Z",
    create: { ConfigMap: 2 },
    update: {},
    replace: { Service: 1 },
    delete: { PersistentVolumeClaim: 1 },
    replaced: ["Service wasmcloud/gateway"],
    deleted: ["PersistentVolumeClaim wasmcloud/data"],
    data: ["PersistentVolumeClaim wasmcloud/data"],
    restored: ["Secret wasmcloud/x (missing)"],
  }
  const kept = (plans: object) => ({ format: 1, uid, grave: [], ...plans })
  const waiting = (plan: string) => ({
    ...instance,
    metadata: {
      ...instance.metadata,
      annotations: {
        "platform.di-framework.dev/day-two": JSON.stringify({
          uid,
          awaits: generation,
          published: { generation, plan },
        }),
      },
    },
  })
  const answers = (plans: unknown, of: unknown = instance) => ({
    [PI]: of,
    [HISTORY]: { items: [{ data: { "plan.json": JSON.stringify(plans) } }] },
  })

  it.effect("tells what an install would do, and as JSON is the file", () =>
    Effect.gen(function* () {
      const plans = kept({ spec: made })
      const said = yield* runPi(["plan", "one"], answers(plans))
      assert.include(said.out, `Version 6.0.23 with the spec of generation ${generation}, looked at `)
      assert.match(said.out, /^create +ConfigMap +2$/m)
      assert.match(said.out, /^delete +PersistentVolumeClaim +1$/m)
      assert.include(said.out, "Goes with its data:\n  PersistentVolumeClaim wasmcloud/data\n")
      assert.include(said.out, "Replaced:\n  Service wasmcloud/gateway\n")
      assert.include(said.out, "Of charts, put back:\n  Secret wasmcloud/x (missing)")
      assert.notInclude(said.out, "approval")
      const json = yield* runPi(["plan", "one", "-o", "json"], answers(plans))
      assert.deepStrictEqual(JSON.parse(json.out), plans)
    }),
  )

  it.effect("says how exactly this plan is approved where it waits, and of no other", () =>
    Effect.gen(function* () {
      const command = `kubectl annotate pi one --namespace team-a --overwrite platform.di-framework.dev/approved="${generation}-${made.id}"`
      const both = kept({ spec: made, version: { ...made, id: "ba9876543210", version: "6.0.24" } })
      const said = yield* runPi(["plan", "one"], answers(both, waiting(made.id)))
      assert.include(said.out, `It waits for approval:\n  ${command}`)
      assert.lengthOf(said.out.match(/approved=/g) ?? [], 1)
      assert.include(said.out, "Version 6.0.24 ")
      const other = yield* runPi(["plan", "one"], answers(both, waiting("aaaaaaaaaaaa")))
      assert.notInclude(other.out, "approved=")
    }),
  )

  it.effect("that is outdated says so, and not how it is approved", () =>
    Effect.gen(function* () {
      for (const [plan, why] of [
        [{ ...made, generation: generation - 1 }, `Outdated: the spec is generation ${generation} by now`],
        [{ ...made, outdated: true }, "Outdated: package, settings or state have changed"],
      ] as const) {
        const said = yield* runPi(["plan", "one"], answers(kept({ spec: plan }), waiting(made.id)))
        assert.include(said.out, why)
        assert.notInclude(said.out, "approved=")
      }
    }),
  )

  it.effect("that has been applied since says so, and no other", () =>
    Effect.gen(function* () {
      const install = {
        what: "install",
        why: "VersionChanged",
        version: made.version,
        generation,
        startedAt: "2026-01-01T00:00:00.001Z",
        outcome: "succeeded",
        changed: [],
      }
      const asked = (operation: object) =>
        runPi(["plan", "one"], {
          [PI]: instance,
          [HISTORY]: {
            items: [
              {
                data: {
                  "plan.json": JSON.stringify(kept({ spec: made })),
                  "history.json": JSON.stringify({ format: 1, operations: [operation] }),
                },
              },
            ],
          },
        })
      assert.include((yield* asked(install)).out, "Outdated: it has been applied since")
      const others: ReadonlyArray<object> = [
        { startedAt: made.madeAt },
        { what: "plan" },
        { what: "drift report" },
        { version: "6.0.21" },
        { generation: generation - 1 },
        { outcome: "failed" },
        { changed: "of no release" },
      ]
      for (const other of others) assert.notInclude((yield* asked({ ...install, ...other })).out, "Outdated")
    }),
  )

  it.effect("has the drift report as a part of its own, and says where it is none any more", () =>
    Effect.gen(function* () {
      const memo = (kept: object) => ({
        ...instance,
        metadata: {
          ...instance.metadata,
          annotations: { "platform.di-framework.dev/day-two": JSON.stringify({ uid, kept }) },
        },
      })
      const detects = memo({ "platform.di-framework.dev/drift": "detect" })
      const drift = { ...made, version: "6.0.22" }
      const said = yield* runPi(["plan", "one"], answers(kept({ spec: made, drift }), detects))
      const [plan = "", report = ""] = said.out.split(/^(?=Drift from)/m)
      assert.include(plan, "Version 6.0.23 with the spec")
      assert.match(
        report,
        /^Drift from version 6\.0\.22 with the spec of generation \d+, looked at \S+ ago \(2026-01-01T00:00:00Z\)\n\n5 objects differ\. A repair would:\n\nWHAT/,
      )
      assert.include(report, "Of charts, put back:\n  Secret wasmcloud/x (missing)")
      assert.notInclude(said.out, "Outdated")
      const nothing = { create: {}, update: {}, replace: {}, delete: {}, replaced: [], deleted: [], data: [] }
      const none = yield* runPi(
        ["plan", "one"],
        answers(kept({ drift: { ...drift, ...nothing, restored: [] } }), detects),
      )
      assert.match(none.out, /^Drift from [^\n]*\n\nNothing differs\.$/)
      const charts = yield* runPi(
        ["plan", "one"],
        answers(kept({ drift: { ...drift, ...nothing } }), detects),
      )
      assert.match(charts.out, /\n\n1 object differs\. A repair would:\n\n+Of charts, put back:\n/)
      for (const [of, report, why] of [
        [detects, { ...drift, outdated: true }, "an install or a repair has begun since"],
        [memo({}), drift, "repairs put back by now what differs"],
      ] as const) {
        const old = yield* runPi(["plan", "one"], answers(kept({ drift: report }), of))
        assert.include(old.out, `Outdated: ${why}`)
      }
    }),
  )

  it.effect("says why there is none", () =>
    Effect.gen(function* () {
      const failed = kept({ spec: { ...made, unreadable: "up (version 6.0.23): it throws" } })
      assert.include(
        (yield* runPi(["plan", "one"], answers(failed))).out,
        "It could not be made: up (version 6.0.23): it throws",
      )
      const none = yield* runPi(["plan", "one"], { [PI]: instance, [HISTORY]: { items: [] } })
      assert.include(none.err, "annotate pi one --namespace team-a platform.di-framework.dev/plan=spec")
      // Whoever is to approve it is not told to ask for it.
      const unseen = yield* runPi(["plan", "one"], { [PI]: waiting(made.id), [HISTORY]: { items: [] } })
      assert.match(
        unseen.err,
        /^a plan waits for approval and cannot be shown yet: .* ConfigMap team-a\/one-history/,
      )
      // One of another life of that name is none of this one's.
      const other = yield* runPi(["plan", "one"], answers({ ...kept({ spec: made }), uid: "another" }))
      assert.include(other.err, "there is no plan")
      const edited = yield* runPi(["plan", "one"], answers({ ...kept({}), format: 2 }))
      assert.strictEqual(edited.exitCode, 1)
      assert.match(edited.err, /none that this program can read/)
    }),
  )
})

it.effect("status says what a generation waits for, and where it is said how it is approved", () =>
  Effect.gen(function* () {
    const generation = 1 + (instance.metadata.generation ?? 0)
    const waitingWith = (more: object) => {
      const memo = JSON.stringify({ uid: instance.metadata.uid, awaits: generation, ...more })
      const annotations = { "platform.di-framework.dev/day-two": memo }
      return { ...instance, metadata: { ...instance.metadata, generation, annotations } }
    }
    const plan = "0123456789ab"
    const published = { generation, plan }
    const older = { generation: generation - 1, plan }
    for (const more of [{}, { published: older, approved: { value: "1", plan } }]) {
      const unplanned = yield* runPi(["status", "one"], { [PI]: waitingWith(more) })
      assert.include(unplanned.out, `Approval:    generation ${generation} waits for its plan first`)
      assert.include(unplanned.out, "waits for its plan, which kubectl pi plan one shows once it is made")
    }
    const given = yield* runPi(["status", "one"], {
      [PI]: waitingWith({ published, approved: { value: `${generation}`, plan } }),
    })
    assert.include(given.out, `Approval:    generation ${generation} has it`)
    assert.include(given.out, `generation ${generation} is not applied yet`)
    const waiting = waitingWith({ published, approved: { value: "1", plan: "ba9876543210" } })
    const said = yield* runPi(["status", "one"], { [PI]: waiting })
    assert.include(said.out, `Approval:    generation ${generation} waits for it\n`)
    assert.include(said.out, "kubectl pi plan one says what it would do, and how it is approved")
    assert.include(said.out, "docs/day-two.md#approval")
    const json = JSON.parse((yield* runPi(["status", "one", "-o", "json"], { [PI]: waiting })).out)
    assert.deepStrictEqual([json.awaitsApproval, json.waitingFor.reason], [generation, "Approval"])
    const retried = yield* runPi(["retry", "one"], { [PI]: waiting, annotate: "annotated" })
    assert.include(retried.out, "once it is approved, and a plan that could not be made at once (Approval)")
  }),
)

it.effect("status says how much differs where repairs look and do nothing", () =>
  Effect.gen(function* () {
    const asked = { "platform.di-framework.dev/drift": "detect" }
    const of = (memo: object | undefined) => {
      const text = JSON.stringify({ uid: instance.metadata.uid, kept: asked, ...memo })
      const annotations = {
        ...asked,
        ...(memo === undefined ? {} : { "platform.di-framework.dev/day-two": text }),
      }
      return { [PI]: { ...instance, metadata: { ...instance.metadata, annotations } } }
    }
    const drift = { found: "0123456789ab", objects: 2, since: "2026-01-01T00:00:00Z" }
    for (const [memo, line] of [
      [{ drift }, /^2 objects differ, found \S+ ago; kubectl pi plan one says which$/],
      [{ drift: { ...drift, objects: 0 } }, /^none, from the look \S+ ago on$/],
      [{ drift: { ...drift, outdated: true } }, /^not looked at since the last install; repairs only look$/],
      [{}, /^not looked at since the last install; repairs only look$/],
      [undefined, /^asked for, and not yet seen by the operator/],
    ] as const) {
      const { out } = yield* runPi(["status", "one"], of(memo))
      assert.match(/^ {2}Drift: +(.*)$/m.exec(out)?.[1] ?? "", line)
    }
    const json = JSON.parse((yield* runPi(["status", "one", "-o", "json"], of({ drift }))).out)
    assert.deepStrictEqual(
      [json.detectsDrift, json.drifted, json.driftedSince],
      [true, 2, "2026-01-01T00:00:00Z"],
    )
    assert.notInclude((yield* runPi(["status", "one"], { [PI]: instance })).out, "Drift:")
  }),
)

it.effect("status says what has come of the upgrade of the vCluster", () =>
  Effect.gen(function* () {
    const asked = { "platform.di-framework.dev/upgrade-vcluster": "true" }
    const of = (memo: object | undefined) => {
      const text = JSON.stringify({ uid: instance.metadata.uid, kept: asked, ...memo })
      const annotations = {
        ...asked,
        ...(memo === undefined ? {} : { "platform.di-framework.dev/day-two": text }),
      }
      return { [PI]: { ...instance, metadata: { ...instance.metadata, annotations } } }
    }
    const vcluster = { from: "0.36.1", to: "0.37.3", startedAt: "2026-01-01T00:00:00Z" }
    for (const [memo, line] of [
      [{ vcluster }, /^is upgraded from chart 0\.36\.1 to 0\.37\.3, begun \S+ ago$/],
      [
        { vcluster: { ...vcluster, outcome: "failing", why: "it is another cluster" } },
        /^is rolled back from chart 0\.37\.3 to 0\.36\.1: it is another cluster$/,
      ],
      [
        { vcluster: { ...vcluster, outcome: "failed", why: "no matches" } },
        /^keeps chart 0\.36\.1: the upgrade to 0\.37\.3 has failed \S+ ago: no matches$/,
      ],
      [
        { vcluster: { ...vcluster, outcome: "refused" } },
        /^keeps chart 0\.36\.1: the operator's, 0\.37\.3, is the older one$/,
      ],
      [
        { vcluster: { ...vcluster, outcome: "done" } },
        /^has chart 0\.37\.3, upgraded from 0\.36\.1 \S+ ago$/,
      ],
      [{}, /^has the operator's chart, or is upgraded to it as soon as nothing else is at work$/],
      [undefined, /^asked for, and not yet seen by the operator/],
    ] as const) {
      const { out } = yield* runPi(["status", "one"], of(memo))
      assert.match(/^ {2}vCluster: +(.*)$/m.exec(out)?.[1] ?? "", line)
    }
    const json = JSON.parse((yield* runPi(["status", "one", "-o", "json"], of({ vcluster }))).out)
    assert.deepStrictEqual(
      [json.upgradesVcluster, json.vclusterUpgrade.state, json.vclusterUpgrade.to],
      [true, "upgrading", "0.37.3"],
    )
    assert.notInclude((yield* runPi(["status", "one"], { [PI]: instance })).out, "vCluster:")
  }),
)

it.effect("--help is there for every command, and asks no cluster", () =>
  Effect.gen(function* () {
    for (const command of ["status", "history", "plan", "events", "logs", "retry", "kubeconfig", "trace"]) {
      const said = yield* runPi([command, "--help"], {})
      assert.strictEqual(said.exitCode, 0)
      assert.include(said.out, `kubectl pi ${command}`)
      assert.include(said.out, "EXAMPLES")
      assert.deepStrictEqual(said.asked, [])
    }
  }),
)
