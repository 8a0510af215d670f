// `kubectl pi rotate-passphrase` over a namespace that remembers what is written, interrupted at any of its calls.
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Option, Schema } from "effect"
import { TestClock } from "effect/testing"
import { ANNOTATION_REPLICAS, Deployment, operatorOf } from "../../src/cli/RotationObjects.ts"
import { type Answers, ctrlC, runPi } from "./FakeKubectl.ts"

const b64 = (text: string) => Buffer.from(text).toString("base64")
const text = (encoded: string | undefined) => Buffer.from(encoded ?? "", "base64").toString("utf8")

const podSpec = {
  serviceAccountName: "platform-operator",
  securityContext: { runAsUser: 1000, fsGroup: 1000 },
  nodeSelector: { disk: "ssd" },
  containers: [
    {
      name: "operator",
      image: "registry.example/platform-operator@sha256:abc",
      imagePullPolicy: "IfNotPresent",
      args: ["--state-dir=/var/lib/platform-operator", "--passphrase-file=/etc/p/passphrase"],
      env: [{ name: "OPERATOR_IMAGE", value: "x" }],
      securityContext: { readOnlyRootFilesystem: true },
      volumeMounts: [
        { name: "tmp", mountPath: "/tmp" },
        { name: "state", mountPath: "/var/lib/platform-operator" },
        { name: "passphrase", mountPath: "/etc/p", readOnly: true },
      ],
    },
  ],
  volumes: [
    { name: "state", persistentVolumeClaim: { claimName: "own-claim" } },
    {
      name: "passphrase",
      secret: { secretName: "own-secret", items: [{ key: "word", path: "passphrase" }] },
    },
    { name: "tmp", emptyDir: {} },
  ],
}

interface Stored {
  readonly metadata: { readonly resourceVersion?: string }
  readonly data: Readonly<Record<string, string>>
}
const Written = Schema.fromJsonString(
  Schema.Struct({
    kind: Schema.String,
    metadata: Schema.Struct({ name: Schema.String, resourceVersion: Schema.optionalKey(Schema.String) }),
    data: Schema.optionalKey(Schema.Record(Schema.String, Schema.String)),
  }),
)
const Patch = Schema.fromJsonString(
  Schema.Struct({
    metadata: Schema.optionalKey(
      Schema.Struct({ annotations: Schema.Record(Schema.String, Schema.NullOr(Schema.String)) }),
    ),
    spec: Schema.Struct({ replicas: Schema.Finite }),
  }),
)

