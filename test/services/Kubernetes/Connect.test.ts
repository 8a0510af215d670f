import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Redacted } from "effect"
import { TestClock } from "effect/testing"
import * as FakeApi from "./FakeApi.ts"

describe("another cluster", () => {
  const base64 = (name: string) => Buffer.from(FakeApi.pem(name)).toString("base64")
  const trusted = { "certificate-authority-data": base64("ca.crt") }
  const certificate = {
    "client-certificate-data": base64("client.crt"),
    "client-key-data": base64("client.key"),
  }

  const tls = Effect.gen(function* () {
    const api = yield* FakeApi.makeFakeApi({ tls: true })
    api.answer((response) => response.writeHead(200).end("ok"))
    const { connect } = yield* FakeApi.clientOf(FakeApi.kubeconfig("http://127.0.0.1:1"))
    const ask = (login: FakeApi.Login) =>
      Effect.flatMap(connect(Redacted.make(FakeApi.kubeconfig(api.server, login))), (it) => it.raw("/readyz"))
    return { api, connect, ask }
  })

  it.effect("is asked with its own CA and our client certificate", () =>
    Effect.gen(function* () {
      const { api, ask } = yield* tls
      assert.strictEqual(yield* ask({ cluster: trusted, user: certificate }), "ok")
      assert.strictEqual(api.requests[0]?.client, "client")
    }),
  )

  it.effect("is asked under the name that its certificate must have", () =>
    Effect.gen(function* () {
      const { ask } = yield* tls
      assert.strictEqual(yield* ask({ cluster: { ...trusted, "tls-server-name": "api.test" } }), "ok")
      const error = yield* Effect.flip(ask({ cluster: { ...trusted, "tls-server-name": "other.test" } }))
      assert.deepInclude(error, { code: 0, reason: "Transport" })
      assert.include(error.message, "altnames")
    }),
  )

  it.effect("is not asked when its certificate is of an unknown CA", () =>
    Effect.gen(function* () {
      const { api, ask } = yield* tls
      assert.deepInclude(yield* Effect.flip(ask({})), { code: 0, reason: "Transport" })
      assert.deepStrictEqual(api.requests, [])
    }),
  )

  it.effect("is left when the scope closes", () =>
    Effect.gen(function* () {
      const { api, ask } = yield* tls
      yield* Effect.scoped(ask({ cluster: trusted }))
      yield* api.deserted
    }),
  )

  it.effect("is given up after the time that the caller sets", () =>
    Effect.gen(function* () {
      const { api, connect } = yield* tls
      api.answer(FakeApi.hang)
      const text = Redacted.make(FakeApi.kubeconfig(api.server, { cluster: trusted }))
      const client = yield* connect(text, { timeout: 3000 })
      const asking = yield* Effect.forkChild(Effect.flip(client.raw("/readyz")))
      yield* api.arrived(1)
      yield* TestClock.adjust("3 seconds")
      assert.strictEqual((yield* Fiber.join(asking)).message, "no answer within 3s")
    }),
  )

  for (const [name, login] of [
    ["runs a program", { user: { exec: { command: "/bin/true" } } }],
    ["asks for an auth provider", { user: { "auth-provider": { name: "tokenFile", config: {} } } }],
    ["reads a token from a file", { user: { "token-file": "/etc/hostname" } }],
    ["reads a certificate from a file", { user: { "client-certificate": "/a", "client-key": "/b" } }],
    ["reads a CA from a file", { cluster: { "certificate-authority": "/a" } }],
    ["acts as someone else", { user: { token: "t", as: "someone" } }],
  ] as const) {
    it.effect(`is refused when its kubeconfig ${name}`, () =>
      Effect.gen(function* () {
        const { api, ask } = yield* tls
        const error = yield* Effect.flip(ask(login))
        assert.strictEqual(error.request, "read credentials")
        assert.deepStrictEqual(api.requests, [])
      }),
    )
  }

  it.effect("is refused when its kubeconfig is none, without repeating it", () =>
    Effect.gen(function* () {
      const { connect } = yield* tls
      for (const text of ["hunter2: [", "hunter2", ""]) {
        const error = yield* Effect.flip(connect(Redacted.make(text)))
        assert.notInclude(JSON.stringify(error), "hunter2")
      }
    }),
  )
})
