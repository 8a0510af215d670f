// `kubectl pi` as its user has it: one file in the PATH, which kubectl finds and runs.
import { execFile, execFileSync, spawn } from "node:child_process"
import { once } from "node:events"
import { mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { createInterface } from "node:readline"
import { parse, stringify } from "yaml"
import { programs } from "./Cluster.ts"
import { kubectl, kubectlPath } from "./Kubectl.ts"

const repository = join(import.meta.dirname, "../../..")
const folder = mkdtempSync(join(tmpdir(), "kubectl-pi-"))
process.on("exit", () => rmSync(folder, { recursive: true, force: true }))

/** For files of a test. */
export const inFolder = (name: string): string => join(folder, name)

/** Builds it as the image has it. */
export const buildPlugin = (): void => {
  execFileSync(process.execPath, ["tools/bundle.ts", folder, "kubectl-pi"], { cwd: repository })
  renameSync(inFolder("kubectl-pi.mjs"), inFolder("kubectl-pi"))
}

const env = () => ({
  ...process.env,
  PATH: [folder, programs, dirname(process.execPath), process.env.PATH].join(":"),
})

export interface Said {
  readonly out: string
  readonly err: string
  readonly exitCode: number
}

/** Runs `kubectl pi …` to its end, whatever that is. */
export const pi = (...args: ReadonlyArray<string>): Promise<Said> =>
  new Promise((resolve) => {
    execFile(
      kubectlPath,
      ["pi", ...args],
      { env: env(), maxBuffer: 256 * 1024 * 1024 },
      (error, out, err) => {
        const code = error === null ? 0 : error.code
        resolve({ out, err, exitCode: typeof code === "number" ? code : -1 })
      },
    )
  })

/** One that runs until it is interrupted; gives its exit code then. */
export const startPi = (...args: ReadonlyArray<string>) => {
  // The plugin takes kubectl's place in its process.
  const child = spawn(kubectlPath, ["pi", ...args], { env: env(), stdio: ["ignore", "pipe", "inherit"] })
  const lines: Array<string> = []
  createInterface({ input: child.stdout }).on("line", (line) => lines.push(line))
  return {
    lines,
    interrupt: async (): Promise<number | null> => {
      const exited = once(child, "exit")
      child.kill("SIGINT")
      const [code] = await exited
      return typeof code === "number" ? code : null
    },
  }
}

/** A kubeconfig of a ServiceAccount of that namespace that may look at instances, ConfigMaps and Events there. */
export const developerOf = async (namespace: string): Promise<string> => {
  const here = ["--namespace", namespace]
  await kubectl(["create", "serviceaccount", "developer", ...here])
  await kubectl([
    ...["create", "role", "developer", ...here, "--verb=get,list"],
    "--resource=platforminstances.platform.di-framework.dev,configmaps,events",
  ])
  await kubectl([
    ...["create", "rolebinding", "developer", ...here, "--role=developer"],
    `--serviceaccount=${namespace}:developer`,
  ])
  const token = (await kubectl(["create", "token", "developer", ...here])).trim()
  const admin = parse(readFileSync(process.env.KUBECONFIG ?? "", "utf8"))
  const file = inFolder(`${namespace}.kubeconfig`)
  const users = admin.users.map(({ name }: { readonly name: string }) => ({ name, user: { token } }))
  writeFileSync(file, stringify({ ...admin, users }), { mode: 0o600 })
  return file
}