/** The operator's namespace; a Job does at once what it is for. `state`: which passphrase opens the state. */
const makeNamespace = (job: "succeeds" | "untouched" | "fails" | "old image" = "succeeds") => {
  const secrets = new Map<string, Stored>([
    ["own-secret", { metadata: { resourceVersion: "1" }, data: { word: b64("before"), other: b64("kept") } }],
  ])
  let version = 1
  let replicas = 2
  let annotations: Readonly<Record<string, string>> = {}
  let jobThere: unknown
  let hasPods = true
  const world = { state: "before", pending: job, interrupt: Number.POSITIVE_INFINITY, after: false, calls: 0 }
  const deployment = () => ({
    metadata: { name: "rel-platform-operator", annotations },
    spec: {
      replicas,
      selector: {
        matchLabels: { "app.kubernetes.io/name": "platform-operator", "app.kubernetes.io/instance": "rel" },
      },
      template: { spec: podSpec },
    },
  })
  const write = (line: string, input = "") => {
    const object = Schema.decodeSync(Written)(input)
    if (object.kind === "Job") {
      jobThere = JSON.parse(input)
      // What nobody may be at work beside.
      assert.strictEqual(replicas, 0)
      const from = [text(secrets.get("own-secret")?.data.word)]
      const rotation = secrets.get("own-secret-rotation")?.data
      if (input.includes("/rotated")) from.push(text(rotation?.rotated))
      const to = text(rotation?.next)
      assert.isTrue([...from, to].includes(world.state), `${world.state} is none of ${from}, ${to}`)
      if (world.pending === "succeeds") world.state = to
      return `job.batch/${object.metadata.name} created`
    }
    const { name, resourceVersion } = object.metadata
    const there = secrets.get(name)
    if (line.startsWith("create") && there !== undefined) return new Error("Error (AlreadyExists)")
    if (line.startsWith("replace") && there?.metadata.resourceVersion !== resourceVersion)
      return new Error("Error (Conflict)")
    version += 1
    secrets.set(name, {
      metadata: { ...object.metadata, resourceVersion: String(version) },
      data: object.data ?? {},
    })
    return `secret/${name} written`
  }
  const failed = () => world.pending !== "succeeds"
  const kubectl = (line: string, input?: string): unknown => {
    const secret = /^get secrets (\S+)/.exec(line)?.[1]
    if (secret !== undefined) {
      const found = secrets.get(secret)
      return found === undefined ? "" : { ...found, metadata: { name: secret, ...found.metadata } }
    }
    if (line.startsWith("get deployments")) return { items: [deployment()] }
    if (line.startsWith("get pods --selector=batch")) {
      const exitCode = { succeeds: 0, untouched: 10, fails: 1, "old image": 1 }[world.pending]
      return {
        items: [
          {
            metadata: { name: "job-pod" },
            status: { containerStatuses: [{ state: { terminated: { exitCode } } }] },
          },
        ],
      }
    }
    if (line.startsWith("get pods")) {
      const items = hasPods ? [{ metadata: { name: "operator-pod" } }] : []
      // It ends after it was looked at once.
      if (replicas === 0) hasPods = false
      return { items }
    }
    if (line.startsWith("get jobs")) {
      if (jobThere === undefined) return ""
      return {
        status: {
          conditions: [{ type: failed() ? "Failed" : "Complete", status: "True", message: "it ended" }],
        },
      }
    }
    if (line.startsWith("logs")) {
      return world.pending === "old image"
        ? "Error: Cannot find module '/opt/platform-operator/rotate-passphrase.mjs'"
        : `2 instances: ${world.pending}`
    }
    if (line.startsWith("delete job")) {
      jobThere = undefined
      return ""
    }
    if (line.startsWith("patch deployment")) {
      const patch = Schema.decodeSync(Patch)(/--patch=(\S+)/.exec(line)?.[1] ?? "")
      replicas = patch.spec.replicas
      if (replicas > 0) hasPods = true
      const merged = Object.entries({ ...annotations, ...patch.metadata?.annotations })
      annotations = Object.fromEntries(
        merged.flatMap(([name, value]) => (value === null ? [] : [[name, value]])),
      )
      return "patched"
    }
    if (/^(create|replace) --filename=-/.test(line)) return write(line, input)
    return new Error(`nobody answers: ${line}`)
  }
  const answers: Answers = {
    "": (line: string, input?: string) => {
      world.calls += 1
      if (world.calls > world.interrupt || (world.calls === world.interrupt && !world.after))
        return new Error("interrupted")
      const said = kubectl(line, input)
      return world.calls === world.interrupt ? new Error("interrupted") : said
    },
  }
  return {
    answers,
    world,
    secrets,
    now: () => ({ replicas, annotations, job: jobThere }),
    helm: (count: number) => {
      replicas = count
      hasPods = true
    },
  }
}
type Namespace = ReturnType<typeof makeNamespace>

const rotate = Effect.fnUntraced(function* ({ answers }: Namespace, ...args: ReadonlyArray<string>) {
  const running = yield* Effect.forkChild(runPi(["rotate-passphrase", "-n", "ops", ...args], answers))
  // What waits for a pod to end looks again every two seconds.
  yield* TestClock.adjust("1 hour")
  return yield* Fiber.join(running)
})

const isWhole = (namespace: Namespace) => {
  const { secrets, world, now } = namespace
  const rotation = secrets.get("own-secret-rotation")?.data
  assert.strictEqual(text(secrets.get("own-secret")?.data.word), world.state)
  assert.notStrictEqual(world.state, "before")
  assert.match(world.state, /^[\w+/]{48}$/)
  assert.strictEqual(text(secrets.get("own-secret")?.data.other), "kept")
  assert.deepStrictEqual(Object.keys(rotation ?? {}), ["rotated"])
  assert.strictEqual(text(rotation?.rotated), world.state)
  assert.deepStrictEqual(now(), { replicas: 2, annotations: {}, job: undefined })
}

