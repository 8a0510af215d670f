// An exposition as Prometheus reads it.

export interface Sample {
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

const unescaped = (text: string): string =>
  text.replaceAll(/\\(.)/g, (_, each: string) => (each === "n" ? "\n" : each))

export const samplesIn = (text: string): ReadonlyArray<Sample> =>
  text
    .split("\n")
    .filter((line) => line !== "" && !line.startsWith("#"))
    .map((line) => {
      const read = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)$/.exec(line)
      if (read === null) throw new Error(`no sample: ${line}`)
      const [, name = "", labels = "", value = ""] = read
      return {
        name,
        labels: Object.fromEntries(
          [...labels.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)].map(([, label = "", of = ""]) => [
            label,
            unescaped(of),
          ]),
        ),
        value: value === "+Inf" ? Number.POSITIVE_INFINITY : Number(value),
      }
    })

/** The types that are declared, by name. */
export const typesIn = (text: string): ReadonlyMap<string, string> =>
  new Map([...text.matchAll(/^# TYPE (\S+) (\S+)$/gm)].map(([, name = "", type = ""]) => [name, type]))

export const helpIn = (text: string): ReadonlyMap<string, string> =>
  new Map([...text.matchAll(/^# HELP (\S+) (.+)$/gm)].map(([, name = "", help = ""]) => [name, help]))

export const valueIn = (
  samples: ReadonlyArray<Sample>,
  name: string,
  labels: Readonly<Record<string, string>> = {},
): number | undefined =>
  samples.find(
    (sample) =>
      sample.name === name &&
      Object.entries(labels).every(([label, value]) => sample.labels[label] === value),
  )?.value
