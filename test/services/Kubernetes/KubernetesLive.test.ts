import { mkdtempSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Option, Stream } from "effect"
import { TestClock } from "effect/testing"
import * as Kinds from "../../../src/services/Kubernetes/Kinds.ts"
import type { KubeManifest } from "../../../src/services/Kubernetes/Kubernetes.ts"
import * as FakeApi from "./FakeApi.ts"
import { chance } from "./FakeTransport.ts"
import { configMap, line } from "./Objects.ts"

const ref = { namespace: "ns", name: "a" }
const manifest: KubeManifest = { apiVersion: "v1", kind: "ConfigMap", metadata: ref, data: { text: "x" } }
const secret: KubeManifest = { apiVersion: "v1", kind: "Secret", metadata: ref, stringData: { p: "hunter2" } }
const object = configMap("a", "1")

/** A fake API and a client of it. */
const connected = (login?: FakeApi.Login) =>
  Effect.gen(function* () {
    const api = yield* FakeApi.makeFakeApi()
    return { api, kubernetes: yield* FakeApi.clientOf(FakeApi.kubeconfig(api.server, login)) }
  })

describe("requests", () => {
  it.effect("carry the token and the trace they belong to", () =>
    Effect.gen(function* () {
      const { api, kubernetes } = yield* connected()
      api.answer(FakeApi.json(object))
      const span = yield* Effect.withSpan(
        Effect.tap(Effect.orDie(Effect.currentSpan), () => kubernetes.get(Kinds.ConfigMap, ref)),
        "test",
      )
      const [request] = api.requests
      assert.strictEqual(request?.headers.authorization, "Bearer token")
      assert.strictEqual(request?.headers["user-agent"], "platform-operator")
      assert.match(
        String(request?.headers.traceparent),
        new RegExp(`^00-${span.traceId}-[0-9a-f]{16}-0[01]$`),
      )
    }),
  )

  it.effect("share their connections", () =>
    Effect.gen(function* () {
      const { api, kubernetes } = yield* connected()
      api.answer(FakeApi.json(object))
      for (let times = 0; times < 20; times++) yield* kubernetes.get(Kinds.ConfigMap, ref)
      // The pool opens a second one when an answer's end is still being handled.
      assert.isAtMost(api.connections(), 2)
    }),
  )

  it.effect("apply with our field manager, taking over, as JSON", () =>
    Effect.gen(function* () {
      const { api, kubernetes } = yield* connected()
      api.answer(FakeApi.json(object))
      yield* kubernetes.apply(Kinds.ConfigMap, manifest)
      const [request] = api.requests
      assert.strictEqual(request?.method, "PATCH")
      assert.strictEqual(
        `${request?.url.pathname}${request?.url.search}`,
        "/api/v1/namespaces/ns/configmaps/a?fieldManager=platform-operator&force=true",
      )
      assert.strictEqual(request?.headers["content-type"], "application/apply-patch+yaml")
      assert.deepStrictEqual(JSON.parse(request?.body ?? ""), manifest)
    }),
  )

  it.effect("say of a dry run that it is one, to the server", () =>
    Effect.gen(function* () {
      const { api, kubernetes } = yield* connected()
      api.answer(FakeApi.json(object))
      yield* kubernetes.apply(Kinds.ConfigMap, manifest, { dryRun: true })
      yield* kubernetes.apply(Kinds.ConfigMap, manifest, { dryRun: false })
      const patch = { type: "merge", patch: { a: 1 } } as const
      yield* kubernetes.patch(Kinds.ConfigMap, ref, patch, { dryRun: true })
      yield* kubernetes.patch(Kinds.ConfigMap, ref, patch)
      assert.deepStrictEqual(
        api.requests.map(({ url }) => url.searchParams.getAll("dryRun")),
        [["All"], [], ["All"], []],
      )
    }),
  )

  it.effect("patch as JSON Patch or merge patch, the status too", () =>
    Effect.gen(function* () {
      const { api, kubernetes } = yield* connected()
      api.answer(FakeApi.json(object))
      const operations = [{ op: "test", path: "/a", value: 1 }]
      yield* kubernetes.patch(Kinds.ConfigMap, ref, { type: "json", operations })
      yield* kubernetes.patch(
        Kinds.ConfigMap,
        ref,
        { type: "merge", patch: { a: 1 } },
        { subresource: "status" },
      )
      assert.deepStrictEqual(
        api.requests.map(({ url, headers, body }) => [
          url.pathname,
          headers["content-type"],
          JSON.parse(body),
        ]),
        [
          ["/api/v1/namespaces/ns/configmaps/a", "application/json-patch+json", operations],
          ["/api/v1/namespaces/ns/configmaps/a/status", "application/merge-patch+json", { a: 1 }],
        ],
      )
    }),
  )

  it.effect("delete in the background, only the life that is meant", () =>
    Effect.gen(function* () {
      const { api, kubernetes } = yield* connected()
      api.answer(FakeApi.json(object))
      assert.isTrue(yield* kubernetes.delete(Kinds.ConfigMap, ref, { uid: "uid-a" }))
      yield* kubernetes.delete(Kinds.ConfigMap, ref, { propagation: "Foreground" })
      const [first, second] = api.requests.map(({ body }) => JSON.parse(body))
      assert.deepInclude(first, { propagationPolicy: "Background", preconditions: { uid: "uid-a" } })
      assert.deepInclude(second, { propagationPolicy: "Foreground" })
      assert.notProperty(second, "preconditions")
    }),
  )

  it.effect("find who the client is", () =>
    Effect.gen(function* () {
      const { api, kubernetes } = yield* connected()
      api.answer(
        FakeApi.json({ status: { userInfo: { username: "system:serviceaccount:ns:operator" } } }, 201),
      )
      assert.strictEqual(yield* kubernetes.whoAmI, "system:serviceaccount:ns:operator")
    }),
  )

  it.effect("are sent below the path of the server's URL", () =>
    Effect.gen(function* () {
      const api = yield* FakeApi.makeFakeApi()
      const kubernetes = yield* FakeApi.clientOf(FakeApi.kubeconfig(`${api.server}/k8s/clusters/one`))
      yield* Effect.exit(kubernetes.raw("/readyz"))
      assert.strictEqual(api.requests[0]?.url.pathname, "/k8s/clusters/one/readyz")
    }),
  )
})

