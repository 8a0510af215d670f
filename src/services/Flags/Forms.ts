// The forms that flags' values have. Each takes the text of the command line and gives the value, or what was expected
// instead: a form of words with an example, so that the message is the way out.
import { isIP } from "node:net"
import { Duration, Option, Result } from "effect"
import { parseGoDuration } from "../../schema/GoDuration.ts"
import { type Amounts, parseQuota, quotaResources } from "../../schema/Quota.ts"
import { normalisePath } from "../../schema/StorageRoot.ts"

/** The value, or what was expected instead of the text. */
export type Form<A> = (text: string) => Result.Result<A, string>

const matching =
  (pattern: RegExp, expected: string): Form<string> =>
  (text) =>
    pattern.test(text) ? Result.succeed(text) : Result.fail(expected)

/** Longer than zero: every one of them is a wait. */
export const duration: Form<Duration.Duration> = (text) =>
  Option.match(
    Option.filter(parseGoDuration(text), (value) => Duration.isGreaterThan(value, Duration.zero)),
    {
      onNone: () => Result.fail("a duration longer than 0s, such as 30m, 1h30m or 10s"),
      onSome: Result.succeed,
    },
  )

const withoutTrailingSlashes = (path: string) => path.replace(/\/+$/u, "")

/** Absolute and as it is: no `.`, `..` or doubled slash, no control character, and not the root itself. */
export const path: Form<string> = (text) => {
  const plain = normalisePath(text)
  const asItIs = text.startsWith("/") && plain !== "/" && plain === withoutTrailingSlashes(text)
  return asItIs && !/\p{Cc}/u.test(text)
    ? Result.succeed(plain)
    : Result.fail("an absolute path without . and .. parts, such as /var/lib/platform-operator")
}

/**
 * A path on the node that goes into manifests and is removed from again: what the chart's values schema allows,
 * and trailing slashes.
 */
export const nodePath: Form<string> = (text) =>
  text.length <= 1024 && /^(\/[A-Za-z0-9_-][A-Za-z0-9._-]*)+\/*$/u.test(text)
    ? Result.succeed(withoutTrailingSlashes(text))
    : Result.fail(
        "an absolute path on the node whose parts consist of letters, digits, '.', '_' and '-' and do not begin with a dot, such as /var/lib/kubesolo/instances",
      )

export const atLeastOne: Form<number> = (text) => {
  const value = Number(text)
  return /^[0-9]+$/u.test(text) && value >= 1 && Number.isSafeInteger(value)
    ? Result.succeed(value)
    : Result.fail("a whole number of at least 1, such as 2")
}

const units = { "": 1, Ki: 2 ** 10, Mi: 2 ** 20, Gi: 2 ** 30, Ti: 2 ** 40 } as const
const isUnit = (text: string): text is keyof typeof units => Object.hasOwn(units, text)

/** A quantity of bytes as Kubernetes has them. */
export const bytes: Form<number> = (text) => {
  const [, number = "", unit = ""] = /^([0-9]+)([KMGT]i)?$/u.exec(text) ?? []
  const value = isUnit(unit) ? Number(number) * units[unit] : Number.NaN
  return number !== "" && Number.isSafeInteger(value)
    ? Result.succeed(value)
    : Result.fail("a number of bytes, such as 512Mi or 2Gi, or 0")
}

/** A label of DNS, as Kubernetes has it for namespaces. */
export const namespace = matching(
  /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/u,
  "a namespace's name: lower-case letters, digits and '-', at most 63, such as platform-operator",
)

/** Empty for none. */
export const namespaces: Form<ReadonlyArray<string>> = (text) => {
  const names = text === "" ? [] : text.split(",")
  return names.every((name) => Result.isSuccess(namespace(name)))
    ? Result.succeed(names)
    : Result.fail("names of namespaces, separated by commas, such as team-a,team-b")
}

/**
 * A range of IPv4 or IPv6 addresses in CIDR notation, as a NetworkPolicy can except it from all: not all itself, and no IPv4 in
 * the clothes of IPv6 (seen on kube-apiserver 1.35).
 */
