// Runs in a thread of its own, so that a decoder that never ends can be told from one that takes long.
import { parentPort, workerData } from "node:worker_threads"
import { fuzz } from "./fuzz.ts"

const { name, cases, seed, sent } = workerData as {
  readonly name: string
  readonly cases: number
  readonly seed: number
  readonly sent: Int32Array
}
parentPort?.postMessage(fuzz(name, cases, seed, (number) => Atomics.store(sent, 0, number)))
