// Who waits for a pass and who has one, under the names of controller-runtime's work queue. Here each key has a mailbox and a
// worker of its own; what is measured is the same: from the wake-up to the pass, and the pass.
import { Clock, Context, Effect, type Scope } from "effect"
import { Collectors } from "./Collectors.ts"
import { controller } from "./controllerRows.ts"
import { increment, observe, set } from "./Metrics.ts"

export type PassResult = "success" | "error" | "requeue" | "requeue_after"

export interface WorkQueueMeter {
  /** Never waits: mailboxes are woken from callbacks, too. */
  readonly woken: (key: string) => void
  /** Measures one pass: it begins now. */
  readonly work: <E, R>(key: string, pass: Effect.Effect<PassResult, E, R>) => Effect.Effect<void, E, R>
  /** No worker is left: it waits for nothing. */
  readonly gone: (key: string) => void
}

const own = { controller }
const queue = { name: controller, controller }
const seconds = (millis: number) => millis / 1000

export const makeWorkQueue: Effect.Effect<WorkQueueMeter, never, Scope.Scope> = Effect.gen(function* () {
  const clock = yield* Clock.Clock
  const now = () => clock.currentTimeMillisUnsafe()
  /** Since when each waits, and since when each has its pass: milliseconds. */
  const waiting = new Map<string, number>()
  const working = new Map<string, number>()
  let adds = 0

  yield* (yield* Collectors).add(
    Effect.suspend(() => {
      const ages = [...working.values()].map((since) => seconds(Math.max(0, now() - since)))
      const added = adds
      adds = 0
      return Effect.all(
        [
          increment("workqueue_adds_total", queue, added),
          set("workqueue_depth", queue, waiting.size),
          set("controller_runtime_active_workers", own, working.size),
          set(
            "workqueue_unfinished_work_seconds",
            queue,
            ages.reduce((sum, age) => sum + age, 0),
          ),
          set("workqueue_longest_running_processor_seconds", queue, Math.max(0, ...ages)),
        ],
        { discard: true },
      )
    }),
  )

  return {
    woken: (key) => {
      if (waiting.has(key)) return
      waiting.set(key, now())
      adds += 1
    },
    work: (key, pass) =>
      Effect.suspend(() => {
        const began = now()
        const waited = began - (waiting.get(key) ?? began)
        waiting.delete(key)
        working.set(key, began)
        return observe("workqueue_queue_duration_seconds", queue, seconds(Math.max(0, waited))).pipe(
          Effect.andThen(pass),
          Effect.flatMap((result) =>
            increment("controller_runtime_reconcile_total", { controller, result }).pipe(
              Effect.andThen(
                result === "error"
                  ? Effect.andThen(
                      increment("controller_runtime_reconcile_errors_total", own),
                      increment("workqueue_retries_total", queue),
                    )
                  : Effect.void,
              ),
            ),
          ),
          Effect.ensuring(
            Effect.suspend(() => {
              working.delete(key)
              const took = seconds(Math.max(0, now() - began))
              return Effect.andThen(
                observe("controller_runtime_reconcile_time_seconds", own, took),
                observe("workqueue_work_duration_seconds", queue, took),
              )
            }),
          ),
        )
      }),
    gone: (key) => {
      waiting.delete(key)
    },
  }
})

const unmetered: WorkQueueMeter = {
  woken: () => {},
  work: (_, pass) => Effect.asVoid(pass),
  gone: () => {},
}

export const WorkQueue = Context.Reference<WorkQueueMeter>("platform-operator/WorkQueue", {
  defaultValue: () => unmetered,
})
