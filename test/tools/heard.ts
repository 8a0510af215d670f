// What a program of a test says, as it says it.
import type { ChildProcess } from "node:child_process"

/** `says` returns once those words were said, and fails when the program has ended without; `ended` gives its code or signal. */
export const hear = (child: ChildProcess) => {
  let said = ""
  const listeners = new Set<() => void>()
  for (const stream of [child.stdout, child.stderr])
    stream?.on("data", (chunk) => {
      said += chunk
      for (const listener of [...listeners]) listener()
    })
  const ended = new Promise<number | string | null>((resolve) => {
    child.once("close", (code, signal) => resolve(code ?? signal))
  })
  const says = (words: string) =>
    new Promise<void>((resolve, reject) => {
      const look = () => said.includes(words) && resolve()
      listeners.add(look)
      look()
      void ended.then(() => reject(new Error(`it has ended without ${words}: ${said}`)))
    })
  return { ended, says, said: () => said }
}
