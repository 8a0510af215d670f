// The operator's command line. Every flag is checked here, before anything is touched; the names and defaults
// are those of the reference.
import { Duration, Effect, Option, Schema } from "effect"
import { Flag } from "effect/cli"
import { GoDuration } from "../../schema/GoDuration.ts"

const text = (name: string, description: string) => Flag.String(name).pipe(Flag.withDescription(description))

const duration = (name: string, description: string, fallback: Duration.Duration) =>
  Flag.String(name).pipe(
    Flag.withMetavar("DURATION"),
    Flag.withDescription(description),
    Flag.withSchema(GoDuration),
    Flag.filter(
      (value) => Duration.toMillis(value) > 0,
      () => "must be longer than 0s",
    ),
    Flag.withDefault(fallback),
  )

const absolutePath = (name: string, description: string, fallback: string) =>
  text(name, description).pipe(
    Flag.withMetavar("PATH"),
    Flag.filter(
      (value) => value.startsWith("/"),
      (value) => `must be an absolute path, got ${JSON.stringify(value)}`,
    ),
    Flag.withDefault(fallback),
  )

const Digest = Schema.String.check(
  Schema.isPattern(/^sha256:[0-9a-f]{64}$/u, { expected: "a digest such as sha256:<64 hex>" }),
)

const Address = Schema.String.check(
  Schema.isPattern(/^[^\s:]*:[0-9]{1,5}$/u, { expected: "an address such as :8081 or 127.0.0.1:8081" }),
)

/** The levels of the flag, as the logger knows them. */
const levels = { debug: "Debug", info: "Info", warn: "Warn", error: "Error" } as const

export const flags = {
  stateDir: absolutePath("state-dir", "Folder of the install state", "/var/lib/platform-operator"),
  passphraseFile: absolutePath(
    "passphrase-file",
    "File with the passphrase that encrypts secrets in the install state",
    "/etc/platform-operator/passphrase/passphrase",
  ),
  storageRootBase: absolutePath(
    "storage-root-base",
    "Node path of default storage roots: <base>/<namespace>/<name>",
    "/var/lib/kubesolo/instances",
  ),
  installTimeout: duration(
    "install-timeout",
    "After this long an install or repair is cancelled and retried",
    Duration.minutes(30),
  ),
  repairInterval: duration("repair-interval", "How often a Ready instance is repaired", Duration.minutes(30)),
  targetPoll: duration("target-poll", "How often a target is polled", Duration.seconds(10)),
  maxConcurrentInstalls: Flag.Int("max-concurrent-installs").pipe(
    Flag.withDescription("How many installs and repairs run at once"),
    Flag.filter(
      (value) => value >= 1,
      (value) => `must be at least 1, got ${value}`,
    ),
    Flag.withDefault(2),
  ),
  cleanupNamespace: text(
    "cleanup-namespace",
    "Namespace of the storage cleanup Jobs; the operator's own when not set",
  ).pipe(Flag.withMetavar("NAMESPACE"), Flag.optional),
  operatorNamespace: text(
    "operator-namespace",
    "Namespace that instances admit to their API; needed outside a cluster",
  ).pipe(Flag.withMetavar("NAMESPACE"), Flag.optional),
  operatorImage: text("operator-image", "Image of the storage cleanup Jobs; needed outside a cluster").pipe(
    Flag.withMetavar("IMAGE"),
    Flag.optional,
  ),
  leaderElect: Flag.Boolean("leader-elect").pipe(
    Flag.withDescription("Not available yet: refused when set"),
    Flag.withDefault(false),
  ),
  logLevel: Flag.Literals("zap-log-level", ["debug", "info", "warn", "error"]).pipe(
    Flag.withDescription("Least severe log lines to write"),
    Flag.withDefault("info" as const),
    Flag.map((level) => levels[level]),
  ),
  npmRegistry: text("npm-registry", "Registry that platform packages come from; npm's own when not set").pipe(
    Flag.withMetavar("URL"),
    Flag.filter(
      (value) => /^https?:\/\/[^\s]+$/.test(value),
      (value) => `must be an http or https URL, got ${JSON.stringify(value)}`,
    ),
    Flag.optional,
  ),
  npmrc: text("npmrc", "An .npmrc file for npm, such as one with a registry's credentials").pipe(
    Flag.withMetavar("FILE"),
    Flag.optional,
  ),
  vclusterChart: text(
    "vcluster-chart",
    "Another vCluster chart than the embedded one: a folder or .tgz",
  ).pipe(Flag.withMetavar("PATH"), Flag.optional),
  vclusterChartDigest: text("vcluster-chart-digest", "Digest of that chart").pipe(
    Flag.withMetavar("sha256:…"),
    Flag.withSchema(Digest),
    Flag.optional,
  ),
  vclusterImage: text("vcluster-image", "Another vCluster image than the chart's").pipe(
    Flag.withMetavar("IMAGE"),
    Flag.optional,
  ),
  vclusterKubernetesImage: text(
    "vcluster-kubernetes-image",
    "Another image with the vCluster's Kubernetes binaries than the chart's",
  ).pipe(Flag.withMetavar("IMAGE"), Flag.optional),
  imageRegistry: text("image-registry", "Registry in front of every image of a vCluster").pipe(
    Flag.withMetavar("HOST"),
    Flag.optional,
  ),
  defaultTenantHostImage: text(
    "default-tenant-host-image",
    "Pinned tenant host image of new instances; the release's when not set",
  ).pipe(Flag.withMetavar("IMAGE@sha256:…"), Flag.optional),
  healthAddress: text("health-address", "Address of /healthz and /readyz").pipe(
    Flag.withSchema(Address),
    Flag.withDefault(":8081"),
  ),
  metricsAddress: text("metrics-address", "Address of /metrics").pipe(
    Flag.withSchema(Address),
    Flag.withDefault(":8080"),
  ),
} as const

/** The flags as decoded. */
export type Flags = {
  readonly [K in keyof typeof flags]: (typeof flags)[K] extends Flag.Flag<infer A> ? A : never
}

/** What no single flag can say: two that need each other, or one that is refused. Answers with the problem. */
export const flagProblem = (given: Flags): Option.Option<string> => {
  if (given.leaderElect) {
    return Option.some("--leader-elect: leader election is not available yet; run one replica without it")
  }
  if (Option.isSome(given.vclusterChart) !== Option.isSome(given.vclusterChartDigest)) {
    return Option.some("--vcluster-chart and --vcluster-chart-digest are given together or not at all")
  }
  return Option.none()
}

/** `:8081` listens on every interface. */
export const parseAddress = (address: string): { readonly host: string; readonly port: number } => {
  const colon = address.lastIndexOf(":")
  const host = address.slice(0, colon)
  return { host: host === "" ? "0.0.0.0" : host, port: Number(address.slice(colon + 1)) }
}

/** For callers that want the problem as a failure. */
export const checkFlags = (given: Flags): Effect.Effect<void, string> =>
  Option.match(flagProblem(given), { onNone: () => Effect.void, onSome: Effect.fail })
