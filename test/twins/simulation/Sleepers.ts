// Who sleeps until when: a binary heap by time. One that is cancelled stays until its time comes, or until half of
// the heap is such: most sleepers are timeouts of what succeeds.

export interface Sleeper {
  /** In milliseconds of the monotonic clock. */
  readonly at: number
  readonly wake: () => void
  cancelled: boolean
}

export class Sleepers {
  private heap: Array<Sleeper> = []
  private cancelled = 0

  add(at: number, wake: () => void): Sleeper {
    const sleeper: Sleeper = { at, wake, cancelled: false }
    this.push(sleeper)
    return sleeper
  }

  cancel(sleeper: Sleeper): void {
    if (sleeper.cancelled) return
    sleeper.cancelled = true
    this.cancelled += 1
    if (this.cancelled > 1024 && this.cancelled * 2 > this.heap.length) this.compact()
  }

  /** The earliest time somebody sleeps until. */
  earliest(): number | undefined {
    this.dropCancelled()
    return this.heap[0]?.at
  }

  /** Takes out one that sleeps until `time` or less. */
  takeDue(time: number): Sleeper | undefined {
    this.dropCancelled()
    const first = this.heap[0]
    return first === undefined || first.at > time ? undefined : this.pop()
  }

  private dropCancelled(): void {
    while (this.heap[0]?.cancelled === true) {
      this.pop()
      this.cancelled -= 1
    }
  }

  private compact(): void {
    const waiting = this.heap.filter((sleeper) => !sleeper.cancelled)
    this.heap = []
    this.cancelled = 0
    for (const sleeper of waiting) this.push(sleeper)
  }

  private push(sleeper: Sleeper): void {
    const { heap } = this
    let index = heap.length
    heap.push(sleeper)
    while (index > 0) {
      const parent = (index - 1) >> 1
      const above = heap[parent]
      if (above === undefined || above.at <= sleeper.at) break
      heap[index] = above
      index = parent
    }
    heap[index] = sleeper
  }

  private pop(): Sleeper | undefined {
    const { heap } = this
    const first = heap[0]
    const last = heap.pop()
    if (last === undefined || heap.length === 0) return first
    let index = 0
    while (true) {
      const left = 2 * index + 1
      const right = left + 1
      const leftSleeper = heap[left]
      if (leftSleeper === undefined) break
      const rightSleeper = heap[right]
      const useRight = rightSleeper !== undefined && rightSleeper.at < leftSleeper.at
      const smaller = useRight ? rightSleeper : leftSleeper
      if (smaller.at >= last.at) break
      heap[index] = smaller
      index = useRight ? right : left
    }
    heap[index] = last
    return first
  }
}
