// How an install asks for its permit. Pure.
import type { Urgency } from "../Operation.ts"

export interface Asking {
  /** Version and generation are those that are installed: nothing new is applied. */
  readonly repeats: boolean
  readonly resyncPending: boolean
  /** Somebody has asked for a try since the last install or repair ended. */
  readonly requested: boolean
  /** The generation whose install failed last, until one succeeds. */
  readonly failedGeneration: number | undefined
  readonly generation: number
}

/** A change, a resync and what was asked for are waited for; a repair is not. A fresh spec or a request begins anew. */
export const urgencyOf = (asking: Asking): Urgency => ({
  urgent: !asking.repeats || asking.resyncPending || asking.requested,
  failing: asking.failedGeneration === asking.generation && !asking.requested,
})
