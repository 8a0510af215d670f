// What a start says when something is not as it has to be, and whether it ends over it.
import { assert, describe, it } from "@effect/vitest"
import { Effect, Schedule } from "effect"
import { crd } from "../../src/schema/Crd.ts"
import * as FakeApi from "../services/Kubernetes/FakeApi.ts"
import { samplesIn, valueIn } from "../services/Metrics/exposition.ts"
import { type Given, startOperator } from "./operator.ts"

const MINUTES = 5 * 60_000
const NAME = "platforminstances.platform.di-framework.dev"

/** Nobody listens there: the port is one that none but root may take, and none does. */
const nowhere = FakeApi.kubeconfig("http://127.0.0.1:1")

const notFound = FakeApi.status(404, "NotFound", "not found")

/** An API server without objects; `definition` is what it has of the CRD. */
const emptyCluster =
  (definition: () => unknown): FakeApi.Answer =>
  (response, request) => {
    const { pathname, searchParams } = request.url
    if (pathname.endsWith(`/customresourcedefinitions/${NAME}`)) {
      const found = definition()
      return found === undefined ? notFound(response, request) : FakeApi.json(found)(response, request)
    }
    if (pathname.endsWith("/platforminstances") && definition() === undefined)
      return notFound(response, request)
    if (pathname.includes("/validatingadmissionpolicies/")) return notFound(response, request)
    if (searchParams.get("watch") !== null) return FakeApi.stream()(response, request)
    const list = { kind: "List", apiVersion: "v1", metadata: { resourceVersion: "1" }, items: [] }
    return FakeApi.json(list)(response, request)
  }

const installed = { ...crd, metadata: { name: NAME, uid: "u", resourceVersion: "1" } }
const older = {
  ...installed,
  spec: JSON.parse(JSON.stringify(crd.spec, (key, value) => (key === "resyncStarted" ? undefined : value))),
}

/** Asks until the answer is the one: everything in between is a step on the way. */
const answers = (operator: Effect.Success<ReturnType<typeof startOperator>>, status: number, body: string) =>
  operator.get("/readyz").pipe(
    Effect.repeat({
      schedule: Schedule.spaced("100 millis"),
      until: (answer) => answer.status === status && answer.body.includes(body),
    }),
  )

describe("the operator ends at once, in one line,", () => {
  it.live(
    "when programs are missing: it names all of them",
    () =>
      Effect.gen(function* () {
        const operator = yield* startOperator({ kubeconfig: nowhere, programs: ["npm"] })
        assert.strictEqual(yield* operator.exitCode, 1)
        assert.match(operator.output(), /^platform-operator: not on PATH \(.*\/bin\): helm, pulumi; .*$/)
      }),
    MINUTES,
  )

  it.live(
    "when a flag is wrong: it names flag and value and runs nothing",
    () =>
      Effect.gen(function* () {
        const operator = yield* startOperator({ kubeconfig: nowhere, args: ["--install-timeout=5 minutes"] })
        assert.strictEqual(yield* operator.exitCode, 1)
        assert.include(
          operator.output(),
          'platform-operator: Invalid value for flag --install-timeout: "5 minutes"',
        )
        assert.notInclude(operator.output(), "starting")
      }),
    MINUTES,
  )

  it.live(
    "when it does not know a flag",
    () =>
      Effect.gen(function* () {
        const operator = yield* startOperator({ kubeconfig: nowhere, args: ["--storage-root=/srv"] })
        assert.strictEqual(yield* operator.exitCode, 1)
        assert.include(operator.output(), "--storage-root")
      }),
    MINUTES,
  )

  it.live(
    "when there is no way to find the API server",
    () =>
      Effect.gen(function* () {
        const operator = yield* startOperator()
        assert.strictEqual(yield* operator.exitCode, 1)
        assert.match(operator.output(), /^platform-operator: no usable kubeconfig .*$/)
      }),
    MINUTES,
  )

  it.live(
    "when the address of its collector is none",
    () =>
      Effect.gen(function* () {
        const env = { OTEL_EXPORTER_OTLP_ENDPOINT: "me:planted@collector:4318" }
        const operator = yield* startOperator({ kubeconfig: nowhere, env })
        assert.strictEqual(yield* operator.exitCode, 1)
        assert.match(
          operator.output(),
          /^platform-operator: OTEL_EXPORTER_OTLP_ENDPOINT is ".*collector:4318": expected .*$/,
        )
        assert.notInclude(operator.output(), "planted")
      }),
    MINUTES,
  )

  it.live(
    "when the state directory is not there",
    () =>
      Effect.gen(function* () {
        const operator = yield* startOperator({ kubeconfig: nowhere, args: ["--state-dir=/nowhere/state"] })
        assert.strictEqual(yield* operator.exitCode, 1)
        assert.match(
          operator.output(),
          /platform-operator: \/nowhere\/state: the state directory is not there; .*$/,
        )
      }),
    MINUTES,
  )
})

const sandboxed = ["helm", "pulumi", "npm", "platform-sandbox"] as const

