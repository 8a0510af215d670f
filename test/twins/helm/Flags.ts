// The command line of helm, as far as anybody here uses it.
import { HelmError } from "./Session.ts"

export interface CommandLine {
  readonly words: ReadonlyArray<string>
  /** The value of a flag that takes one; its last, as flags of Go have it. */
  readonly value: (name: string) => string | undefined
  /** Whether a switch is on. */
  readonly isOn: (name: string) => boolean
}

const withValue = new Set(
  ["namespace", "kubeconfig", "values", "history-max", "server-side", "timeout", "output", "revision"].concat(
    ["kube-version", "cascade"],
  ),
)
const switches = new Set(
  ["install", "force-conflicts", "ignore-not-found", "wait", "rollback-on-failure", "atomic"].concat([
    "create-namespace",
    "hide-notes",
  ]),
)
const short: Readonly<Record<string, string>> = { n: "namespace", f: "values", i: "install", o: "output" }

/** `--name=value`, `--name value`, `-n value`. Fails as helm does for a flag it does not know. */
export const parseCommandLine = (args: ReadonlyArray<string>): CommandLine | HelmError => {
  const words: Array<string> = []
  const values = new Map<string, string>()
  const left = [...args]
  for (let arg = left.shift(); arg !== undefined; arg = left.shift()) {
    const [, dashes, given, , inline] = /^(--?)([\w-]+)(=(.*))?$/s.exec(arg) ?? []
    if (dashes === undefined || given === undefined) {
      words.push(arg)
      continue
    }
    const name = dashes === "-" ? short[given] : given
    if (name === undefined) {
      return new HelmError({ message: `unknown shorthand flag: '${given[0]}' in ${arg}` })
    }
    if (withValue.has(name)) {
      const value = inline ?? left.shift()
      if (value === undefined) return new HelmError({ message: `flag needs an argument: ${arg}` })
      values.set(name, value)
    } else if (switches.has(name)) {
      values.set(name, inline ?? "true")
    } else {
      return new HelmError({ message: `unknown flag: ${dashes}${given}` })
    }
  }
  return {
    words,
    value: (name) => values.get(name),
    // `--wait` takes the name of a strategy, too.
    isOn: (name) => values.has(name) && values.get(name) !== "false",
  }
}

const units: Readonly<Record<string, number>> = { h: 3_600_000, m: 60_000, s: 1000, ms: 1 }

/** A duration of Go in milliseconds. */
export const goMillis = (text: string): number =>
  [...text.matchAll(/([\d.]+)(ms|h|m|s)/g)].reduce(
    (total, [, number, unit]) => total + Number(number) * (units[unit ?? ""] ?? 0),
    0,
  )
