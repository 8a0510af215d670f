import { createServer } from "node:http"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { metricsLayer } from "../../../src/services/Health/Health.ts"

describe("an address", () => {
  it.live("that is taken is named with its flag and the way out", () =>
    Effect.gen(function* () {
      const taken = yield* Effect.acquireRelease(
        Effect.callback<ReturnType<typeof createServer>>((resume) => {
          const server = createServer()
          server.listen(0, "127.0.0.1", () => resume(Effect.succeed(server)))
        }),
        (server) => Effect.callback<void>((resume) => void server.close(() => resume(Effect.void))),
      )
      const address = taken.address()
      const port = typeof address === "object" && address !== null ? address.port : 0
      const error = yield* Effect.flip(Layer.build(metricsLayer({ host: "127.0.0.1", port })))
      assert.strictEqual(error._tag, "AddressError")
      assert.match(
        error.message,
        new RegExp(`^--metrics-address 127.0.0.1:${port}: .*EADDRINUSE.*another address$`),
      )
    }),
  )
})
