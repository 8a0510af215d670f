// Something that can be killed: a process, a container. What runs in a lifetime uses its scheduler and its clock, and
// from the moment it is ended nothing of it runs any more: no fiber goes on, no finalizer runs, no sleeper wakes.
import { Clock, Context, Duration, Effect, type Fiber, Scheduler } from "effect"
import type { Kernel } from "./Kernel.ts"

export class Lifetime {
  private living = true
  private readonly calls = new Set<() => void>()
  private readonly services: Context.Context<never>

  constructor(kernel: Kernel) {
    const alive = () => this.living
    this.services = Context.make(Scheduler.Scheduler, schedulerOf(kernel, alive)).pipe(
      Context.add(Clock.Clock, clockOf(kernel, alive)),
    )
  }

  isAlive(): boolean {
    return this.living
  }

  /** At once, as SIGKILL is: whoever waits for something of it waits for ever. */
  end(): void {
    if (!this.living) return
    this.living = false
    const calls = [...this.calls]
    this.calls.clear()
    for (const call of calls) call()
  }

  /** Called when it ends, at once when it has ended. What it gives back takes the call back. */
  onEnd(call: () => void): () => void {
    if (!this.living) {
      call()
      return () => {}
    }
    this.calls.add(call)
    return () => void this.calls.delete(call)
  }

  /**
   * Runs the effect as part of this lifetime. Its end is nobody's end: who waits here for an effect that has died
   * waits on, until interrupted; and interrupting what is dead returns at once.
   */
  readonly run = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
    Effect.contextWith((context: Context.Context<R>) =>
      Effect.callback<A, E>((resume) => {
        if (!this.living) return
        // Not a child: a parent's end would interrupt it, and run its finalizers after its death.
        const fiber = Effect.runForkWith(Context.merge(context, this.services))(effect)
        fiber.addObserver((exit) => {
          if (this.living) resume(exit)
        })
        return this.stop(fiber)
      }),
    )

  private stop(fiber: Fiber.Fiber<unknown, unknown>): Effect.Effect<void> {
    return Effect.callback<void>((resume) => {
      const done = () => resume(Effect.void)
      const forget = this.onEnd(done)
      if (!this.living) return
      fiber.addObserver(() => {
        forget()
        done()
      })
      fiber.interruptUnsafe()
    })
  }
}

const schedulerOf = (kernel: Kernel, alive: () => boolean): Scheduler.Scheduler => {
  const dispatcher: Scheduler.SchedulerDispatcher = {
    scheduleTask: (task, priority) => {
      if (!alive()) return
      kernel.schedule(() => {
        if (alive()) task()
      }, priority)
    },
    flush: () => {},
  }
  return {
    executionMode: "async",
    shouldYield: (fiber) => fiber.currentOpCount >= fiber.cache.maxOpsBeforeYield,
    makeDispatcher: () => dispatcher,
  }
}

const nanosPerMilli = 1_000_000n

const clockOf = (kernel: Kernel, alive: () => boolean): Clock.Clock => {
  const sleepMillis = (millis: number): Effect.Effect<void> => {
    if (millis <= 0) return Effect.yieldNow
    if (!Number.isFinite(millis)) return Effect.never
    return Effect.callback<void>((resume) => {
      if (!alive()) return
      const sleeper = kernel.sleep(millis, () => {
        if (alive()) resume(Effect.void)
      })
      return Effect.sync(() => kernel.cancel(sleeper))
    })
  }
  return {
    currentTimeMillisUnsafe: () => kernel.now,
    currentTimeMillis: Effect.sync(() => kernel.now),
    currentTimeNanosUnsafe: () => BigInt(kernel.now) * nanosPerMilli,
    currentTimeNanos: Effect.sync(() => BigInt(kernel.now) * nanosPerMilli),
    monotonicTimeNanosUnsafe: () => BigInt(kernel.elapsed) * nanosPerMilli,
    monotonicTimeNanos: Effect.sync(() => BigInt(kernel.elapsed) * nanosPerMilli),
    sleep: (duration) => sleepMillis(Duration.toMillis(duration)),
  }
}
