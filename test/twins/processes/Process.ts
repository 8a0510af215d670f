// One process: alive until it exits, or a signal ends it.
import type { Lifetime } from "../simulation/Lifetime.ts"
import type { Pipe } from "./Pipe.ts"

export interface Ended {
  readonly code: number | undefined
  readonly signal: NodeJS.Signals | undefined
}

export interface ProcessFacts {
  readonly pid: number
  readonly session: number
  readonly group: number
  readonly parent: number
  /** Clock ticks since boot. */
  readonly startTime: string
  readonly argv: ReadonlyArray<string>
  readonly env: Readonly<Record<string, string>>
  readonly cwd: string
}

export class Process {
  readonly facts: ProcessFacts
  readonly life: Lifetime
  readonly stdin: Pipe
  readonly stdout: Pipe
  readonly stderr: Pipe
  ended: Ended | undefined
  private readonly atEnd: Array<(ended: Ended) => void> = []
  private handling: "default" | "handler" | "ignore" = "default"
  private readonly signals: Array<NodeJS.Signals> = []
  private readonly waiting: Array<(signal: NodeJS.Signals) => void> = []

  constructor(
    facts: ProcessFacts,
    life: Lifetime,
    pipes: { readonly stdin: Pipe; readonly stdout: Pipe; readonly stderr: Pipe },
  ) {
    this.facts = facts
    this.life = life
    this.stdin = pipes.stdin
    this.stdout = pipes.stdout
    this.stderr = pipes.stderr
  }

  onEnd(call: (ended: Ended) => void): void {
    if (this.ended === undefined) this.atEnd.push(call)
    else call(this.ended)
  }

  /** At this very moment: nothing of it runs any more. */
  end(ended: Ended): void {
    if (this.ended !== undefined) return
    this.ended = ended
    this.life.end()
    this.stdin.closeReader()
    this.stdout.closeWriter()
    this.stderr.closeWriter()
    for (const call of this.atEnd) call(ended)
  }

  ignoreSignals(): void {
    this.handling = "ignore"
  }

  /** The program waits for a signal: what it gives back takes that back. */
  awaitSignal(resume: (signal: NodeJS.Signals) => void): () => void {
    if (this.handling === "default") this.handling = "handler"
    const pending = this.signals.shift()
    if (pending !== undefined) resume(pending)
    else this.waiting.push(resume)
    return () => {
      const index = this.waiting.indexOf(resume)
      if (index >= 0) this.waiting.splice(index, 1)
    }
  }

  signal(signal: NodeJS.Signals): void {
    if (signal === "SIGKILL" || this.handling === "default") this.end({ code: undefined, signal })
    else if (this.handling === "handler") {
      const next = this.waiting.shift()
      if (next === undefined) this.signals.push(signal)
      else next(signal)
    }
  }
}
