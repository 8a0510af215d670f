// The operator as its users start it: `node src/main.ts` as a child, with a PATH, a kubeconfig and folders of its own.
// helm, pulumi and npm are stand-ins that are never asked for more than helm's chart.
import { type ChildProcess, spawn } from "node:child_process"
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { createInterface } from "node:readline"
import { fileURLToPath } from "node:url"
import { Data, Effect, Option, Schema } from "effect"

const main = fileURLToPath(new URL("../../src/main.ts", import.meta.url))

const programs = {
  helm: "printf 'apiVersion: v2\\nname: vcluster\\nversion: 0.37.3\\n'",
  pulumi: "exit 1",
  npm: "exit 1",
  "platform-sandbox": "echo 7",
}

/** What only the log tells. */
const LogLine = Schema.fromJsonString(
  Schema.Struct({
    message: Schema.String,
    level: Schema.String,
    annotations: Schema.Record(Schema.String, Schema.Unknown),
  }),
)
type LogLine = typeof LogLine.Type
const decodeLine = Schema.decodeOption(LogLine)

/** The child ended while the test waited for something else. */
export class EndedError extends Data.TaggedError("EndedError")<{ readonly message: string }> {}

export interface Given {
  readonly kubeconfig?: string
  /** Those on its PATH; all when left out. */
  readonly programs?: ReadonlyArray<keyof typeof programs>
  /** What the passphrase file holds; without it there is no such file. */
  readonly passphrase?: string
  readonly args?: ReadonlyArray<string>
  readonly env?: Readonly<Record<string, string>>
}

const follow = (child: ChildProcess) => {
  const lines: Array<string> = []
  const waiters = new Set<() => void>()
  const wake = () => {
    for (const waiter of [...waiters]) waiter()
  }
  let exit: { readonly code: number | null } | undefined
  for (const output of [child.stdout, child.stderr]) {
    if (output === null) continue
    createInterface({ input: output }).on("line", (text) => {
      lines.push(text)
      wake()
    })
  }
  child.once("error", ({ message }) => lines.push(message))
  child.once("close", (code) => {
    exit = { code }
    wake()
  })
  /** Looks again after each line, and at the end. */
  const until = <A, E>(look: () => Effect.Effect<A, E> | undefined) =>
    Effect.callback<A, E>((resume) => {
      const waiter = () => {
        const found = look()
        if (found === undefined) return
        waiters.delete(waiter)
        resume(found)
      }
      waiters.add(waiter)
      waiter()
      return Effect.sync(() => waiters.delete(waiter))
    })
  return { lines, until, exit: () => exit }
}

/** Ends with the scope. */
export const startOperator = Effect.fnUntraced(function* (given: Given = {}) {
  const root = yield* Effect.acquireRelease(
    Effect.sync(() => mkdtempSync(join(tmpdir(), "operator-start-"))),
    (folder) => Effect.sync(() => rmSync(folder, { recursive: true, force: true })),
  )
  for (const folder of ["bin", "state"]) mkdirSync(`${root}/${folder}`)
  for (const name of given.programs ?? (["helm", "pulumi", "npm"] as const)) {
    writeFileSync(`${root}/bin/${name}`, `#!/bin/sh\n${programs[name]}\n`)
    chmodSync(`${root}/bin/${name}`, 0o755)
  }
  if (given.kubeconfig !== undefined) writeFileSync(`${root}/kubeconfig`, given.kubeconfig)
  if (given.passphrase !== undefined) writeFileSync(`${root}/passphrase`, given.passphrase)
  const args = [
    `--state-dir=${root}/state`,
    `--passphrase-file=${root}/passphrase`,
    "--operator-namespace=platform-operator",
    "--operator-image=operator:test",
    "--health-address=127.0.0.1:0",
    "--metrics-address=127.0.0.1:0",
  ].filter((arg) => !given.args?.some((own) => own.startsWith(arg.slice(0, arg.indexOf("=") + 1))))
  const child = yield* Effect.acquireRelease(
    Effect.sync(() =>
      spawn(process.execPath, [main, ...args, ...(given.args ?? [])], {
        env: { PATH: `${root}/bin`, HOME: root, KUBECONFIG: `${root}/kubeconfig`, ...given.env },
        stdio: ["ignore", "pipe", "pipe"],
      }),
    ),
    (started) => Effect.sync(() => started.kill("SIGKILL")),
  )
  const { lines, until, exit } = follow(child)
  const output = () => lines.join("\n")

  /** The first line of the log, past or to come, that is the one. */
  const logged = (what: string, matches: (line: LogLine) => boolean): Effect.Effect<LogLine, EndedError> =>
    until(() => {
      for (const text of lines) {
        const line = Option.filter(decodeLine(text), matches)
        if (Option.isSome(line)) return Effect.succeed(line.value)
      }
      return exit() === undefined
        ? undefined
        : Effect.fail(new EndedError({ message: `ended before it logged ${what}:\n${output()}` }))
    })
  const message = (text: string) => logged(text, (line) => line.message === text)
  const address = (path: string) =>
    Effect.map(
      logged(
        `where ${path} is`,
        ({ message, annotations }) =>
          message === "listening" && String(annotations.paths).split(" ").includes(path),
      ),
      ({ annotations }) => String(annotations.address),
    )
  return {
    root,
    output,
    logged,
    message,
    /** How often a message was logged so far. */
    count: (text: string) => lines.filter((line) => line.includes(`"message":"${text}"`)).length,
    /** Asks one of its addresses. */
    get: Effect.fnUntraced(function* (path: string) {
      const base = yield* address(path)
      return yield* Effect.promise(async () => {
        const answer = await fetch(`${base}${path}`)
        return { status: answer.status, body: await answer.text() }
      })
    }),
    running: () => exit() === undefined,
    terminate: Effect.sync(() => child.kill("SIGTERM")),
    /** Its exit code, when it has ended. */
    exitCode: until(() => {
      const ended = exit()
      return ended === undefined ? undefined : Effect.succeed(ended.code)
    }),
  }
})
