// Which name somebody may have meant.

const beginning = (one: string, other: string): number => {
  const at = [...one].findIndex((letter, index) => letter !== other[index])
  return at === -1 ? one.length : at
}
const turned = (word: string): string => [...word].reverse().join("")

/** How much of the longer one is alike at both ends. */
const nearness = (typed: string, name: string): number =>
  (beginning(typed, name) + beginning(turned(typed), turned(name))) / Math.max(typed.length, name.length)

/** They begin and end alike for half of the longer one: two letters apart is far for a word of four. */
export const isNear = (typed: string, name: string): boolean => nearness(typed, name) >= 0.5

/** The nearest of those that are near. */
export const nearest = (typed: string, names: ReadonlyArray<string>): string | undefined =>
  names
    .filter((name) => isNear(typed, name))
    .toSorted((one, other) => nearness(typed, other) - nearness(typed, one))[0]
