// The simulated network: TLS servers under host names and ports, and who gets through to them.
import { Duration, Effect, Redacted, type Result, type Scope } from "effect"
import { type ApiFailure, transportFailure } from "../../../src/services/Kubernetes/ApiFailure.ts"
import { makeClient } from "../../../src/services/Kubernetes/Client.ts"
import { loadText } from "../../../src/services/Kubernetes/Credentials.ts"
import { type Http, type HttpRequest, httpOver } from "../../../src/services/Kubernetes/Http.ts"
import type { KubeError, KubernetesClient } from "../../../src/services/Kubernetes/Kubernetes.ts"
import { describeRequest } from "../../../src/services/Kubernetes/Paths.ts"
import { INSIDE } from "../../../src/services/Kubernetes/RequestCounts.ts"
import { type Arrived, directClient, Memory, rememberingClient } from "../direct/Client.ts"
import { type ApiAnswer, type ApiClient, type ApiRequest, type ApiServer, ApiStatus } from "./ApiServer.ts"
import { makeApiClient } from "./Client.ts"
import { httpOf, type Obstacle, planned, REFUSED, RESET } from "./Http.ts"

/** A TLS server under a host name and port. */
export interface Endpoint {
  readonly api: ApiServer
  /** Names and addresses of the certificate. */
  readonly certificateNames: ReadonlyArray<string>
  /** The CA (any text, e.g. a PEM) that signed it: must equal the kubeconfig's `certificate-authority-data`, decoded. */
  readonly ca: string
  /** The user that a bearer token stands for. */
  readonly tokens?: ReadonlyMap<string, string>
  /** The user that a client certificate (text, decoded) stands for. */
  readonly certificates?: ReadonlyMap<string, string>
}

/** Where a connection comes from: a pod of the host cluster. */
export interface Source {
  readonly namespace: string
  readonly labels: Readonly<Record<string, string>>
}

export interface Network {
  /** Listens, or takes the place of who listened there. The returned function stops it: then connections are refused. */
  readonly listen: (host: string, port: number, endpoint: Endpoint) => () => void
  /** Packets to this host and port vanish, until the returned function is called. */
  readonly blackHole: (host: string, port: number) => () => void
  /** False: a NetworkPolicy drops packets from the source to that host and port. All verdicts have to allow. */
  readonly addVerdict: (verdict: (source: Source, host: string, port: number) => boolean) => () => void
  /** The live `Kubernetes.connect`, from a source. */
  readonly connectFrom: (
    source: Source,
  ) => (
    kubeconfig: Redacted.Redacted,
    options?: { readonly timeout?: number },
  ) => Effect.Effect<KubernetesClient, KubeError, Scope.Scope>
  /** The same without HTTP, for as long as nothing is in the way (see ../direct). */
  readonly connectDirect: (source: Source) => ReturnType<Network["connectFrom"]>
  readonly openDirect: Network["open"]
  /** The server that a kubeconfig leads to, while it can be reached. */
  readonly server: (source: Source, kubeconfig: string) => ApiServer | undefined
  /** The same for twins of programs: a synchronous client, whose calls throw `ApiStatus` (code 0: not reached). */
  readonly open: (source: Source, kubeconfig: string, manager: string) => ApiClient
}

/** What a kubeconfig says about the server and who asks. */
interface Login {
  readonly host: string
  readonly port: number
  readonly serverName: string
  /** Undefined: the certificate is not looked at. */
  readonly ca: string | undefined
  readonly verify: boolean
  readonly token: string | undefined
  readonly certificate: string | undefined
}

const decode = (base64: string | undefined): string | undefined =>
  base64 === undefined || base64 === "" ? undefined : Buffer.from(base64, "base64").toString()

/** As the live layer reads a kubeconfig: it takes none that names programs or files. */
const loginOf = (kubeconfig: Redacted.Redacted): Effect.Effect<Login, ApiFailure> =>
  Effect.flatMap(loadText(kubeconfig), (config) => {
    const cluster = config.getCurrentCluster()
    const user = config.getCurrentUser()
    if (cluster === null)
      return Effect.fail(
        transportFailure("read credentials", "the kubeconfig has no current context with a cluster"),
      )
    const url = new URL(cluster.server)
    return Effect.succeed({
      host: url.hostname,
      port: url.port === "" ? 443 : Number(url.port),
      serverName: cluster.tlsServerName ?? url.hostname,
      ca: decode(cluster.caData),
      verify: cluster.skipTLSVerify !== true,
      token: user?.token || undefined,
      certificate: decode(user?.certData),
    })
  })

/** A certificate name may begin with a star, which stands for one label. */
const covers = (name: string, host: string): boolean =>
  name === host || (name.startsWith("*.") && host.replace(/^[^.]+/, "*") === name)

