// YAML as Go's sigs.k8s.io/yaml 1.6 writes it, which is what `toYaml` of a Helm template is: the text counts, because
// a chart puts its hash into a pod's annotations. Keys are sorted, lists are not indented, strings are quoted only
// where they would otherwise be read as something else, by the rules of YAML 1.1.

export type Json = string | number | boolean | null | ReadonlyArray<Json> | { readonly [key: string]: Json }
export type JsonObject = { readonly [key: string]: Json }

export const isObject = (value: unknown): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value)

const words = new Set(
  ["", "~", ".nan", ".NaN", ".NAN", "y", "Y", "n", "N"].concat(
    ["null", "yes", "no", "true", "false", "on", "off", ".inf", "+.inf", "-.inf"].flatMap((word) => [
      word,
      word.replace(/[a-z]/, (letter) => letter.toUpperCase()),
      word.toUpperCase(),
    ]),
  ),
)

const integer = /^[-+]?(0|[1-9][0-9]*|0[0-7]+|0[oO][0-7]+|0[xX][0-9a-fA-F]+|0[bB][01]+)$/
const float = /^[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?$/
const sexagesimal = /^[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+(?:\.[0-9_]*)?$/
const date = /^\d{4}-(\d\d?)-(\d\d?)$/
const time =
  /^\d{4}-(\d\d?)-(\d\d?)([Tt]\d\d?:\d\d?:\d\d?(\.\d+)?(Z|[-+]\d\d:\d\d)| \d\d?:\d\d?:\d\d?(\.\d+)?)$/

const isDate = (text: string): boolean => {
  const [, month = "0", day = "0"] = date.exec(text) ?? time.exec(text) ?? []
  return Number(month) >= 1 && Number(month) <= 12 && Number(day) >= 1 && Number(day) <= 31
}

const isNumber = (text: string): boolean => {
  if (!/^[-+.0-9]/.test(text)) return false
  const plain = text.replaceAll("_", "")
  // A text that starts with a dot is only tried as a Go number, in which underscores do not count.
  return text.startsWith(".") ? float.test(text) : integer.test(plain) || float.test(plain)
}

/** Whether a plain scalar would be read as something that is not a string. */
const isOther = (text: string): boolean =>
  words.has(text) || isNumber(text) || sexagesimal.test(text) || isDate(text)

/** What the emitter takes for printable: nothing beyond the basic multilingual plane. */
const isPrintable = (code: number): boolean =>
  code === 0x0a ||
  (code >= 0x20 && code <= 0x7e) ||
  (code >= 0xa0 && code <= 0xfffd && code !== 0xfeff && !(code >= 0xd800 && code <= 0xdfff))

const isBreak = (code: number): boolean =>
  code === 0x0a || code === 0x0d || code === 0x85 || code === 0x2028 || code === 0x2029

const escapes: ReadonlyMap<string, string> = new Map([
  ["\0", "\\0"],
  ["\u0007", "\\a"],
  ["\b", "\\b"],
  ["\t", "\\t"],
  ["\n", "\\n"],
  ["\v", "\\v"],
  ["\f", "\\f"],
  ["\r", "\\r"],
  ["\u001b", "\\e"],
  ['"', '\\"'],
  ["\\", "\\\\"],
  ["\u0085", "\\N"],
  ["\u00a0", "\\_"],
  ["\u2028", "\\L"],
  ["\u2029", "\\P"],
])

const hex = (code: number): string =>
  code <= 0xff
    ? `\\x${code.toString(16).toUpperCase().padStart(2, "0")}`
    : code <= 0xffff
      ? `\\u${code.toString(16).toUpperCase().padStart(4, "0")}`
      : `\\U${code.toString(16).toUpperCase().padStart(8, "0")}`

/** Lines are broken at a space beyond this column. */
const width = 80

/** What a scalar is written at: how far its first line is already, and what begins its further lines. */
interface Place {
  readonly column: number
  readonly indent: string
}

/** No line break: keys. */
const unbroken: Place = { column: Number.NEGATIVE_INFINITY, indent: "" }

/** Breaks lines in the place of a space that has none before it. `next` says what the break becomes, if one may be here. */
const folded = (
  pieces: ReadonlyArray<string>,
  { column: start, indent }: Place,
  next: (piece: string | undefined, index: number) => string | undefined,
): string => {
  let [text, column, spaces] = ["", start, false]
  for (const [index, piece] of pieces.entries()) {
    const lead = piece === " " && !spaces && column > width ? next(pieces[index + 1], index) : undefined
    spaces = piece === " "
    text += lead === undefined ? piece : `\n${indent}${lead}`
    column = lead === undefined ? column + Array.from(piece).length : indent.length + lead.length
  }
  return text
}

const inside = (piece: string | undefined, index: number) => index > 0 && piece !== undefined

const plain = (text: string, place: Place): string =>
  folded(Array.from(text), place, (piece) => (piece === " " ? undefined : ""))

const doubleQuoted = (text: string, { column, indent }: Place): string => {
  const pieces = Array.from(text, (character) => {
    const code = character.codePointAt(0) ?? 0
    const readable = isPrintable(code) && !isBreak(code) && character !== '"' && character !== "\\"
    return readable ? character : (escapes.get(character) ?? hex(code))
  })
  const next = (piece: string | undefined, index: number) =>
    !inside(piece, index) ? undefined : piece === " " ? "\\" : ""
  return `"${folded(pieces, { column: column + 1, indent }, next)}"`
}

const singleQuoted = (text: string, { column, indent }: Place): string => {
  const pieces = Array.from(text, (character) => (character === "'" ? "''" : character))
  const next = (piece: string | undefined, index: number) =>
    inside(piece, index) && piece !== " " ? "" : undefined
  return `'${folded(pieces, { column: column + 1, indent }, next)}'`
}

/** Whether the text holds what only double quotes can: what is not printable, a break next to spaces. */
const isSpecial = (text: string): boolean =>
  Array.from(text).some((character) => !isPrintable(character.codePointAt(0) ?? 0)) ||
  / [\n\u2028\u2029]/.test(text)

/** Indicators that a plain scalar in a block must not have, at its start or within. */
const hasIndicator = (text: string): boolean =>
  /^(---|\.\.\.)|^[#,[\]{}&*!|>'"%@`]|^[?:-](?=[ \t\n]|$)|:(?=[ \t\n]|$)|[ \t\n]#/.test(text)

const oneLine = (text: string, place: Place): string => {
  if (isOther(text) || isSpecial(text) || /[\u2028\u2029]/.test(text)) return doubleQuoted(text, place)
  return hasIndicator(text) || /^ | $/.test(text) ? singleQuoted(text, place) : plain(text, place)
}

/** A text of several lines, in a block (`|`), below its key. */
const block = (text: string, indent: string): string | undefined => {
  if (isSpecial(text) || text.endsWith(" ") || /[\u2028\u2029]/.test(text)) return undefined
  const chomp = !text.endsWith("\n") ? "-" : text.endsWith("\n\n") || text === "\n" ? "+" : ""
  const lead = /^[ \n]/.test(text) ? "2" : ""
  const lines = text.replace(/\n$/, "").split("\n")
  return [`|${lead}${chomp}`, ...lines.map((line) => (line === "" ? "" : `${indent}${line}`))].join("\n")
}

const scalar = (value: string | number | boolean | null, place: Place): string => {
  if (typeof value === "string") {
    if (!value.includes("\n")) return oneLine(value, place)
    return block(value, place.indent) ?? doubleQuoted(value, place)
  }
  // Go writes an exponent from 21 digits on, as JavaScript does.
  return String(value)
}

const isLetter = (character: string): boolean => /\p{L}/u.test(character)

/** The order of keys: by letters, and by numbers where both have one; a letter comes after what is none. */
export const compareKeys = (left: string, right: string): number => {
  const [a, b] = [Array.from(left), Array.from(right)]
  let common = 0
  while (common < a.length && common < b.length && a[common] === b[common]) common += 1
  const [x, y] = [a[common], b[common]]
  if (x === undefined || y === undefined) return a.length - b.length
  const points = (x.codePointAt(0) ?? 0) - (y.codePointAt(0) ?? 0)
  if (isLetter(x) && isLetter(y)) return points
  if (isLetter(x) || isLetter(y)) return isLetter(x) ? 1 : -1
  // The numbers that differ here may have begun before: 12 comes before 100.
  const begun = /[1-9]0*$/.test(a.slice(0, common).join("")) ? "1" : ""
  const number = (rest: ReadonlyArray<string>) => /^\d*/.exec(rest.join(""))?.[0] ?? ""
  const [m, n] = [number(a.slice(common)), number(b.slice(common))]
  const difference = Number(`${begun}${m}`) - Number(`${begun}${n}`)
  return difference || m.length - n.length || points
}

const isScalar = (value: Json): value is string | number | boolean | null =>
  typeof value !== "object" || value === null

const isEmpty = (value: Json): boolean => !isScalar(value) && Object.keys(value).length === 0

const emptyText = (value: Json): string => (Array.isArray(value) ? "[]" : "{}")

const isList = (value: Json): value is ReadonlyArray<Json> => Array.isArray(value)

const lines = (value: Json, indent: string): ReadonlyArray<string> => {
  if (isList(value)) return value.flatMap((item) => listItem(item, indent))
  if (!isObject(value)) return []
  return Object.keys(value)
    .toSorted(compareKeys)
    .flatMap((key) => entry(key, value[key] ?? null, indent))
}

const entry = (key: string, value: Json, indent: string): ReadonlyArray<string> => {
  const name = `${indent}${oneLine(key, unbroken)}:`
  if (isEmpty(value)) return [`${name} ${emptyText(value)}`]
  if (isScalar(value)) {
    return [`${name} ${scalar(value, { column: Array.from(name).length + 1, indent: `${indent}  ` })}`]
  }
  return [name, ...lines(value, isList(value) ? indent : `${indent}  `)]
}

const listItem = (item: Json, indent: string): ReadonlyArray<string> => {
  if (isEmpty(item)) return [`${indent}- ${emptyText(item)}`]
  const inner = `${indent}  `
  if (isScalar(item)) return [`${indent}- ${scalar(item, { column: inner.length, indent: inner })}`]
  const [first = "", ...rest] = lines(item, inner)
  return [`${indent}- ${first.trimStart()}`, ...rest]
}

/** The document, without a line break at its end. */
export const goYaml = (value: Json): string =>
  isEmpty(value) || isScalar(value)
    ? isScalar(value)
      ? scalar(value, { column: 0, indent: "" })
      : emptyText(value)
    : lines(value, "").join("\n")
