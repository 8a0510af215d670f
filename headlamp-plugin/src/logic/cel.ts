// The part of the Common Expression Language that the CRD's rules are written in. What it does not know it refuses
// when the rule is read, and a test reads every rule of the CRD.
import { isList, isObject, own } from "./schema.ts"

type Scope = Readonly<Record<string, unknown>>
export type Expression = (scope: Scope) => unknown

export class CelError extends Error {}

const TOKEN = /\s*(\d+|'[^'\\]*'|"[^"\\]*"|[A-Za-z_]\w*|\|\||&&|==|!=|<=|>=|[<>!?:.,()])/y

const tokensOf = (source: string): Array<string> => {
  const tokens: Array<string> = []
  TOKEN.lastIndex = 0
  while (TOKEN.lastIndex < source.length) {
    const found = TOKEN.exec(source)
    if (found?.[1] === undefined) throw new CelError(`cannot read the rule ${source}`)
    tokens.push(found[1])
  }
  return tokens
}

const boolean = (value: unknown): boolean => {
  if (typeof value !== "boolean") throw new CelError(`${JSON.stringify(value)} is no boolean`)
  return value
}

const number = (value: unknown): number => {
  if (typeof value !== "number") throw new CelError(`${JSON.stringify(value)} is no number`)
  return value
}

export const equal = (a: unknown, b: unknown): boolean => {
  if (isList(a)) return isList(b) && a.length === b.length && a.every((item, i) => equal(item, b[i]))
  if (!isObject(a)) return a === b
  const keys = Object.keys(a)
  return (
    isObject(b) &&
    keys.length === Object.keys(b).length &&
    keys.every((key) => Object.hasOwn(b, key) && equal(a[key], b[key]))
  )
}

const member = (value: unknown, name: string): unknown => {
  if (!isObject(value) || !Object.hasOwn(value, name)) throw new CelError(`there is no ${name}`)
  return value[name]
}

const list = (value: unknown): ReadonlyArray<unknown> => {
  if (!isList(value)) throw new CelError("not a list")
  return value
}

const size = (value: unknown): number => {
  // In code points, as the server counts.
  if (typeof value === "string") return [...value].length
  return isList(value) ? value.length : Object.keys(isObject(value) ? value : {}).length
}

const COMPARE: Readonly<Record<string, (a: unknown, b: unknown) => boolean>> = {
  "==": equal,
  "!=": (a, b) => !equal(a, b),
  "<": (a, b) => number(a) < number(b),
  "<=": (a, b) => number(a) <= number(b),
  ">": (a, b) => number(a) > number(b),
  ">=": (a, b) => number(a) >= number(b),
}

const MACROS: Readonly<
  Record<string, (items: ReadonlyArray<unknown>, test: (x: unknown) => boolean) => boolean>
> = {
  all: (items, test) => items.every(test),
  exists: (items, test) => items.some(test),
  exists_one: (items, test) => items.filter(test).length === 1,
}

const LITERALS: Readonly<Record<string, unknown>> = { true: true, false: false, null: null }

class Parser {
  readonly #source: string
  readonly #tokens: Array<string>

  constructor(source: string) {
    this.#source = source
    this.#tokens = tokensOf(source)
  }

  whole(): Expression {
    const expression = this.#conditional()
    if (this.#tokens.length > 0) throw this.#unexpected()
    return expression
  }

  #unexpected = (): CelError =>
    new CelError(`unexpected ${this.#tokens[0] ?? "end"} in the rule ${this.#source}`)

  #is(token: string): boolean {
    if (this.#tokens[0] !== token) return false
    this.#tokens.shift()
    return true
  }

  #expect(token: string): void {
    if (!this.#is(token)) throw this.#unexpected()
  }

  #take(): string {
    const token = this.#tokens.shift()
    if (token === undefined) throw this.#unexpected()
    return token
  }

  #conditional(): Expression {
    const condition = this.#or()
    if (!this.#is("?")) return condition
    const yes = this.#conditional()
    this.#expect(":")
    const no = this.#conditional()
    return (scope) => (boolean(condition(scope)) ? yes(scope) : no(scope))
  }

  #or(): Expression {
    const parts = [this.#and()]
    while (this.#is("||")) parts.push(this.#and())
    return parts.length === 1 ? this.#only(parts) : (scope) => parts.some((part) => boolean(part(scope)))
  }

  #and(): Expression {
    const parts = [this.#comparison()]
    while (this.#is("&&")) parts.push(this.#comparison())
    return parts.length === 1 ? this.#only(parts) : (scope) => parts.every((part) => boolean(part(scope)))
  }

  #only([part]: ReadonlyArray<Expression>): Expression {
    if (part === undefined) throw this.#unexpected()
    return part
  }

  #comparison(): Expression {
    const left = this.#unary()
    const compare = own(COMPARE, this.#tokens[0] ?? "")
    if (compare === undefined) return left
    this.#take()
    const right = this.#unary()
    return (scope) => compare(left(scope), right(scope))
  }

  #unary(): Expression {
    if (!this.#is("!")) return this.#members()
    const inner = this.#unary()
    return (scope) => !boolean(inner(scope))
  }

  #members(): Expression {
    let value = this.#primary()
    while (this.#is(".")) {
      const of = value
      const name = this.#take()
      value = this.#is("(") ? this.#macro(of, name) : (scope) => member(of(scope), name)
    }
    return value
  }

  #macro(of: Expression, name: string): Expression {
    const macro = own(MACROS, name)
    if (macro === undefined) throw new CelError(`unknown method ${name} in the rule ${this.#source}`)
    const variable = this.#take()
    this.#expect(",")
    const test = this.#conditional()
    this.#expect(")")
    return (scope) => macro(list(of(scope)), (item) => boolean(test({ ...scope, [variable]: item })))
  }

  #primary(): Expression {
    const token = this.#take()
    if (token === "(") {
      const inner = this.#conditional()
      this.#expect(")")
      return inner
    }
    if (/^\d/.test(token)) return () => Number(token)
    if (/^['"]/.test(token)) return () => token.slice(1, -1)
    if (!/^\w/.test(token)) throw this.#unexpected()
    if (Object.hasOwn(LITERALS, token)) return () => LITERALS[token]
    if (!this.#is("(")) return (scope) => member(scope, token)
    return token === "has" ? this.#has() : this.#size(token)
  }

  /** `has(a.b.c)`: that there is no `a.b` stays an error. */
  #has(): Expression {
    const names = [this.#take()]
    while (this.#is(".")) names.push(this.#take())
    this.#expect(")")
    const last = names.pop() ?? ""
    return (scope) => {
      const holder = names.reduce<unknown>(member, scope)
      return isObject(holder) && Object.hasOwn(holder, last)
    }
  }

  #size(name: string): Expression {
    if (name !== "size") throw new CelError(`unknown function ${name} in the rule ${this.#source}`)
    const of = this.#conditional()
    this.#expect(")")
    return (scope) => size(of(scope))
  }
}

const known = new Map<string, Expression>()

/** The rule, ready to be asked. Throws `CelError` for one that cannot be read. */
export const compileRule = (source: string): Expression => {
  const rule = known.get(source) ?? new Parser(source).whole()
  known.set(source, rule)
  return rule
}

/** Such a rule compares with what is stored. */
export const isTransition = (source: string): boolean => /\boldSelf\b/.test(source)
