// Mutants of one token each, made of the syntax tree: every place where one of the operators below fits. Types, strings and
// what is only logged stay as they are: a reason's text is the reference's, and no test is to hold the words of a log. A `?.`
// less is left out: the compiler refuses it.
import { createHash } from "node:crypto"
import { Predicate } from "effect"
import { parseAst } from "vitest/node"
import type { Edit, Mutant } from "./Mutant.ts"

/** Of ESTree, with offsets in characters. */
interface Node {
  readonly type: string
  readonly start: number
  readonly end: number
  readonly [field: string]: unknown
}

const isNode = (value: unknown): value is Node =>
  Predicate.isObject(value) &&
  "type" in value &&
  typeof value.type === "string" &&
  "start" in value &&
  typeof value.start === "number" &&
  "end" in value &&
  typeof value.end === "number"

/** The nodes of TypeScript that hold expressions; all others are types. */
const withExpressions = new Set([
  "TSAsExpression",
  "TSSatisfiesExpression",
  "TSNonNullExpression",
  "TSInstantiationExpression",
])

const isSkipped = ({ type }: Node): boolean =>
  type === "ImportDeclaration" || (type.startsWith("TS") && !withExpressions.has(type))

const childrenOf = (node: Node): ReadonlyArray<Node> =>
  Object.values(node)
    .flatMap((value: unknown) => (Array.isArray(value) ? value : [value]))
    .filter(isNode)

const operators: ReadonlyMap<string, string> = new Map([
  ["===", "!=="],
  ["!==", "==="],
  ["<", "<="],
  ["<=", "<"],
  [">", ">="],
  [">=", ">"],
  ["&&", "||"],
  ["||", "&&"],
  ["+", "-"],
  ["-", "+"],
])

const isText = (node: unknown): boolean =>
  isNode(node) &&
  (node.type === "TemplateLiteral" ||
    (node.type === "Literal" && typeof node.value === "string") ||
    (node.type === "BinaryExpression" && (isText(node.left) || isText(node.right))))

/** An operator between two operands. A sum of texts is none. */
const infix = (node: Node, source: string): ReadonlyArray<Omit<Edit, "file">> => {
  const { left, right, operator } = node
  if (!isNode(left) || !isNode(right) || typeof operator !== "string") return []
  const text = operators.get(operator)
  if (text === undefined || (operator === "+" && isText(node))) return []
  const start = left.end + source.slice(left.end, right.start).indexOf(operator)
  return [{ start, end: start + operator.length, text }]
}

/** `true`, `false`, and numbers one more and one less. */
const literal = ({ start, end, value }: Node): ReadonlyArray<Omit<Edit, "file">> => {
  if (typeof value === "boolean") return [{ start, end, text: String(!value) }]
  if (typeof value !== "number" || !Number.isSafeInteger(value)) return []
  return [value + 1, value - 1].map((other) => ({
    start,
    end,
    text: other < 0 ? `(${other})` : String(other),
  }))
}

const tellsOnly = /^yield\* (Effect\.(log|annotate)|logOutput)/

/** A statement that yields an effect, without it. */
const dropped = (node: Node, source: string): ReadonlyArray<Omit<Edit, "file">> => {
  const { expression, start, end } = node
  if (!isNode(expression) || expression.type !== "YieldExpression") return []
  return tellsOnly.test(source.slice(start, end)) ? [] : [{ start, end, text: ";" }]
}

const editsAt = (node: Node, source: string): ReadonlyArray<Omit<Edit, "file">> => {
  switch (node.type) {
    case "BinaryExpression":
    case "LogicalExpression":
      return infix(node, source)
    case "Literal":
      return literal(node)
    case "UnaryExpression":
      return node.operator === "!" ? [{ start: node.start, end: node.start + 1, text: "" }] : []
    case "ExpressionStatement":
      return dropped(node, source)
    default:
      return []
  }
}

const editsIn = (node: Node, source: string): ReadonlyArray<Omit<Edit, "file">> =>
  isSkipped(node)
    ? []
    : [...editsAt(node, source), ...childrenOf(node).flatMap((child) => editsIn(child, source))]

/** `file: line: old -> new`; a line's own text and not its number, which moves. */
const nameOf = ({ file, start, end, text }: Edit, source: string): string => {
  const lineStart = source.lastIndexOf("\n", start - 1) + 1
  const lineEnd = source.indexOf("\n", start)
  const line = source.slice(lineStart, lineEnd < 0 ? undefined : lineEnd)
  const marked = `${line.slice(0, start - lineStart)}«${source.slice(start, Math.min(end, lineStart + line.length))}»${line.slice(end - lineStart)}`
  return `${file}: ${marked.trim()} -> ${text === "" ? "nothing" : text}`
}

/** Every mutant of one file, in the order of their places. A name that is there twice is numbered. */
export const mutantsOf = (file: string, source: string): ReadonlyArray<Omit<Mutant, "tests">> => {
  const tree: unknown = parseAst(source, { lang: "ts" })
  if (!isNode(tree)) throw new Error(`${file}: no syntax tree`)
  const edits = editsIn(tree, source).map((edit): Edit => ({ file, ...edit }))
  const seen = new Map<string, number>()
  return edits
    .toSorted((a, b) => a.start - b.start || a.text.localeCompare(b.text))
    .map((edit) => {
      const name = nameOf(edit, source)
      const times = (seen.get(name) ?? 0) + 1
      seen.set(name, times)
      return { name: times === 1 ? name : `${name} (${times})`, edit, kind: "generated" }
    })
}

/** So many of them, by the seed. Whether one is taken depends on its name, so that others that come or go change little. */
export const sampled = <A extends { readonly name: string }>(
  all: ReadonlyArray<A>,
  count: number,
  seed: number,
): ReadonlyArray<A> =>
  all
    .map((each) => ({ each, place: createHash("sha256").update(`${seed} ${each.name}`).digest("hex") }))
    .toSorted((a, b) => (a.place < b.place ? -1 : 1))
    .slice(0, count)
    .map(({ each }) => each)
