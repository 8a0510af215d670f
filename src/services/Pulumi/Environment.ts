// The environment of every child of this service: a list of what may be there, never the operator's own. No
// secret is in it; the passphrase is the path of a file.

/** What is passed on as it is. Proxies and certificates belong to the place the operator runs in. */
const inherited = [
  "PATH",
  "LANG",
  "LC_ALL",
  "TZ",
  "HTTP_PROXY",
  "HTTPS_PROXY",
  "NO_PROXY",
  "http_proxy",
  "https_proxy",
  "no_proxy",
  "NODE_EXTRA_CA_CERTS",
  "SSL_CERT_FILE",
  "SSL_CERT_DIR",
] as const

/** Names the processes of one operation beyond doubt, in /proc/<pid>/environ. */
export const incarnationVariable = "PLATFORM_OPERATOR_INCARNATION"

/** Tells a runner where its engine is to leave its spans. */
export const tracesVariable = "PLATFORM_OPERATOR_TRACES"

/** For npm, helm and the reading of a package: a home of their own, nothing more. */
export const baseEnvironment = (
  from: Readonly<Record<string, string | undefined>>,
  home: string,
): Record<string, string> => {
  const result: Record<string, string> = {}
  for (const name of inherited) {
    const value = from[name]
    if (value !== undefined && value !== "") result[name] = value
  }
  // A CLI built without cgo, run by a uid that is not in /etc/passwd, needs USER (contracts: seen).
  return { ...result, HOME: home, TMPDIR: home, USER: from.USER || "platform-operator" }
}

export interface EngineEnvironment {
  readonly from: Readonly<Record<string, string | undefined>>
  readonly home: string
  readonly pulumiHome: string
  /** Folder of the `pulumi` program, put first on the PATH. */
  readonly pulumiDirectory: string
  readonly backendUrl: string
  readonly passphraseFile: string
  readonly incarnation: string
  readonly traceparent?: string
  /** The folder in which the engine leaves its own spans. */
  readonly traces?: string
}

/** For the runner, and with it the engine and its provider. */
export const engineEnvironment = (options: EngineEnvironment): Record<string, string> => {
  const base = baseEnvironment(options.from, options.home)
  return {
    ...base,
    PATH: `${options.pulumiDirectory}:${base.PATH ?? "/usr/local/bin:/usr/bin:/bin"}`,
    PULUMI_HOME: options.pulumiHome,
    // How far the heaps of CLI and provider grow between two collections, in per cent of what lives; Go's default is
    // 100. It saves 25 MiB an operation and costs a twelfth of its CPU time.
    GOGC: "60",
    PULUMI_BACKEND_URL: options.backendUrl,
    PULUMI_CONFIG_PASSPHRASE_FILE: options.passphraseFile,
    PULUMI_SKIP_UPDATE_CHECK: "true",
    // A run installs nothing: the plugin was fetched, or was found missing, before it.
    PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION: "true",
    // An object that exists already, edited by hand or left by a killed run, is taken over instead of failing.
    PULUMI_K8S_ENABLE_PATCH_FORCE: "true",
    // The history has a whole checkpoint of each operation already.
    PULUMI_DIY_BACKEND_DISABLE_CHECKPOINT_BACKUPS: "true",
    PULUMI_DIY_BACKEND_GZIP: "true",
    [incarnationVariable]: options.incarnation,
    ...(options.traceparent === undefined ? {} : { TRACEPARENT: options.traceparent }),
    ...(options.traces === undefined ? {} : { [tracesVariable]: options.traces }),
  }
}
