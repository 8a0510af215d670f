// The operator's command line. Every flag is checked here, before anything is touched; the names and defaults
// are those of the reference.
import { Duration, Effect, Option, Result } from "effect"
import { CliError, Flag } from "effect/cli"
import type { Amounts } from "../../schema/Quota.ts"
import { STORAGE_ROOT_BASE } from "../../schema/StorageRoot.ts"
import * as Forms from "./Forms.ts"

/** A flag that takes a value. One that does not fit is named with its flag and with what was expected. */
const taking = <A>(metavar: string, form: Forms.Form<A>, name: string, description: string) =>
  Flag.String(name).pipe(
    Flag.withMetavar(metavar),
    Flag.withDescription(description),
    Flag.mapEffect((text) =>
      Result.match(form(text), {
        onSuccess: Effect.succeed,
        onFailure: (expected) =>
          Effect.fail(
            new CliError.InvalidValue({
              option: name,
              value: Forms.withoutCredentials(text),
              expected,
              kind: "flag",
            }),
          ),
      }),
    ),
  )

const path = (name: string, description: string) => taking("PATH", Forms.path, name, description)
const duration = (name: string, description: string) => taking("DURATION", Forms.duration, name, description)
const image = (name: string, description: string) => taking("IMAGE", Forms.image, name, description)
const namespace = (name: string, description: string) =>
  taking("NAMESPACE", Forms.namespace, name, description)
const address = (name: string, description: string) => taking("ADDRESS", Forms.address, name, description)

export const flags = {
  stateDir: path(
    "state-dir",
    "Folder of the install state: records, Pulumi's state, packages and plugins",
  ).pipe(Flag.withDefault("/var/lib/platform-operator")),
  passphraseFile: path(
    "passphrase-file",
    "File with the passphrase that encrypts secrets in the install state",
  ).pipe(Flag.withDefault("/etc/platform-operator/passphrase/passphrase")),
  storageRootBase: taking(
    "PATH",
    Forms.nodePath,
    "storage-root-base",
    "Node path of default storage roots: <base>/<namespace>/<name>",
  ).pipe(Flag.withDefault(STORAGE_ROOT_BASE)),
  installTimeout: duration(
    "install-timeout",
    "An install or repair that takes longer is cancelled, has failed and is tried again",
  ).pipe(Flag.withDefault(Duration.minutes(30))),
  repairInterval: duration(
    "repair-interval",
    "How long after its last install or repair a Ready instance is repaired",
  ).pipe(Flag.withDefault(Duration.minutes(30))),
  targetPoll: duration(
    "target-poll",
    "How often each vCluster is looked at and its API asked, even when no event arrives",
  ).pipe(Flag.withDefault(Duration.seconds(10))),
  maxConcurrentInstalls: taking(
    "INTEGER",
    Forms.atLeastOne,
    "max-concurrent-installs",
    "How many installs and repairs run at once; each takes about half a GiB of memory",
  ).pipe(Flag.withDefault(2)),
  minFreeSpace: taking(
    "BYTES",
    Forms.bytes,
    "min-free-space",
    "Space that stays free on the volume of the state directory: below, nothing is fetched, installed or repaired",
  ).pipe(Flag.withDefault(512 * 2 ** 20)),
  operationMemory: taking(
    "BYTES",
    Forms.bytes,
    "operation-memory",
    "Memory that the processes of one install or repair may have together: above, it fails; 0 for no bound",
  ).pipe(Flag.withDefault(768 * 2 ** 20)),
  sandbox: Flag.Boolean("sandbox").pipe(
    Flag.withDescription(
      "Keep a package's program to the files of its own instance, where the kernel has Landlock; --sandbox=false for a package that needs more",
    ),
    Flag.withDefault(true),
  ),
  requireSandbox: Flag.Boolean("require-sandbox").pipe(
    Flag.withDescription(
      "Do not start where the kernel cannot keep a package's program from files of others; without it the log and a metric say so",
    ),
    Flag.withDefault(false),
  ),
  maxConcurrentTargets: taking(
    "INTEGER",
    Forms.atLeastOne,
    "max-concurrent-targets",
    "How many vClusters start at once, until they are ready, have failed, or for 5 minutes",
  ).pipe(Flag.withDefault(4)),
  watchNamespaces: taking(
    "NAMESPACES",
    Forms.namespaces,
    "watch-namespaces",
    "The namespaces whose instances are served, separated by commas; all when not set",
  ).pipe(Flag.withDefault([])),
  allowPrivilegedInstances: Flag.Boolean("allow-privileged-instances").pipe(
    Flag.withDescription(
      "Let pods of instances be privileged, share the node's namespaces, add capabilities and mount any path of the node",
    ),
    Flag.withDefault(false),
  ),
  protectInstances: Flag.Boolean("protect-instances").pipe(
    Flag.withDescription(
      "Keep the definition of instances from being deleted while there are some, and instances that are annotated as protected",
    ),
    Flag.withDefault(true),
  ),
  isolateInstanceNetwork: Flag.Boolean("isolate-instance-network").pipe(
    Flag.withDescription(
      "Keep pods of instances from those of other instances, the operator, the cluster's API server and clouds' metadata services",
    ),
    Flag.withDefault(false),
  ),
  podRanges: taking(
    "CIDRS",
    Forms.ranges,
    "pod-ranges",
    "Address ranges of the cluster's pods, separated by commas; as the nodes say when not set",
  ).pipe(Flag.withDefault([])),
  instanceQuota: taking(
    "AMOUNTS",
    Forms.quota,
    "instance-quota",
    "What the pods, Services and volumes of one instance may take together, beside its own vCluster; all there is when not set",
  ).pipe(Flag.withDefault<Amounts>(new Map())),
  controlPlanePriority: Flag.Boolean("control-plane-priority").pipe(
    Flag.withDescription(
      "Have the vClusters that are installed from now on scheduled before what runs in instances, by a PriorityClass",
    ),
    Flag.withDefault(true),
  ),
  cleanupNamespace: namespace(
    "cleanup-namespace",
    "Namespace of the storage cleanup Jobs; the operator's own when not set",
  ).pipe(Flag.optional),
  operatorNamespace: namespace(
    "operator-namespace",
    "Namespace that instances admit to their API; needed outside a cluster",
  ).pipe(Flag.optional),
  operatorImage: image("operator-image", "Image of the storage cleanup Jobs; needed outside a cluster").pipe(
    Flag.optional,
  ),
  leaderElect: Flag.Boolean("leader-elect").pipe(
    Flag.withDescription(
      "Work only while holding the Lease platform-operator in the operator's namespace, so that one of several replicas does",
    ),
    Flag.withDefault(false),
  ),
  logLevel: taking(
    "LEVEL",
    Forms.logLevel,
    "zap-log-level",
    "Least severe log lines to write: debug, info, warn, error or panic, or a number, of which 1 is debug",
  ).pipe(Flag.withDefault("Info" as const)),
  npmRegistry: taking(
    "URL",
    Forms.registryUrl,
    "npm-registry",
    "Registry that platform packages come from; npm's own when not set",
  ).pipe(Flag.optional),
  npmrc: taking(
    "FILE",
    Forms.path,
    "npmrc",
    "An .npmrc file for npm, such as one with a registry's credentials",
  ).pipe(Flag.optional),
  pluginServer: taking(
    "URL",
    Forms.registryUrl,
    "plugin-server",
    "Server that Pulumi's provider plugins come from; Pulumi's own when not set",
  ).pipe(Flag.optional),
  pluginDirectory: path(
    "plugin-directory",
    "Folder with provider plugins that are there already, as pulumi unpacks them; looked at before the image's",
  ).pipe(Flag.optional),
  vclusterChart: path(
    "vcluster-chart",
    "Another vCluster chart than the embedded one: a folder or .tgz in the operator's container",
  ).pipe(Flag.optional),
  vclusterChartDigest: taking(
    "sha256:…",
    Forms.sha256,
    "vcluster-chart-digest",
    "Digest of the chart given with --vcluster-chart",
  ).pipe(Flag.optional),
  vclusterImage: image("vcluster-image", "Another vCluster image than the chart's").pipe(Flag.optional),
  vclusterKubernetesImage: image(
    "vcluster-kubernetes-image",
    "Another image with the vCluster's Kubernetes binaries than the chart's",
  ).pipe(Flag.optional),
  imageRegistry: taking(
    "HOST",
    Forms.registryHost,
    "image-registry",
    "Registry in front of every image of a vCluster",
  ).pipe(Flag.optional),
  defaultTenantHostImage: taking(
    "IMAGE@sha256:…",
    Forms.pinnedImage,
    "default-tenant-host-image",
    "Pinned tenant host image of new instances; the release's when not set",
  ).pipe(Flag.optional),
  healthAddress: address("health-address", "Address of /livez, /healthz and /readyz").pipe(
    Flag.withDefault(":8081"),
  ),
  metricsAddress: address("metrics-address", "Address of /metrics").pipe(Flag.withDefault(":8080")),
} as const

