// Sends a decoder what nobody should send, and looks at what it does.
import { Prng } from "../twins/simulation/Prng.ts"
import { type Answer, type Border, borders, canary, encoded } from "./borders.ts"
import { type Json, mutateBytes, mutateJson, mutatePacked } from "./mutations.ts"

export interface Count {
  readonly taken: number
  readonly refused: number
}

const sizeOf = (value: unknown): number => {
  const seen = new WeakSet<object>()
  const walk = (part: unknown): number => {
    if (typeof part === "string") return part.length
    if (typeof part !== "object" || part === null) return 8
    if (seen.has(part)) return 0
    seen.add(part)
    return Object.entries(part).reduce((sum, [key, inner]) => sum + key.length + walk(inner), 8)
  }
  return walk(value)
}

const longestRefusal = 4096
const smallest = 64 * 1024

/** Throws what is wrong with an answer. */
export const assertBounded = (border: Border, input: number, answer: Answer): void => {
  if ("taken" in answer) {
    const most = Math.max(smallest, input * (border.growth ?? 16))
    const size = sizeOf(answer.taken)
    if (size > most) throw new Error(`keeps ${size} bytes of ${input}`)
    return
  }
  const { refused } = answer
  if (refused === undefined) return
  if (refused.trim() === "") throw new Error("refuses without a word")
  if (refused.length > longestRefusal) throw new Error(`refuses in ${refused.length} characters`)
  if (border.secret === true && refused.includes(canary)) throw new Error("tells a secret")
}

const polluted = (): boolean => "polluted" in {}

/** One input by its number: another run with the same seed sends the same. */
const sendOne = (border: Border, prng: Prng): Answer => {
  const sample = border.samples[prng.below(border.samples.length)] ?? null
  let value: Json = sample
  for (let times = prng.below(4); times > 0; times--) value = mutateJson(value, prng)
  if (border.form === "value") {
    const answer = border.decode(value)
    assertBounded(border, JSON.stringify(value)?.length ?? 0, answer)
    return answer
  }
  const whole = encoded(border, value)
  const bytes =
    prng.below(2) === 0
      ? whole
      : border.form === "packed"
        ? mutatePacked(whole, prng)
        : mutateBytes(whole, prng)
  const answer = border.decode(bytes)
  assertBounded(border, bytes.length, answer)
  return answer
}

/** `after` is called with how many were sent. Throws with the border, the seed and the number of what went wrong. */
export const fuzz = (name: string, cases: number, seed: number, after: (sent: number) => void): Count => {
  const index = borders.findIndex((one) => one.name === name)
  const border = borders[index]
  if (border === undefined) throw new Error(`no border ${name}`)
  let taken = 0
  for (let number = 0; number < cases; number++) {
    const prng = new Prng(seed + number, index)
    try {
      if ("taken" in sendOne(border, prng)) taken++
      if (polluted()) throw new Error("changes every object")
    } catch (cause) {
      throw new Error(`${name}: ${String(cause)} (SEED=${seed + number} CASES=1)`, { cause })
    }
    after(number + 1)
  }
  return { taken, refused: cases - taken }
}
