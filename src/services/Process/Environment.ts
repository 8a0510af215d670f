// The environment of a child. It is a list of what may pass, not of what must not: the operator's own
// environment may hold anything an administrator put there.

/** What a child may inherit: where programs and certificates are, how the network is reached, and the cluster. */
const inherited: ReadonlyArray<string> = [
  "PATH",
  "LANG",
  "TZ",
  "SSL_CERT_FILE",
  "SSL_CERT_DIR",
  "HTTPS_PROXY",
  "HTTP_PROXY",
  "NO_PROXY",
  "https_proxy",
  "http_proxy",
  "no_proxy",
  // How a process in a pod finds the API server (client-go's in-cluster configuration).
  "KUBERNETES_SERVICE_HOST",
  "KUBERNETES_SERVICE_PORT",
]

/**
 * The allow-listed part of `source` (the operator's own environment), then `own` over it. `own` holds settings
 * and paths, never a secret: any process of the same user can read an environment.
 */
export const childEnvironment = (
  source: Readonly<Record<string, string | undefined>>,
  own: Readonly<Record<string, string>>,
): Record<string, string> => {
  const environment: Record<string, string> = {}
  for (const name of inherited) {
    const value = source[name]
    if (value !== undefined) environment[name] = value
  }
  return { ...environment, ...own }
}
