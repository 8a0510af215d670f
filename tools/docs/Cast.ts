// Recordings of a terminal as asciinema keeps them, version 2 of its format
// (https://docs.asciinema.org/manual/asciicast/v2/): a line of JSON about the whole, then one for each output.

export interface CastHeader {
  readonly version: 2
  /** Columns and rows. */
  readonly width: number
  readonly height: number
  readonly title: string
}

export interface Output {
  /** Seconds since the beginning. */
  readonly time: number
  readonly text: string
}

export interface Cast {
  readonly header: CastHeader
  readonly outputs: ReadonlyArray<Output>
}

export const formatCast = ({ header, outputs }: Cast): string =>
  [
    JSON.stringify(header),
    ...outputs.map(({ text, time }) => JSON.stringify([Number(time.toFixed(2)), "o", text])),
    "",
  ].join("\n")

/** Throws at what is no cast. */
export const parseCast = (file: string): Cast => {
  const [first = "", ...rest] = file.trimEnd().split("\n")
  const header: CastHeader = JSON.parse(first)
  const outputs = rest.map((line): Output => {
    const [time, kind, text]: [unknown, unknown, unknown] = JSON.parse(line)
    if (typeof time !== "number" || kind !== "o" || typeof text !== "string")
      throw new Error(`no output: ${line}`)
    return { time, text }
  })
  return { header, outputs }
}

export const PROMPT = "$ "

/** The commands that are typed in it. */
export const commandsIn = ({ outputs }: Cast): ReadonlyArray<string> =>
  outputs
    .map(({ text }) => text)
    .join("")
    .split("\r\n")
    .flatMap((line) => (line.startsWith(PROMPT) ? [line.slice(PROMPT.length)] : []))
