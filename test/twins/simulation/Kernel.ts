// Virtual time and the order of things. Everything that can run stands in one queue, and chance picks what runs next.
// When nothing can run, the world is at rest; then time jumps to the earliest sleeper.
import { Fiber } from "effect"
import { Prng } from "./Prng.ts"
import { type Sleeper, Sleepers } from "./Sleepers.ts"

type Task = () => void

interface RestWaiter {
  /** Woken at the first rest at which so many steps have been made. */
  readonly after: number
  readonly wake: Task
}

export interface KernelOptions {
  readonly seed: number
  /** What the wall clock says at the beginning, in milliseconds since the epoch. */
  readonly start: number
  /** So many steps without time moving are a livelock. */
  readonly maxSteps: number
}

/** The last steps before a livelock is called, in which it is noted who makes them. */
const observedSteps = 1_000

/** How often somebody who gives the world a part of their time is asked whether it is over. */
const stepsBetweenLooks = 32

/** A fiber has no name of its own: the span it is in, or the `Effect.fn` it runs. */
const nameOfFiber = (): string => {
  const fiber = Fiber.getCurrent()
  const span = fiber?.cache.span
  const name = span?._tag === "Span" ? span.name : fiber?.cache.stackFrame?.name
  return name ?? "a fiber without a name"
}

export class Kernel {
  private readonly buckets: Array<{ readonly priority: number; readonly tasks: Array<Task> }> = []
  private readonly sleepers = new Sleepers()
  private readonly order: Prng
  private rest: Array<RestWaiter> = []
  private monotonic = 0
  private wallOffset: number
  private steps = 0
  private stepsAtMoment = 0
  private readonly busy = new Map<string, number>()

  readonly options: KernelOptions

  constructor(options: KernelOptions) {
    this.options = options
    this.order = new Prng(options.seed, 1)
    this.wallOffset = options.start
  }

  /** Milliseconds since the beginning. */
  get elapsed(): number {
    return this.monotonic
  }

  /** The wall clock, in milliseconds since the epoch. */
  get now(): number {
    return this.wallOffset + this.monotonic
  }

  /** So many tasks and sleepers have been run. */
  get stepsMade(): number {
    return this.steps
  }

  /** Sets the wall clock forward or back, as an administrator or NTP does. Who sleeps does not notice. */
  shiftWallClock(millis: number): void {
    this.wallOffset += millis
  }

  schedule(task: Task, priority = 0): void {
    if (this.stepsAtMoment > this.options.maxSteps - observedSteps) {
      const name = nameOfFiber()
      this.busy.set(name, (this.busy.get(name) ?? 0) + 1)
    }
    this.bucket(priority).push(task)
  }

  sleep(millis: number, wake: Task): Sleeper {
    // A timer of the real clock never fires early, and not between two milliseconds.
    return this.sleepers.add(this.monotonic + Math.ceil(millis), wake)
  }

  cancel(sleeper: Sleeper): void {
    this.sleepers.cancel(sleeper)
  }

  /** Wakes when nothing can run any more; with `progress`, only when something has run before that. */
  onRest(wake: Task, progress: boolean): void {
    this.rest.push({ after: progress ? this.steps + 1 : 0, wake })
  }

  /** Runs the world until `ended`. Says what is wrong when it cannot go on. */
  run(ended: () => boolean): "ended" | "deadlock" | "livelock" {
    while (!ended()) {
      const task = this.take()
      if (task !== undefined) {
        this.steps += 1
        this.stepsAtMoment += 1
        if (this.stepsAtMoment > this.options.maxSteps) return "livelock"
        task()
      } else if (!this.wakeRest() && !this.advance()) return "deadlock"
    }
    return "ended"
  }

  /**
   * Runs the world up to a moment that somebody else's clock has reached, as long as `goOn` says: in place of `run`, where
   * time passes by itself. `later`: there is more to do before that moment is reached.
   */
  runTo(moment: number, goOn: () => boolean): "there" | "later" | "livelock" {
    for (let count = 1; ; count++) {
      const task = this.take()
      if (task !== undefined) {
        this.steps += 1
        this.stepsAtMoment += 1
        if (this.stepsAtMoment > this.options.maxSteps) return "livelock"
        task()
      } else if (!this.wakeRest() && !this.advance(moment)) {
        if (moment > this.monotonic) {
          this.monotonic = moment
          this.stepsAtMoment = 0
        }
        return "there"
      }
      // Asking for the time costs more than most tasks.
      if (count % stepsBetweenLooks === 0 && !goOn()) return "later"
    }
  }

  /** When the next sleeper wakes, in milliseconds since the beginning; undefined: nobody sleeps. */
  get nextWake(): number | undefined {
    return this.sleepers.earliest()
  }

  /** Who was busy when a livelock was called. */
  busiest(): ReadonlyArray<string> {
    return [...this.busy]
      .sort(([, left], [, right]) => right - left)
      .slice(0, 3)
      .map(([name, count]) => `${name} (${count} of the last ${observedSteps} steps)`)
  }

  private bucket(priority: number): Array<Task> {
    const { buckets } = this
    const index = buckets.findIndex((bucket) => bucket.priority >= priority)
    const found = buckets[index]
    if (found !== undefined && found.priority === priority) return found.tasks
    const tasks: Array<Task> = []
    buckets.splice(index < 0 ? buckets.length : index, 0, { priority, tasks })
    return tasks
  }

  /** Of the lowest priority number that has any: as Effect's own scheduler orders them. */
  private take(): Task | undefined {
    for (const { tasks } of this.buckets) {
      if (tasks.length === 0) continue
      const last = tasks.pop()
      if (last === undefined || tasks.length === 0) return last
      const index = this.order.below(tasks.length + 1)
      const chosen = tasks[index]
      if (chosen === undefined) return last
      tasks[index] = last
      return chosen
    }
    return undefined
  }

  private wakeRest(): boolean {
    const due = this.rest.filter(({ after }) => after <= this.steps)
    if (due.length === 0) return false
    this.rest = this.rest.filter(({ after }) => after > this.steps)
    for (const { wake } of due) wake()
    return true
  }

  private advance(limit = Number.POSITIVE_INFINITY): boolean {
    const time = this.sleepers.earliest()
    if (time === undefined || time > limit) return false
    if (time > this.monotonic) {
      this.monotonic = time
      this.stepsAtMoment = 0
    }
    // All of one moment are runnable together: which comes first is as open as between any other two.
    for (let due = this.sleepers.takeDue(time); due !== undefined; due = this.sleepers.takeDue(time)) {
      this.schedule(due.wake)
    }
    return true
  }
}
