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

/**
 * The text itself when it fits into so many bytes of UTF-8, else its end after a `…`, begun at a word where one is near.
 * `limit` counts the ellipsis.
 */
export const tailAtWord = (text: string, limit: number): string => {
  const bytes = new TextEncoder().encode(text)
  if (bytes.length <= limit) return text
  // A character that is cut in two decodes to replacement marks, which are dropped.
  const cut = new TextDecoder()
    .decode(bytes.subarray(bytes.length - Math.max(0, limit - utf8Bytes(ELLIPSIS))))
    .replace(/^\uFFFD+/, "")
  return `${ELLIPSIS}${cut.replace(/^\S{0,80}\s/, "")}`
}

/** The text itself when it fits into so many bytes of UTF-8, else its beginning and its end around a `…`: of a name both tell. */
export const midCut = (text: string, limit: number): string => {
  const bytes = new TextEncoder().encode(text)
  if (bytes.length <= limit) return text
  const room = Math.max(0, limit - utf8Bytes(ELLIPSIS))
  const head = Math.ceil(room / 2)
  // A character that is cut in two decodes to replacement marks, which are dropped.
  const part = (from: number, to?: number) => new TextDecoder().decode(bytes.subarray(from, to))
  return `${part(0, head).replace(/\uFFFD+$/, "")}${ELLIPSIS}${part(bytes.length - (room - head)).replace(/^\uFFFD+/, "")}`
}

/**
 * The text itself when it fits into so many bytes of UTF-8, else its first sentence and its end: what happened, and the
 * last words about it, which say why. A first sentence that leaves no room for more is cut like any text.
 */
export const keepEnds = (text: string, limit: number): string => {
  if (utf8Bytes(text) <= limit) return text
  const first = /^[\s\S]*?\.\s+/.exec(text)?.[0] ?? ""
  const room = limit - utf8Bytes(first)
  if (first === "" || room < limit / 4) return truncateAtWord(text, limit, utf8Bytes)
  return first + tailAtWord(text.slice(first.length).replace(new RegExp(`^${ELLIPSIS}`), ""), room)
}