/** What is wrong with the server's certificate, as Node words it. */
const tlsComplaint = (login: Login, endpoint: Endpoint): string | undefined => {
  if (!login.verify) return undefined
  // What is trusted may be a bundle.
  if (login.ca !== endpoint.ca && login.ca !== `${endpoint.ca}\n${endpoint.ca}`)
    return "unable to verify the first certificate"
  if (endpoint.certificateNames.some((name) => covers(name, login.serverName))) return undefined
  const names = endpoint.certificateNames.map((name) =>
    /^[\d.]+$/.test(name) ? `IP Address:${name}` : `DNS:${name}`,
  )
  return `Hostname/IP does not match certificate's altnames: Host: ${login.serverName}. is not in the cert's altnames: ${names.join(", ")}`
}

const userOf = (login: Login, endpoint: Endpoint): string | undefined => {
  if (login.token !== undefined) return endpoint.tokens?.get(login.token)
  return login.certificate === undefined ? undefined : endpoint.certificates?.get(login.certificate)
}

const UNAUTHORIZED = planned({ _tag: "Answer", code: 401, retryAfter: undefined })

/** Where a connection ends: at a server, as somebody or nobody, or before. */
type Arrival =
  | Obstacle
  | { readonly _tag: "There"; readonly endpoint: Endpoint; readonly user: string | undefined }

const CONNECT_TIMEOUT = Duration.seconds(10)

const timeoutOf = (options: { readonly timeout?: number } | undefined): Duration.Duration =>
  options?.timeout === undefined ? CONNECT_TIMEOUT : Duration.millis(options.timeout)

/** Of a Go program that waits in vain. */
const SILENCE = "i/o timeout"

const notReached = (message: string) => new ApiStatus(0, "Transport", message)

const readLogin = (kubeconfig: string): Result.Result<Login, ApiFailure> =>
  Effect.runSync(Effect.result(loginOf(Redacted.make(kubeconfig))))

