// A pipe between two processes. It ends when everybody who could write to it has closed it; whoever writes when nobody
// reads any more gets EPIPE. It holds any number of bytes: that a writer waits for a slow reader is not modelled.
import { type Cause, Queue, Stream } from "effect"

export class BrokenPipe extends Error {
  readonly code = "EPIPE"
  constructor() {
    super("EPIPE: broken pipe, write")
  }
}

export class Pipe {
  /** Of all pipes: while it stays the same, nobody has been told anything, or that there is no more. */
  static changes = 0

  private readonly queue: Queue.Queue<Uint8Array, Cause.Done>
  private writers = 1
  private hasReader = true

  constructor(queue: Queue.Queue<Uint8Array, Cause.Done>) {
    this.queue = queue
  }

  write(content: Uint8Array): void {
    if (!this.hasReader) throw new BrokenPipe()
    Pipe.changes += 1
    if (content.length > 0) Queue.offerUnsafe(this.queue, content)
  }

  /** A child inherits it. */
  addWriter(): void {
    this.writers += 1
  }

  closeWriter(): void {
    Pipe.changes += 1
    this.writers -= 1
    if (this.writers === 0) Queue.endUnsafe(this.queue)
  }

  closeReader(): void {
    this.hasReader = false
  }

  get stream(): Stream.Stream<Uint8Array> {
    return Stream.fromQueue(this.queue)
  }
}
