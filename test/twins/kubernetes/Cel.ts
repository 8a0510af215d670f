// A small evaluator of the Common Expression Language: what admission policies and the rules of a CRD are written in.
// What it does not know it refuses loudly.
import { equal, isJson, isList } from "./Json.ts"

export class CelError extends Error {
  override readonly name = "CelError"
}

export type Variables = Readonly<Record<string, unknown>>
export type Evaluate = (variables: Variables) => unknown

const TOKEN =
  /\s*(?:(\d+)|('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")|([A-Za-z_]\w*)|(\|\||&&|==|!=|<=|>=|[-+<>!?:.,()[\]]))/y

const tokensOf = (text: string): ReadonlyArray<string> => {
  const tokens: Array<string> = []
  TOKEN.lastIndex = 0
  while (TOKEN.lastIndex < text.trimEnd().length) {
    const found = TOKEN.exec(text)
    if (found === null) throw new CelError(`cannot read CEL: ${text}`)
    tokens.push(found[0].trim())
  }
  return tokens
}

const boolean = (value: unknown): boolean => {
  if (typeof value !== "boolean") throw new CelError("no such overload")
  return value
}

const field = (value: unknown, name: string): unknown => {
  if (!isJson(value) || !(name in value)) throw new CelError(`no such key: ${name}`)
  return value[name]
}

const sizeOf = (value: unknown): number => {
  if (typeof value === "string") return [...value].length
  if (isList(value)) return value.length
  if (isJson(value)) return Object.keys(value).length
  throw new CelError("no such overload")
}

/** `a || b` holds when one of them does, even when the other one is an error. `decisive`: the value that decides. */
const either =
  (left: Evaluate, right: Evaluate, decisive: boolean): Evaluate =>
  (variables) => {
    try {
      if (boolean(left(variables)) === decisive) return decisive
    } catch (error) {
      if (boolean(right(variables)) === decisive) return decisive
      throw error
    }
    return boolean(right(variables))
  }

const LEVELS: ReadonlyArray<ReadonlyArray<string>> = [
  ["==", "!=", "<", "<=", ">", ">=", "in"],
  ["+", "-"],
]

const ordered = (left: unknown, right: unknown): number => {
  if (typeof left === "number" && typeof right === "number") return left - right
  if (typeof left === "string" && typeof right === "string") return left < right ? -1 : Number(left > right)
  throw new CelError("no such overload")
}

const binary = (operator: string, left: unknown, right: unknown): unknown => {
  switch (operator) {
    case "==":
      return equal(left, right)
    case "!=":
      return !equal(left, right)
    case "<":
      return ordered(left, right) < 0
    case "<=":
      return ordered(left, right) <= 0
    case ">":
      return ordered(left, right) > 0
    case ">=":
      return ordered(left, right) >= 0
    case "in":
      if (isList(right)) return right.some((item) => equal(item, left))
      return isJson(right) && typeof left === "string" && left in right
    case "+":
      if (typeof left === "string" && typeof right === "string") return left + right
      if (isList(left) && isList(right)) return [...left, ...right]
  }
  if (typeof left !== "number" || typeof right !== "number") throw new CelError("no such overload")
  return operator === "+" ? left + right : left - right
}

const itemsOf = (value: unknown): ReadonlyArray<unknown> => {
  if (isList(value)) return value
  if (isJson(value)) return Object.keys(value)
  throw new CelError("no such overload")
}

const text = (value: unknown): string => {
  if (typeof value !== "string") throw new CelError("no such overload")
  return value
}

type Macro = (items: ReadonlyArray<unknown>, test: (item: unknown) => unknown) => unknown

const MACROS: Readonly<Record<string, Macro>> = {
  all: (items, test) => items.every((item) => boolean(test(item))),
  exists: (items, test) => items.some((item) => boolean(test(item))),
  exists_one: (items, test) => items.filter((item) => boolean(test(item))).length === 1,
  filter: (items, test) => items.filter((item) => boolean(test(item))),
  map: (items, test) => items.map(test),
}

const METHODS: Readonly<Record<string, (self: unknown, args: ReadonlyArray<unknown>) => unknown>> = {
  size: (self) => sizeOf(self),
  startsWith: (self, [prefix]) => text(self).startsWith(text(prefix)),
  endsWith: (self, [suffix]) => text(self).endsWith(text(suffix)),
  contains: (self, [part]) => text(self).includes(text(part)),
  matches: (self, [pattern]) => new RegExp(text(pattern), "u").test(text(self)),
}

const LITERALS: Readonly<Record<string, unknown>> = { true: true, false: false, null: null }

class Parser {
  readonly #source: string
  readonly #tokens: ReadonlyArray<string>
  #next = 0

  constructor(source: string) {
    this.#source = source
    this.#tokens = tokensOf(source)
  }

  whole(): Evaluate {
    const expression = this.#conditional()
    if (this.#next < this.#tokens.length) throw this.#unexpected()
    return expression
  }

  #unexpected(): CelError {
    return new CelError(`unexpected ${this.#tokens[this.#next] ?? "end"} in CEL: ${this.#source}`)
  }

  #is(token: string): boolean {
    if (this.#tokens[this.#next] !== token) return false
    this.#next += 1
    return true
  }

  #expect(token: string): void {
    if (!this.#is(token)) throw this.#unexpected()
  }

  #take(): string {
    const token = this.#tokens[this.#next]
    if (token === undefined) throw this.#unexpected()
    this.#next += 1
    return token
  }

  #conditional(): Evaluate {
    const condition = this.#or()
    if (!this.#is("?")) return condition
    const yes = this.#conditional()
    this.#expect(":")
    const no = this.#conditional()
    return (variables) => (boolean(condition(variables)) ? yes(variables) : no(variables))
  }

  #or(): Evaluate {
    let left = this.#and()
    while (this.#is("||")) left = either(left, this.#and(), true)
    return left
  }

  #and(): Evaluate {
    let left = this.#level(0)
    while (this.#is("&&")) left = either(left, this.#level(0), false)
    return left
  }

  #level(depth: number): Evaluate {
    const operators = LEVELS[depth]
    if (operators === undefined) return this.#unary()
    let left = this.#level(depth + 1)
    for (let operator = operators.find((it) => this.#is(it)); operator !== undefined; ) {
      const [before, right, how] = [left, this.#level(depth + 1), operator]
      left = (variables) => binary(how, before(variables), right(variables))
      operator = operators.find((it) => this.#is(it))
    }
    return left
  }

  #unary(): Evaluate {
    if (this.#is("!")) {
      const inner = this.#unary()
      return (variables) => !boolean(inner(variables))
    }
    if (this.#is("-")) {
      const inner = this.#unary()
      return (variables) => binary("-", 0, inner(variables))
    }
    return this.#member(this.#primary())
  }

  #member(start: Evaluate): Evaluate {
    let value = start
    while (true) {
      if (this.#is(".")) value = this.#selected(value, this.#take())
      else if (this.#is("[")) value = this.#indexed(value)
      else return value
    }
  }

  #selected(value: Evaluate, name: string): Evaluate {
    if (!this.#is("(")) return selection(value, name)
    const macro = MACROS[name]
    if (macro !== undefined) {
      const variable = this.#take()
      this.#expect(",")
      const test = this.#conditional()
      this.#expect(")")
      return (variables) =>
        macro(itemsOf(value(variables)), (item) => test({ ...variables, [variable]: item }))
    }
    const method = METHODS[name]
    if (method === undefined) throw new CelError(`unknown CEL method ${name}: ${this.#source}`)
    const args = this.#list(")")
    return (variables) =>
      method(
        value(variables),
        args.map((arg) => arg(variables)),
      )
  }

  #indexed(value: Evaluate): Evaluate {
    const index = this.#conditional()
    this.#expect("]")
    return (variables) => {
      const [held, key] = [value(variables), index(variables)]
      if (!isList(held)) return field(held, text(key))
      if (typeof key !== "number" || !(key in held)) throw new CelError(`index out of bounds: ${key}`)
      return held[key]
    }
  }

  #list(end: string): ReadonlyArray<Evaluate> {
    const items: Array<Evaluate> = []
    while (!this.#is(end)) {
      if (items.length > 0) this.#expect(",")
      items.push(this.#conditional())
    }
    return items
  }

  #primary(): Evaluate {
    const token = this.#take()
    if (token === "(") {
      const inner = this.#conditional()
      this.#expect(")")
      return inner
    }
    if (token === "[") {
      const items = this.#list("]")
      return (variables) => items.map((item) => item(variables))
    }
    if (/^\d/.test(token)) return () => Number(token)
    if (/^['"]/.test(token)) {
      const content = token.slice(1, -1).replace(/\\(.)/g, "$1")
      return () => content
    }
    if (!/^[A-Za-z_]/.test(token)) throw this.#unexpected()
    if (token in LITERALS) return () => LITERALS[token]
    return this.#is("(") ? this.#call(token) : (variables) => field(variables, token)
  }

  #call(name: string): Evaluate {
    if (name === "has") {
      const selected = this.#conditional()
      this.#expect(")")
      return hasField(selected)
    }
    const args = this.#list(")")
    const [first] = args
    if (name !== "size" || first === undefined)
      throw new CelError(`unknown CEL function ${name}: ${this.#source}`)
    return (variables) => sizeOf(first(variables))
  }
}

/** What a selection `a.b` is made of, for `has`. */
const selections = new WeakMap<Evaluate, { readonly of: Evaluate; readonly name: string }>()

const selection = (of: Evaluate, name: string): Evaluate => {
  const evaluate: Evaluate = (variables) => field(of(variables), name)
  selections.set(evaluate, { of, name })
  return evaluate
}

/** `has(a.b)` is about `b` alone: that there is no `a` stays an error. */
const hasField = (selected: Evaluate): Evaluate => {
  const found = selections.get(selected)
  if (found === undefined) throw new CelError("has() takes a selection")
  return (variables) => {
    const object = found.of(variables)
    if (!isJson(object)) throw new CelError("no such overload")
    return object[found.name] !== undefined
  }
}

const parsed = new Map<string, Evaluate>()

/** The expression, ready to be evaluated. Throws `CelError` for one that cannot be read. */
export const compileCel = (source: string): Evaluate => {
  const found = parsed.get(source) ?? new Parser(source).whole()
  parsed.set(source, found)
  return found
}
