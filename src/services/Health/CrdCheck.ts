// Is the PlatformInstance's definition in the cluster, with every field this version reads and writes? The API server
// drops unknown fields in silence, so an operator over an older definition would lose what it writes.
import { Clock, Context, Duration, Effect, Fiber, Layer, Option, Result, Semaphore } from "effect"
import { missingFields } from "../../schema/CrdCompatibility.ts"
import { CustomResourceDefinition, PlatformInstance, resourceName } from "../Kubernetes/Kinds.ts"
import { type KubeError, type KubeObject, Kubernetes } from "../Kubernetes/Kubernetes.ts"

/** The definition is not read more often than this, however often readiness is asked for. */
const EVERY = Duration.seconds(10)
/** How long an answer waits for a reading: less than the kubelet waits for the probe's. */
const PATIENCE = Duration.seconds(2)

const NAME = resourceName(PlatformInstance)

/** What is wrong with the definition as it was read; `None` when it is as new as this operator, or newer. */
export const crdProblem = (read: Option.Option<KubeObject>): Option.Option<string> => {
  if (Option.isNone(read)) return Option.some(`the CRD ${NAME} is not installed; install it with the chart`)
  const missing = missingFields(read.value)
  return missing.length === 0
    ? Option.none()
    : Option.some(`the CRD ${NAME} lacks ${missing.join(", ")}; upgrade it with the chart`)
}

const unreadable = ({ code, message }: KubeError): string =>
  code === 401 || code === 403
    ? `the CRD ${NAME} cannot be read: ${message}; the chart's ClusterRole grants it`
    : `the CRD ${NAME} cannot be read: ${message}`

export class CrdCheck extends Context.Service<
  CrdCheck,
  {
    /**
     * What keeps the operator from being ready, in words with the way out. Looks at the cluster again when the last
     * look is old. While the API does not answer, what was last known holds.
     */
    readonly problem: Effect.Effect<Option.Option<string>>
  }
>()("platform-operator/CrdCheck") {
  /** Looks once by itself when it is built. */
  static readonly layer = Layer.effect(
    CrdCheck,
    Effect.gen(function* () {
      const kubernetes = yield* Kubernetes
      const scope = yield* Effect.scope
      const oneAtATime = (yield* Semaphore.make(1)).withPermits(1)
      let everRead = false
      let lookedAt: bigint | undefined
      let problem = Option.some(`the CRD ${NAME} has not been read yet`)

      const tell = (now: Option.Option<string>) =>
        Option.match(now, {
          onNone: () => Effect.logInfo("the CRD has every field that this version needs"),
          onSome: (text) => Effect.logWarning("not ready").pipe(Effect.annotateLogs({ problem: text })),
        })

      const look = Effect.gen(function* () {
        const read = yield* Effect.result(kubernetes.get(CustomResourceDefinition, { name: NAME }))
        lookedAt = yield* Clock.monotonicTimeNanos
        if (Result.isFailure(read) && everRead) return
        everRead ||= Result.isSuccess(read)
        const now = Result.match(read, {
          onSuccess: crdProblem,
          onFailure: (error) => Option.some(unreadable(error)),
        })
        const news = Option.getOrUndefined(now) !== Option.getOrUndefined(problem)
        problem = now
        if (news) yield* tell(now)
      })

      const isDue = Effect.map(
        Clock.monotonicTimeNanos,
        (now) =>
          lookedAt === undefined || Duration.isGreaterThanOrEqualTo(Duration.nanos(now - lookedAt), EVERY),
      )
      // Whoever asks may go away; the one look goes on to its end.
      const lookWhenDue = oneAtATime(Effect.when(look, isDue)).pipe(
        Effect.forkIn(scope),
        Effect.flatMap(Fiber.await),
        Effect.timeoutOption(PATIENCE),
      )
      yield* Effect.forkIn(lookWhenDue, scope)
      return CrdCheck.of({
        problem: Effect.andThen(
          lookWhenDue,
          Effect.sync(() => problem),
        ),
      })
    }),
  )
}