describe("the operator and its sandbox:", () => {
  it.live(
    "the log and a metric say that there is one, or why there is none",
    () =>
      Effect.gen(function* () {
        const active = Effect.fnUntraced(function* (own: Pick<Given, "programs" | "args">) {
          const operator = yield* startOperator({ kubeconfig: nowhere, passphrase: "planted", ...own })
          const said = yield* operator.logged("the sandbox", ({ message }) => message.includes(" sandbox"))
          const samples = samplesIn((yield* operator.get("/metrics")).body)
          return [said.level, said.annotations, valueIn(samples, "platform_operator_sandbox_active")]
        }, Effect.scoped)
        assert.deepStrictEqual(yield* active({ programs: sandboxed }), ["INFO", { landlockAbi: 7 }, 1])
        const missing = { reason: "platform-sandbox is not on PATH" }
        assert.deepStrictEqual(yield* active({}), ["WARN", missing, 0])
        const off = { programs: sandboxed, args: ["--sandbox=false"] }
        const reason = { reason: "turned off by --sandbox=false" }
        assert.deepStrictEqual(yield* active(off), ["WARN", reason, 0])
      }),
    MINUTES,
  )

  it.live(
    "where one is required and there is none, it ends at once and says why",
    () =>
      Effect.gen(function* () {
        const operator = yield* startOperator({ kubeconfig: nowhere, args: ["--require-sandbox"] })
        assert.strictEqual(yield* operator.exitCode, 1)
        assert.match(
          operator.output(),
          /^platform-operator: --require-sandbox: programs of packages cannot be kept from files of others: platform-sandbox is not on PATH$/,
        )
      }),
    MINUTES,
  )
})

describe("the operator", () => {
  it.live(
    "runs on while the API server is away, says so, and takes up work when it comes",
    () =>
      Effect.gen(function* () {
        const api = yield* FakeApi.makeFakeApi()
        api.answer(FakeApi.reset)
        const operator = yield* startOperator({
          kubeconfig: FakeApi.kubeconfig(api.server),
          passphrase: "planted",
        })
        const lists = () =>
          api.requests.filter(({ url }) => url.pathname.endsWith("/platforminstances")).length
        const waiting = yield* operator.message("still waiting for the caches")
        assert.strictEqual(waiting.level, "WARN")
        assert.match(
          String(waiting.annotations.waitingFor),
          /platforminstances\.\S+ \((BackingOff|Listing)\)/,
        )
        assert.match(String(waiting.annotations.problem), /cannot be read/)
        assert.isAbove(lists(), 1)
        for (const path of ["/livez", "/healthz"])
          assert.deepStrictEqual(yield* operator.get(path), { status: 200, body: "ok\n" })
        const readyz = yield* operator.get("/readyz")
        assert.strictEqual(readyz.status, 503)
        assert.include(readyz.body, `the CRD ${NAME} cannot be read`)
        assert.match(readyz.body, /caches are not complete yet: .*platforminstances/)
        // Each watch warns once, however often it is tried.
        const { waitingFor } = waiting.annotations
        assert.strictEqual(
          operator.count("list-watch refused"),
          Array.isArray(waitingFor) ? waitingFor.length : 0,
        )

        api.answer(emptyCluster(() => installed))
        yield* operator.message("caches are complete")
        yield* answers(operator, 200, "ok\n")
        yield* operator.terminate
        assert.strictEqual(yield* operator.exitCode, 0)
      }),
    MINUTES,
  )

  it.live(
    "tries for ever to reach an address where nobody listens",
    () =>
      Effect.gen(function* () {
        const operator = yield* startOperator({ kubeconfig: nowhere, passphrase: "planted" })
        const waiting = yield* operator.message("still waiting for the caches")
        assert.include(String(waiting.annotations.problem), "ECONNREFUSED")
        assert.isTrue(operator.running())
        const { status, body } = yield* operator.get("/metrics")
        assert.strictEqual(status, 200)
        const samples = samplesIn(body)
        const refused = { code: "<error>", host: "127.0.0.1:1", method: "GET" }
        assert.isAbove(valueIn(samples, "rest_client_requests_total", refused) ?? 0, 0)
        assert.isAbove(valueIn(samples, "process_resident_memory_bytes") ?? 0, 0)
        assert.isAbove(valueIn(samples, "platform_operator_volume_size_bytes", { volume: "state" }) ?? 0, 0)
        assert.strictEqual(valueIn(samples, "platform_operator_info"), 1)
        assert.notInclude(body, "planted")
        yield* operator.terminate
        assert.strictEqual(yield* operator.exitCode, 0)
      }),
    MINUTES,
  )

  it.live(
    "is not ready without its CRD, nor over an older one, whose missing fields it names, until it is upgraded",
    () =>
      Effect.gen(function* () {
        let definition: unknown
        const api = yield* FakeApi.makeFakeApi()
        api.answer(emptyCluster(() => definition))
        const operator = yield* startOperator({
          kubeconfig: FakeApi.kubeconfig(api.server),
          passphrase: "planted",
        })
        yield* answers(operator, 503, `the CRD ${NAME} is not installed; install it with the chart\n`)
        yield* operator.logged(
          "the problem",
          ({ level, annotations }) =>
            level === "WARN" && String(annotations.problem).includes("is not installed"),
        )
        definition = older
        yield* operator.message("caches are complete")
        const lacking = yield* answers(operator, 503, "lacks")
        assert.strictEqual(
          lacking.body,
          `the CRD ${NAME} lacks status.target.resyncStarted; upgrade it with the chart\n`,
        )
        definition = installed
        yield* answers(operator, 200, "ok\n")
        yield* operator.message("the CRD has every field that this version needs")
      }),
    MINUTES,
  )

  it.live(
    "runs without its passphrase, and says what comes of it",
    () =>
      Effect.gen(function* () {
        const api = yield* FakeApi.makeFakeApi()
        api.answer(emptyCluster(() => installed))
        const operator = yield* startOperator({ kubeconfig: FakeApi.kubeconfig(api.server) })
        const warning = yield* operator.logged(
          "the passphrase file",
          ({ annotations }) => annotations.passphraseFile === `${operator.root}/passphrase`,
        )
        assert.strictEqual(warning.level, "WARN")
        assert.match(warning.message, /installs and repairs fail until/)
        yield* answers(operator, 200, "ok\n")
      }),
    MINUTES,
  )
})
