import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import type { Credentials } from "../../../src/services/Kubernetes/Credentials.ts"
import { makeDispatcher } from "../../../src/services/Kubernetes/Dispatcher.ts"
import { pem } from "./FakeApi.ts"

const credentials = (ca: string, more?: Partial<Credentials>): Credentials => ({
  server: new URL("https://127.0.0.1:6443"),
  proxy: undefined,
  headers: {},
  // A new buffer each time, as when the file is read anew.
  tls: { ca: Buffer.from(ca) },
  ...more,
})

describe("the pool of connections", () => {
  it.effect("stays while the certificates stay, whatever the token", () =>
    Effect.gen(function* () {
      const dispatcherFor = yield* makeDispatcher
      const first = yield* dispatcherFor(credentials(pem("ca.crt")))
      const second = yield* dispatcherFor(
        credentials(pem("ca.crt"), { headers: { Authorization: "Bearer new" } }),
      )
      assert.strictEqual(first, second)
    }),
  )

  it.effect("is a new one when they were rotated, and the old one closes", () =>
    Effect.gen(function* () {
      const dispatcherFor = yield* makeDispatcher
      const first = yield* dispatcherFor(credentials(pem("ca.crt")))
      const second = yield* dispatcherFor(credentials(pem("server.crt")))
      assert.notStrictEqual(first, second)
      assert.isTrue("closed" in first && first.closed)
    }),
  )
})
