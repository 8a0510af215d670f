// The real helm against a real API server. Between the two is a proxy that lets one request wait or breaks its
// connection, so that a run is disturbed at exactly that request.
import { type ChildProcessWithoutNullStreams, execFileSync, spawn } from "node:child_process"
import { mkdirSync, writeFileSync } from "node:fs"
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import { request as https } from "node:https"
import path from "node:path"
import { Effect } from "effect"
import { parse } from "yaml"
import { startApiServer } from "../services/Pulumi/apiServer.ts"
import { chartFolders } from "../twins/helm/charts/index.ts"
import { at, textOf } from "../twins/kubernetes/Json.ts"
import type { Disturbance, Ended, HelmWorld } from "./helmScenario.ts"

interface Hold {
  readonly disturbance: Disturbance
  /** Called when the request is there. Done when it is to go on; never, when it is not. */
  readonly reached: () => Promise<void>
}

const bodyOf = (message: IncomingMessage) =>
  new Promise<Buffer>((resolve) => {
    const chunks: Array<Buffer> = []
    message.on("data", (chunk: Buffer) => chunks.push(chunk))
    message.on("end", () => resolve(Buffer.concat(chunks)))
  })

/** Plain HTTP in front of the server, as its administrator, or as the user that the first segment of the path names. */
const makeProxy = (server: URL, token: string) => {
  let hold: Hold | undefined
  const forward = async (message: IncomingMessage, response: ServerResponse) => {
    const [, user, target = ""] = /^\/(admin|nobody)(\/.*)$/.exec(message.url ?? "") ?? []
    const found = hold?.disturbance
    const meets =
      found !== undefined &&
      message.method === found.at.method &&
      found.at.path.test(target.split("?")[0] ?? "")
    if (meets) {
      const { reached } = hold ?? {}
      // Once: whoever retries goes through.
      hold = undefined
      if (found.what === "cut") {
        message.socket.destroy()
        return
      }
      await reached?.()
    }
    const body = await bodyOf(message)
    const { host: _, "content-length": _length, ...headers } = message.headers
    const upstream = https(
      {
        host: server.hostname,
        port: server.port,
        path: target,
        method: message.method,
        rejectUnauthorized: false,
        headers: {
          ...headers,
          ...(body.length > 0 ? { "content-length": body.length } : {}),
          authorization: `Bearer ${token}`,
          ...(user === "nobody" ? { "impersonate-user": "nobody" } : {}),
        },
      },
      (answer) => {
        response.writeHead(answer.statusCode ?? 502, answer.headers)
        answer.pipe(response)
      },
    )
    upstream.on("error", () => response.destroy())
    response.on("close", () => upstream.destroy())
    upstream.end(body)
  }
  const listener = createServer((message, response) => void forward(message, response))
  return {
    listener,
    arm: (next: Hold | undefined) => {
      hold = next
    },
  }
}

const text = (stream: NodeJS.ReadableStream) => {
  let all = ""
  stream.on("data", (chunk) => {
    all += String(chunk)
  })
  return () => all
}

/** Signals a run whose request waits. The promise is done when the request is to go on. */
const signal = (child: ChildProcessWithoutNullStreams, { what }: Disturbance) =>
  new Promise<void>((resolve) => {
    if (what === "answered") {
      child.stdout.on("data", (chunk) => {
        if (String(chunk).includes("has been cancelled")) resolve()
      })
    }
    child.kill(what === "SIGKILL" ? "SIGKILL" : "SIGTERM")
  })

export const makeRealHelm = Effect.fnUntraced(function* (root: string) {
  const { kubeconfig } = yield* startApiServer(root)
  const config: unknown = parse(kubeconfig)
  const server = new URL(textOf(at(config, "clusters", "0", "cluster", "server")) ?? serverIn(kubeconfig))
  const helm = execFileSync("tools/programs/prebuilt-helm.sh", { encoding: "utf8" }).trim()
  const proxy = makeProxy(server, "planted-admin-token")
  yield* Effect.acquireRelease(
    Effect.callback<void>((resume) => {
      proxy.listener.listen(0, "127.0.0.1", () => resume(Effect.void))
    }),
    () =>
      Effect.sync(() => {
        proxy.listener.close()
        proxy.listener.closeAllConnections()
      }),
  )
  const address = proxy.listener.address()
  const port = typeof address === "object" && address !== null ? address.port : 0
  mkdirSync(path.join(root, "home"), { recursive: true })
  const kubeconfigOf = (user: string) => {
    const file = path.join(root, `${user}.kubeconfig`)
    writeFileSync(
      file,
      JSON.stringify({
        apiVersion: "v1",
        kind: "Config",
        clusters: [{ name: "c", cluster: { server: `http://127.0.0.1:${port}/${user}` } }],
        users: [{ name: "u", user: {} }],
        contexts: [{ name: "c", context: { cluster: "c", user: "u" } }],
        "current-context": "c",
      }),
    )
    return file
  }
  const files = { admin: kubeconfigOf("admin"), nobody: kubeconfigOf("nobody") }

  const world: HelmWorld = {
    chart: chartFolders.vcluster,
    call: (method, target, body, contentType = "application/json") =>
      Effect.promise(async () => {
        const answer = await fetch(`http://127.0.0.1:${port}/admin${target}`, {
          method,
          headers: { "content-type": contentType },
          ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        })
        return { status: answer.status, body: (await answer.json()) as unknown }
      }),
    helm: (args, { input, disturbance, as = "admin" } = {}) =>
      Effect.callback<Ended>((resume) => {
        const child = spawn(helm, args, {
          env: {
            PATH: process.env.PATH,
            HOME: path.join(root, "home"),
            HELM_DRIVER: "secret",
            KUBECONFIG: as === "nobody" ? files.nobody : files.admin,
          },
        })
        const [stdout, stderr] = [text(child.stdout), text(child.stderr)]
        if (disturbance !== undefined) {
          proxy.arm({ disturbance, reached: () => signal(child, disturbance) })
        }
        child.stdin.on("error", () => {})
        child.stdin.end(input ?? "")
        child.on("close", (exitCode) => {
          proxy.arm(undefined)
          resume(Effect.succeed({ exitCode, stdout: stdout(), stderr: stderr() }))
        })
        return Effect.sync(() => child.kill("SIGKILL"))
      }).pipe(Effect.timeout("1 minute"), Effect.orDie),
  }
  return world
})

const serverIn = (kubeconfig: string): string => /https:\/\/[\d.:]+/.exec(kubeconfig)?.[0] ?? ""
