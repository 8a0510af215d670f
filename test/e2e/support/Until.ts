// Waiting: as long as it may take on a slow machine, and, when it does not come, with what there is to see.
import { setTimeout as sleep } from "node:timers/promises"
import { diagnose } from "./Diagnose.ts"

const minutes = 60_000
/** Each look may be a run of kubectl, which takes what the cluster needs itself: ever rarer, up to this. */
const longestPause = 1_000

/** Asks until the answer is not `undefined`. */
export const until = async <A>(
  what: string,
  ask: () => Promise<A | undefined> | A | undefined,
  within = 9 * minutes,
): Promise<A> => {
  const end = Date.now() + within
  let pause = 50
  let problem: unknown = "not yet"
  do {
    try {
      const answer = await ask()
      if (answer !== undefined) return answer
      problem = "not yet"
    } catch (error) {
      problem = error
    }
    await sleep(pause)
    pause = Math.min(pause * 1.25, longestPause)
  } while (Date.now() < end)
  throw new Error(`${what}: ${problem instanceof Error ? problem.message : problem}\n${await diagnose()}`)
}

/** Asks until it is so. */
export const untilTrue = async (what: string, ask: () => Promise<boolean> | boolean): Promise<void> => {
  await until(what, async () => ((await ask()) ? true : undefined))
}
