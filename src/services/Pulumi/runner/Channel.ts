// The runner's two ends of the protocol: lines in from stdin, events out on stdout's descriptor.
import { readFileSync, writeSync } from "node:fs"
import { createInterface } from "node:readline"
import { Exit } from "effect"
import {
  decodeRequest,
  eventDescriptor,
  eventLine,
  type RunnerEvent,
  type RunnerRequest,
} from "../Protocol.ts"

const pause = new Int32Array(new SharedArrayBuffer(4))

/** The whole text, before it returns. A pipe that somebody made non-blocking says EAGAIN when it is full. */
export const writeAll = (descriptor: number, text: string): void => {
  const bytes = Buffer.from(text, "utf8")
  let written = 0
  while (written < bytes.length) {
    try {
      written += writeSync(descriptor, bytes, written)
    } catch (error) {
      if (!(error instanceof Error && "code" in error && error.code === "EAGAIN")) throw error
      Atomics.wait(pause, 0, 0, 5)
    }
  }
}

/** Writes at once, so that the last word is out before the process ends. */
export const emit = (event: RunnerEvent): void => {
  try {
    writeAll(eventDescriptor, eventLine(event))
  } catch {
    // The operator is gone; the end of stdin says so too and cancels the run.
  }
}

/** `undefined` stands for the end of stdin: the operator has died. Never says which line could not be read. */
export const listen = (onRequest: (request: RunnerRequest | undefined) => void): void => {
  const lines = createInterface({ input: process.stdin })
  lines.on("line", (line) => {
    const request = decodeRequest(line)
    if (Exit.isSuccess(request)) onRequest(request.value)
    else emit({ type: "refused", message: "a line that is no request of this protocol" })
  })
  lines.on("close", () => onRequest(undefined))
}

/** Whether this process leads its session: fields 1 and 6 of /proc/self/stat. */
export const leadsSession = (): boolean => {
  const stat = readFileSync("/proc/self/stat", "utf8")
  const session = stat.slice(stat.lastIndexOf(")") + 2).split(" ")[3]
  return session === String(process.pid)
}
