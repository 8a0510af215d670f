import { assert, describe, it } from "@effect/vitest"
import { Option, Result } from "effect"
import {
  type Closed,
  noRules,
  type Rules,
  type Start,
  whyNot,
  wordsOf,
} from "../../../src/actors/instance/gate.ts"
import { parseWindows } from "../../../src/schema/Windows.ts"

const since = "2026-11-03T12:00:00Z"
const paused: Rules = { ...noRules, pausedSince: Option.some(since) }
const asleep: Rules = { ...noRules, sleep: Option.some({ askedAt: since, pods: 2, memory: 1, since }) }
const restored: Rules = { ...noRules, restores: Option.some("00112233445566aa") }
/** Saturday 2026-11-07, two minutes before it opens. */
const before = Date.parse("2026-11-07T01:58:00Z")
const inside = Date.parse("2026-11-07T02:00:00Z")
const windowed: Rules = { ...noRules, windows: Result.getSuccess(parseWindows("Sat 02:00-04:00")) }
const install = (reason: Extract<Start, { _tag: "Install" }>["reason"]): Start => ({
  _tag: "Install",
  reason,
})
const openAll: ReadonlyArray<readonly [Start, "open"]> = [
  [{ _tag: "TargetStep", step: "CreateNamespace" }, "open"],
  [{ _tag: "TargetStep", step: "ReapplyRelease" }, "open"],
  [{ _tag: "TargetStep", step: "BeginResync" }, "open"],
  [{ _tag: "TargetStep", step: "UpgradeRelease" }, "open"],
  [{ _tag: "TargetStep", step: "EndUpgrade" }, "open"],
  [install("FirstInstall"), "open"],
  [install("Retry"), "open"],
  [install("SpecChanged"), "open"],
  [install("Resync"), "open"],
]
const step = (step: Extract<Start, { _tag: "TargetStep" }>["step"]): Start => ({ _tag: "TargetStep", step })

const answers: ReadonlyArray<
  readonly [string, Rules, number, ReadonlyArray<readonly [Start, Closed["_tag"] | "open"]>]
> = [
  [
    "without annotations",
    noRules,
    before,
    [
      [step("CreateNamespace"), "open"],
      [step("ReapplyRelease"), "open"],
      [install("RepairDue"), "open"],
      [install("VersionChanged"), "open"],
    ],
  ],
  [
    "paused",
    paused,
    before,
    [
      [step("CreateNamespace"), "Paused"],
      [step("ApplyNetworkPolicies"), "Paused"],
      [step("PublishKubeconfig"), "Paused"],
      [step("InstallRelease"), "Paused"],
      [step("ReapplyRelease"), "Paused"],
      [step("RollbackRelease"), "Paused"],
      [step("FinishPredecessor"), "Paused"],
      [step("BeginResync"), "Paused"],
      [step("RestartControlPlane"), "Paused"],
      [step("ApplyProtection"), "open"],
      [install("FirstInstall"), "Paused"],
      [install("Retry"), "Paused"],
      [install("RepairDue"), "Paused"],
      [install("SpecChanged"), "Paused"],
      [install("VersionChanged"), "Paused"],
      [install("Resync"), "Paused"],
    ],
  ],
  [
    "asleep",
    asleep,
    before,
    [
      [step("BeginSleep"), "open"],
      [step("ScaleDown"), "open"],
      [step("EndWorkloads"), "open"],
      [step("ApplyProtection"), "open"],
      [step("ApplyNetworkPolicies"), "Asleep"],
      [step("ApplyQuota"), "Asleep"],
      [step("PublishKubeconfig"), "Asleep"],
      [step("InstallRelease"), "Asleep"],
      [step("ReapplyRelease"), "Asleep"],
      [step("RollbackRelease"), "Asleep"],
      [step("BeginResync"), "Asleep"],
      [step("RestartControlPlane"), "Asleep"],
      [install("FirstInstall"), "Asleep"],
      [install("Retry"), "Asleep"],
      [install("RepairDue"), "Asleep"],
      [install("VersionChanged"), "Asleep"],
      [install("Resync"), "Asleep"],
    ],
  ],
  [
    "that is being restored",
    restored,
    before,
    [
      [step("CreateNamespace"), "open"],
      [step("InstallRelease"), "open"],
      [step("PublishKubeconfig"), "open"],
      [step("ReapplyRelease"), "open"],
      [step("BeginUpgrade"), "Restoring"],
      [install("FirstInstall"), "Restoring"],
      [install("Resync"), "Restoring"],
      [install("Retry"), "Restoring"],
      [install("SpecChanged"), "Restoring"],
      [install("VersionChanged"), "Restoring"],
      [install("RepairDue"), "Restoring"],
    ],
  ],
  [
    "that is being restored, while its vCluster is down for that",
    { ...restored, sleep: asleep.sleep },
    before,
    [
      [step("ScaleDown"), "open"],
      [step("WakeUp"), "open"],
      [step("InstallRelease"), "Asleep"],
      [install("FirstInstall"), "Asleep"],
    ],
  ],
  [
    "paused while it is asleep",
    { ...asleep, pausedSince: Option.some(since) },
    before,
    [
      [step("ScaleDown"), "Paused"],
      [step("WakeUp"), "Paused"],
      [install("RepairDue"), "Paused"],
    ],
  ],
  [
    "outside of its window",
    windowed,
    before,
    [
      ...openAll,
      [install("RepairDue"), "OutsideWindow"],
      [install("VersionChanged"), "OutsideWindow"],
      [step("BeginUpgrade"), "OutsideWindow"],
    ],
  ],
  [
    "inside of its window",
    windowed,
    inside,
    [...openAll, [install("RepairDue"), "open"], [install("VersionChanged"), "open"]],
  ],
  [
    "outside of its window, with an upgrade that was cut off in it",
    { ...windowed, unfinished: true },
    before,
    [
      ...openAll,
      [install("RepairDue"), "open"],
      [install("VersionChanged"), "open"],
      [step("BeginUpgrade"), "OutsideWindow"],
    ],
  ],
  [
    "paused inside of its window",
    { ...windowed, ...paused, windows: windowed.windows },
    inside,
    [
      [install("RepairDue"), "Paused"],
      [install("FirstInstall"), "Paused"],
    ],
  ],
]