export const makeNetwork: Effect.Effect<Network> = Effect.sync(() => {
  const endpoints = new Map<string, Endpoint>()
  const hosts = new Set<string>()
  const holes = new Set<string>()
  const verdicts = new Set<(source: Source, host: string, port: number) => boolean>()
  const logins = new Map<string, Result.Result<Login, ApiFailure>>()
  const place = (host: string, port: number) => `${host}:${port}`
  /** Goes up when a way may have become another. */
  let revision = 0

  /** Everybody comes with the same text over and over, and parsing it is the dear part. */
  const loginFrom = (kubeconfig: string): Result.Result<Login, ApiFailure> => {
    const known = logins.get(kubeconfig)
    const login = known ?? readLogin(kubeconfig)
    if (known === undefined && logins.size >= 64) logins.clear()
    logins.set(kubeconfig, login)
    return login
  }

  const arrive = (source: Source, login: Login): Arrival => {
    const { host, port } = login
    const dropped = [...verdicts].some((allows) => !allows(source, host, port))
    if (dropped || holes.has(place(host, port))) return { _tag: "Silent" }
    const endpoint = endpoints.get(place(host, port))
    if (endpoint === undefined)
      return { _tag: "Refused", message: hosts.has(host) ? REFUSED : `getaddrinfo ENOTFOUND ${host}` }
    const complaint = tlsComplaint(login, endpoint)
    return complaint === undefined
      ? { _tag: "There", endpoint, user: userOf(login, endpoint) }
      : { _tag: "Refused", message: complaint }
  }

  /** Each request finds its own way: servers come and go. */
  const httpTo = (source: Source, login: Login, timeout: Duration.Duration): Http => {
    let last: { readonly endpoint: Endpoint; readonly user: string; readonly http: Http } | undefined
    const failing = (arrival: Obstacle) =>
      httpOver(
        {
          attempt: (request: HttpRequest) =>
            arrival._tag === "Silent"
              ? Effect.never
              : Effect.fail(transportFailure(describeRequest(request.method, request.path), arrival.message)),
          renew: Effect.void,
          host: () => INSIDE,
        },
        { timeout },
      )
    const resolve = (): Http => {
      const arrival = arrive(source, login)
      if (arrival._tag !== "There") return failing(arrival)
      const { endpoint, user } = arrival
      if (user === undefined) return stranger(endpoint, timeout)
      if (last?.endpoint !== endpoint || last.user !== user)
        last = { endpoint, user, http: httpOf(endpoint.api, { user, timeout, host: INSIDE }) }
      return last.http
    }
    return {
      json: (request) => Effect.suspend(() => resolve().json(request)),
      text: (request) => Effect.suspend(() => resolve().text(request)),
      bytes: (request) => Effect.suspend(() => resolve().bytes(request)),
    }
  }

  /** Where a login arrives while nothing is wrong. A way is looked for anew when it may be another one. */
  const directTo = (source: Source, login: Login) => {
    let known:
      | { readonly revision: number; readonly arrived: Arrived; readonly endpoint: Endpoint }
      | undefined
    let token: number | undefined
    return (): Arrived | undefined => {
      if (known?.revision !== revision || verdicts.size > 0) {
        const arrival = arrive(source, login)
        known =
          arrival._tag === "There" && arrival.user !== undefined
            ? {
                revision,
                arrived: { api: arrival.endpoint.api, user: arrival.user },
                endpoint: arrival.endpoint,
              }
            : undefined
      }
      if (known === undefined || userOf(login, known.endpoint) !== known.arrived.user) return undefined
      const { faults } = known.endpoint.api
      const epoch = faults.tokenEpoch()
      const isRotated = token !== undefined && token !== epoch
      token = epoch
      return isRotated || !faults.isQuiet() ? undefined : known.arrived
    }
  }

  const connect = (kubeconfig: Redacted.Redacted, client: (login: Login) => KubernetesClient) =>
    loginFrom(Redacted.value(kubeconfig)).pipe(
      Effect.fromResult,
      Effect.map(client),
      Effect.mapError((failure) => failure.error),
    )

  const send = (source: Source, login: Login, request: Omit<ApiRequest, "user">): ApiAnswer => {
    const arrival = arrive(source, login)
    if (arrival._tag === "Silent") throw notReached(SILENCE)
    if (arrival._tag === "Refused") throw notReached(arrival.message)
    const { endpoint, user } = arrival
    const { faults } = endpoint.api
    if (faults.isHanging()) throw notReached(SILENCE)
    if (faults.isDown()) throw notReached(REFUSED)
    const trouble = faults.meet({ method: request.method, path: request.path, user: user ?? "" })
    if (trouble?._tag === "Answer") return planned(trouble)
    if (trouble?._tag === "Reset" && trouble.when === "before") throw notReached(RESET)
    if (trouble?._tag === "Hang") throw notReached(SILENCE)
    const ask = () => (user === undefined ? UNAUTHORIZED : endpoint.api.handle({ user, ...request }))
    const answer = ask()
    if (trouble?._tag === "Reset") throw notReached(RESET)
    if (trouble?._tag === "Half") throw notReached("unexpected EOF")
    return trouble?._tag === "Twice" ? ask() : answer
  }

  const open = (source: Source, login: Result.Result<Login, ApiFailure>, manager: string): ApiClient => {
    if (login._tag === "Failure") throw notReached(login.failure.error.message)
    return makeApiClient("", manager, (request) => send(source, login.success, request))
  }
  /** What programs have read with a login, whoever they call themselves. */
  const memories = new WeakMap<Login, Memory>()

  return {
    listen: (host, port, endpoint) => {
      revision += 1
      hosts.add(host)
      endpoints.set(place(host, port), endpoint)
      return () => {
        revision += 1
        if (endpoints.get(place(host, port)) === endpoint) endpoints.delete(place(host, port))
      }
    },
    blackHole: (host, port) => {
      revision += 1
      holes.add(place(host, port))
      return () => {
        revision += 1
        holes.delete(place(host, port))
      }
    },
    addVerdict: (verdict) => {
      verdicts.add(verdict)
      return () => verdicts.delete(verdict)
    },
    connectFrom: (source) => (kubeconfig, options) =>
      connect(kubeconfig, (login) => makeClient(httpTo(source, login, timeoutOf(options)))),
    connectDirect: (source) => (kubeconfig, options) =>
      connect(kubeconfig, (login) =>
        directClient({
          live: makeClient(httpTo(source, login, timeoutOf(options))),
          arrive: directTo(source, login),
        }),
      ),
    openDirect: (source, kubeconfig, manager) => {
      const login = loginFrom(kubeconfig)
      if (login._tag === "Failure") throw notReached(login.failure.error.message)
      const client = open(source, login, manager)
      const memory = memories.get(login.success) ?? new Memory()
      memories.set(login.success, memory)
      return rememberingClient(client, memory, directTo(source, login.success))
    },
    server: (source, kubeconfig) => {
      const login = loginFrom(kubeconfig)
      const arrival = login._tag === "Success" ? arrive(source, login.success) : undefined
      return arrival?._tag === "There" ? arrival.endpoint.api : undefined
    },
    open: (source, kubeconfig, manager) => open(source, loginFrom(kubeconfig), manager),
  }
})

/** A client that the server does not know. */
const stranger = (endpoint: Endpoint, timeout: Duration.Duration): Http => {
  const refusing: ApiServer = { ...endpoint.api, handle: () => UNAUTHORIZED, watch: () => UNAUTHORIZED }
  return httpOf(refusing, { user: "", timeout, host: INSIDE })
}
