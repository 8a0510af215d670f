// Programs that run beside a test, and programs it waits for.
import { execFile, spawn } from "node:child_process"
import { once } from "node:events"
import { createInterface } from "node:readline"

export interface RunOptions {
  readonly input?: string
  readonly env?: Readonly<Record<string, string>>
}

/** Runs a program to its end and gives what it printed; fails with what it complained of. */
export const run = (
  command: string,
  args: ReadonlyArray<string>,
  options: RunOptions = {},
): Promise<string> =>
  new Promise((resolve, reject) => {
    const child = execFile(
      command,
      [...args],
      { env: { ...process.env, ...options.env }, maxBuffer: 256 * 1024 * 1024 },
      (error, stdout, stderr) => {
        if (error === null) resolve(stdout)
        else reject(new Error(`${command} ${args.join(" ")}: ${stderr.trim() || error.message}`))
      },
    )
    // One that ends without reading says why itself.
    child.stdin?.on("error", () => undefined)
    child.stdin?.end(options.input ?? "")
  })

export interface Running {
  /** Calls `onLine` for each line it prints. */
  readonly lines: (onLine: (line: string) => void) => void
  readonly end: () => Promise<void>
}

/** Starts a program that runs until it is ended. Its stdin closes when this process dies, whatever way. */
export const startChild = (command: string, args: ReadonlyArray<string>): Running => {
  const child = spawn(command, [...args], { stdio: ["pipe", "pipe", "inherit"] })
  const exited = once(child, "exit")
  child.stdin.on("error", () => undefined)
  return {
    lines: (onLine) => {
      createInterface({ input: child.stdout }).on("line", onLine)
    },
    end: async () => {
      child.stdin.end()
      child.kill("SIGTERM")
      await exited
    },
  }
}
