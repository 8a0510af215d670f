// What happened, a line each with its virtual time. Two runs of one seed write the same bytes.
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

  constructor(kernel: Kernel) {
    this.kernel = kernel
  }

  add(line: string): void {
    this.written.push(`${formatElapsed(this.kernel.elapsed)} ${line}`)
  }

  get lines(): ReadonlyArray<string> {
    return this.written
  }

  text(): string {
    return this.written.join("\n")
  }
}
