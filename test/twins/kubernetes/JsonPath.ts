// The JSON paths of printer columns: fields, indices, all items, and items by a field that equals something.
import { isJson, isList } from "./Json.ts"

type Step = (value: unknown) => ReadonlyArray<unknown>

const STEP = /\.?([\w-]+)|\['([^']+)'\]|\[(\d+|\*)\]|\[\?\(@\.([\w.-]+)\s*==\s*["']([^"']*)["']\)\]/gy

const field =
  (name: string): Step =>
  (value) =>
    isJson(value) && value[name] !== undefined ? [value[name]] : []

const walk = (value: unknown, names: ReadonlyArray<string>): unknown =>
  names.reduce<unknown>((found, name) => (isJson(found) ? found[name] : undefined), value)

const stepOf = (match: RegExpMatchArray): Step => {
  const [, plain, quoted, index, path, wanted] = match
  if (index === "*") return (value) => (isList(value) ? value : isJson(value) ? Object.values(value) : [])
  if (index !== undefined)
    return (value) => (isList(value) ? value.slice(Number(index), Number(index) + 1) : [])
  if (path !== undefined)
    return (value) =>
      isList(value) ? value.filter((item) => String(walk(item, path.split(".")) ?? "") === wanted) : []
  return field(plain ?? quoted ?? "")
}

const known = new Map<string, ReadonlyArray<Step>>()

const parse = (text: string): ReadonlyArray<Step> => {
  const before = known.get(text)
  if (before !== undefined) return before
  const steps: Array<Step> = []
  const inner = text.replace(/^\{(.*)\}$/, "$1").replace(/^\$/, "")
  let end = 0
  for (const match of inner.matchAll(STEP)) {
    steps.push(stepOf(match))
    end = match.index + match[0].length
  }
  // A path that is not understood finds nothing, as with the server.
  const made = end === inner.length ? steps : [() => []]
  known.set(text, made)
  return made
}

/** All that a path leads to. */
export const jsonPath = (text: string, value: unknown): ReadonlyArray<unknown> =>
  parse(text).reduce<ReadonlyArray<unknown>>((found, step) => found.flatMap(step), [value])
