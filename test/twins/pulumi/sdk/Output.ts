// Values that a Pulumi program does not have yet: they come with the resources they depend on. As with the SDK's own,
// a property of one is one again.
import { Predicate } from "effect"

/** A resource as the program has registered it. */
export interface Goal {
  readonly type: string
  readonly name: string
  /** With outputs and secrets inside; `resolve` takes them out once the dependencies are made. */
  readonly inputs: Readonly<Record<string, unknown>>
  /** Absent for what belongs to no provider: a provider itself. */
  readonly provider: Goal | undefined
  readonly dependencies: ReadonlySet<Goal>
  readonly retainOnDelete: boolean
}

/** A value that is written to the state encrypted. */
export class Secret {
  readonly value: unknown
  constructor(value: unknown) {
    this.value = value
  }
}

const outputs = new WeakMap<object, Pending>()

export interface Pending {
  readonly dependencies: ReadonlySet<Goal>
  readonly secret: boolean
  /** Called when the dependencies are made; throws what an `apply` throws. */
  readonly compute: () => unknown
  /** A promise of the program's own, which nobody keeps. */
  readonly endless: boolean
}

export const pendingOf = (value: unknown): Pending | undefined =>
  Predicate.isObject(value) ? outputs.get(value) : undefined

const property = (value: unknown, key: string): unknown =>
  Predicate.isObject(value) ? Reflect.get(value, key) : undefined

/** What the program sees: `apply`, `promise`, and every property as an output. */
export const makeOutput = (pending: Pending): object => {
  const output: object = new Proxy(
    {},
    {
      get: (_, key) => {
        if (typeof key === "symbol" || key === "then" || key === "toJSON") return undefined
        if (key === "apply") {
          return (f: (value: unknown) => unknown) =>
            makeOutput({ ...pending, compute: () => f(pending.compute()) })
        }
        // The one who asked waits for the output itself: the wrapper is run step by step (Program.ts).
        if (key === "promise") return () => output
        return makeOutput({ ...pending, compute: () => property(pending.compute(), key) })
      },
    },
  )
  outputs.set(output, pending)
  return output
}

/** Every output inside of a value. */
const pendings = (value: unknown): ReadonlyArray<Pending> => {
  const own = pendingOf(value)
  if (own !== undefined) return [own]
  if (value instanceof Promise) {
    return [{ dependencies: new Set(), secret: false, compute: () => undefined, endless: true }]
  }
  if (Array.isArray(value)) return value.flatMap(pendings)
  if (value instanceof Secret) return pendings(value.value)
  return Predicate.isObject(value) ? Object.values(value).flatMap(pendings) : []
}

/** What a value waits for. */
export const dependenciesOf = (value: unknown): ReadonlySet<Goal> =>
  new Set(pendings(value).flatMap(({ dependencies }) => [...dependencies]))

export const isEndless = (value: unknown): boolean => pendings(value).some(({ endless }) => endless)

/** The value itself, secrets marked. What is undefined is left out, as on the wire. */
export const resolve = (value: unknown): unknown => {
  const own = pendingOf(value)
  if (own !== undefined) {
    const inner = resolve(own.compute())
    return own.secret && !(inner instanceof Secret) ? new Secret(inner) : inner
  }
  if (Array.isArray(value)) return value.map(resolve)
  if (value instanceof Secret || !Predicate.isObject(value)) return value
  return Object.fromEntries(
    Object.entries(value).flatMap(([key, inner]) => {
      const resolved = resolve(inner)
      return resolved === undefined ? [] : [[key, resolved]]
    }),
  )
}

/** `pulumi.output` and `pulumi.secret`. */
export const toOutput = (value: unknown, secret = false): object =>
  makeOutput({
    dependencies: dependenciesOf(value),
    secret: secret || (pendingOf(value)?.secret ?? false),
    compute: () => unwrapped(resolve(value)),
    endless: isEndless(value),
  })

/** Without the marks of secrets: what the provider and the program see. */
export const unwrapped = (value: unknown): unknown => {
  if (value instanceof Secret) return unwrapped(value.value)
  if (Array.isArray(value)) return value.map(unwrapped)
  if (!Predicate.isObject(value)) return value
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, unwrapped(inner)]))
}
