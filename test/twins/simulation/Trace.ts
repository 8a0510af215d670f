// What happened, a line each with its virtual time. Two runs of one seed write the same bytes.
import { createHash } from "node:crypto"
import type { Kernel } from "./Kernel.ts"

const pad = (value: number, width: number) => String(value).padStart(width, "0")

/** `1d 02:03:04.005` since the beginning. */
const formatElapsed = (millis: number): string => {
  const seconds = Math.floor(millis / 1000)
  const days = Math.floor(seconds / 86_400)
  const hours = pad(Math.floor(seconds / 3600) % 24, 2)
  const minutes = pad(Math.floor(seconds / 60) % 60, 2)
  return `${days}d ${hours}:${minutes}:${pad(seconds % 60, 2)}.${pad(millis % 1000, 3)}`
}

export class Trace {
  private readonly kernel: Kernel
  private readonly written: Array<string> = []
  private readonly hash

  /** `digested`: somebody will ask for a digest. */
  constructor(kernel: Kernel, digested = false) {
    this.kernel = kernel
    this.hash = digested ? createHash("sha256") : undefined
  }

  private timed(line: string): string {
    return `${formatElapsed(this.kernel.elapsed)} ${line}`
  }

  add(line: string): void {
    const timed = this.timed(line)
    this.written.push(timed)
    this.hash?.update(`${timed}\n`)
  }

  /** What is too much for a line, and belongs to the digest; not asked for without one. */
  digest(what: () => string): void {
    this.hash?.update(`${this.timed(what())}\n`)
  }

  /** Of all of it; once. */
  digested(): string | undefined {
    return this.hash?.digest("hex")
  }

  get lines(): ReadonlyArray<string> {
    return this.written
  }

  text(): string {
    return this.written.join("\n")
  }
}
