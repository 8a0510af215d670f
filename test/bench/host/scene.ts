// One operator on an API server of its own, with the bench's tools beside them: ours or its peer.
import { type ChildProcess, execFileSync, spawn, spawnSync } from "node:child_process"
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { createServer, connect as dial } from "node:net"
import path from "node:path"
import { Data, Effect, Option, Redacted, Schedule, Schema } from "effect"
import { findCondition } from "../../../src/schema/Conditions.ts"
import { PlatformInstanceStatus } from "../../../src/schema/PlatformStatus.ts"
import * as Kinds from "../../../src/services/Kubernetes/Kinds.ts"
import type { KubeObject } from "../../../src/services/Kubernetes/Kubernetes.ts"
import { connect } from "../../../src/services/Kubernetes/KubernetesLive.ts"
import { freePort, startApiServer, stopped } from "../../services/Pulumi/apiServer.ts"
import { temporary } from "../../services/Pulumi/harness.ts"
import { cpuSeconds } from "../usage.ts"
import { auditPolicy, auditReader } from "./audit.ts"

export class BenchError extends Data.TaggedError("BenchError")<{ readonly message: string }> {}

const repository = path.resolve(import.meta.dirname, "../../..")
export type Side = "ours" | "peer"

const compiled = (folder: string) => `${folder}/compiled`

/** Builds the two operators into a folder. */
export const buildBoth = (folder: string): void => {
  execFileSync(process.execPath, ["tools/bundle.ts", folder, "operator=test/bench/host/operator.ts"], {
    cwd: repository,
    stdio: ["ignore", "ignore", "inherit"],
  })
  // As in the image; without its flags it ends at once, and leaves what was compiled until then.
  spawnSync(process.execPath, [`${folder}/operator.mjs`, "--none"], {
    stdio: "ignore",
    env: { ...process.env, NODE_COMPILE_CACHE: compiled(folder) },
  })
  if (!existsSync(compiled(folder))) throw new Error("nothing was compiled")
  execFileSync("go", ["build", "-trimpath", "-ldflags", "-s -w", "-o", `${folder}/peer`, "."], {
    cwd: path.join(repository, "test/bench/peer"),
    env: { ...process.env, CGO_ENABLED: "0" },
    stdio: ["ignore", "ignore", "inherit"],
  })
}

/** BENCH_LOG: what the operators say is seen. */
const loud = process.env.BENCH_LOG !== undefined

export interface SceneOptions {
  /** With the two operators. */
  readonly programs: string
  readonly side: Side
  /** What tools take, in milliseconds. */
  readonly helm?: number
  readonly start?: number
  readonly up?: number
  /** Instances that each operator works at, at once. */
  readonly slots?: number
  /** Seconds. */
  readonly targetPoll?: number
}

const firstLine = (child: ChildProcess) =>
  Effect.callback<string, BenchError>((resume) => {
    child.stdout?.once("data", (chunk: Buffer) => resume(Effect.succeed(chunk.toString().trim())))
    child.once("exit", (code) =>
      resume(Effect.fail(new BenchError({ message: `the tools ended with ${code}` }))),
    )
  })

/** Forwards to a port and counts what goes either way. */
const countingProxy = (port: number) =>
  Effect.acquireRelease(
    Effect.callback<{ readonly port: number; readonly bytes: () => number; readonly close: () => void }>(
      (resume) => {
        let bytes = 0
        const server = createServer((near) => {
          const far = dial(port, "127.0.0.1")
          for (const [from, to] of [
            [near, far],
            [far, near],
          ] as const) {
            from.on("data", (chunk) => {
              bytes += chunk.length
              to.write(chunk)
            })
            from.on("close", () => to.destroy())
            from.on("error", () => to.destroy())
          }
        })
        server.listen(0, "127.0.0.1", () => {
          const address = server.address()
          const own = typeof address === "object" && address !== null ? address.port : 0
          resume(Effect.succeed({ port: own, bytes: () => bytes, close: () => void server.close() }))
        })
      },
    ),
    ({ close }) => Effect.sync(close),
  )

/** Of a process, in MiB, as /proc/PID/status has it. */
const memoryOf = (pid: number, field: "VmRSS" | "VmHWM"): number =>
  Number(
    new RegExp(`^${field}:\\s+(\\d+)`, "m").exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1] ?? 0,
  ) / 1024

