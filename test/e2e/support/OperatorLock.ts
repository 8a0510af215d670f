// One operator serves all test files. Those that only use it share its lock; one that disturbs it (kills it, changes its
// settings) holds the lock alone.
import { afterAll, beforeAll } from "@effect/vitest"
import { cluster } from "./Cluster.ts"
import { type Lock, takeLock } from "./Lock.ts"

/** To be called once at the top of a test file. */
export const holdOperator = (kind: "shared" | "exclusive"): void => {
  let lock: Lock | undefined
  beforeAll(async () => {
    lock = await takeLock(`${cluster}.operator`, kind)
  })
  afterAll(() => lock?.release())
}
