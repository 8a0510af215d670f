import { assert, describe, it } from "@effect/vitest"
import { Option } from "effect"
import { type Closed, noRules, type Rules, type Start, whyNot } from "../../../src/actors/instance/gate.ts"

const since = "2026-11-03T12:00:00Z"
const paused: Rules = { pausedSince: Option.some(since) }
const step = (step: Extract<Start, { _tag: "TargetStep" }>["step"]): Start => ({ _tag: "TargetStep", step })
const install = (reason: Extract<Start, { _tag: "Install" }>["reason"]): Start => ({
  _tag: "Install",
  reason,
})

const answers: ReadonlyArray<
  readonly [string, Rules, ReadonlyArray<readonly [Start, Closed["_tag"] | "open"]>]
> = [
  [
    "without annotations",
    noRules,
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
]

describe("what may begin", () => {
  for (const [name, rules, expected] of answers) {
    it.each(expected)(`${name}: %o is %s`, (start, answer) => {
      const closed = whyNot(start, rules)
      assert.strictEqual(Option.match(closed, { onNone: () => "open", onSome: ({ _tag }) => _tag }), answer)
    })
  }
})
