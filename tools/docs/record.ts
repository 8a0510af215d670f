// record.ts [FOLDER]: makes the recordings that the pages show, by a run of the playground with the real kubectl. They go into
// docs/recordings, or into FOLDER; `npm run generate` makes the pictures of them. Takes about two minutes.
//
// What would be another each time is written as the same: paths of this machine, times, and how long somebody would have
// waited.
import { type ChildProcess, execFileSync, spawn } from "node:child_process"
import { mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { delimiter, dirname, join } from "node:path"
import { programPath } from "../../test/services/Pulumi/apiServer.ts"
import { type Cast, formatCast, type Output, PROMPT } from "./Cast.ts"
import { type Recording, recordings, type Step } from "./Recordings.ts"

const root = join(import.meta.dirname, "../..")
const WIDTH = 120
const HEIGHT = 24
/** In the recordings the checkout lies here, and the world began then. */
const SHOWN_CHECKOUT = "~/platform"
const SHOWN_BEGINNING = Date.parse("2026-01-01T12:00:00Z")

/** How long things take in a recording, in seconds. */
const PACE = { key: 0.04, enter: 0.4, line: 0.03, wait: 0.9, between: 1.2 }
/** What took longer was waited for, in milliseconds. */
const A_WAIT = 250

const place = mkdtempSync(join(tmpdir(), "recording-"))
const folder = join(place, ".playground")
const began = Date.now()
const running: Array<ChildProcess> = []

const shown = (text: string): string =>
  text
    .replaceAll(folder, `${SHOWN_CHECKOUT}/.playground`)
    .replaceAll(place, "/tmp")
    .replaceAll(root, SHOWN_CHECKOUT)
    .replaceAll(/(127\.0\.0\.1):\d+/g, "$1:16400")
    .replaceAll(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z/g, (time) =>
      new Date(Date.parse(time) - began + SHOWN_BEGINNING).toISOString().replace(/\.\d+Z$/, "Z"),
    )

const kubectl = programPath("kubectl") ?? "kubectl"
const env: NodeJS.ProcessEnv = {
  ...process.env,
  KUBECONFIG: join(folder, "kubeconfig"),
  HOME: place,
  NO_COLOR: "1",
  PATH: [place, dirname(kubectl), dirname(process.execPath), process.env.PATH].join(delimiter),
}

/** What is run where a page has that. */
const real = (command: string): ReadonlyArray<string> =>
  command === "make run"
    ? ["tools/playground/run", "--port", "0", "--folder", folder]
    : ["bash", "-euo", "pipefail", "-c", command]

interface Heard {
  /** Milliseconds since the step began. */
  readonly after: number
  readonly text: string
}

/** Runs a step and gives its lines. Fails when the command does, or ends before it has printed what it is to print. */
const perform = ({ command, until }: Step): Promise<ReadonlyArray<Heard>> =>
  new Promise((resolve, reject) => {
    const start = performance.now()
    const [program = "", ...args] = real(command)
    const child = spawn(program, args, { cwd: root, env, stdio: ["ignore", "pipe", "pipe"] })
    running.push(child)
    const lines: Array<Heard> = []
    let open = ""
    let all = ""
    let over = false
    const finish = () => {
      over = true
      if (open !== "") lines.push({ after: performance.now() - start, text: open })
      resolve(lines)
    }
    const hear = (chunk: Buffer) => {
      if (over) return
      const parts = (open + chunk.toString("utf8")).split("\n")
      open = parts.pop() ?? ""
      for (const text of parts) {
        if (over) return
        all += `${text}\n`
        lines.push({ after: performance.now() - start, text })
        if (until?.test(all) !== true) continue
        open = ""
        // The playground goes on behind the other recordings.
        if (command !== "make run") child.kill("SIGINT")
        finish()
      }
    }
    child.stdout.on("data", hear)
    child.stderr.on("data", hear)
    child.on("error", reject)
    child.on("close", (code) => {
      if (over) return
      if (code !== 0 || until !== undefined)
        return reject(new Error(`${command}: ended with ${code}\n${all}${open}`))
      finish()
    })
  })

const record = async ({ name, steps, title }: Recording): Promise<Cast> => {
  const outputs: Array<Output> = []
  let time = 0.5
  const add = (text: string, pause: number) => {
    time += pause
    outputs.push({ time, text })
  }
  for (const step of steps) {
    const lines = await perform(step)
    if (step.note !== undefined) add(`# ${step.note}\r\n`, 0)
    add(PROMPT, 0)
    for (const key of step.command) add(key, PACE.key)
    add("\r\n", PACE.enter)
    let before = 0
    for (const { after, text } of lines) {
      add(`${shown(text)}\r\n`, after - before > A_WAIT ? PACE.wait : PACE.line)
      before = after
    }
    if (step.until !== undefined && step.command !== "make run") add("^C\r\n", PACE.wait)
    time += PACE.between
  }
  console.log(`${name}: ${outputs.length} outputs, ${time.toFixed(0)} s`)
  return { header: { version: 2, width: WIDTH, height: HEIGHT, title }, outputs }
}

const target = process.argv[2] ?? join(root, "docs/recordings")
try {
  execFileSync(process.execPath, ["tools/bundle.ts", place, "kubectl-pi"], { cwd: root, stdio: "ignore" })
  renameSync(join(place, "kubectl-pi.mjs"), join(place, "kubectl-pi"))
  mkdirSync(target, { recursive: true })
  for (const recording of recordings)
    writeFileSync(join(target, `${recording.name}.cast`), formatCast(await record(recording)))
} finally {
  for (const child of running) if (child.exitCode === null) child.kill("SIGTERM")
  await Promise.all(
    running.map(
      (child) =>
        new Promise((resolve) => (child.exitCode === null ? child.once("close", resolve) : resolve(0))),
    ),
  )
  rmSync(place, { recursive: true, force: true })
}
