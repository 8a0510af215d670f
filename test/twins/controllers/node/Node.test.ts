// The node: how its pods come up, fail and end.
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { cleanupJob } from "../../../../src/services/Cleanup/CleanupJob.ts"
import {
  Event,
  Job,
  Namespace,
  PersistentVolumeClaim,
  Pod,
} from "../../../../src/services/Kubernetes/Kinds.ts"
import { makeApiServer } from "../../kubernetes/Server.ts"
import { type Simulation, simulate, until } from "../../simulation/Simulation.ts"
import { runControllerManager } from "../ControllerManager.ts"
import { PersistentVolume } from "../Kinds.ts"
import { isReady, jobOf, podOf } from "../Shapes.ts"
import { cleanup, isCleanup } from "./Cleanup.ts"
import { runNode } from "./Node.ts"
import { type ContainerProgram, lasting } from "./Program.ts"
import type { NodeVolume } from "./Storage.ts"

const image = "example.com/app:1"
const ref = { namespace: "default", name: "pod" }

const makeNode = Effect.gen(function* () {
  const api = yield* makeApiServer({ name: "host" })
  yield* runControllerManager(api)
  const node = yield* runNode(api)
  const admin = api.as("admin", "kubectl")
  const pod = () => admin.get(Pod, ref)
  const status = () => {
    const found = pod()
    return found === undefined ? undefined : podOf(found).status
  }
  const container = () => status()?.containerStatuses?.[0]
  const create = (spec: object = {}) =>
    admin.create(Pod, {
      apiVersion: "v1",
      kind: "Pod",
      metadata: ref,
      spec: { containers: [{ name: "c", image }], ...spec },
    })
  const ready = () => {
    const found = pod()
    return found !== undefined && isReady(found)
  }
  const notes = () =>
    admin.list(Event, { namespace: "default" }).map(({ reason, note }) => `${reason}: ${note}`)
  return { api, node, admin, pod, status, container, create, ready, notes }
})

const test = (name: string, body: Effect.Effect<void, unknown, Simulation>) =>
  it(name, () => simulate(body, { seed: 1 }))
const scoped = <A>(use: (node: Effect.Success<typeof makeNode>) => Effect.Effect<A, never, Simulation>) =>
  Effect.scoped(Effect.flatMap(makeNode, use))

