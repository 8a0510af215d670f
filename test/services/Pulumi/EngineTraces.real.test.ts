// The engine's own spans in the trace of its operation: the real CLI, engine and provider write them, the operator shows them.
import { readdirSync } from "node:fs"
import { assert, describe, it } from "@effect/vitest"
import { Effect, FileSystem, Redacted } from "effect"
import { mostEngineSpans } from "../../../src/services/Pulumi/EngineSpans.ts"
import { machine } from "../../support/machine.ts"
import { makeSpans } from "../../support/spans.ts"
import { installScene } from "./installScene.ts"

describe("the engine's spans", () => {
  it.live("are below the span of its process, whole, without noise and without a secret", () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const { root, run, request, api } = yield* installScene
      const spans = makeSpans()
      const trace = spans.service.open(spans.service.newTrace())
      const auth = {
        image: `auth@sha256:${"a".repeat(64)}`,
        issuer: "https://id",
        oauthClient: { id: "console", secretName: "platform-operator-tenant-auth" },
      }
      const config = new Map([...request.config, ["tenantAuth", JSON.stringify(auth)]])
      const secretConfig = new Map([["tenantAuthClientSecret", Redacted.make("planted-client-secret")]])
      yield* spans.traced(
        run({ config, secretConfig, refresh: true }).pipe(Effect.withParentSpan(trace.anchor)),
      )
      trace.end("Instance.change", { from: 0, to: 1, links: [] })

      const engine = spans.all.filter(({ attributes }) => attributes["platforminstance.engine"] === true)
      const names = new Set(engine.map(({ name }) => name))
      console.info(`${engine.length} spans of the engine: ${[...names].sort().join(", ")}`)
      assert.isAtLeast(engine.length, 20)
      assert.isAtMost(engine.length, mostEngineSpans)
      assert.isTrue([...names].some((name) => name.includes("RegisterResource")))
      assert.isFalse([...names].some((name) => name.startsWith("gocloud.dev")))
      assert.isEmpty(spans.orphans())
      const [process = assert.fail()] = spans.named("pulumi.engine")
      for (const { traceId, from, to, parentSpanId } of engine) {
        assert.strictEqual(traceId, trace.parent.traceId)
        assert.isString(parentSpanId)
        assert.isAtLeast(from, process.from)
        assert.isAtMost(to, process.to)
      }
      const told = JSON.stringify(spans.all)
      const certificates = [...api.kubeconfig.matchAll(/(?:-data|token|password): *"?([^\s"]+)/g)]
      for (const secret of [
        "planted-passphrase",
        "planted-client-secret",
        ...certificates.map(([, data = ""]) => data),
      ]) {
        assert.notInclude(told, secret)
        assert.notInclude(told, Buffer.from(secret).toString("base64"))
      }
      // What they were read from is gone with the operation.
      assert.isEmpty(readdirSync(`${root}/tmp`).filter((name) => name.startsWith("operation-")))
      assert.isTrue(yield* fs.exists(root))
    }).pipe(Effect.scoped, Effect.provide(machine)),
  )
})
