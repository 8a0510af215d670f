// What Headlamp's backend does for a browser, and no more: the page, the plugins, and each request to the cluster passed
// on with the token of whoever is signed in. Watches are websockets.
import { createReadStream, existsSync, readFileSync } from "node:fs"
import { createServer, type IncomingMessage, request as plainRequest, type Server } from "node:http"
import { request as secureRequest } from "node:https"
import type { AddressInfo, Socket } from "node:net"
import { extname, join } from "node:path"

const repository = join(import.meta.dirname, "../../..")
/** Built by `make plugin`. */
export const hostPage = join(repository, "headlamp-plugin/host/dist")

const locales = join(repository, "headlamp-plugin/node_modules/@kinvolk/headlamp-plugin/lib/i18n")

export interface Backend {
  readonly url: string
  /** Every request that was passed on: `GET /api/v1/...`. */
  readonly passed: ReadonlyArray<string>
  /** Bodies of those that have one, in order: `PATCH /apis/...` and what was sent. */
  readonly sent: ReadonlyArray<{ readonly request: string; readonly type: string; readonly body: string }>
  readonly close: () => Promise<void>
}

const TYPES: Readonly<Record<string, string>> = {
  ".html": "text/html",
  ".js": "text/javascript",
  ".json": "application/json",
  ".css": "text/css",
  ".svg": "image/svg+xml",
}

const tokenOf = (request: IncomingMessage): string =>
  /headlamp-auth-main\.0=([^;]+)/.exec(request.headers.cookie ?? "")?.[1] ?? ""

/** `plugin`: the folder that pluginctl or Headlamp would have. `server`: the API server's URL. */
export const startBackend = async (plugin: string, server: string): Promise<Backend> => {
  const passed: Array<string> = []
  const sent: Array<{ request: string; type: string; body: string }> = []
  const sockets = new Set<Socket>()
  const target = new URL(server)

  const passOn = (request: IncomingMessage, path: string) => {
    const { cookie: _, host: __, ...headers } = request.headers
    const options = {
      host: target.hostname,
      port: target.port,
      path,
      method: request.method,
      headers: { ...headers, authorization: `Bearer ${tokenOf(request)}` },
      rejectUnauthorized: false,
    }
    passed.push(`${request.method} ${path}`)
    return target.protocol === "https:" ? secureRequest(options) : plainRequest(options)
  }

  const http: Server = createServer((request, response) => {
    const url = request.url ?? "/"
    const json = (value: unknown) => {
      response.setHeader("content-type", "application/json")
      response.end(JSON.stringify(value))
    }
    const file = (path: string) => {
      if (!existsSync(path)) {
        response.statusCode = 404
        return response.end()
      }
      response.setHeader("content-type", TYPES[extname(path)] ?? "application/octet-stream")
      return createReadStream(path).pipe(response)
    }
    if (url.startsWith("/config"))
      return json({ clusters: [{ name: "main", auth_type: "", meta_data: { source: "in_cluster" } }] })
    if (url === "/plugins")
      return json([{ path: "plugins/di-framework-platform", type: "user", name: "di-framework-platform" }])
    if (url.startsWith("/plugins/"))
      return file(join(plugin, url.split("?")[0]?.split("/").slice(3).join("/") ?? ""))
    const [, locale] = /^\/assets\/(locales\/[\w-]+\/\w+\.json)\?/.exec(url) ?? []
    if (locale !== undefined) {
      // Headlamp imports its sentences as modules.
      response.setHeader("content-type", "text/javascript")
      return response.end(`export default ${readFileSync(join(locales, locale), "utf8")}`)
    }
    if (url === "/clusters/main/me") return json({ username: "someone" })
    if (!url.startsWith("/clusters/main/")) {
      const asset = join(hostPage, url.split("?")[0] ?? "")
      return file(extname(asset) === "" ? join(hostPage, "index.html") : asset)
    }
    const path = url.slice("/clusters/main".length)
    const body: Array<Buffer> = []
    const onward = passOn(request, path)
    onward.on("response", (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.statusMessage, answer.headers)
      answer.pipe(response)
    })
    onward.on("error", () => response.destroy())
    request.on("data", (chunk) => body.push(chunk))
    request.on("end", () => {
      const text = Buffer.concat(body).toString()
      if (text !== "")
        sent.push({
          request: `${request.method} ${path}`,
          type: request.headers["content-type"] ?? "",
          body: text,
        })
    })
    request.pipe(onward)
    return undefined
  })

  http.on("connection", (socket) => {
    sockets.add(socket)
    socket.on("close", () => sockets.delete(socket))
  })
  http.on("upgrade", (request, socket, head) => {
    const onward = passOn(request, (request.url ?? "").slice("/clusters/main".length))
    onward.on("upgrade", (answer, other) => {
      const lines = Object.entries(answer.headers).map(([name, value]) => `${name}: ${value}`)
      socket.write(`HTTP/1.1 101 Switching Protocols\r\n${lines.join("\r\n")}\r\n\r\n`)
      other.write(head)
      other.pipe(socket)
      socket.pipe(other)
      for (const [one, two] of [
        [socket, other],
        [other, socket],
      ] as const) {
        one.on("error", () => two.destroy())
        one.on("close", () => two.destroy())
      }
    })
    onward.on("response", (answer) =>
      socket.end(`HTTP/1.1 ${answer.statusCode} ${answer.statusMessage}\r\n\r\n`),
    )
    onward.on("error", () => socket.destroy())
    onward.end()
  })
  await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve))
  const { port } = http.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    passed,
    sent,
    close: () =>
      new Promise((resolve) => {
        for (const socket of sockets) socket.destroy()
        http.close(() => resolve())
      }),
  }
}

export const packageOf = (folder: string): { readonly name: string; readonly version: string } =>
  JSON.parse(readFileSync(join(folder, "package.json"), "utf8"))
