// What Helm was run for, and how it ended.
import { Cause, Effect, Exit } from "effect"
import type { HelmError } from "../../../services/Helm/Helm.ts"
import { increment } from "../../../services/Metrics/Metrics.ts"
import type { LostObject } from "./TargetState.ts"

const outcome = (exit: Exit.Exit<void, HelmError>): string => {
  if (Exit.isSuccess(exit)) return "succeeded"
  return Cause.hasInterruptsOnly(exit.cause) ? "cancelled" : "failed"
}

export const counted =
  (operation: "install" | "upgrade" | "uninstall" | "rollback" | "repair") =>
  <R>(run: Effect.Effect<void, HelmError, R>): Effect.Effect<void, HelmError, R> =>
    Effect.onExit(run, (exit) =>
      increment("platform_operator_helm_runs_total", { operation, outcome: outcome(exit) }),
    )

export const countRepaired = (objects: ReadonlyArray<LostObject>): Effect.Effect<void> =>
  Effect.forEach(
    objects,
    ({ how }) => increment("platform_operator_release_objects_repaired_total", { what: how }),
    { discard: true },
  )
