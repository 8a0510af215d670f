// An instance's turn to start its vCluster: taken when its release is about to be installed, given back when its target
// is ready or has failed.
import { Effect, Option } from "effect"
import type { Decision } from "../Decision.ts"
import type { Pass } from "../Pass.ts"
import { Settings } from "../Settings.ts"
import { TargetPermits } from "./TargetPermits.ts"
import type { TargetCondition, TargetVerdict } from "./TargetState.ts"

const isInstall = (step: { readonly _tag: string }): boolean => step._tag === "InstallRelease"

/** What is said of a target that has to wait for its turn; `None` when it has not. */
export const takeTurn = Effect.fnUntraced(function* (
  { context }: Pass,
  verdict: TargetVerdict,
  decision: Decision,
  served: boolean,
): Effect.fn.Return<Option.Option<TargetCondition>, never, TargetPermits | Settings> {
  const permits = yield* TargetPermits
  const { key, mailbox, slot } = context
  if (decision._tag === "TargetStep" && isInstall(decision.step)) {
    if (yield* permits.ask(key, mailbox.wake("turn"))) return Option.none()
    const { maxConcurrentTargets } = yield* Settings
    return Option.some({
      reason: "Creating",
      message: `waiting to install vcluster: ${maxConcurrentTargets} others are starting (--max-concurrent-targets)`,
    })
  }
  // While Helm is at work its release says nothing yet.
  if (slot.state()._tag !== "Idle") return Option.none()
  const comesUp = verdict._tag === "Wait" && !served && verdict.condition.reason !== "Creating"
  // Nobody waits for one that may not go on.
  const held = decision._tag === "Hold"
  const failed = verdict._tag === "Act" && decision._tag !== "TargetStep" && isInstall(verdict.step)
  if (comesUp) yield* permits.starts(key)
  if (served || verdict._tag === "Ready" || verdict._tag === "Stuck" || failed || held)
    yield* permits.ended(key)
  return Option.none()
})
