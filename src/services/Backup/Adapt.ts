// The state of an instance that was restored reaches its vCluster: the engine refreshes with the kubeconfig that stands in the state,
// and that one is of the vCluster that was backed up. For a copy it would even be another one that lives on. So it is exchanged
// before the engine begins, in all files that a state can come from.
import { gzipSync } from "node:zlib"
import { Effect, Option, Predicate, type Redacted } from "effect"
import { Disk } from "../Disk/Disk.ts"
import { isPacked, unpackedText } from "../Disk/Packed.ts"
import { Derivation, type Key, parseSalt } from "../Rotation/Passphrase.ts"
import { exchanged, sealedIn } from "../Rotation/Sealed.ts"

const provider = "pulumi:providers:kubernetes"

const textOf = Option.liftThrowable(unpackedText)

const meaningOf = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** What provider resources are configured with, as it stands: a text, or one that is encrypted. */
const kubeconfigsIn = (meaning: unknown): ReadonlyArray<unknown> => {
  if (Array.isArray(meaning)) return meaning.flatMap(kubeconfigsIn)
  if (!Predicate.isObject(meaning)) return []
  const { type, inputs, outputs, ...rest }: Readonly<Record<string, unknown>> = { ...meaning }
  if (type !== provider) return Object.values({ type, inputs, outputs, ...rest }).flatMap(kubeconfigsIn)
  return [inputs, outputs].flatMap((each) =>
    Predicate.isObject(each) && "kubeconfig" in each ? [each.kubeconfig] : [],
  )
}

const openWith = (value: string, keys: ReadonlyArray<Key>) =>
  Option.firstSomeOf(keys.map((key) => Option.map(key.open(value), (plain) => ({ plain, key }))))

/** As JSON has it between its quotes. */
const written = (text: string): string => JSON.stringify(text).slice(1, -1)

const keysOf = Effect.fnUntraced(function* (text: string, own: Redacted.Redacted) {
  const derive = yield* Derivation
  const { salts = new Set<string>() } = Option.getOrUndefined(sealedIn(text, "json")) ?? {}
  return yield* Effect.forEach(
    [...salts].flatMap((salt) => Option.toArray(parseSalt(salt))),
    ({ seed }) => derive(own, seed),
  )
})

/**
 * The same text with this kubeconfig where its providers had one, no text when that is what they have; and how many of them have one that
 * opens with nothing.
 */
const adapted = Effect.fnUntraced(function* (text: string, kubeconfig: string, own: Redacted.Redacted) {
  const meaning = meaningOf(text)
  const found = kubeconfigsIn(meaning)
  if (found.length === 0) return { next: undefined, unopened: 0 }
  const { values = new Set<string>() } = Option.getOrUndefined(sealedIn(text, "json")) ?? {}
  const keys = values.size === 0 ? [] : yield* keysOf(text, own)
  const opened = [...values].flatMap((value) =>
    Option.toArray(Option.map(openWith(value, keys), (one) => ({ value, ...one }))),
  )
  const plainOf = (each: unknown): ReadonlyArray<string> => {
    if (typeof each === "string") return [each]
    const sealed = Predicate.isObject(each) && "ciphertext" in each ? each.ciphertext : undefined
    return opened.flatMap(({ value, plain }) => {
      const meant = value === sealed ? meaningOf(plain) : undefined
      return typeof meant === "string" ? [meant] : []
    })
  }
  const before = new Set(found.flatMap(plainOf).filter((each) => each !== "" && each !== kubeconfig))
  const by = new Map(
    opened.flatMap(({ value, plain, key }) => {
      const meant = meaningOf(plain)
      return typeof meant === "string" && before.has(meant)
        ? [[value, key.seal(JSON.stringify(kubeconfig))] as const]
        : []
    }),
  )
  const next = [...before].reduce(
    (all, old) => all.replaceAll(written(old), () => written(kubeconfig)),
    Option.getOrElse(exchanged(text, by), () => text),
  )
  const unopened = found.filter((each) => plainOf(each).length === 0).length
  return { next: next === text ? undefined : next, unopened }
})

/** In one step: what is read of it is the one before, or this. */
export const replaceFile = Effect.fnUntraced(function* (file: string, content: Uint8Array) {
  const disk = yield* Disk
  const temporary = `${file}.0.tmp`
  yield* Effect.ignore(disk.unlink(temporary))
  yield* disk.writeNew(temporary, content, 0o600)
  yield* disk.rename(temporary, file)
})

/** Of a state, a copy or an export of one; each in one step. Gives whether it was changed, and how many providers stay as they are. */
export const adaptFile = Effect.fnUntraced(function* (
  file: string,
  kubeconfig: string,
  own: Redacted.Redacted,
) {
  const disk = yield* Disk
  const content = yield* disk.readFile(file)
  const text = Option.getOrUndefined(textOf(content))
  if (text === undefined || !text.includes(provider)) return { changed: false, unopened: 0 }
  const { next, unopened } = yield* adapted(text, kubeconfig, own)
  if (next === undefined) return { changed: false, unopened }
  yield* replaceFile(file, isPacked(content) ? gzipSync(next) : Buffer.from(next))
  return { changed: true, unopened }
})
