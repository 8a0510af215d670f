// `kubectl pi` as its user has it, on a real API server: kubectl finds it, the server answers, RBAC decides. The Events and
// the history are written by the operator's own services.
import { execFile, execFileSync } from "node:child_process"
import { mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import path from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Layer, Option } from "effect"
import { Events } from "../../src/services/Events/Events.ts"
import * as EventsLive from "../../src/services/Events/EventsLive.ts"
import { History } from "../../src/services/History/History.ts"
import * as HistoryLive from "../../src/services/History/HistoryLive.ts"
import { PlatformInstance } from "../../src/services/Kubernetes/Kinds.ts"
import { Kubernetes } from "../../src/services/Kubernetes/Kubernetes.ts"
import { layerFrom } from "../../src/services/Kubernetes/KubernetesLive.ts"
import { makeStateStore } from "../actors/support/Engine.ts"
import { load } from "../services/Kubernetes/FakeApi.ts"
import { programPath, startApiServer } from "../services/Pulumi/apiServer.ts"

const repository = path.join(import.meta.dirname, "../..")

interface Said {
  readonly out: string
  readonly err: string
  readonly exitCode: number
}

const scene = Effect.gen(function* () {
  const folder = yield* Effect.acquireRelease(
    Effect.sync(() => mkdtempSync(path.join(tmpdir(), "pi-real-"))),
    (made) => Effect.sync(() => rmSync(made, { recursive: true, force: true })),
  )
  execFileSync(process.execPath, ["tools/bundle.ts", folder, "kubectl-pi"], { cwd: repository })
  renameSync(`${folder}/kubectl-pi.mjs`, `${folder}/kubectl-pi`)
  const { kubeconfig, kubectl } = yield* startApiServer(folder)
  const programs = path.dirname(programPath("kubectl") ?? assert.fail("there is no kubectl"))
  const pi = (args: ReadonlyArray<string>, as = `${folder}/api-server/kubeconfig`) =>
    Effect.callback<Said>((resume) => {
      const env = {
        ...process.env,
        KUBECONFIG: as,
        PATH: [folder, programs, path.dirname(process.execPath), process.env.PATH].join(":"),
      }
      execFile(path.join(programs, "kubectl"), ["pi", ...args], { env }, (error, out, err) => {
        const code = error === null ? 0 : error.code
        resume(Effect.succeed({ out, err, exitCode: typeof code === "number" ? code : -1 }))
      })
    })
  const services = yield* Layer.build(
    Layer.mergeAll(EventsLive.layer({ reportingInstance: "operator-0" }), HistoryLive.layer).pipe(
      Layer.provideMerge(layerFrom(load(kubeconfig))),
      Layer.provideMerge(makeStateStore().layer),
    ),
  )
  /** A ServiceAccount that may look at instances, ConfigMaps and Events of its namespace. */
  const developerOf = Effect.fnUntraced(function* (namespace: string) {
    const here = `--namespace=${namespace}`
    yield* kubectl("create", "namespace", namespace)
    yield* kubectl("create", "serviceaccount", "developer", here)
    yield* kubectl(
      ...["create", "role", "developer", here, "--verb=get,list"],
      "--resource=platforminstances.platform.di-framework.dev,configmaps,events",
    )
    yield* kubectl(
      ...["create", "rolebinding", "developer", here, "--role=developer"],
      `--serviceaccount=${namespace}:developer`,
    )
    const token = yield* kubectl("create", "token", "developer", here)
    const file = `${folder}/${namespace}.kubeconfig`
    const admin = JSON.parse(readFileSync(`${folder}/api-server/kubeconfig`, "utf8"))
    writeFileSync(file, JSON.stringify({ ...admin, users: [{ name: "u", user: { token } }] }))
    return file
  })
  yield* kubectl("apply", "--server-side", "-f", path.join(repository, "crd/platforminstances.yaml"))
  yield* kubectl("wait", "--for=condition=Established", "crd/platforminstances.platform.di-framework.dev")
  return { folder, kubectl, pi, developerOf, services }
})