describe("a pod", () => {
  test(
    "is pending, then creating, then running and ready, with an address",
    scoped(({ api, create, ready, status }) =>
      Effect.gen(function* () {
        const seen: Array<string> = []
        api.subscribe(({ kind, object }) => {
          if (kind.plural !== "pods") return
          const state = podOf(object).status
          const [waiting] = state?.containerStatuses?.map((each) => each.state?.waiting?.reason) ?? []
          const line = [state?.phase, waiting, isReady(object) ? "ready" : ""].filter(Boolean).join(" ")
          if (seen.at(-1) !== line) seen.push(line)
        })
        create()
        yield* until(ready, "1 minute", "it is ready")
        assert.deepStrictEqual(seen, ["Pending", "Pending ContainerCreating", "Running ready"])
        assert.match(status()?.podIP ?? "", /^10\.244\./)
      }),
    ),
  )

  test(
    "ends within its grace: its program is asked, then killed",
    scoped(({ node, admin, create, ready, pod }) =>
      Effect.gen(function* () {
        const stubborn: ContainerProgram = ({ health }) => {
          health({ ready: true, alive: true })
          return Effect.never
        }
        node.images.register(image, stubborn)
        create({ terminationGracePeriodSeconds: 20 })
        yield* until(ready, "1 minute", "it is ready")
        admin.delete(Pod, ref)
        yield* Effect.sleep("19 seconds")
        assert.isDefined(pod())
        yield* Effect.sleep("3 seconds")
        assert.isUndefined(pod())
      }),
    ),
  )

  test(
    "deleted by force is gone at once, its containers a moment later",
    scoped(({ node, admin, create, ready, pod }) =>
      Effect.gen(function* () {
        let running = 0
        node.images.register(image, ({ health, stopping }) => {
          running += 1
          health({ ready: true, alive: true })
          return stopping.pipe(Effect.andThen(Effect.sync(() => (running -= 1))), Effect.as({ code: 0 }))
        })
        create()
        yield* until(ready, "1 minute", "it is ready")
        admin.delete(Pod, ref, { gracePeriodSeconds: 0 })
        assert.isUndefined(pod())
        assert.strictEqual(running, 1)
        yield* Effect.sleep("1 second")
        assert.strictEqual(running, 0)
      }),
    ),
  )

  test(
    "that crashes is started again at once, then after 10 s, 20, 40… up to 5 minutes",
    scoped(({ node, create, container }) =>
      Effect.gen(function* () {
        const starts: Array<number> = []
        node.images.register(image, ({ tasks }) =>
          Effect.sync(() => {
            starts.push(tasks.now())
            return { code: 1, log: "no luck" }
          }),
        )
        create()
        yield* Effect.sleep("20 minutes")
        const gaps = starts.slice(1).map((at, n) => (at - (starts[n] ?? 0)) / 1000)
        for (const [n, seconds] of [0, 10, 20, 40, 80, 160, 300].entries()) {
          assert.isAtLeast(gaps[n] ?? 0, seconds)
          assert.isAtMost(gaps[n] ?? 0, seconds * 1.5 + 2)
        }
        yield* until(() => container()?.state?.waiting !== undefined, "10 minutes", "it is said to wait")
        assert.strictEqual(container()?.state?.waiting?.reason, "CrashLoopBackOff")
        assert.match(
          container()?.state?.waiting?.message ?? "",
          /^back-off 5m0s restarting failed container=c pod=pod_default/,
        )
      }),
    ),
  )

  test(
    "whose image is in no registry says so, and starts when it is there",
    scoped(({ node, create, ready, container, notes }) =>
      Effect.gen(function* () {
        const put = node.images.remove("example.com/app")
        create()
        yield* until(
          () => container()?.state?.waiting?.reason === "ErrImagePull",
          "1 minute",
          "the pull failed",
        )
        yield* until(
          () => container()?.state?.waiting?.reason === "ImagePullBackOff",
          "1 minute",
          "it backs off",
        )
        assert.include(notes(), `BackOff: Back-off pulling image "${image}"`)
        assert.include(notes(), "Failed: Error: ErrImagePull")
        put()
        yield* until(ready, "6 minutes", "it is ready")
      }),
    ),
  )

  test(
    "that no node takes says why, and is placed when one does",
    scoped(({ node, create, ready, status, notes }) =>
      Effect.gen(function* () {
        node.cordon()
        create()
        yield* Effect.sleep("10 seconds")
        const condition = status()?.conditions?.find(({ type }) => type === "PodScheduled")
        assert.strictEqual(condition?.reason, "Unschedulable")
        assert.isTrue(
          notes().some((note) =>
            note.startsWith("FailedScheduling: 0/1 nodes are available: 1 node(s) were unschedulable."),
          ),
        )
        node.uncordon()
        yield* until(ready, "1 minute", "it is ready")
      }),
    ),
  )

  test(
    "waits for a Secret that it mounts",
    scoped(({ admin, create, ready, notes }) =>
      Effect.gen(function* () {
        create({
          containers: [{ name: "c", image, volumeMounts: [{ name: "s", mountPath: "/s" }] }],
          volumes: [
            { name: "s", configMap: { name: "late" } },
            { name: "unused", configMap: { name: "never" } },
          ],
        })
        yield* Effect.sleep("1 minute")
        assert.include(
          notes(),
          `FailedMount: MountVolume.SetUp failed for volume "s" : configmap "late" not found`,
        )
        const metadata = { name: "late", namespace: "default" }
        admin.create(
          { group: "", version: "v1", plural: "configmaps", kind: "ConfigMap", namespaced: true },
          { apiVersion: "v1", kind: "ConfigMap", metadata },
        )
        yield* until(ready, "3 minutes", "it is ready")
      }),
    ),
  )

  test(
    "after a power failure is the same pod with new containers, and its data is there",
    scoped(({ node, admin, create, ready, pod, container }) =>
      Effect.gen(function* () {
        const disks = new Set<NodeVolume | undefined>()
        node.images.register(image, ({ volume, health, stopping }) => {
          disks.add(volume("data"))
          health({ ready: true, alive: true })
          return Effect.as(stopping, { code: 0 })
        })
        admin.create(PersistentVolumeClaim, {
          apiVersion: "v1",
          kind: "PersistentVolumeClaim",
          metadata: { name: "data", namespace: "default" },
          spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } },
        })
        create({ volumes: [{ name: "data", persistentVolumeClaim: { claimName: "data" } }] })
        yield* until(ready, "1 minute", "it is ready")
        const uid = pod()?.metadata.uid
        node.powerOff()
        yield* Effect.sleep("1 hour")
        assert.strictEqual(container()?.restartCount, 0)
        node.powerOn()
        yield* until(() => ready() && container()?.restartCount === 1, "2 minutes", "it is ready again")
        assert.strictEqual(pod()?.metadata.uid, uid)
        assert.strictEqual(disks.size, 1)
        admin.delete(Pod, ref)
        admin.delete(PersistentVolumeClaim, { namespace: "default", name: "data" })
        yield* until(() => admin.list(PersistentVolume).length === 0, "2 minutes", "the volume is gone")
      }),
    ),
  )

  test(
    "that is to end by itself does",
    scoped(({ node, create, status }) =>
      Effect.gen(function* () {
        node.images.register(image, lasting(5_000, { code: 3 }))
        create({ restartPolicy: "Never" })
        yield* until(() => status()?.phase === "Failed", "1 minute", "it has failed")
        assert.strictEqual(status()?.containerStatuses?.[0]?.state?.terminated?.exitCode, 3)
      }),
    ),
  )
})

