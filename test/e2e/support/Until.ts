// Waiting: as long as it may take on a slow machine, and, when it does not come, with what there is to see.
import { vi } from "vitest"
import { diagnose } from "./Diagnose.ts"

const minutes = 60_000

/** Asks until the answer is not `undefined`. */
export const until = async <A>(
  what: string,
  ask: () => Promise<A | undefined> | A | undefined,
  within = 5 * minutes,
): Promise<A> => {
  try {
    return await vi.waitFor(
      async () => {
        const answer = await ask()
        if (answer === undefined) throw new Error("not yet")
        return answer
      },
      { timeout: within, interval: 100 },
    )
  } catch (error) {
    throw new Error(`${what}: ${error instanceof Error ? error.message : error}\n${await diagnose()}`)
  }
}

/** Asks until it is so. */
export const untilTrue = async (what: string, ask: () => Promise<boolean> | boolean): Promise<void> => {
  await until(what, async () => ((await ask()) ? true : undefined))
}
