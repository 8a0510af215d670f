// An API server on a real socket that answers as the test says: for what only a socket can show.
import { readFileSync } from "node:fs"
import Http from "node:http"
import Https from "node:https"
import { TLSSocket } from "node:tls"
import { KubeConfig } from "@kubernetes/client-node"
import { Context, Effect, Layer } from "effect"
import { Kubernetes } from "../../../src/services/Kubernetes/Kubernetes.ts"
import { layerFrom } from "../../../src/services/Kubernetes/KubernetesLive.ts"

export interface Request {
  readonly method: string
  readonly url: URL
  readonly headers: Http.IncomingHttpHeaders
  readonly body: string
  /** The name in the client's certificate. */
  readonly client: string | undefined
}

export type Answer = (response: Http.ServerResponse, request: Request) => void

export const pem = (name: string) => readFileSync(new URL(`./tls/${name}`, import.meta.url), "utf8")

/** Fault verbs and plain answers. */
export const json =
  (body: unknown, code = 200, headers: Http.OutgoingHttpHeaders = {}): Answer =>
  (response) => {
    response.writeHead(code, { "content-type": "application/json", ...headers }).end(JSON.stringify(body))
  }

export const status = (code: number, reason: string, message: string, more?: object, headers = {}): Answer =>
  json({ kind: "Status", apiVersion: "v1", status: "Failure", code, reason, message, ...more }, code, headers)

/** Takes the request and never answers. */
export const hang: Answer = () => {}

/** Drops the connection. */
export const reset: Answer = (response) => void response.socket?.destroy()

/** Answers with these bytes, a write each, and leaves the connection open. */
export const stream =
  (...chunks: ReadonlyArray<string | Uint8Array>): Answer =>
  (response) => {
    response.writeHead(200, { "content-type": "application/json" })
    response.flushHeaders()
    for (const chunk of chunks) response.write(chunk)
  }

/** Answers in this order; the last one from then on. */
export const inTurn = (...answers: ReadonlyArray<Answer>): Answer => {
  let turn = 0
  return (response, request) => answers[Math.min(turn++, answers.length - 1)]?.(response, request)
}

const readBody = (request: Http.IncomingMessage): Promise<string> =>
  new Promise((resolve, reject) => {
    const parts: Array<Buffer> = []
    request.on("data", (part: Buffer) => parts.push(part))
    request.on("end", () => resolve(Buffer.concat(parts).toString()))
    request.on("error", reject)
  })

const clientName = (socket: unknown): string | undefined =>
  socket instanceof TLSSocket ? String(socket.getPeerCertificate().subject?.CN ?? "") : undefined

/** Listens on a free port until the scope closes. Plain HTTP unless `tls`, which asks for a client certificate. */
export const makeFakeApi = (options: { readonly tls?: boolean } = {}) =>
  Effect.gen(function* () {
    const requests: Array<Request> = []
    const arrivals: Array<() => void> = []
    let answer: Answer = status(404, "NotFound", "nothing here")
    let connections = 0
    let open = 0

    const listener: Http.RequestListener = (incoming, response) => {
      const client = clientName(incoming.socket)
      void readBody(incoming).then((body) => {
        const request: Request = {
          method: incoming.method ?? "",
          url: new URL(incoming.url ?? "", "http://api"),
          headers: incoming.headers,
          body,
          client,
        }
        requests.push(request)
        answer(response, request)
        for (const arrived of arrivals.splice(0)) arrived()
      })
    }

    const server = options.tls
      ? Https.createServer(
          {
            cert: pem("server.crt"),
            key: pem("server.key"),
            ca: pem("ca.crt"),
            requestCert: true,
            rejectUnauthorized: false,
          },
          listener,
        )
      : Http.createServer(listener)
    const closings: Array<() => void> = []
    server.on("connection", (socket) => {
      connections += 1
      open += 1
      socket.on("close", () => {
        open -= 1
        for (const closed of closings.splice(0)) closed()
      })
    })
    yield* Effect.acquireRelease(
      Effect.callback<void>((resume) => void server.listen(0, "127.0.0.1", () => resume(Effect.void))),
      () =>
        Effect.callback<void>((resume) => {
          server.closeAllConnections()
          server.close(() => resume(Effect.void))
        }),
    )
    const address = server.address()
    const port = typeof address === "object" && address !== null ? address.port : 0

    const until = (waiters: Array<() => void>, done: () => boolean): Effect.Effect<void> =>
      Effect.callback<void>((resume) => {
        const check = () => (done() ? resume(Effect.void) : void waiters.push(check))
        check()
      })

    return {
      server: `${options.tls ? "https" : "http"}://127.0.0.1:${port}`,
      requests,
      answer: (given: Answer) => {
        answer = given
      },
      /** How many connections were ever made. */
      connections: () => connections,
      /** Waits until so many requests have come, ever. */
      arrived: (count: number) => until(arrivals, () => requests.length >= count),
      /** Waits until no connection is open. */
      deserted: until(closings, () => open === 0),
    }
  })

export interface Login {
  readonly cluster?: Readonly<Record<string, unknown>>
  readonly user?: Readonly<Record<string, unknown>>
}

/** A kubeconfig (JSON is YAML) for a fake API. */
export const kubeconfig = (server: string, { cluster = {}, user = { token: "token" } }: Login = {}): string =>
  JSON.stringify({
    apiVersion: "v1",
    kind: "Config",
    clusters: [
      {
        name: "c",
        // The library takes plain HTTP only together with this.
        cluster: {
          server,
          ...(server.startsWith("http:") && { "insecure-skip-tls-verify": true }),
          ...cluster,
        },
      },
    ],
    users: [{ name: "u", user }],
    contexts: [{ name: "c", context: { cluster: "c", user: "u" } }],
    "current-context": "c",
  })

export const load = (text: string) =>
  Effect.sync(() => {
    const config = new KubeConfig()
    config.loadFromString(text)
    return config
  })

/** A client that lives as long as the test. */
export const clientOf = (text: string) =>
  Effect.map(Layer.build(layerFrom(load(text))), Context.get(Kubernetes))
