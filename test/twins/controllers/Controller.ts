// A controller as client-go builds them: a queue that holds each key once, and a pass that looks at what is there. What
// the API refuses is tried again, 5 ms later, then 10, 20… up to 1,000 s.
import { ApiStatus } from "../kubernetes/ApiServer.ts"
import type { Delay, Tasks } from "./Tasks.ts"

export interface Controller {
  /** Looks at the key soon, or after so many milliseconds. The earliest of several counts. */
  readonly add: (key: string, after?: number) => void
}

interface Waiting {
  readonly at: number
  readonly cancel: () => void
}

/** `pass` may give after how many milliseconds it wants to look again. */
export const makeController = (
  tasks: Tasks,
  delay: Delay,
  pass: (key: string) => number | undefined,
): Controller => {
  const waiting = new Map<string, Waiting>()
  const failures = new Map<string, number>()

  const look = (key: string) => {
    try {
      const again = pass(key)
      failures.delete(key)
      if (again !== undefined) add(key, again)
    } catch (error) {
      if (!(error instanceof ApiStatus)) throw error
      const failed = failures.get(key) ?? 0
      failures.set(key, failed + 1)
      add(key, Math.min(5 * 2 ** failed, 1_000_000))
    }
  }

  const add = (key: string, after?: number) => {
    const millis = after ?? delay[0] + tasks.random() * (delay[1] - delay[0])
    const at = tasks.now() + millis
    const earlier = waiting.get(key)
    if (earlier !== undefined && earlier.at <= at) return
    earlier?.cancel()
    const cancel = tasks.after(millis, () => {
      waiting.delete(key)
      look(key)
    })
    waiting.set(key, { at, cancel })
  }
  return { add }
}

/** The key of an object in a queue of one kind. */
export const keyOf = ({ namespace, name }: { readonly namespace?: string; readonly name: string }): string =>
  `${namespace ?? ""}/${name}`

export const refOf = (key: string): { readonly namespace: string; readonly name: string } => {
  const slash = key.indexOf("/")
  return { namespace: key.slice(0, slash), name: key.slice(slash + 1) }
}
