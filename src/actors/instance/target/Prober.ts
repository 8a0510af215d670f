// Asks an instance's API whether it answers, at every poll, over the network and without a request to the host's
// API. It runs beside the slot, so that a target lost during an operation is noticed; it wakes the actor only
// when its answer changes.
import { Clock, Duration, Effect, Fiber, Latch, Option, type Scope } from "effect"
import { Namespace, ServiceAccount } from "../../../services/Kubernetes/Kinds.ts"
import { KubeError, Kubernetes, type KubernetesClient } from "../../../services/Kubernetes/Kubernetes.ts"
import { increment } from "../../../services/Metrics/Metrics.ts"
import type { Mailbox } from "../../kit/Mailbox.ts"
import { makeInnerDns } from "./InnerDns.ts"
import type { Kubeconfig } from "./Kubeconfig.ts"
import { type ProbeState, unreachableAfter } from "./TargetState.ts"

/** Until the first answer, and while somebody waits for the next, it asks this often; failures count once a poll all the same. */
const eager = Duration.seconds(1)
const timeoutMillis = 5_000
/** The DNS inside is looked at once in so many checks. */
const dnsEvery = 3

export interface Prober {
  readonly state: () => ProbeState
  /** Probes with this kubeconfig from now on; nothing happens when it is the one in use. */
  readonly use: (kubeconfig: Kubeconfig) => Effect.Effect<void>
  /** Somebody waits for its next answer: until then it does not wait for the next poll. */
  readonly hurry: Effect.Effect<void>
  readonly stop: Effect.Effect<void>
  /** Asks nobody until it is used again, and has forgotten every answer: whoever wakes has to answer anew. */
  readonly rest: Effect.Effect<void>
  /** The API answers, and the DNS behind it has been without a ready pod for a while. */
  readonly dnsIsDead: () => boolean
}

const missing = (what: string) =>
  new KubeError({ code: 404, reason: "NotFound", request: `GET ${what}`, message: `${what} is missing` })

/** The UID of the cluster's `kube-system` namespace, once its API and default service account are there. */
const probe = Effect.fn("Target.probe")(function* (client: KubernetesClient) {
  yield* client.raw("/readyz")
  const account = yield* client.get(ServiceAccount, { namespace: "default", name: "default" })
  if (Option.isNone(account)) return yield* missing("service account default/default")
  const system = yield* client.get(Namespace, { name: "kube-system" })
  if (Option.isNone(system)) return yield* missing("namespace kube-system")
  return system.value.metadata.uid
})

export const makeProber = (
  mailbox: Mailbox,
  poll: Duration.Duration,
  /** Puts a check into the trace that is open. */
  join: <A, E>(check: Effect.Effect<A, E>) => Effect.Effect<A, E> = (check) => check,
): Effect.Effect<Prober, never, Scope.Scope | Kubernetes> =>
  Effect.gen(function* () {
    const kubernetes = yield* Kubernetes
    const scope = yield* Effect.scope
    let state: ProbeState = { _tag: "Unknown" }
    let inUse: string | undefined
    let dns = makeInnerDns()
    let fiber: Fiber.Fiber<void> | undefined
    /** Open while somebody waits. */
    const hurried = yield* Latch.make(false)

    const set = (next: ProbeState) =>
      Effect.suspend(() => {
        const crossed =
          next._tag !== state._tag ||
          (next._tag === "Answers" &&
            state._tag === "Answers" &&
            next.kubeSystemUID !== state.kubeSystemUID) ||
          (next._tag === "Silent" && next.failures === unreachableAfter)
        state = next
        return crossed ? mailbox.wake("probe") : Effect.void
      })

    const lastKnown = () => {
      if (state._tag === "Answers") return Option.some(state.kubeSystemUID)
      return state._tag === "Silent" ? state.lastKnown : Option.none()
    }

    const loop = Effect.fnUntraced(function* (kubeconfig: Kubeconfig) {
      let countedAt = Number.NEGATIVE_INFINITY
      let failures = 0
      const answer = (client: Effect.Effect<string, KubeError>) =>
        client.pipe(
          Effect.matchEffect({
            onSuccess: (kubeSystemUID) => {
              failures = 0
              return Effect.andThen(hurried.close, set({ _tag: "Answers", kubeSystemUID }))
            },
            onFailure: (error) =>
              Effect.gen(function* () {
                const now = yield* Clock.currentTimeMillis
                if (now - countedAt >= Duration.toMillis(poll)) {
                  failures += 1
                  countedAt = now
                  yield* increment("platform_operator_target_probe_failures_total", {})
                }
                yield* set({ _tag: "Silent", failures, message: error.message, lastKnown: lastKnown() })
              }),
          }),
        )
      // One connection for as long as it works; a new one after a failure, because a half-open one never recovers.
      const connected = Effect.scoped(
        Effect.gen(function* () {
          const client = yield* kubernetes.connect(kubeconfig.text, { timeout: timeoutMillis })
          for (let checks = 1; ; checks++) {
            const uid = yield* join(probe(client))
            yield* answer(Effect.succeed(uid))
            // Whoever may not list them, or cannot just now, has said nothing of the DNS.
            const changed =
              checks % dnsEvery === 0 && (yield* Effect.orElseSucceed(dns.check(client), () => false))
            if (changed) yield* mailbox.wake("dns")
            yield* Effect.sleep(poll)
          }
        }),
      )
      while (true) {
        yield* Effect.catchTag(connected, "KubeError", (error) => answer(Effect.fail(error)))
        yield* Effect.sleep(Duration.min(eager, poll))
        if (Option.isSome(lastKnown())) {
          yield* Effect.raceFirst(Effect.sleep(Duration.subtract(poll, eager)), hurried.await)
        }
      }
    })

    const stop = Effect.suspend(() => {
      const running = fiber
      fiber = undefined
      inUse = undefined
      return running === undefined ? Effect.void : Effect.asVoid(Fiber.interrupt(running))
    })

    return {
      state: () => state,
      use: (kubeconfig) =>
        Effect.gen(function* () {
          if (inUse === kubeconfig.version) return
          yield* stop
          inUse = kubeconfig.version
          // A rotated kubeconfig is no loss of the target: what was known holds until the next answer.
          state = Option.isSome(lastKnown())
            ? { _tag: "Silent", failures: 0, message: "not asked yet", lastKnown: lastKnown() }
            : { _tag: "Unknown" }
          fiber = yield* Effect.forkIn(loop(kubeconfig), scope, { startImmediately: true })
        }),
      hurry: hurried.open,
      stop,
      rest: Effect.suspend(() => {
        state = { _tag: "Unknown" }
        dns = makeInnerDns()
        return inUse === undefined ? Effect.void : stop
      }),
      dnsIsDead: () => state._tag === "Answers" && dns.dead(),
    }
  })
