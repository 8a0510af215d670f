// What a sender can make of a sample: a value a little or wholly otherwise, its text cut, joined, repeated or with bytes of
// chance in it. Everything follows from the seed.
import { gunzipSync, gzipSync } from "node:zlib"
import type { Prng } from "../twins/simulation/Prng.ts"

export type Json = null | boolean | number | string | ReadonlyArray<Json> | { readonly [key: string]: Json }

const isContainer = (value: Json): value is ReadonlyArray<Json> | { readonly [key: string]: Json } =>
  typeof value === "object" && value !== null

const oneOf = <A>(prng: Prng, these: ReadonlyArray<A>): A => {
  const chosen = these[prng.below(these.length)]
  if (chosen === undefined) throw new Error("nothing to choose from")
  return chosen
}

const nested = (depth: number): Json => {
  let value: Json = []
  for (let level = 0; level < depth; level++) value = level % 2 === 0 ? { a: value } : [value]
  return value
}

/** Values that are known to be taken badly. */
const oddities: ReadonlyArray<(prng: Prng) => Json> = [
  () => null,
  () => "",
  () => 0,
  () => -1,
  () => true,
  () => [],
  () => ({}),
  () => 1e308,
  () => Number.MAX_SAFE_INTEGER + 2,
  () => 0.1,
  () => "9999-99-99T99:99:99Z",
  () => "-000001-01-01T00:00:00Z",
  () => "\u0000",
  () => "\ud800",
  () => "𝔘𝔫𝔦𝔠𝔬𝔡𝔢 \u202e سلام",
  () => "../../../../etc/passwd",
  () => "a\nb\r\nc",
  () => "%s%n`id`$(id)",
  (prng) => "x".repeat(1 + prng.below(5000)),
  (prng) => nested(1 + prng.below(200)),
  () => ({ ["__proto__"]: { polluted: true } }),
  () => ({ constructor: { prototype: { polluted: true } }, toString: 1, hasOwnProperty: 2 }),
  () => Array.from({ length: 300 }, (_, index) => index),
]

const oddity = (prng: Prng): Json => oneOf(prng, oddities)(prng)

/** A value with one place of it changed. */
export const mutateJson = (value: Json, prng: Prng): Json => {
  if (!isContainer(value) || prng.below(12) === 0)
    return prng.below(6) === 0 ? scratched(value, prng) : oddity(prng)
  if (Array.isArray(value)) {
    const items: ReadonlyArray<Json> = value
    const at = prng.below(Math.max(items.length, 1))
    switch (prng.below(5)) {
      case 0:
        return items.filter((_, index) => index !== at)
      case 1:
        return [...items, ...items]
      case 2:
        return [...items, oddity(prng)]
      default:
        return items.map((item, index) => (index === at ? mutateJson(item, prng) : item))
    }
  }
  const entries = Object.entries(value)
  const [key = "x", inner = null] = entries[prng.below(Math.max(entries.length, 1))] ?? []
  const others = entries.filter(([name]) => name !== key)
  switch (prng.below(6)) {
    case 0:
      return Object.fromEntries(others)
    case 1:
      return Object.fromEntries([
        ...others,
        [`${key}${oneOf(prng, ["s", "", "\u0000", "__proto__"])}`, inner],
      ])
    case 2:
      return Object.fromEntries([
        ...entries,
        [oneOf(prng, ["__proto__", "x", "constructor", ""]), oddity(prng)],
      ])
    default:
      return Object.fromEntries([...others, [key, mutateJson(inner, prng)]])
  }
}

const scratched = (value: Json, prng: Prng): Json => {
  if (typeof value === "number") return value + oneOf(prng, [1, -1, 0.5, 1e15])
  if (typeof value !== "string") return value
  return Buffer.from(mutateBytes(Buffer.from(value), prng)).toString("utf8")
}

/** Bytes with one thing done to them: cut, repeated, flipped, another sample's end, nothing at all. */
export const mutateBytes = (bytes: Uint8Array, prng: Prng): Uint8Array => {
  const at = prng.below(bytes.length + 1)
  const changed = Uint8Array.from(bytes)
  switch (prng.below(8)) {
    case 0:
      return bytes.subarray(0, at)
    case 1:
      return bytes.subarray(at)
    case 2:
      return Buffer.concat([bytes, bytes])
    case 3:
      return Buffer.concat([bytes.subarray(0, at), Buffer.from([prng.below(256)]), bytes.subarray(at)])
    case 4:
      return Buffer.concat([
        bytes.subarray(0, at),
        Buffer.alloc(prng.below(4096), prng.below(256)),
        bytes.subarray(at),
      ])
    default:
      for (let times = 1 + prng.below(4); times > 0 && changed.length > 0; times--)
        changed[prng.below(changed.length)] = prng.below(256)
      return changed
  }
}

/** The same value as gzip. A few are bombs: a thousand times as long as what is sent. */
export const mutatePacked = (packed: Uint8Array, prng: Prng): Uint8Array => {
  switch (prng.below(12)) {
    case 0:
      return mutateBytes(gunzipSync(packed), prng)
    case 1:
      return gzipSync(mutateBytes(gunzipSync(packed), prng), { level: 1 })
    case 2:
      return gzipSync(gunzipSync(packed).subarray(0, prng.below(200)), { level: 1 })
    default:
      return mutateBytes(packed, prng)
  }
}