describe("the cleanup Job", () => {
  const key = { namespace: "team", name: "one" }
  const base = "/var/lib/instances"
  const manifest = cleanupJob({
    image: "operator:1",
    cleanupNamespace: "cleanup",
    base,
    currentBase: base,
    key,
    uid: "uid-1",
  })
  const jobRef = { namespace: "cleanup", name: manifest.metadata.name }

  const runJob = (prepare: (node: Effect.Success<typeof makeNode>) => void) =>
    Effect.scoped(
      Effect.gen(function* () {
        const host = yield* makeNode
        host.node.images.register((_, container) => isCleanup(container.command), cleanup)
        host.admin.create(Namespace, { apiVersion: "v1", kind: "Namespace", metadata: { name: "cleanup" } })
        prepare(host)
        host.admin.create(Job, manifest)
        const conditions = () => {
          const job = host.admin.get(Job, jobRef)
          return job === undefined ? [] : (jobOf(job).status?.conditions ?? [])
        }
        const finished = () => conditions().some(({ type }) => type === "Complete" || type === "Failed")
        yield* until(finished, "2 minutes", "the Job has ended")
        const [pod] = host.admin.list(Pod, { namespace: "cleanup" })
        const terminated =
          pod === undefined ? undefined : podOf(pod).status?.containerStatuses?.[0]?.state?.terminated
        return { files: host.node.files, last: conditions().at(-1), terminated }
      }),
    )

  it("removes the folder, and nothing beside it", () =>
    simulate(
      Effect.gen(function* () {
        const { files, last, terminated } = yield* runJob(({ node }) => {
          node.files.put(`${base}/team/one/data/file`, { type: "file" })
          node.files.put(`${base}/team/two/file`, { type: "file" })
        })
        assert.strictEqual(last?.type, "Complete")
        assert.strictEqual(terminated?.exitCode, 0)
        assert.isUndefined(files.get(`${base}/team/one`))
        assert.isDefined(files.get(`${base}/team/two/file`))
      }),
      { seed: 1 },
    ))

  it("says what it could not remove", () =>
    simulate(
      Effect.gen(function* () {
        const { last, terminated } = yield* runJob(({ node }) => {
          node.files.put(`${base}/team/one/file`, { type: "file" })
          node.files.refuse(`${base}/team/one/file`, "EPERM")
        })
        assert.strictEqual(last?.reason, "BackoffLimitExceeded")
        assert.strictEqual(terminated?.message, `cannot remove ${base}/team/one: file: EPERM\n`)
      }),
      { seed: 2 },
    ))

  it("does not follow a link, and stays out of another file system", () =>
    simulate(
      Effect.gen(function* () {
        const linked = yield* runJob(({ node }) =>
          node.files.put(`${base}/team/one`, { type: "link", to: "/etc" }),
        )
        assert.strictEqual(
          linked.terminated?.message,
          `cannot remove ${base}/team/one: one is a symbolic link\n`,
        )
        const mounted = yield* runJob(({ node }) => {
          node.files.mount(`${base}/team/one/disk`)
        })
        assert.strictEqual(
          mounted.terminated?.message,
          `removed nothing: ${base}/team/one/disk is a mount point on the node: unmount it first\n`,
        )
      }),
      { seed: 3 },
    ))

  it("finds its folder where the base is a disk of its own, and follows no link from it to one of the same name", () =>
    simulate(
      Effect.gen(function* () {
        const disk = yield* runJob(({ node }) => {
          node.files.mount(base)
          node.files.put(`${base}/team/one/file`, { type: "file" })
        })
        assert.strictEqual(disk.terminated?.exitCode, 0)
        assert.isUndefined(disk.files.get(`${base}/team/one`))
        const linked = yield* runJob(({ node }) => {
          node.files.put("/elsewhere/team/one/file", { type: "file" })
          node.files.put(`${base}/team`, { type: "link", to: "/elsewhere/team" })
        })
        assert.strictEqual(
          linked.terminated?.message,
          `removed nothing: ${base}/team leads to /elsewhere/team on the node\n`,
        )
        assert.isDefined(linked.files.get("/elsewhere/team/one/file"))
      }),
      { seed: 4 },
    ))
})