describe("rotate-passphrase", () => {
  it.effect("says what it would do, and writes nothing without --yes", () =>
    Effect.gen(function* () {
      const namespace = makeNamespace()
      const said = yield* rotate(namespace)
      assert.strictEqual(said.exitCode, 2)
      assert.match(said.err, /claim own-claim .* Secret own-secret/)
      assert.match(said.err, /nothing was written: --yes does it$/)
      assert.isTrue(said.asked.every((line) => line.startsWith("get ")))
      assert.isFalse(said.asked.some((line) => !line.includes("--namespace=ops")))
    }),
  )

  it.effect("rotates, and no passphrase is in what kubectl is told or what is printed", () =>
    Effect.gen(function* () {
      const namespace = makeNamespace()
      const said = yield* rotate(namespace, "--yes")
      assert.strictEqual(said.exitCode, 0, said.err)
      isWhole(namespace)
      assert.include(said.out, "ops/own-secret: the passphrase is rotated; 2 instances: succeeds")
      for (const shown of [...said.asked, said.out, said.err]) {
        for (const secret of ["before", namespace.world.state]) {
          assert.notInclude(shown.replaceAll("replicas-before-rotation", ""), b64(secret))
          assert.isFalse(shown.includes(secret) && secret !== "before", shown)
        }
      }
    }),
  )

  it.effect("has a Job that runs as the operator does, without its token and environment", () =>
    Effect.gen(function* () {
      const said = yield* rotate(makeNamespace(), "--yes")
      const job = JSON.parse(said.fed.find((input) => input.includes('"kind":"Job"')) ?? "")
      const { spec } = job.spec.template
      assert.strictEqual(job.metadata.name, "rel-platform-operator-rotate-passphrase")
      assert.isFalse(spec.automountServiceAccountToken)
      assert.deepStrictEqual(
        [spec.serviceAccountName, spec.securityContext, spec.nodeSelector],
        [podSpec.serviceAccountName, podSpec.securityContext, podSpec.nodeSelector],
      )
      const [container] = spec.containers
      assert.strictEqual(container.image, podSpec.containers[0]?.image)
      assert.deepStrictEqual(container.securityContext, { readOnlyRootFilesystem: true })
      assert.isUndefined(container.env)
      assert.deepStrictEqual(container.args.slice(1), [
        "--from-file=/run/passphrase/current/passphrase",
        "--to-file=/run/passphrase/rotation/next",
      ])
      assert.deepStrictEqual(
        spec.volumes.map((volume: { readonly secret?: { readonly items: unknown } }) => volume.secret?.items),
        [undefined, [{ key: "word", path: "passphrase" }], [{ key: "next", path: "next" }]],
      )
      // The operator's own selectors find none of it.
      assert.notStrictEqual(job.spec.template.metadata.labels["app.kubernetes.io/name"], "platform-operator")
    }),
  )

  for (const after of [false, true]) {
    it.effect(`interrupted ${after ? "after" : "before"} any of its calls, goes on and ends`, () =>
      Effect.gen(function* () {
        let interrupted = true
        for (let call = 1; interrupted; call += 1) {
          const namespace = makeNamespace()
          const { world } = namespace
          Object.assign(world, { interrupt: call, after })
          const first = yield* rotate(namespace, "--yes")
          interrupted = world.calls >= call
          Object.assign(world, { interrupt: Number.POSITIVE_INFINITY })
          if (first.exitCode !== 0) {
            const again = yield* rotate(namespace, "--yes")
            assert.strictEqual(again.exitCode, 0, `${call}: ${again.err}`)
          }
          // Interrupted before anything was written, or after all of it was: then another rotation is one.
          isWhole(namespace)
          if (!interrupted) assert.isAbove(call, 20)
        }
      }),
    )
  }

  it.effect("opens what an older passphrase, put back by a rollback, opens no more", () =>
    Effect.gen(function* () {
      const namespace = makeNamespace()
      yield* rotate(namespace, "--yes")
      const there = namespace.secrets.get("own-secret")
      namespace.secrets.set("own-secret", {
        metadata: there?.metadata ?? {},
        data: { ...there?.data, word: b64("before") },
      })
      const said = yield* rotate(namespace, "--yes")
      assert.strictEqual(said.exitCode, 0, said.err)
      isWhole(namespace)
    }),
  )

  it.effect("leaves everything as it was where the Job has changed nothing", () =>
    Effect.gen(function* () {
      for (const kind of ["untouched", "old image"] as const) {
        const namespace = makeNamespace(kind)
        const said = yield* rotate(namespace, "--yes")
        assert.strictEqual(said.exitCode, 1)
        assert.match(said.err, /Everything is as it was, and the operator is started again$/)
        assert.strictEqual(text(namespace.secrets.get("own-secret")?.data.word), "before")
        assert.deepStrictEqual(namespace.secrets.get("own-secret-rotation")?.data, {})
        assert.deepStrictEqual(namespace.now(), { replicas: 2, annotations: {}, job: undefined })
      }
    }),
  )

  it.effect("keeps the operator stopped after a Job that may have changed something, and goes on", () =>
    Effect.gen(function* () {
      const namespace = makeNamespace("fails")
      const said = yield* rotate(namespace, "--yes")
      assert.strictEqual(said.exitCode, 1)
      assert.match(said.err, /2 instances: fails\nThe operator stays stopped/)
      assert.strictEqual(namespace.now().replicas, 0)
      assert.strictEqual(text(namespace.secrets.get("own-secret")?.data.word), "before")
      namespace.world.pending = "succeeds"
      assert.strictEqual((yield* rotate(namespace, "--yes")).exitCode, 0)
      isWhole(namespace)
    }),
  )

  it.effect(
    "stops where somebody has started the operator meanwhile, and goes on when it is asked again",
    () =>
      Effect.gen(function* () {
        const namespace = makeNamespace()
        const { answers } = namespace
        const meddled: Namespace = {
          ...namespace,
          answers: {
            ...answers,
            "delete job": (line: string, input?: string) => {
              const said = Object.values(answers).find((each) => typeof each === "function")
              namespace.helm(1)
              return typeof said === "function" ? said(line, input) : ""
            },
          },
        }
        const said = yield* rotate(meddled, "--yes")
        assert.strictEqual(said.exitCode, 1)
        assert.match(said.err, /somebody has started Deployment rel-platform-operator in the middle/)
        assert.strictEqual(namespace.world.state, "before")
        assert.strictEqual(namespace.now().annotations[ANNOTATION_REPLICAS], "2")
        assert.strictEqual((yield* rotate(namespace, "--yes")).exitCode, 0)
        isWhole(namespace)
      }),
  )

  it.effect("says where there is no operator, or no passphrase", () =>
    Effect.gen(function* () {
      const none = yield* runPi(["rotate-passphrase"], { "get deployments": { items: [] } })
      assert.match(none.err, /no Deployment of the operator is in namespace platform-operator/)
      const namespace = makeNamespace()
      namespace.secrets.delete("own-secret")
      const said = yield* rotate(namespace, "--yes")
      assert.match(said.err, /Secret ops\/own-secret has no key word: put the passphrase back first/)
    }),
  )

  it.effect("refuses a Secret that cannot be changed before anything is", () =>
    Effect.gen(function* () {
      const namespace = makeNamespace()
      const there = namespace.secrets.get("own-secret")
      namespace.secrets.set("own-secret", { metadata: {}, data: {}, ...there, ...{ immutable: true } })
      const said = yield* rotate(namespace, "--yes")
      assert.match(said.err, /Secret ops\/own-secret is immutable/)
      assert.deepStrictEqual([said.fed, namespace.now().replicas], [[], 2])
    }),
  )

  it.effect("says after a failure in the middle that the same command goes on", () =>
    Effect.gen(function* () {
      const namespace = makeNamespace()
      const answers = { ...namespace.answers, "create --filename": new Error("the server is busy") }
      const first = yield* runPi(["rotate-passphrase", "-n", "ops", "--yes"], answers)
      assert.notInclude(first.err, "the rotation is begun")
      const stuck = { ...namespace.answers, "patch deployment": new Error("the server is busy") }
      const second = yield* runPi(["rotate-passphrase", "-n", "ops", "--yes"], stuck)
      assert.match(second.err, /the rotation is begun: give the same command again, and it goes on/)
    }),
  )

  it.effect("says after Ctrl-C that the operator may be stopped, and that the same command goes on", () =>
    Effect.gen(function* () {
      const answers = { ...makeNamespace().answers, "patch deployment": ctrlC }
      const said = yield* runPi(["rotate-passphrase", "-n", "ops", "--yes"], answers)
      assert.match(
        said.err,
        /interrupted: the operator may stay stopped .*; give the same command again, and it goes on/,
      )
    }),
  )

  it("finds claim and Secret by what is mounted where the flags say, by default as the image has it", () => {
    const decoded = Schema.decodeUnknownSync(Deployment)
    const deployment = (spec: unknown) =>
      decoded({ metadata: { name: "x" }, spec: { selector: { matchLabels: {} }, template: { spec } } })
    const found = Option.getOrThrow(operatorOf(deployment(podSpec)))
    assert.deepStrictEqual([found.claim, found.secret, found.key], ["own-claim", "own-secret", "word"])
    const [container] = podSpec.containers
    const bare = { ...podSpec, containers: [{ ...container, args: [] }] }
    assert.isTrue(Option.isNone(operatorOf(deployment(bare))))
    const apart = {
      ...podSpec,
      containers: [{ ...container, args: ["--passphrase-file", "/etc/p/passphrase"] }],
    }
    assert.isTrue(Option.isSome(operatorOf(deployment(apart))))
  })
})
