// What an instance can do without, and a server may refuse in many ways: a right is missing (403), a policy denies it (422), a
// webhook does (400) or is not reached (500). Each is a warning, told once.
import { Duration, Effect } from "effect"
import type { KubeError } from "../../../services/Kubernetes/Kubernetes.ts"

/** So long it counts: the server may be being upgraded, or be one of several behind an address, and what refuses may be mended. */
export const refusedFor = Duration.minutes(10)

/**
 * `lacks`: what comes of it, for the log. `attempt` gives whether `effect` was done; the same refusal of the same `subject` is
 * logged again only after one that was not.
 */
export const makeRefusals = (lacks: string) => {
  const told = new Map<string, string>()
  const attempt = <R>(
    subject: string,
    effect: Effect.Effect<void, KubeError, R>,
  ): Effect.Effect<boolean, never, R> =>
    effect.pipe(
      Effect.andThen(Effect.sync(() => told.delete(subject))),
      Effect.as(true),
      Effect.catchTag("KubeError", ({ request, code, reason, message }) => {
        const refusal = `${request} ${code} ${reason}`
        const isNew = told.get(subject) !== refusal
        told.set(subject, refusal)
        const log = Effect.logWarning("refused, and done without").pipe(
          Effect.annotateLogs({ lacks, subject, request, code, reason, message }),
        )
        return Effect.as(Effect.when(log, Effect.succeed(isNew)), false)
      }),
    )
  return { attempt }
}
export type Refusals = ReturnType<typeof makeRefusals>
