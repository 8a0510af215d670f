// A real API server on loopback: etcd and kube-apiserver, no controller and no node. Objects are stored and admitted
// for real; nothing runs. Both are children of the test and end with its scope.
import { type ChildProcess, spawn } from "node:child_process"
import { generateKeyPairSync } from "node:crypto"
import { existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs"
import { createServer } from "node:net"
import { homedir } from "node:os"
import path from "node:path"
import { Data, Effect, Schedule } from "effect"

const cache = process.env.PLATFORM_OPERATOR_CACHE ?? path.join(homedir(), ".cache/platform-operator")

/** A program of the cache, of whichever build has it; undefined when it was not built yet. */
export const programPath = (name: string): string | undefined => {
  const programs = path.join(cache, "programs")
  return existsSync(programs)
    ? readdirSync(programs)
        .filter((folder) => !folder.startsWith("."))
        .map((folder) => path.join(programs, folder, name))
        .find((file) => existsSync(file))
    : undefined
}

/** Of 127.0.0.1, and nobody's just now. */
export const freePort = Effect.callback<number>((resume) => {
  const server = createServer()
  server.listen(0, "127.0.0.1", () => {
    const address = server.address()
    const port = typeof address === "object" && address !== null ? address.port : 0
    server.close(() => resume(Effect.succeed(port)))
  })
})

/** Kills it, and ends when it has ended. */
export const stopped = (child: ChildProcess) =>
  Effect.callback<void>((resume) => {
    if (child.exitCode !== null || child.signalCode !== null) return resume(Effect.void)
    child.once("exit", () => resume(Effect.void))
    child.kill("SIGKILL")
  })

const start = (program: string, args: ReadonlyArray<string>) =>
  Effect.acquireRelease(
    Effect.sync(() => spawn(programPath(program) ?? program, args, { stdio: "ignore" })),
    stopped,
  )

export class KubectlError extends Data.TaggedError("KubectlError")<{ readonly message: string }> {}

export interface ApiServerOptions {
  /** Administrators beside `admin`, each with a kubeconfig of its own. */
  readonly users?: ReadonlyArray<string>
  /** Flags of kube-apiserver beside its own. */
  readonly flags?: ReadonlyArray<string>
}

/** Gives a kubeconfig of an administrator, once the server answers. */
export const startApiServer = Effect.fnUntraced(function* (
  root: string,
  { users = [], flags = [] }: ApiServerOptions = {},
) {
  const folder = path.join(root, "api-server")
  mkdirSync(folder)
  const [client, peer, secure] = [yield* freePort, yield* freePort, yield* freePort]
  const { privateKey } = generateKeyPairSync("rsa", {
    modulusLength: 2048,
    publicKeyEncoding: { type: "spki", format: "pem" },
    privateKeyEncoding: { type: "pkcs1", format: "pem" },
  })
  writeFileSync(`${folder}/sa.key`, privateKey)
  const tokenOf = (user: string) => `planted-${user}-token`
  const tokens = ["admin", ...users].map((user) => `${tokenOf(user)},${user},${user},system:masters\n`)
  writeFileSync(`${folder}/tokens.csv`, tokens.join(""))
  yield* start("etcd", [
    `--data-dir=${folder}/etcd`,
    `--listen-client-urls=http://127.0.0.1:${client}`,
    `--advertise-client-urls=http://127.0.0.1:${client}`,
    `--listen-peer-urls=http://127.0.0.1:${peer}`,
    "--unsafe-no-fsync",
  ])
  const server = yield* start("kube-apiserver", [
    `--etcd-servers=http://127.0.0.1:${client}`,
    `--secure-port=${secure}`,
    "--bind-address=127.0.0.1",
    `--cert-dir=${folder}/certs`,
    `--token-auth-file=${folder}/tokens.csv`,
    "--authorization-mode=RBAC",
    "--service-cluster-ip-range=10.0.0.0/24",
    "--service-account-issuer=https://test",
    `--service-account-key-file=${folder}/sa.key`,
    `--service-account-signing-key-file=${folder}/sa.key`,
    "--disable-admission-plugins=ServiceAccount",
    ...flags,
  ])
  const address = `https://127.0.0.1:${secure}`
  const kubeconfigOf = (user: string, server = address) =>
    JSON.stringify({
      apiVersion: "v1",
      kind: "Config",
      clusters: [{ name: "c", cluster: { server, "insecure-skip-tls-verify": true } }],
      users: [{ name: "u", user: { token: tokenOf(user) } }],
      contexts: [{ name: "c", context: { cluster: "c", user: "u" } }],
      "current-context": "c",
    })
  const kubeconfig = kubeconfigOf("admin")
  writeFileSync(`${folder}/kubeconfig`, kubeconfig)
  const kubectl = (...args: ReadonlyArray<string>) =>
    Effect.callback<string, KubectlError>((resume) => {
      const child = spawn(programPath("kubectl") ?? "kubectl", [`--kubeconfig=${folder}/kubeconfig`, ...args])
      let [out, err] = ["", ""]
      child.stdout.on("data", (chunk) => {
        out += chunk
      })
      child.stderr.on("data", (chunk) => {
        err += chunk
      })
      child.on("close", (code) =>
        resume(
          code === 0
            ? Effect.succeed(out.trim())
            : Effect.fail(new KubectlError({ message: `kubectl ${args.join(" ")}: ${err}` })),
        ),
      )
    })
  yield* kubectl("get", "namespace", "kube-system").pipe(
    Effect.retry({ schedule: Schedule.spaced("200 millis"), times: 300 }),
  )
  return {
    kubeconfig,
    /** Of one of the users; `server`: another way to the same server. */
    kubeconfigOf,
    kubectl,
    /** Takes connections, and says nothing any more, until `speak`. */
    fallSilent: Effect.sync(() => server.kill("SIGSTOP")),
    speak: Effect.sync(() => server.kill("SIGCONT")),
  }
})