export const makeScene = Effect.fnUntraced(function* (options: SceneOptions) {
  const { side, programs, helm = 50, start = 100, up = 200, slots = 10, targetPoll = 10 } = options
  const root = yield* temporary
  const audit = `${root}/audit.log`
  writeFileSync(`${root}/policy.json`, auditPolicy([side, "bench"]))
  writeFileSync(audit, "")
  const api = yield* startApiServer(root, {
    users: [side, "tools", "bench"],
    flags: [
      `--audit-policy-file=${root}/policy.json`,
      `--audit-log-path=${audit}`,
      "--audit-log-mode=blocking",
      // Who is slowed down, and by how much, is not what is compared.
      "--max-requests-inflight=2000",
      "--max-mutating-requests-inflight=1000",
    ],
  })
  const crd = path.join(repository, "crd/platforminstances.yaml")
  yield* api.kubectl("apply", "--server-side", "-f", crd)
  const bench = yield* connect(Redacted.make(api.kubeconfigOf("bench")), { timeout: 120_000 })
  yield* bench
    .list(Kinds.PlatformInstance)
    .pipe(Effect.retry({ schedule: Schedule.spaced("200 millis"), times: 300 }))
  for (const name of ["instances", "platform-operator"]) {
    yield* bench.create(Kinds.Namespace, { apiVersion: "v1", kind: "Namespace", metadata: { name } })
  }
  writeFileSync(`${root}/tools.kubeconfig`, api.kubeconfigOf("tools"), { mode: 0o600 })
  const tools = yield* Effect.acquireRelease(
    Effect.sync(() =>
      spawn(
        process.execPath,
        [
          path.join(import.meta.dirname, "tools.ts"),
          `--kubeconfig=${root}/tools.kubeconfig`,
          `--helm=${helm}`,
          `--start=${start}`,
          `--up=${up}`,
        ],
        { stdio: ["ignore", "pipe", "inherit"] },
      ),
    ),
    stopped,
  )
  const toolsAddress = yield* firstLine(tools)
  const server = new URL(JSON.parse(api.kubeconfig).clusters[0].cluster.server)
  const proxy = yield* countingProxy(Number(server.port))
  mkdirSync(`${root}/state`)
  writeFileSync(`${root}/direct.kubeconfig`, api.kubeconfigOf(side), { mode: 0o600 })
  writeFileSync(`${root}/counted.kubeconfig`, api.kubeconfigOf(side, `https://127.0.0.1:${proxy.port}`), {
    mode: 0o600,
  })

  /** Starts the operator; ends with the scope. `counted`: its bytes are, and its requests take a longer way. */
  const startOperator = Effect.fnUntraced(function* (how: { readonly counted?: boolean } = {}) {
    const port = yield* freePort
    const began = performance.now()
    const [program, args] =
      side === "ours"
        ? [
            process.execPath,
            [
              `${programs}/operator.mjs`,
              `--state=${root}/state`,
              `--slots=${slots}`,
              `--target-poll=${targetPoll}`,
              `--probe-port=${port}`,
            ],
          ]
        : [
            `${programs}/peer`,
            [`--workers=${slots}`, `--target-poll=${targetPoll}s`, `--probe-address=127.0.0.1:${port}`],
          ]
    const child = yield* Effect.acquireRelease(
      Effect.sync(() =>
        spawn(program, [...args, `--tools=${toolsAddress}`], {
          stdio: ["ignore", "pipe", loud ? "inherit" : "ignore"],
          env: {
            ...process.env,
            KUBECONFIG: `${root}/${how.counted ? "counted" : "direct"}.kubeconfig`,
            NODE_COMPILE_CACHE: compiled(programs),
          },
        }),
      ),
      stopped,
    )
    const pid = child.pid ?? 0
    let said = ""
    child.stdout?.on("data", (chunk: Buffer) => {
      said = (said + chunk.toString()).slice(-4096)
      if (loud) process.stderr.write(chunk)
    })
    const readyz = Effect.promise(async () => {
      while (true) {
        if (child.exitCode !== null) throw new Error(`${side} ended with ${child.exitCode}: ${said}`)
        const answer = await fetch(`http://127.0.0.1:${port}/readyz`).catch(() => undefined)
        if (answer?.status === 200) return
        await new Promise((resolve) => setTimeout(resolve, 5))
      }
    })
    yield* readyz
    const secondsToReady = (performance.now() - began) / 1000
    return {
      secondsToReady,
      began,
      stop: stopped(child),
      rss: () => memoryOf(pid, "VmRSS"),
      peakRss: () => memoryOf(pid, "VmHWM"),
      cpu: () => cpuSeconds(String(pid)).own,
      /** Of ours: what its event loop was late by since the last time, in milliseconds. */
      loopDelay: Effect.promise(async () => {
        said = ""
        child.kill("SIGUSR2")
        while (!said.includes("delay")) await new Promise((resolve) => setTimeout(resolve, 5))
        return JSON.parse(said).delay as { readonly p50: number; readonly p99: number; readonly max: number }
      }),
    }
  })

  const create = (name: string) =>
    bench.create(Kinds.PlatformInstance, {
      apiVersion: "platform.di-framework.dev/v1alpha1",
      kind: "PlatformInstance",
      metadata: { name, namespace: "instances" },
      spec: { version: "6.0.22", target: { type: "vcluster" } },
    })
  const readyNames = Effect.map(bench.list(Kinds.PlatformInstance), (all) =>
    all.filter(isReady).map(({ metadata }) => metadata.name),
  )
  return {
    side,
    bench,
    startOperator,
    bytes: proxy.bytes,
    audit: auditReader(audit),
    create,
    readyNames,
    /** Until so many instances are Ready for their newest generation. */
    awaitReady: (count: number) =>
      readyNames.pipe(
        Effect.flatMap(({ length }) =>
          length >= count
            ? Effect.void
            : Effect.fail(new BenchError({ message: `${length} of ${count} are Ready` })),
        ),
        Effect.retry({ schedule: Schedule.spaced(count > 200 ? "1 second" : "50 millis"), times: 36_000 }),
      ),
    fail: (on: boolean) => Effect.promise(() => fetch(`${toolsAddress}/fail?on=${on}`, { method: "POST" })),
    fallSilent: api.fallSilent,
    speak: api.speak,
  }
})
export type Scene = Effect.Success<ReturnType<typeof makeScene>>

const decodeStatus = Schema.decodeUnknownOption(PlatformInstanceStatus)

/** Of its newest generation. */
const isReady = ({ metadata, status }: KubeObject): boolean =>
  Option.exists(decodeStatus(status), ({ conditions }) => {
    const ready = findCondition(conditions, "Ready")
    return ready?.status === "True" && ready.observedGeneration === metadata.generation
  })
