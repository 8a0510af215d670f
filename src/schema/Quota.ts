// What one instance may take of the cluster: the form of `--instance-quota`, and amounts as the API server writes them.
import { Option } from "effect"

const units = {
  pods: "count",
  "requests.cpu": "cpu",
  "requests.memory": "bytes",
  "requests.ephemeral-storage": "bytes",
  "limits.memory": "bytes",
  "limits.ephemeral-storage": "bytes",
  "requests.storage": "bytes",
  persistentvolumeclaims: "count",
  services: "count",
  "services.nodeports": "count",
  "services.loadbalancers": "count",
} as const

/**
 * What a quota can name. `limits.cpu` is missing: with it every container needs a limit, and a default one would throttle the
 * vCluster's own, which has none.
 */
export type QuotaResource = keyof typeof units
export const quotaResources: ReadonlyArray<string> = Object.keys(units)
const isResource = (name: string): name is QuotaResource => Object.hasOwn(units, name)

/** By resource: pieces, thousandths of a processor, or bytes. Empty: no quota. */
export type Amounts = ReadonlyMap<QuotaResource, number>

/** Without them nothing at all would run. */
const mayBeNone = new Set<QuotaResource>([
  "persistentvolumeclaims",
  "requests.storage",
  "services.nodeports",
  "services.loadbalancers",
])

const binary = { Ki: 2 ** 10, Mi: 2 ** 20, Gi: 2 ** 30, Ti: 2 ** 40 } as const

const decimal = ["m", "", "k", "M", "G", "T", "P"]

/** A quantity of Kubernetes as a number: `200m` is 0.2, `1Gi` 2^30. `None` for what is none. */
export const quantity = (text: string): Option.Option<number> => {
  const [, number = "", suffix = ""] = /^([0-9]+(?:\.[0-9]*)?)([KMGT]i|[mkMGTP])?$/u.exec(text) ?? []
  const factor = Object.entries(binary).find(([name]) => name === suffix)?.[1]
  const value = Number(number) * (factor ?? 1000 ** (decimal.indexOf(suffix) - 1))
  return number === "" ? Option.none() : Option.some(value)
}

const amountOf = (resource: QuotaResource, text: string): Option.Option<number> => {
  const [, digits = "", suffix = ""] = /^([0-9]{1,15})(m|[KMGT]i)?$/u.exec(text) ?? []
  const number = Number(digits)
  const factor = ((): number | undefined => {
    switch (units[resource]) {
      case "count":
        return suffix === "" ? 1 : undefined
      case "cpu":
        return suffix === "" ? 1000 : suffix === "m" ? 1 : undefined
      case "bytes":
        return suffix === "" ? 1 : Object.entries(binary).find(([name]) => name === suffix)?.[1]
    }
  })()
  const value = factor === undefined || digits === "" ? Number.NaN : number * factor
  const least = mayBeNone.has(resource) ? 0 : 1
  return Number.isSafeInteger(value) && value >= least ? Option.some(value) : Option.none()
}

/** `pods=50,requests.cpu=4,requests.memory=8Gi`; empty for none. `None` for what is no such text. */
export const parseQuota = (text: string): Option.Option<Amounts> => {
  const amounts = new Map<QuotaResource, number>()
  for (const part of text === "" ? [] : text.split(",")) {
    const [name = "", amount = "", ...rest] = part.split("=")
    if (!isResource(name) || amounts.has(name) || rest.length > 0) return Option.none()
    const value = amountOf(name, amount)
    if (Option.isNone(value)) return Option.none()
    amounts.set(name, value.value)
  }
  return Option.some(amounts)
}

/** For people: `1288 MiB`. */
export const mebibytes = (bytes: number): string => `${Math.round(bytes / 2 ** 20)} MiB`

const inSteps = (value: number, step: number, suffixes: ReadonlyArray<string>): string => {
  let left = value
  let index = 0
  while (left !== 0 && left % step === 0 && index < suffixes.length - 1) {
    left /= step
    index++
  }
  return `${left}${left === 0 ? "" : suffixes[index]}`
}
/** As the API server writes it back: another notation of the same amount would look like somebody's edit. */
export const formatAmount = (resource: QuotaResource, value: number): string =>
  units[resource] === "bytes"
    ? inSteps(value, 1024, ["", "Ki", "Mi", "Gi", "Ti", "Pi"])
    : inSteps(units[resource] === "cpu" ? value : value * 1000, 1000, decimal)