describe("kubectl pi", () => {
  it.live(
    "asks a real API server for what it tells, and is given what its user may see",
    () =>
      Effect.gen(function* () {
        const { folder, kubectl, pi, developerOf, services } = yield* scene
        const developer = yield* developerOf("team-a")
        const stranger = yield* developerOf("team-b")
        const manifest = `${folder}/one.json`
        writeFileSync(
          manifest,
          JSON.stringify({
            apiVersion: "platform.di-framework.dev/v1alpha1",
            kind: "PlatformInstance",
            metadata: { name: "one", namespace: "team-a" },
            spec: { version: "6.0.22", target: { type: "vcluster" } },
          }),
        )
        yield* kubectl("apply", "-f", manifest)
        const here = ["one", "-n", "team-a"]
        const seen = yield* pi(["status", ...here, "-o", "json"])
        assert.strictEqual(seen.exitCode, 0, seen.err)
        assert.strictEqual(JSON.parse(seen.out).waitingFor.reason, "Pending")
        assert.strictEqual((yield* pi(["status", ...here, "--exit-code"])).exitCode, 3)

        const kubernetes = Context.get(services, Kubernetes)
        const found = yield* kubernetes.get(PlatformInstance, { namespace: "team-a", name: "one" })
        const owner = Option.getOrThrow(found)
        const { emit } = Context.get(services, Events)
        const failed = {
          type: "Warning",
          reason: "InstallFailed",
          action: "Install",
          note: "npm is away",
        } as const
        for (const event of [failed, failed, { ...failed, note: "npm is back" }]) yield* emit(owner, event)
        const events = JSON.parse((yield* pi(["events", ...here, "-o", "json"])).out).events
        assert.deepStrictEqual(
          events
            .map(({ reason, message, count }: Record<string, unknown>) => [reason, message, count])
            .toSorted(),
          [
            ["InstallFailed", "npm is away", 2],
            ["InstallFailed", "npm is back", 1],
          ],
        )

        const history = Context.get(services, History)
        assert.include((yield* pi(["history", ...here])).err, "no operation of this instance has ended yet")
        const key = { namespace: "team-a", name: "one" }
        for (const why of ["FirstInstall", "Retry"]) {
          yield* history.began(key, { what: "install", why, startedAt: "2026-01-01T00:00:00.000Z" })
          yield* history.ended(key, {
            outcome: "succeeded",
            endedAt: "2026-01-01T00:01:00.000Z",
            changed: ["a"],
          })
          yield* history.show(owner)
        }
        for (const as of [undefined, developer]) {
          const said = yield* pi(["history", ...here, "-o", "json"], as)
          assert.strictEqual(said.exitCode, 0, said.err)
          assert.lengthOf(JSON.parse(said.out).operations, 2)
        }
        for (const command of ["status", "history", "events", "trace"]) {
          const said = yield* pi([command, ...here], stranger)
          assert.strictEqual(said.exitCode, 1, command)
          assert.match(said.err, /forbidden[\s\S]*Ask whoever runs the cluster/i)
          assert.strictEqual(said.out, "")
        }

        const retried = yield* pi(["retry", ...here])
        assert.strictEqual(retried.exitCode, 0, retried.err)
        const path = "jsonpath={.metadata.annotations.platform\\.di-framework\\.dev/reconcile-requested-at}"
        assert.match(yield* kubectl("get", "pi", "one", "--namespace=team-a", "-o", path), /^\d{4}-\d{2}-/)
        assert.strictEqual((yield* pi(["retry", ...here], developer)).exitCode, 1)
        const asDeveloper = ["--as", "system:serviceaccount:team-a:developer"]
        assert.strictEqual((yield* pi(["status", ...here, ...asDeveloper])).exitCode, 0)
        assert.match((yield* pi(["retry", ...here, ...asDeveloper])).err, /forbidden/i)
        const asMaster = ["--as", "somebody", "--as-group", "a", "--as-group", "system:masters"]
        assert.strictEqual((yield* pi(["retry", ...here, ...asMaster])).exitCode, 0)

        const missing = yield* pi(["status", "two", "-n", "team-a"])
        assert.strictEqual(missing.exitCode, 1)
        assert.match(missing.err, /not found[\s\S]*kubectl get pi --all-namespaces/)
        assert.include(
          (yield* pi(["status", ...here, "--context", "nope"])).err,
          "--context and --kubeconfig",
        )
        const nowhere = yield* pi(["status", ...here, "--kubeconfig", `${folder}/none`])
        assert.match(nowhere.err, /--kubeconfig \S+\/none cannot be used: .*\nName another file/)
        assert.include((yield* pi(["kubeconfig", ...here, "--stdout"])).err, "has no kubeconfig yet")
        yield* kubectl("delete", "crd", "platforminstances.platform.di-framework.dev", "--wait=false")
      }).pipe(Effect.scoped),
    600_000,
  )
})