describe("answers", () => {
  it.effect("of lists are read page by page; items get the kind that was asked for", () =>
    Effect.gen(function* () {
      const { api, kubernetes } = yield* connected()
      const { apiVersion: _, kind: __, ...item } = object
      api.answer(
        FakeApi.inTurn(
          FakeApi.json({ metadata: { resourceVersion: "5", continue: "more" }, items: [item] }),
          FakeApi.json({ metadata: { resourceVersion: "5" }, items: [configMap("b", "2")] }),
        ),
      )
      assert.deepStrictEqual(yield* kubernetes.list(Kinds.ConfigMap), [object, configMap("b", "2")])
      assert.strictEqual(api.requests[1]?.url.searchParams.get("continue"), "more")
      assert.isFalse(api.requests[0]?.url.searchParams.has("resourceVersion"))
    }),
  )

  it.effect("of nothing are none for a get and false for a delete", () =>
    Effect.gen(function* () {
      const { kubernetes } = yield* connected()
      assert.deepStrictEqual(yield* kubernetes.get(Kinds.ConfigMap, ref), Option.none())
      assert.isFalse(yield* kubernetes.delete(Kinds.ConfigMap, ref))
    }),
  )

  it.effect("that refuse keep code, reason and the server's words", () =>
    Effect.gen(function* () {
      const { api, kubernetes } = yield* connected()
      api.answer(FakeApi.status(409, "AlreadyExists", 'configmaps "a" already exists'))
      const error = yield* Effect.flip(kubernetes.create(Kinds.ConfigMap, manifest))
      assert.deepInclude(error, {
        code: 409,
        reason: "AlreadyExists",
        request: "POST namespaces/ns/configmaps",
        message: 'configmaps "a" already exists',
      })
    }),
  )

  it.effect("to an apply that name another UID are a conflict, whatever the server calls it", () =>
    Effect.gen(function* () {
      const { api, kubernetes } = yield* connected()
      const details = { causes: [{ reason: "FieldValueInvalid", field: "metadata.uid" }] }
      api.answer(FakeApi.status(422, "Invalid", "metadata.uid: field is immutable", { details }))
      const error = yield* Effect.flip(kubernetes.apply(Kinds.ConfigMap, manifest))
      assert.deepInclude(error, { code: 409, reason: "Conflict" })
    }),
  )

  it.effect("about a Secret that quote it are not repeated", () =>
    Effect.gen(function* () {
      const { api, kubernetes } = yield* connected()
      const details = { causes: [{ field: "data[p]", message: 'Invalid value: "hunter2"' }] }
      api.answer(
        FakeApi.inTurn(
          FakeApi.status(422, "Invalid", 'data[p]: Invalid value: "hunter2"', { details }),
          FakeApi.status(400, "BadRequest", 'unable to decode "hunter2"'),
          (response) => response.writeHead(500, { "content-type": "text/plain" }).end("hunter2"),
        ),
      )
      for (const message of ["Invalid data[p]", "BadRequest", "HTTP 500"]) {
        const error = yield* Effect.flip(kubernetes.create(Kinds.Secret, secret))
        assert.strictEqual(error.message, message)
        assert.notInclude(JSON.stringify(error), "hunter2")
      }
    }),
  )

  it.effect("that are no objects are an error without their content", () =>
    Effect.gen(function* () {
      const { api, kubernetes } = yield* connected()
      for (const answer of [FakeApi.json({ hello: "hunter2" }), FakeApi.stream("hunter2")]) {
        api.answer((response, request) => {
          answer(response, request)
          response.end()
        })
        const error = yield* Effect.flip(kubernetes.get(Kinds.ConfigMap, ref))
        assert.strictEqual(error.reason, "Unreadable")
        assert.notInclude(JSON.stringify(error), "hunter2")
      }
    }),
  )

  it.effect("of a proxy get the reason of their code", () =>
    Effect.gen(function* () {
      const { api, kubernetes } = yield* connected()
      api.answer((response) => response.writeHead(503, { "content-type": "text/html" }).end("<h1>no</h1>"))
      const error = yield* Effect.flip(kubernetes.get(Kinds.ConfigMap, ref))
      assert.deepInclude(error, { code: 503, reason: "ServiceUnavailable", message: "HTTP 503" })
    }),
  )

  it.effect("that ask for patience are waited for", () =>
    Effect.gen(function* () {
      const { api, kubernetes } = yield* connected()
      api.answer(
        FakeApi.inTurn(
          FakeApi.status(429, "TooManyRequests", "slow down", {}, { "retry-after": "0" }),
          FakeApi.json(object),
        ),
      )
      assert.deepStrictEqual(yield* kubernetes.get(Kinds.ConfigMap, ref), Option.some(object))
    }),
  )
})

