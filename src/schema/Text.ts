// Cutting text to the API's limits.

const ELLIPSIS = "…"

/** The length of a text in bytes of UTF-8. */
export const utf8Bytes = (text: string): number => new TextEncoder().encode(text).length

/** The length of a text in characters (code points), as the API server counts them. */
export const codePoints = (text: string): number => {
  let count = 0
  for (const _ of text) count++
  return count
}

/**
 * The text itself when it fits, else its beginning, cut after a whole word and ended by `…`; `limit` counts the
 * ellipsis. A first word longer than the limit is cut inside, never inside a character. Pass `utf8Bytes` where the
 * limit is one of bytes (an Event's note: 1,024 of them).
 */
export const truncateAtWord = (
  text: string,
  limit: number,
  measure: (text: string) => number = codePoints,
): string => {
  if (measure(text) <= limit) return text
  const room = limit - measure(ELLIPSIS)
  let used = 0
  let end = 0
  for (const char of text) {
    used += measure(char)
    if (used > room) break
    end += char.length
  }
  const head = text.slice(0, end)
  const boundary = /\s/.test(text.charAt(end)) ? head : head.replace(/\s+\S*$/, "")
  return `${(boundary === "" ? head : boundary).trimEnd()}${ELLIPSIS}`
}
