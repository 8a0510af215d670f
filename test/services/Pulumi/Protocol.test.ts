import { assert, it } from "@effect/vitest"
import { Exit } from "effect"
import {
  decodeEvent,
  decodeRequest,
  type RunRequest,
  requestLine,
} from "../../../src/services/Pulumi/Protocol.ts"

const request: RunRequest = {
  type: "run",
  projectDirectory: "/p",
  project: "platform-instance",
  stack: "instance",
  config: { tenants: '[{"name":"acme"}]' },
  secretConfig: { tenantAuthClientSecret: "two\nlines \u2028 and a mark" },
  refresh: true,
}

it("a request is one line, whatever its secrets hold, and comes back as it was", () => {
  const line = requestLine(request)
  assert.strictEqual(line.indexOf("\n"), line.length - 1)
  assert.deepStrictEqual(decodeRequest(line.trimEnd()), Exit.succeed(request))
  assert.deepStrictEqual(decodeRequest('{"type":"cancel"}'), Exit.succeed({ type: "cancel" }))
})

it("a line that is no message of the protocol is refused", () => {
  for (const line of ["", "cancel", '{"type":"destroy"}', '{"type":"run"}', "[]"]) {
    assert.isTrue(Exit.isFailure(decodeRequest(line)), line)
  }
})

it("only the named outputs pass", () => {
  const outputs = { schemaVersion: 2 as const, namespace: "wasmcloud", endpoints: {}, tenants: ["acme"] }
  const line = JSON.stringify({ type: "outputs", outputs: { ...outputs, kubeconfigs: { acme: "token" } } })
  assert.deepStrictEqual(decodeEvent(line), Exit.succeed({ type: "outputs" as const, outputs }))
})