describe("no answer", () => {
  it.effect("within 30 s is an error, and the connection is dropped", () =>
    Effect.gen(function* () {
      const { api, kubernetes } = yield* connected()
      api.answer(FakeApi.hang)
      const asking = yield* Effect.forkChild(Effect.flip(kubernetes.get(Kinds.ConfigMap, ref)))
      yield* api.arrived(1)
      yield* TestClock.adjust("29 seconds")
      assert.isUndefined(asking.pollUnsafe())
      yield* TestClock.adjust("1 second")
      assert.deepInclude(yield* Fiber.join(asking), {
        code: 0,
        reason: "Transport",
        message: "no answer within 30s",
      })
      yield* api.deserted
    }),
  )

  it.effect("because nobody waits any more drops the connection", () =>
    Effect.gen(function* () {
      const { api, kubernetes } = yield* connected()
      api.answer(FakeApi.hang)
      const asking = yield* Effect.forkChild(kubernetes.get(Kinds.ConfigMap, ref))
      yield* api.arrived(1)
      yield* Fiber.interrupt(asking)
      yield* api.deserted
    }),
  )

  it.effect("from a connection that is reset or refused is an error of the transport", () =>
    Effect.gen(function* () {
      const { api, kubernetes } = yield* connected()
      api.answer(FakeApi.reset)
      assert.deepInclude(yield* Effect.flip(kubernetes.get(Kinds.ConfigMap, ref)), {
        code: 0,
        reason: "Transport",
      })
      const nowhere = yield* FakeApi.clientOf(FakeApi.kubeconfig("http://127.0.0.1:1"))
      assert.deepInclude(yield* Effect.flip(nowhere.raw("/readyz")), { code: 0, reason: "Transport" })
    }),
  )
})

