import { assert, describe, it } from "@effect/vitest"
import { engineSpans, mostEngineSpans } from "../../../src/services/Pulumi/EngineSpans.ts"
import { redaction } from "../../../src/services/Pulumi/Redact.ts"

const id = (number: number): string => number.toString(16).padStart(16, "0")

interface Given {
  readonly name: string
  readonly id: number
  readonly parent?: number
  readonly lasts?: number
  readonly attributes?: ReadonlyArray<{ readonly key: string; readonly value: object }>
  readonly status?: { readonly code?: number; readonly message?: string }
}

const line = (...spans: ReadonlyArray<Given>): string =>
  JSON.stringify({
    resourceSpans: [
      {
        resource: { attributes: [{ key: "service.name", value: { stringValue: "pulumi-cli" } }] },
        scopeSpans: [
          {
            spans: spans.map(({ name, id: own, parent, lasts = 10, attributes, status }) => ({
              traceId: "1".repeat(32),
              spanId: id(own),
              ...(parent === undefined ? {} : { parentSpanId: id(parent) }),
              name,
              kind: 3,
              startTimeUnixNano: "1000",
              endTimeUnixNano: String(1000 + lasts),
              attributes: attributes ?? [],
              status: status ?? {},
            })),
          },
        ],
      },
    ],
  })

const plain = (text: string): string => text
const shown = (text: string, redact: (text: string) => string = plain) =>
  engineSpans(text, redact).map(({ name, parentSpanId }) => [name, parentSpanId])

describe("the engine's spans", () => {
  it("lose the file backend's, and what hangs on those hangs on what they hang on", () => {
    const text = line(
      { name: "pulumi", id: 1, parent: 99, lasts: 30 },
      { name: "gocloud.dev/blob.Bucket.ReadAll", id: 2, parent: 1 },
      { name: "gocloud.dev/blob.NewReader", id: 3, parent: 2 },
      { name: "run-program", id: 4, parent: 3, lasts: 20 },
    )
    // 99 is the operator's own: who has no parent here hangs on that.
    assert.deepStrictEqual(shown(text), [
      ["pulumi", undefined],
      ["run-program", id(1)],
    ])
  })

  it("are the longest when there are too many, and none of them is without its parent", () => {
    const many = Array.from({ length: mostEngineSpans + 100 }, (_, index) => ({
      name: `span ${index}`,
      id: index + 1,
      ...(index === 0 ? {} : { parent: index }),
      lasts: index,
    }))
    const spans = engineSpans(line(...many), plain)
    assert.lengthOf(spans, mostEngineSpans)
    assert.strictEqual(spans[0]?.name, `span ${mostEngineSpans + 99}`)
    const ids = new Set(spans.map(({ spanId }) => spanId))
    assert.isTrue(spans.every(({ parentSpanId }) => parentSpanId === undefined || ids.has(parentSpanId)))
  })

  it("are read from as many lines as are whole", () => {
    const whole = line({ name: "pulumi", id: 1 })
    assert.deepStrictEqual(shown(`${whole}\n${whole.slice(0, 40)}`), [["pulumi", undefined]])
    assert.deepStrictEqual(shown(""), [])
    assert.deepStrictEqual(shown('{"resourceSpans":[{"scopeSpans":[{"spans":[{"name":"x"}]}]}]}'), [])
  })

  it("show named attributes alone, and no secret in any text", () => {
    const secret = "planted-client-secret"
    const encoded = Buffer.from(secret).toString("base64")
    const [span = assert.fail()] = engineSpans(
      line({
        name: `register ${secret}`,
        id: 1,
        attributes: [
          { key: "rpc.method", value: { stringValue: "RegisterResource" } },
          { key: "rpc.grpc.status_code", value: { intValue: "2" } },
          { key: "urn", value: { stringValue: `urn:pulumi:x::${encoded}` } },
          { key: "inputs", value: { stringValue: secret } },
          { key: "code.stacktrace", value: { stringValue: "main.go" } },
        ],
        status: { code: 2, message: `failed with ${secret}` },
      }),
      redaction([secret]),
    )
    assert.deepStrictEqual(span.attributes, {
      "rpc.method": "RegisterResource",
      "rpc.grpc.status_code": 2,
      urn: "urn:pulumi:x::[redacted]",
    })
    assert.strictEqual(span.name, "register [redacted]")
    assert.strictEqual(span.failure, "failed with [redacted]")
  })

  it("that hang on one another hang on nothing", () => {
    const text = line(
      { name: "gocloud.dev/a", id: 1, parent: 2 },
      { name: "gocloud.dev/b", id: 2, parent: 1 },
      { name: "c", id: 3, parent: 1 },
    )
    assert.deepStrictEqual(shown(text), [["c", undefined]])
  })
})
