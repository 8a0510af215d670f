// Cancelling, once. A second SIGINT within one cancellation means "terminate now" to the pulumi CLI (read in
// its source), so that there is one controller, aborted at most one time, and no signal is ever passed on.

export interface Cancellation {
  readonly signal: AbortSignal
  readonly cancel: () => void
  /** Throws when the run was cancelled: asked between two steps. */
  readonly check: () => void
}

export class Cancelled extends Error {
  constructor() {
    super("the run was cancelled")
  }
}

export const makeCancellation = (): Cancellation => {
  const controller = new AbortController()
  const { signal } = controller
  const listen = signal.addEventListener.bind(signal)
  // The Automation API listens for an abort only once the CLI was started and never asks whether there was
  // one before (read in 3.261.0): an abort in between would be lost, and the engine would run on.
  Object.defineProperty(signal, "addEventListener", {
    value: (...args: Parameters<typeof listen>) => {
      const listener = args[1]
      if (!signal.aborted) listen(...args)
      else if (typeof listener === "function") queueMicrotask(() => listener.call(signal, new Event("abort")))
    },
  })
  return {
    signal,
    cancel: () => {
      if (!signal.aborted) controller.abort()
    },
    check: () => {
      if (signal.aborted) throw new Cancelled()
    },
  }
}
