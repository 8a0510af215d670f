// What the processes of one operation may have of the pod's memory. Whoever exceeds it is ended alone; otherwise the kernel
// would end the whole container, and with it everybody's operations.
import { Effect } from "effect"
import { sessionMemory } from "../Process/Session.ts"

const often = "1 second"

const mebibytes = (bytes: number): number => Math.ceil(bytes / 2 ** 20)

/** Ends, with a sentence, once the processes of the session have more than this together. */
export const exceeds = Effect.fn("Pulumi.watchMemory")(function* (session: number, budget: number) {
  let used = 0
  while (used <= budget) {
    yield* Effect.sleep(often)
    used = yield* sessionMemory(session)
  }
  return `The operation took ${mebibytes(used)} MiB of memory, more than its budget of ${mebibytes(budget)} MiB, and was ended; all others go on. Look at what spec.version and spec.platform ask for, or raise --operation-memory and the operator's memory limit`
})
