// A simulated API server on a real socket: HTTPS on loopback, for whoever has the token.
import { createHash, timingSafeEqual } from "node:crypto"
import type { IncomingMessage, ServerResponse } from "node:http"
import { createServer } from "node:https"
import { parse as parseYaml, YAMLParseError } from "yaml"
import type { ApiAnswer, ApiRequest, ApiServer, Method } from "../../test/twins/kubernetes/ApiServer.ts"
import { ProtobufError, readProtobuf } from "../../test/twins/kubernetes/Protobuf.ts"
import {
  badRequest,
  forbidden,
  unauthorized,
  unsupportedMediaType,
} from "../../test/twins/kubernetes/Status.ts"
import type { Credentials } from "./Certificate.ts"
import { refuseMissing } from "./Missing.ts"
import { answerInto, type PodLogs } from "./PodLog.ts"
import { Refusal } from "./Refusal.ts"
import { toldEarlier } from "./Times.ts"

export interface ApiOptions {
  readonly api: ApiServer
  /** Calls into the world that the API is in. */
  readonly enter: <A>(call: () => A) => A
  readonly credentials: Credentials
  readonly logs: PodLogs
  /** The clock of the world. */
  readonly now: () => Date
  /** By so many milliseconds it is ahead of this machine's. */
  readonly ahead: () => number
  /** Who brings it is an administrator, and may act for others. */
  readonly token: string
}

export type Handler = (request: IncomingMessage, response: ServerResponse) => void

const METHODS: ReadonlyArray<string> = ["GET", "POST", "PUT", "PATCH", "DELETE"]
const isMethod = (method: string | undefined): method is Method => METHODS.includes(method ?? "")

/** What kube-apiserver takes of one request, in bytes. */
const LARGEST_BODY = 3 * 1024 * 1024

/** Bookmarks come about every minute; a watch that does not say how long it lasts ends after an hour. In real time. */
const BOOKMARK_EVERY = 60_000
const LONGEST_WATCH = 3600

const ADMINISTRATOR = "admin"

/** Of equal length whatever they are made from, so that comparing them tells nothing. */
const digest = (text: string) => createHash("sha256").update(text).digest()

const single = (header: string | ReadonlyArray<string> | undefined): string | undefined =>
  typeof header === "string" ? header : header?.[0]

/** Who asks: the administrator, or whom the administrator says to be. Undefined: nobody that is known. */
const identityOf = (
  { headers, rawHeaders }: IncomingMessage,
  token: string,
): Pick<ApiRequest, "user" | "groups"> | undefined => {
  const given = /^Bearer (.+)$/.exec(headers.authorization ?? "")?.[1] ?? ""
  if (!timingSafeEqual(digest(given), digest(token))) return undefined
  const user = single(headers["impersonate-user"])
  if (user === undefined) return { user: ADMINISTRATOR }
  const groups = rawHeaders.filter(
    (_, index) => index % 2 === 1 && rawHeaders[index - 1]?.toLowerCase() === "impersonate-group",
  )
  return groups.length === 0 ? { user } : { user, groups: [...groups, "system:authenticated"] }
}

const read = (request: IncomingMessage): Promise<Buffer> =>
  new Promise((resolve, reject) => {
    const chunks: Array<Buffer> = []
    let length = 0
    request.on("data", (chunk: Buffer) => {
      length += chunk.length
      if (length <= LARGEST_BODY) chunks.push(chunk)
    })
    request.on("error", reject)
    request.on("end", () =>
      length > LARGEST_BODY
        ? reject(badRequest(`the body of the request is larger than ${LARGEST_BODY} bytes`))
        : resolve(Buffer.concat(chunks)),
    )
  })

