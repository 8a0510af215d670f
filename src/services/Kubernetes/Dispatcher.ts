// The pool of connections to one API server.
import * as Undici from "@effect/platform-node/Undici"
import { Effect } from "effect"
import { type ApiFailure, transportFailure } from "./ApiFailure.ts"
import type { Credentials, TlsMaterial } from "./Credentials.ts"

/** TCP keep-alive probes start after this idle time; load balancers cut at 60 s and more. In milliseconds. */
const KEEP_ALIVE_DELAY = 30_000
/** How long an unused connection is kept, in milliseconds. The API server itself closes it after 90 s. */
const KEEP_ALIVE_TIMEOUT = 60_000
/** How long a TCP and TLS handshake may take, in milliseconds. */
const CONNECT_TIMEOUT = 10_000

const build = ({ tls, proxy }: Credentials): Undici.Dispatcher => {
  const socket = { timeout: CONNECT_TIMEOUT, keepAlive: true, keepAliveInitialDelay: KEEP_ALIVE_DELAY }
  const options: Undici.Agent.Options = {
    // A connection a request: a watch that hangs holds up nothing else, and aborting it closes its socket.
    allowH2: false,
    // Undici gives up on its own after 300 s, which a quiet watch outlasts; all waiting is bounded by our clock.
    headersTimeout: 0,
    bodyTimeout: 0,
    connectTimeout: CONNECT_TIMEOUT,
    keepAliveTimeout: KEEP_ALIVE_TIMEOUT,
  }
  return proxy === undefined
    ? new Undici.Agent({ ...options, connect: { ...tls, ...socket } })
    : new Undici.ProxyAgent({ ...options, uri: proxy, connect: socket, requestTls: tls })
}

const same = (left: unknown, right: unknown): boolean =>
  Buffer.isBuffer(left) && Buffer.isBuffer(right) ? left.equals(right) : left === right

const sameTls = (left: TlsMaterial, right: TlsMaterial): boolean =>
  same(left.ca, right.ca) &&
  same(left.cert, right.cert) &&
  same(left.key, right.key) &&
  left.servername === right.servername &&
  left.rejectUnauthorized === right.rejectUnauthorized

/**
 * Gives the pool that fits the credentials: the one it gave before, or a new one when certificates were rotated (the
 * old one closes when its last request ends). Everything closes with the scope.
 */
export const makeDispatcher = Effect.gen(function* () {
  const open = new Set<Undici.Dispatcher>()
  let newest: { readonly credentials: Credentials; readonly dispatcher: Undici.Dispatcher } | undefined

  yield* Effect.addFinalizer(() =>
    Effect.promise(() => Promise.allSettled([...open].map((dispatcher) => dispatcher.destroy()))),
  )

  return (credentials: Credentials): Effect.Effect<Undici.Dispatcher, ApiFailure> =>
    Effect.try({
      try: () => {
        if (
          newest !== undefined &&
          newest.credentials.proxy === credentials.proxy &&
          sameTls(newest.credentials.tls, credentials.tls)
        ) {
          return newest.dispatcher
        }
        if (newest !== undefined) {
          const retired = newest.dispatcher
          const forget = () => open.delete(retired)
          // It rejects when the scope destroys it meanwhile, which is just as well.
          retired.close().then(forget, forget)
        }
        const dispatcher = build(credentials)
        open.add(dispatcher)
        newest = { credentials, dispatcher }
        return dispatcher
      },
      catch: () => transportFailure("open connections", "the certificates or the proxy URL cannot be used"),
    })
})
