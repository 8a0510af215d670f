// The folder `.playground`: what kubectl needs, the operator's log, and the mark that a playground is running. All of it is
// gone when the playground ends.
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  rmSync,
  writeFileSync,
} from "node:fs"
import path from "node:path"
import { Refusal } from "./Refusal.ts"

export interface Folder {
  readonly path: string
  /** Writes a file that its owner alone can read, in place of one that was there. Gives its path. */
  readonly write: (name: FileName, content: string) => string
  /** Removes what was written, and the folder when nothing else lies in it. */
  readonly remove: () => void
}

const LOCK = "running"
export type FileName = "ca.crt" | "kubeconfig" | "operator.log" | "token"
const FILES: ReadonlyArray<string> = ["ca.crt", "kubeconfig", "operator.log", "token", LOCK]

const OWNER_ONLY = 0o600

const codeOf = (error: unknown): unknown =>
  typeof error === "object" && error !== null && "code" in error ? error.code : undefined

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))

/** Whether a process is there, whoever it belongs to. */
const isAlive = (pid: number): boolean => {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return codeOf(error) === "EPERM"
  }
}

/** On Linux: what a process was started as; undefined where that cannot be told. */
const commandOf = (pid: number): string | undefined => {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ")
  } catch {
    return undefined
  }
}

/** The process that holds the folder; undefined when it has died, and its number may be another's. */
const holderOf = (lock: string): number | undefined => {
  const pid = Number(readFileSync(lock, "utf8").trim())
  if (!Number.isInteger(pid) || pid <= 0 || pid === process.pid || !isAlive(pid)) return undefined
  return commandOf(pid)?.includes("playground") === false ? undefined : pid
}

const take = (folder: string): void => {
  const lock = path.join(folder, LOCK)
  const write = () => writeFileSync(lock, `${process.pid}\n`, { flag: "wx", mode: OWNER_ONLY })
  try {
    write()
  } catch (error) {
    if (codeOf(error) !== "EEXIST") throw error
    const holder = holderOf(lock)
    if (holder !== undefined)
      throw new Refusal(
        `a playground is running already, as process ${holder}. Use it (kubectl --kubeconfig ${path.join(folder, "kubeconfig")} get pi -A), or end it with Ctrl-C there (kill ${holder}). A second one beside it has a folder and a port of its own: tools/playground/run --folder .playground-2 --port 0`,
      )
    // Left by one that was killed.
    rmSync(lock, { force: true })
    write()
  }
}

/** Makes the folder and takes it for this process. Throws a `Refusal` where another playground has it. */
export const takeFolder = (folder: string): Folder => {
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    chmodSync(folder, 0o700)
    take(folder)
  } catch (error) {
    if (error instanceof Refusal) throw error
    throw new Refusal(
      `the folder ${folder} cannot be written to (${messageOf(error)}). The playground keeps its kubeconfig there: run it in a checkout of your own`,
    )
  }
  return {
    path: folder,
    write: (name, content) => {
      const file = path.join(folder, name)
      // A mode counts for a new file alone.
      rmSync(file, { force: true })
      writeFileSync(file, content, { flag: "wx", mode: OWNER_ONLY })
      return file
    },
    remove: () => {
      for (const name of FILES) rmSync(path.join(folder, name), { force: true })
      if (existsSync(folder) && readdirSync(folder).length === 0) rmdirSync(folder)
    },
  }
}