/** The body as JSON. Throws an `ApiStatus`. */
const parseBody = (body: Buffer, contentType: string): unknown => {
  if (body.length === 0) return undefined
  if (contentType.includes("cbor"))
    throw unsupportedMediaType(`the playground takes JSON, YAML and protobuf, not ${contentType}`)
  try {
    if (contentType.includes("protobuf")) return readProtobuf(body)
    const text = body.toString("utf8")
    // YAML has all of JSON in it, and takes longer.
    return contentType.includes("yaml") && !/^\s*[{[]/.test(text) ? parseYaml(text) : JSON.parse(text)
  } catch (error) {
    const isBodysFault =
      error instanceof SyntaxError || error instanceof YAMLParseError || error instanceof ProtobufError
    throw isBodysFault ? badRequest(`the body of the request cannot be read: ${error.message}`) : error
  }
}

const isWatch = ({ method, path }: ApiRequest): boolean =>
  method === "GET" && /[?&]watch=(1|true)\b/.test(path)

const send = (response: ServerResponse, answer: ApiAnswer, ahead: number): void => {
  const isText = typeof answer.body === "string"
  response.statusCode = answer.status
  response.setHeader("content-type", answer.contentType ?? (isText ? "text/plain" : "application/json"))
  if (answer.retryAfter !== undefined) response.setHeader("retry-after", String(answer.retryAfter))
  const warnings = (answer.warnings ?? []).map((warning) => `299 - ${JSON.stringify(warning)}`)
  if (warnings.length > 0) response.setHeader("warning", warnings)
  response.end(
    isText || answer.body instanceof Buffer
      ? answer.body
      : `${JSON.stringify(toldEarlier(answer.body, ahead))}\n`,
  )
}

const isStatus = (error: unknown): error is { readonly code: number; readonly body: unknown } =>
  error instanceof Error && "code" in error && typeof error.code === "number" && "body" in error

/** Lines until the client goes, the time it asked for is over, or the server ends it. */
const watch = ({ ahead, api, enter }: ApiOptions, request: ApiRequest, response: ServerResponse): void => {
  const opened = enter(() => {
    const early: Array<string> = []
    let open = false
    let over = false
    const found = api.watch(request, {
      onEvent: (line) => {
        const text = `${JSON.stringify(toldEarlier(line, ahead()))}\n`
        if (open) response.write(text)
        else early.push(text)
      },
      onEnd: () => {
        over = true
        if (open) response.end()
      },
    })
    if (!("close" in found)) return found
    open = true
    response.writeHead(200, { "content-type": "application/json" })
    // So that a client with nothing to hear yet knows that it is listening.
    response.flushHeaders()
    for (const text of early) response.write(text)
    if (over) response.end()
    return found
  })
  if (!("close" in opened)) {
    send(response, opened, ahead())
    return
  }
  const seconds = Number(/[?&]timeoutSeconds=(\d+)/.exec(request.path)?.[1] ?? LONGEST_WATCH)
  const bookmarks = setInterval(() => enter(opened.bookmark), BOOKMARK_EVERY)
  const end = setTimeout(() => response.end(), seconds * 1000)
  response.on("close", () => {
    clearInterval(bookmarks)
    clearTimeout(end)
    opened.close()
  })
}

const answer = async (options: ApiOptions, incoming: IncomingMessage, response: ServerResponse) => {
  const { headers, method, url = "/" } = incoming
  const identity = identityOf(incoming, options.token)
  if (identity === undefined) throw unauthorized()
  if (!isMethod(method)) throw forbidden({}, `the playground does not take ${method}`)
  // A body of what is not there may be of a form that is not known.
  refuseMissing(url)
  const contentType = headers["content-type"] ?? ""
  const body = parseBody(await read(incoming), contentType)
  const request: ApiRequest = {
    ...identity,
    method,
    path: url,
    ...(headers.accept !== undefined && { accept: headers.accept }),
    ...(contentType !== "" && { contentType }),
    ...(body !== undefined && { body }),
  }
  const { api, enter, logs, now } = options
  const handle = (asked: ApiRequest) => enter(() => api.handle(asked))
  if (answerInto({ handle, subscribe: api.subscribe, logs, now }, request, response)) return
  if (isWatch(request)) watch(options, request, response)
  else {
    const found = handle(request)
    send(response, found, options.ahead())
  }
}

/** Answers requests out of the world. What is no answer of the API is the playground's own fault, and said to be. */
export const handlerOf =
  (options: ApiOptions): Handler =>
  (request, response) => {
    answer(options, request, response).catch((error: unknown) => {
      if (response.headersSent) return void response.destroy()
      if (isStatus(error)) return send(response, { status: error.code, body: error.body }, 0)
      const message = error instanceof Error ? error.message : String(error)
      const body = { kind: "Status", apiVersion: "v1", status: "Failure", code: 500, message }
      send(response, { status: 500, body }, 0)
    })
  }

export interface Listening {
  readonly port: number
  /** Ends connections, too. */
  readonly close: () => Promise<void>
}

/** Listens on 127.0.0.1. Fails with a `Refusal` where that port is somebody else's. */
export const listen = (credentials: Credentials, port: number, handler: Handler): Promise<Listening> =>
  new Promise((resolve, reject) => {
    const server = createServer({ key: credentials.key, cert: credentials.certificate }, handler)
    server.keepAliveTimeout = 120_000
    server.on("error", (error) => {
      const { code } = Object.assign({ code: "" }, error)
      if (code === "EADDRINUSE")
        return reject(
          new Refusal(
            `port ${port} of 127.0.0.1 is taken by another program. Take another one with --port (make run PORT=16401), or any that is free with --port 0`,
          ),
        )
      reject(new Refusal(`port ${port} of 127.0.0.1 cannot be listened on: ${error.message}`))
    })
    server.listen(port, "127.0.0.1", () => {
      const address = server.address()
      resolve({
        port: typeof address === "object" && address !== null ? address.port : port,
        close: () =>
          new Promise((done) => {
            server.close(() => done())
            server.closeAllConnections()
          }),
      })
    })
  })