describe("a token file", () => {
  const withTokenFile = Effect.gen(function* () {
    const api = yield* FakeApi.makeFakeApi()
    const file = join(mkdtempSync(join(tmpdir(), "token-")), "token")
    writeFileSync(file, "first\n", { mode: 0o600 })
    // How a pod's service account is loaded.
    const user = { "auth-provider": { name: "tokenFile", config: { tokenFile: file } } }
    const kubernetes = yield* FakeApi.clientOf(FakeApi.kubeconfig(api.server, { user }))
    return { api, kubernetes, rotate: (token: string) => writeFileSync(file, token, { mode: 0o600 }) }
  })

  const accepting =
    (token: string): FakeApi.Answer =>
    (response, request) =>
      request.headers.authorization === `Bearer ${token}`
        ? FakeApi.json(object)(response, request)
        : FakeApi.status(401, "Unauthorized", "Unauthorized")(response, request)

  it.effect("is read again at once when its token is refused", () =>
    Effect.gen(function* () {
      const { api, kubernetes, rotate } = yield* withTokenFile
      api.answer(accepting("first"))
      yield* kubernetes.get(Kinds.ConfigMap, ref)
      rotate("second\n")
      api.answer(accepting("second"))
      assert.deepStrictEqual(yield* kubernetes.get(Kinds.ConfigMap, ref), Option.some(object))
      assert.strictEqual(api.requests.length, 3)
    }),
  )

  it.effect("is read again once only", () =>
    Effect.gen(function* () {
      const { api, kubernetes } = yield* withTokenFile
      api.answer(accepting("another"))
      const error = yield* Effect.flip(kubernetes.get(Kinds.ConfigMap, ref))
      assert.deepInclude(error, { code: 401, reason: "Unauthorized" })
      assert.strictEqual(api.requests.length, 2)
    }),
  )
})

describe("a list-watch on a socket", () => {
  const list = FakeApi.json({ metadata: { resourceVersion: "1" }, items: [] })

  it.effect("reads events whose bytes come in pieces, and closes its connection when interrupted", () =>
    Effect.gen(function* () {
      const { api, kubernetes } = yield* connected()
      const event = Buffer.from(line("ADDED", configMap("a", "2", { text: "grüße 🧊" })))
      const inside = event.indexOf(Buffer.from("🧊")) + 2
      api.answer(
        FakeApi.inTurn(list, (response, request) =>
          FakeApi.stream(event.subarray(0, inside), event.subarray(inside))(response, request),
        ),
      )
      const events = yield* kubernetes
        .listWatch(Kinds.ConfigMap, { namespace: "ns" })
        .pipe(Stream.take(2), Stream.runCollect)
      assert.deepStrictEqual(events, [
        { _tag: "Snapshot", objects: [] },
        { _tag: "Upserted", object: configMap("a", "2", { text: "grüße 🧊" }) },
      ])
      yield* api.deserted
      assert.deepStrictEqual(
        api.requests.map((request) => request.url.searchParams.get("watch")),
        [null, "1"],
      )
    }),
  )

  it.live("comes back after a reset", () =>
    Effect.gen(function* () {
      const { api, kubernetes } = yield* connected()
      api.answer(FakeApi.inTurn(list, FakeApi.reset, FakeApi.stream(line("ADDED", configMap("a", "2")))))
      const events = yield* kubernetes.listWatch(Kinds.ConfigMap).pipe(Stream.take(2), Stream.runCollect)
      assert.deepStrictEqual(
        events.map((event) => event._tag),
        ["Snapshot", "Upserted"],
      )
      assert.strictEqual(api.requests[2]?.url.searchParams.get("resourceVersion"), "1")
    }).pipe(chance(0)),
  )
})
