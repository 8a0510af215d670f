// The twin of helm against the twin of the API server, disturbed at a request as the real one is.
import { Effect } from "effect"
import { makeFiles } from "../twins/files/Files.ts"
import { chartFolders, filesOnDisk } from "../twins/helm/charts/index.ts"
import { helmProgram } from "../twins/helm/Program.ts"
import { Unanswered } from "../twins/helm/Session.ts"
import { watched } from "../twins/helm/Watched.ts"
import { ApiStatus } from "../twins/kubernetes/ApiServer.ts"
import { makeApiServer } from "../twins/kubernetes/Server.ts"
import { makeContainer } from "../twins/processes/Container.ts"
import type { Process } from "../twins/processes/Process.ts"
import type { ProcessContext } from "../twins/processes/Program.ts"
import type { Disturbance, Ended, HelmWorld } from "./helmScenario.ts"

const chart = "/charts/vcluster"
const helm = "/usr/local/bin/helm"

const disturb = (process: Process | undefined, { what }: Disturbance): void => {
  if (what === "cut") throw new ApiStatus(0, "Transport", "connection reset by peer")
  process?.signal(what === "SIGKILL" ? "SIGKILL" : "SIGTERM")
  if (what !== "answered") throw new Unanswered()
}

export interface HelmTwin extends HelmWorld {
  /** The requests of the last run, until it ended. */
  readonly requests: () => ReadonlyArray<string>
  /** Kills the next run before its n-th request (from 1) has an effect. */
  readonly killBefore: (n: number) => void
}

export const makeHelmTwin = Effect.gen(function* () {
  const api = yield* makeApiServer({ name: "host" })
  const files = yield* makeFiles
  for (const [file, text] of filesOnDisk(chartFolders.vcluster)) {
    const path = `${chart}/${file}`
    files.files.mkdirs(path.slice(0, path.lastIndexOf("/")))
    files.files.writeText(path, text)
  }
  const container = yield* makeContainer({ name: "machine", files })
  let armed: Disturbance | undefined
  let running: Process | undefined
  let user = "admin"
  let requests: Array<string> = []
  let last = Number.POSITIVE_INFINITY
  const program = helmProgram<ProcessContext>({
    connect: () =>
      watched(api.as(user, "helm"), (method, path) => {
        if (requests.push(`${method} ${path}`) >= last) {
          running?.signal("SIGKILL")
          throw new Unanswered()
        }
        const found = armed
        if (found === undefined || method !== found.at.method || !found.at.path.test(path)) return
        armed = undefined
        disturb(running, found)
      }),
  })

  const world: HelmTwin = {
    chart,
    requests: () => requests,
    killBefore: (n) => {
      last = n
    },
    call: (method, path, body, contentType) =>
      Effect.sync(() =>
        api.handle({
          user: "admin",
          method,
          path,
          ...(body === undefined ? {} : { body }),
          ...(contentType === undefined ? {} : { contentType }),
        }),
      ),
    helm: Effect.fnUntraced(function* (args, { input = "", disturbance, as = "admin" } = {}) {
      armed = disturbance
      requests = []
      user = as
      let [stdout, stderr] = ["", ""]
      const process = container.start(
        (context) =>
          program({
            ...context,
            readStdin: Effect.succeed(input),
            stdout: (text) => {
              stdout += text
            },
            stderr: (text) => {
              stderr += text
            },
          }),
        { argv: [helm, ...args], env: {}, cwd: "/" },
      )
      running = process
      const exitCode = yield* Effect.callback<number | null>((resume) =>
        process.onEnd(({ code }) => resume(Effect.succeed(code ?? null))),
      )
      armed = undefined
      last = Number.POSITIVE_INFINITY
      return { exitCode, stdout, stderr } satisfies Ended
    }),
  }
  return world
})