describe("what is said of sleep", () => {
  it("is whether it is asleep yet", () => {
    const words = (more: { readonly since?: string }) =>
      wordsOf({ _tag: "Asleep", sleep: { askedAt: "2026-11-03T11:00:00Z", ...more } }, "6.0.22")
    assert.match(
      words({}),
      /^falling asleep since 2026-11-03T11:00:00Z: nothing else begins until annotation/,
    )
    assert.match(
      words({ since }),
      /^asleep since 2026-11-03T12:00:00Z: nothing runs and nothing is written until/,
    )
  })
})

describe("what is said of one that is being restored", () => {
  it("is of which backup, what it waits for, and what goes on with it", () => {
    assert.match(
      wordsOf({ _tag: "Restoring", backup: "00112233445566aa" }, "6.0.22"),
      /^backup 00112233445566aa is being restored: nothing is installed until .*\/restore goes; kubectl pi restore, run again/,
    )
  })
})

describe("what may begin", () => {
  for (const [name, rules, now, expected] of answers) {
    it.each(expected)(`${name}: %o is %s`, (start, answer) => {
      const closed = whyNot(start, rules, now)
      assert.strictEqual(Option.match(closed, { onNone: () => "open", onSome: ({ _tag }) => _tag }), answer)
    })
  }

  it("says when the window opens", () => {
    assert.deepStrictEqual(
      whyNot(install("RepairDue"), windowed, before),
      Option.some({ _tag: "OutsideWindow", opensAt: inside }),
    )
  })
})

describe("over a change that waits, where nobody knows what counts meanwhile", () => {
  const rules: Rules = {
    ...noRules,
    undecided: Option.some({
      _tag: "Waits",
      change: { version: "6.0.23", generation: 3 },
      plan: Option.none(),
      again: true,
      approval: true,
      instead: Option.none(),
    }),
  }

  it("nothing is installed, and the target is looked after", () => {
    for (const reason of ["RepairDue", "SpecChanged", "VersionChanged", "Retry", "Resync"] as const)
      assert.strictEqual(Option.getOrUndefined(whyNot(install(reason), rules, before))?._tag, "Waits", reason)
    for (const tag of ["ReapplyRelease", "BeginResync", "ApplyNetworkPolicies"] as const)
      assert.isTrue(Option.isNone(whyNot(step(tag), rules, before)), tag)
  })
})