const isRange = (text: string): boolean => {
  const [, address = "", length = ""] = /^([0-9A-Fa-f.:]+)\/([1-9][0-9]{0,2})$/u.exec(text) ?? []
  if (isIP(address) === 6)
    return !new URL(`http://[${address}]`).hostname.startsWith("[::ffff:") && Number(length) <= 128
  return isIP(address) === 4 && Number(length) <= 32
}

/** Empty for none. */
export const ranges: Form<ReadonlyArray<string>> = (text) => {
  const given = text === "" ? [] : text.split(",")
  return given.every(isRange)
    ? Result.succeed(given)
    : Result.fail(
        "ranges of addresses in CIDR notation, none of them all there are, separated by commas, such as 10.244.0.0/16,fd00:10:244::/56",
      )
}

/** Empty for none. */
export const quota: Form<Amounts> = (text) =>
  Result.fromOption(
    parseQuota(text),
    () =>
      `amounts by resource, separated by commas, such as pods=50,requests.cpu=4,requests.memory=8Gi; there are ${quotaResources.join(", ")}`,
  )

const digest = "sha256:[0-9a-f]{64}"

export const sha256 = matching(new RegExp(`^${digest}$`, "u"), "a digest: sha256: and 64 hexadecimal digits")

export const image = matching(
  new RegExp(`^[^\\s@]+(@${digest})?$`, "u"),
  "an image reference, such as ghcr.io/loft-sh/vcluster-oss:0.37.3",
)

export const pinnedImage = matching(
  new RegExp(`^[^\\s@]+@${digest}$`, "u"),
  "an image reference with its digest, such as registry.example/host@sha256:<64 hexadecimal digits>",
)

export const registryHost = matching(
  /^[A-Za-z0-9.-]+(:[0-9]{1,5})?(\/[A-Za-z0-9._-]+)*$/u,
  "a registry's host without https://, such as registry.example:5000",
)

/** Without credentials: a command line is readable by everyone on the node. */
export const registryUrl: Form<string> = (text) => {
  const url = /^https?:\/\/[^\s]+$/u.test(text) ? URL.parse(text) : null
  if (url === null) return Result.fail("an http or https URL, such as https://registry.example")
  return url.username === "" && url.password === ""
    ? Result.succeed(text)
    : Result.fail("a URL without credentials: they belong in the file that --npmrc names")
}

/** The credentials in a URL are a secret also where they do not belong. A digest after an `@` shows an image instead. */
export const withoutCredentials = (text: string): string =>
  text.replace(/(?<=^|\/\/)[^/]*@(?!sha256:)/u, "***@")

const MAX_PORT = 65_535

/** As Go has them, `:8081` being every interface and `[::1]:8081` an IPv6 address. Port 0 is any free one. */
export const address: Form<string> = (text) => {
  const port = /^(?:\[[0-9A-Fa-f:.]+\]|[^\s:[\]]*):(?<port>[0-9]{1,5})$/u.exec(text)?.groups?.port
  return port !== undefined && Number(port) <= MAX_PORT
    ? Result.succeed(text)
    : Result.fail("an address with a port from 0 to 65535, such as :8081, 127.0.0.1:8081 or [::1]:8081")
}

/**
 * The levels of controller-runtime's `--zap-log-level`, whatever their case, and `warn`, as the logger knows them.
 */
const levels = { debug: "Debug", info: "Info", warn: "Warn", error: "Error", panic: "Fatal" } as const
const isLevel = (text: string): text is keyof typeof levels => Object.hasOwn(levels, text)

export const logLevel: Form<(typeof levels)[keyof typeof levels] | "Trace"> = (text) => {
  const level = text.toLowerCase()
  if (isLevel(level)) return Result.succeed(levels[level])
  // zap's verbosity: 1 is debug, and more than that still more.
  if (/^[0-9]+$/u.test(text) && Number(text) > 0)
    return Result.succeed(Number(text) === 1 ? "Debug" : "Trace")
  return Result.fail(
    "debug, info, warn, error or panic, or a whole number of at least 1, of which 1 is debug",
  )
}
