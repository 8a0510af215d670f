// Which seeds a test runs with, and how one is run again.
import path from "node:path"
import { expect } from "vitest"

/** The `SEED` of the environment: one seed to replay. */
const replayed = (): number | undefined => {
  const text = process.env.SEED
  if (text === undefined || text === "") return undefined
  const seed = Number(text)
  if (!Number.isSafeInteger(seed)) throw new Error(`SEED is not a whole number: ${text}`)
  return seed
}

/** `1` to `count`, or the one that `SEED` names. */
export const seeds = (count: number): ReadonlyArray<number> => {
  const seed = replayed()
  return seed === undefined ? Array.from({ length: count }, (_, index) => index + 1) : [seed]
}

const quoted = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`

/** `-t` takes a regular expression, over the names of the groups and the test with ` > ` between. */
const pattern = (name: string) => name.replaceAll(/[.*+?^${}()|[\]\\]/g, (character) => `\\${character}`)

/** The test that runs; nothing of it outside of one, where vitest has no state. */
const currentTest = (): { readonly file?: string; readonly name?: string } => {
  try {
    const { currentTestName: name, testPath: file } = expect.getState()
    return { ...(file === undefined ? {} : { file }), ...(name === undefined ? {} : { name }) }
  } catch {
    return {}
  }
}

const fileFromHere = (file: string) => path.relative(process.cwd(), file)

/** File and name of the test that runs. */
export const nameOfTest = (): string => {
  const { file = "", name = "" } = currentTest()
  return `${fileFromHere(file)} > ${name}`
}

/** The command that runs this test with this seed again, and with what else of the environment it depends on. */
export const replayCommand = (
  seed: number,
  environment: Readonly<Record<string, string | undefined>> = {},
): string => {
  const { file, name } = currentTest()
  return [
    `SEED=${seed}`,
    ...Object.entries(environment).flatMap(([name, value]) =>
      value === undefined ? [] : [`${name}=${value}`],
    ),
    "npx vitest run --project unit",
    ...(file === undefined ? [] : [fileFromHere(file)]),
    ...(name === undefined ? [] : ["-t", quoted(pattern(name))]),
  ].join(" ")
}
