// Who the operator is to an API server, and how that server proves itself: read through `@kubernetes/client-node`,
// which knows kubeconfig files, service account tokens and exec plugins.
import type * as Https from "node:https"
import type { TlsOptions } from "node:tls"
import { KubeConfig } from "@kubernetes/client-node"
import { Effect, Redacted, Ref, Schema } from "effect"
import { type ApiFailure, transportFailure } from "./ApiFailure.ts"
import { parseYaml } from "./Yaml.ts"

export interface TlsMaterial {
  readonly ca?: TlsOptions["ca"]
  readonly cert?: TlsOptions["cert"]
  readonly key?: TlsOptions["key"]
  readonly servername?: string
  readonly rejectUnauthorized?: boolean
}

export interface Credentials {
  /** The server's URL; it may end in a path. */
  readonly server: URL
  readonly proxy: string | undefined
  readonly headers: Readonly<Record<string, string>>
  readonly tls: TlsMaterial
}

export interface CredentialSource {
  /** Read anew for each request: certificate files may have been rotated. Tokens are cached up to a minute. */
  readonly current: Effect.Effect<Credentials, ApiFailure>
  /** Drops every cached token, for use after a 401. */
  readonly renew: Effect.Effect<void, ApiFailure>
}

const REQUEST = "read credentials"

/** The library's errors can quote a kubeconfig or a plugin's output; they are not repeated. */
const unusable = (message: string) => transportFailure(REQUEST, message)

const readCredentials = async (config: KubeConfig, clusterServer: string): Promise<Credentials> => {
  const options: Https.RequestOptions = {}
  await config.applyToHTTPSOptions(options)
  const headers: Record<string, string> = {}
  for (const [name, value] of Object.entries(options.headers ?? {})) headers[name] = String(value).trim()
  if (typeof options.auth === "string") {
    headers.Authorization = `Basic ${Buffer.from(options.auth).toString("base64")}`
  }
  return {
    server: new URL(clusterServer),
    proxy: config.getCurrentCluster()?.proxyUrl,
    headers,
    tls: {
      ...(options.ca !== undefined && { ca: options.ca }),
      ...(options.cert !== undefined && { cert: options.cert }),
      ...(options.key !== undefined && { key: options.key }),
      ...(options.servername !== undefined && { servername: options.servername }),
      ...(options.rejectUnauthorized !== undefined && { rejectUnauthorized: options.rejectUnauthorized }),
    },
  }
}

/** Credentials from a way to load a kubeconfig, which is called again after a 401. */
export const makeCredentialSource = Effect.fnUntraced(function* (
  load: Effect.Effect<KubeConfig, ApiFailure>,
) {
  const config = yield* Ref.make(yield* load)
  return {
    current: Effect.flatMap(Ref.get(config), (kubeConfig) => {
      const cluster = kubeConfig.getCurrentCluster()
      return cluster === null
        ? Effect.fail(unusable("the kubeconfig has no current context with a cluster"))
        : Effect.tryPromise({
            try: () => readCredentials(kubeConfig, cluster.server),
            catch: () => unusable("the kubeconfig's files or plugin gave no credentials"),
          })
    }),
    renew: Effect.flatMap(load, (fresh) => Ref.set(config, fresh)),
  } satisfies CredentialSource
})

/** `$KUBECONFIG`, `~/.kube/config`, or the pod's service account: the order of `loadFromDefault`. */
export const loadDefault: Effect.Effect<KubeConfig, ApiFailure> = Effect.try({
  try: () => {
    const config = new KubeConfig()
    config.loadFromDefault()
    return config
  },
  catch: () => unusable("no usable kubeconfig ($KUBECONFIG, ~/.kube/config) and no service account"),
})

const named = <Body extends Schema.Struct.Fields>(key: string, body: Body) =>
  Schema.optionalKey(
    Schema.NullOr(
      Schema.Array(Schema.Struct({ name: Schema.String, [key]: Schema.optionalKey(Schema.Struct(body)) })),
    ),
  )

/** Names a program, a file or another user. */
const refusedKey = Schema.optionalKey(Schema.Never)

const PortableKubeconfig = Schema.Struct({
  "current-context": Schema.String,
  contexts: named("context", { cluster: Schema.String, user: Schema.String }),
  clusters: named("cluster", {
    server: Schema.String,
    "certificate-authority": refusedKey,
    "certificate-authority-data": Schema.optionalKey(Schema.String),
    "insecure-skip-tls-verify": Schema.optionalKey(Schema.Boolean),
    "tls-server-name": Schema.optionalKey(Schema.String),
    "proxy-url": Schema.optionalKey(Schema.String),
  }),
  users: named("user", {
    token: Schema.optionalKey(Schema.String),
    username: Schema.optionalKey(Schema.String),
    password: Schema.optionalKey(Schema.String),
    "client-certificate-data": Schema.optionalKey(Schema.String),
    "client-key-data": Schema.optionalKey(Schema.String),
    "client-certificate": refusedKey,
    "client-key": refusedKey,
    "token-file": refusedKey,
    tokenFile: refusedKey,
    exec: refusedKey,
    "auth-provider": refusedKey,
    as: refusedKey,
  }),
})

/**
 * A kubeconfig that came over the network. Only one that holds its keys and tokens itself is taken: one that names
 * a program (`exec`) or a file (`token-file`) would let whoever could write it run or read as the operator.
 */
export const loadText = (text: Redacted.Redacted): Effect.Effect<KubeConfig, ApiFailure> =>
  Effect.try(() => parseYaml(Redacted.value(text))).pipe(
    Effect.flatMap(Schema.decodeUnknownEffect(PortableKubeconfig)),
    Effect.flatMap((portable) =>
      Effect.try(() => {
        const config = new KubeConfig()
        config.loadFromString(JSON.stringify(portable))
        return config
      }),
    ),
    Effect.mapError(() =>
      unusable("the kubeconfig cannot be read, or names a program, a file or another user"),
    ),
  )
