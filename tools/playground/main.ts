// The playground from its start to Ctrl-C. `run` is its entry; `start.mjs` looks at the version of Node first.
import { randomBytes } from "node:crypto"
import { appendFileSync, existsSync } from "node:fs"
import path from "node:path"
import { makeCredentials } from "./Certificate.ts"
import { type Folder, takeFolder } from "./Folder.ts"
import { type Handler, handlerOf, type Listening, listen } from "./HttpsApi.ts"
import { kubeconfig } from "./Kubeconfig.ts"
import { type Options, parseOptions, USAGE } from "./Options.ts"
import { example, exampleHostNamespace, type Playground, startPlayground } from "./Playground.ts"
import { makePodLogs } from "./PodLog.ts"
import { Refusal } from "./Refusal.ts"
import { makeStory, nextSteps, word } from "./Story.ts"

const say = (line: string) => process.stdout.write(`${line}\n`)
const complain = (line: string) => process.stderr.write(`playground: ${line}\n`)

/** What has been begun, last first: each is ended whatever becomes of the others. */
const begun: Array<() => void | Promise<void>> = []

let ending: Promise<never> | undefined

/** Once: who asks again waits with the first, whose work is not cut off by an exit. */
const end = (code: number): Promise<never> => {
  ending ??= undoAll(code)
  return ending
}

const undoAll = async (code: number): Promise<never> => {
  for (const undo of begun.splice(0).toReversed()) {
    try {
      await undo()
    } catch (error) {
      complain(error instanceof Error ? error.message : String(error))
    }
  }
  process.exit(code)
}

const fail = (error: unknown): Promise<never> => {
  complain(
    error instanceof Refusal ? error.message : error instanceof Error ? (error.stack ?? "") : String(error),
  )
  return end(1)
}

/** The first of them ends it; so does a terminal or a pipe that is gone, to which nothing more can be said. */
const endOnSignals = () => {
  process.stdout.on("error", () => void end(0))
  process.stderr.on("error", () => void end(0))
  let told = false
  const ends = () => {
    if (!told) say("\nThe playground ends, and leaves nothing behind.")
    told = true
    void end(0)
  }
  // Of a terminal that is closed the shell, the kernel and make may each tell; a second Ctrl-C ends it at once.
  process.on("SIGHUP", ends).on("SIGTERM", ends).once("SIGINT", ends)
}

const isOnPath = (program: string): boolean =>
  (process.env.PATH ?? "").split(path.delimiter).some((folder) => existsSync(path.join(folder, program)))

const notYet: Handler = (_, response) => {
  response.writeHead(503, { "content-type": "text/plain", "retry-after": "1" })
  response.end("the playground is starting\n")
}

const follow = (playground: Playground, folder: Folder, { port }: Listening, { speed }: Options) => {
  let shown = false
  const server = `https://127.0.0.1:${port}`
  playground.subscribe(
    makeStory({
      say,
      elapsed: playground.elapsed,
      onReady: () => {
        if (shown) return
        shown = true
        say(
          nextSteps({
            kubeconfig: `${folder.path}/kubeconfig`,
            logFile: `${folder.path}/operator.log`,
            hostNamespace: exampleHostNamespace,
            server,
            speed,
            hasKubectl: isOnPath("kubectl"),
          }),
        )
      },
    }),
  )
}

const run = async (options: Options) => {
  const folder = takeFolder(options.folder)
  begun.push(folder.remove)
  endOnSignals()
  const credentials = makeCredentials(Date.now())
  let handler: Handler = notYet
  const listening = await listen(credentials, options.port, (request, response) => handler(request, response))
  begun.push(listening.close)
  const token = randomBytes(32).toString("base64url")
  const server = `https://127.0.0.1:${listening.port}`
  folder.write("ca.crt", credentials.certificate)
  folder.write("token", token)
  const config = folder.write("kubeconfig", kubeconfig(server, credentials.certificate, token))
  const log = folder.write("operator.log", "")
  const logs = makePodLogs()
  const playground = await startPlayground({
    speed: options.speed,
    seed: 1,
    start: new Date(),
    log: (pod, line) => {
      appendFileSync(log, `${line.text}\n`)
      logs.add(pod, line)
    },
    onEnd: (error) => void fail(error),
  })
  begun.push(playground.stop)
  const { ahead, api, enter, now } = playground
  handler = handlerOf({ ahead, api, enter, now, logs, credentials, token })
  say(
    `The operator runs. Its cluster answers at ${server}: kubectl --kubeconfig ${word(config)} get pi -A -w`,
  )
  say("Applying examples/one.yaml in namespace team-a; about a minute of simulated time to Ready:")
  follow(playground, folder, listening, options)
  playground.apply(example())
}

try {
  const options = parseOptions(process.argv.slice(2))
  if (options.help) process.stdout.write(USAGE)
  else await run(options)
} catch (error) {
  await fail(error)
}
