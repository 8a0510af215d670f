// An instance's turn to start its vCluster: taken when its release is about to be installed or upgraded, given back when its
// target is ready or has failed.
import { Effect, Option } from "effect"
import type { Decision } from "../Decision.ts"
import type { Pass } from "../Pass.ts"
import { Settings } from "../Settings.ts"
import { isUpgrading } from "../vclusterUpgrade.ts"
import { TargetPermits } from "./TargetPermits.ts"
import type { TargetCondition, TargetStep, TargetVerdict } from "./TargetState.ts"

const isInstall = ({ _tag }: TargetStep): boolean => _tag === "InstallRelease"

const othersStart = Effect.map(
  Settings,
  ({ maxConcurrentTargets }) => `${maxConcurrentTargets} others are starting (--max-concurrent-targets)`,
)

/** An upgrade restarts a vCluster that serves: until it has its turn, nothing else of the instance waits for it. */
export const upgradeTurn = Effect.fnUntraced(function* (
  { context: { key, mailbox } }: Pass,
  verdict: TargetVerdict,
): Effect.fn.Return<Option.Option<string>, never, TargetPermits | Settings> {
  if (verdict._tag !== "Act" || verdict.step._tag !== "BeginUpgrade") return Option.none()
  if (yield* (yield* TargetPermits).ask(key, mailbox.wake("turn"))) return Option.none()
  return Option.some(`waits for its turn: ${yield* othersStart}`)
})

/** What is said of a target that has to wait for its turn; `None` when it has not. `queued`: an upgrade of it waits for one. */
export const takeTurn = Effect.fnUntraced(function* (
  { context, memory }: Pass,
  verdict: TargetVerdict,
  decision: Decision,
  { served, queued }: { readonly served: boolean; readonly queued: boolean },
): Effect.fn.Return<Option.Option<TargetCondition>, never, TargetPermits | Settings> {
  const permits = yield* TargetPermits
  const { key, mailbox, slot } = context
  if (decision._tag === "TargetStep" && isInstall(decision.step)) {
    if (yield* permits.ask(key, mailbox.wake("turn"))) return Option.none()
    return Option.some({ reason: "Creating", message: `waiting to install vcluster: ${yield* othersStart}` })
  }
  // Nobody waits for one that may not go on.
  const held = decision._tag === "Hold"
  const begins = decision._tag === "TargetStep" && decision.step._tag === "BeginUpgrade"
  if (begins || (isUpgrading(memory) && !held)) {
    yield* permits.starts(key)
    return Option.none()
  }
  // While Helm is at work its release says nothing yet.
  if (slot.state()._tag !== "Idle" || (queued && decision._tag === "Wait")) return Option.none()
  const comesUp = verdict._tag === "Wait" && !served && verdict.condition.reason !== "Creating"
  const failed = verdict._tag === "Act" && decision._tag !== "TargetStep" && isInstall(verdict.step)
  if (comesUp) yield* permits.starts(key)
  if (served || verdict._tag === "Ready" || verdict._tag === "Stuck" || failed || held)
    yield* permits.ended(key)
  return Option.none()
})