/** The flags as decoded. */
export type Flags = {
  readonly [K in keyof typeof flags]: (typeof flags)[K] extends Flag.Flag<infer A> ? A : never
}

/** What no single flag can say: two that need each other, or one that is refused. Answers with the problem. */
export const flagProblem = (given: Flags): Option.Option<string> => {
  if (Option.isSome(given.vclusterChart) && Option.isNone(given.vclusterChartDigest)) {
    return Option.some(
      `--vcluster-chart ${given.vclusterChart.value} needs --vcluster-chart-digest: they are given together or not at all`,
    )
  }
  if (Option.isSome(given.vclusterChartDigest) && Option.isNone(given.vclusterChart)) {
    return Option.some(
      `--vcluster-chart-digest ${given.vclusterChartDigest.value} needs --vcluster-chart: they are given together or not at all`,
    )
  }
  if (given.requireSandbox && !given.sandbox) {
    return Option.some("--require-sandbox and --sandbox=false exclude each other; leave one of them out")
  }
  if (given.healthAddress === given.metricsAddress && !given.healthAddress.endsWith(":0")) {
    return Option.some(
      `--health-address and --metrics-address are both ${given.healthAddress}; give one of them another port`,
    )
  }
  return Option.none()
}

/** `:8081` has no host: it listens on every interface, of IPv6 where there is one. */
export const parseAddress = (text: string): { readonly host?: string; readonly port: number } => {
  const colon = text.lastIndexOf(":")
  const host = text.slice(0, colon).replace(/^\[|\]$/gu, "")
  const port = Number(text.slice(colon + 1))
  return host === "" ? { port } : { host, port }
}

/** For callers that want the problem as a failure. */
export const checkFlags = (given: Flags): Effect.Effect<void, string> =>
  Option.match(flagProblem(given), { onNone: () => Effect.void, onSome: Effect.fail })
