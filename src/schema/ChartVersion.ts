// Versions of charts, which Helm takes in the form of Semantic Versioning 2. Pure.
import { Option } from "effect"

const form = /^v?(\d+)\.(\d+)\.(\d+)(?:-([0-9A-Za-z.-]+))?(?:\+[0-9A-Za-z.-]+)?$/

type Parts = readonly [numbers: ReadonlyArray<number>, pre: ReadonlyArray<string>]

const partsOf = (version: string): Option.Option<Parts> =>
  Option.map(
    Option.fromNullishOr(form.exec(version)),
    ([, major, minor, patch, pre]): Parts => [
      [Number(major), Number(minor), Number(patch)],
      pre === undefined ? [] : pre.split("."),
    ],
  )

const isNumber = (part: string): boolean => /^\d+$/.test(part)

/** Numbers by their value and before words, words by their letters. */
const comparePart = (one: string, other: string): number => {
  if (isNumber(one) && isNumber(other)) return Number(one) - Number(other)
  if (isNumber(one) !== isNumber(other)) return isNumber(one) ? -1 : 1
  if (one === other) return 0
  return one < other ? -1 : 1
}

const comparePre = (one: ReadonlyArray<string>, other: ReadonlyArray<string>): number => {
  // A release comes after what goes before it.
  if (one.length === 0 || other.length === 0) return other.length - one.length
  for (const [index, part] of one.entries()) {
    const against = other[index]
    if (against === undefined) return 1
    const compared = comparePart(part, against)
    if (compared !== 0) return compared
  }
  return one.length - other.length
}

/** Whether a version comes after another one; false where one of them cannot be read. */
export const isNewer = (version: string, than: string): boolean =>
  Option.exists(Option.all([partsOf(version), partsOf(than)]), ([[one, pre], [other, otherPre]]) => {
    for (const [index, number] of one.entries()) {
      const against = other[index] ?? 0
      if (number !== against) return number > against
    }
    return comparePre(pre, otherPre) > 0
  })
