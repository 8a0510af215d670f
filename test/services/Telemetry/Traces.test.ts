// Traces over HTTP to a collector, by the standard variables: the SDK reads the process's own.
import { createServer, type Server, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import { afterEach, assert, describe, it, vi } from "@effect/vitest"
import { ConfigProvider, Effect, Exit, Layer, Logger, Option, Schema } from "effect"
import { telemetryLayer, traceLayer } from "../../../src/services/Telemetry/Traces.ts"
import { Tracing, type TracingService } from "../../../src/services/Telemetry/Tracing.ts"

vi.setConfig({ testTimeout: 120_000 })

interface Collector {
  readonly url: string
  readonly bodies: Array<string>
  readonly headers: Array<Record<string, unknown>>
  /** Until it is called, nobody gets an answer. */
  readonly answer: () => void
  readonly close: () => void
}

const servers: Array<Server> = []
const startCollector = (silent = false): Promise<Collector> =>
  new Promise((resolve) => {
    const bodies: Array<string> = []
    const headers: Array<Record<string, unknown>> = []
    const waiting: Array<ServerResponse> = []
    let answers = !silent
    const server = createServer((request, response) => {
      const chunks: Array<Buffer> = []
      request.on("data", (chunk: Buffer) => chunks.push(chunk))
      request.on("end", () => {
        bodies.push(Buffer.concat(chunks).toString("utf8"))
        headers.push({ ...request.headers, url: request.url })
        if (answers) response.setHeader("content-type", "application/json").end("{}")
        else waiting.push(response)
      })
    })
    servers.push(server)
    server.listen(0, "127.0.0.1", () => {
      const { port } = server.address() as AddressInfo
      resolve({
        url: `http://127.0.0.1:${port}`,
        bodies,
        headers,
        answer: () => {
          answers = true
          for (const response of waiting.splice(0)) response.end("{}")
        },
        close: () => server.close(),
      })
    })
  })

afterEach(() => {
  vi.unstubAllEnvs()
  for (const server of servers.splice(0)) {
    server.closeAllConnections()
    server.close()
  }
})

/** Over the variables as they are now. */
const layer = () =>
  traceLayer("1.2.3", (text) => text).pipe(
    Layer.provide(ConfigProvider.layer(ConfigProvider.fromEnvRecord({ ...process.env }))),
  )

const withTraces = <A, E>(use: (tracing: Option.Option<TracingService>) => Effect.Effect<A, E>) =>
  Effect.runPromise(Effect.flatMap(Tracing, use).pipe(Effect.provide(layer()), Effect.scoped))

const trace = (tracing: Option.Option<TracingService>, spans: number) =>
  Effect.gen(function* () {
    const service = Option.getOrThrow(tracing)
    const open = service.open(service.newTrace())
    yield* Effect.withSpan(Effect.void, "k8s.get").pipe(
      Effect.repeat({ times: spans - 1 }),
      Effect.withParentSpan(open.anchor),
    )
    open.end("Instance.change", { from: 0, to: 1, links: [] })
    return open.parent
  })

const Body = Schema.fromJsonString(
  Schema.Struct({
    resourceSpans: Schema.Array(
      Schema.Struct({
        resource: Schema.Struct({
          attributes: Schema.Array(Schema.Struct({ key: Schema.String, value: Schema.Unknown })),
        }),
        scopeSpans: Schema.Array(
          Schema.Struct({
            spans: Schema.Array(Schema.Struct({ name: Schema.String, spanId: Schema.String })),
          }),
        ),
      }),
    ),
  }),
)
const decode = Schema.decodeSync(Body)
const spansOf = ({ bodies }: Collector) =>
  bodies.flatMap((body) =>
    decode(body).resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap(({ spans }) => spans)),
  )

const json = (collector: Collector): void => {
  vi.stubEnv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url)
  vi.stubEnv("OTEL_EXPORTER_OTLP_PROTOCOL", "http/json")
}

describe("traces", () => {
  it("go to the endpoint, with its headers, under the operator's name and what the variables add", async () => {
    const collector = await startCollector()
    json(collector)
    vi.stubEnv("OTEL_EXPORTER_OTLP_HEADERS", "authorization=Bearer%20planted")
    vi.stubEnv("OTEL_RESOURCE_ATTRIBUTES", "k8s.cluster.name=mine")
    const parent = await withTraces((tracing) => trace(tracing, 3))
    const spans = spansOf(collector)
    assert.lengthOf(spans, 4)
    assert.strictEqual(spans.at(-1)?.spanId, parent.spanId)
    const [body = ""] = collector.bodies
    const resource = JSON.stringify(decode(body).resourceSpans[0]?.resource)
    for (const part of ["platform-operator", "1.2.3", "k8s.cluster.name", "mine"])
      assert.include(resource, part)
    assert.deepInclude(collector.headers[0], { url: "/v1/traces", authorization: "Bearer planted" })
  })

  it("are named as OTEL_SERVICE_NAME says, and sampled as OTEL_TRACES_SAMPLER does", async () => {
    const collector = await startCollector()
    json(collector)
    vi.stubEnv("OTEL_SERVICE_NAME", "another")
    await withTraces((tracing) => trace(tracing, 1))
    assert.include(collector.bodies[0] ?? "", "another")
    vi.stubEnv("OTEL_TRACES_SAMPLER", "always_off")
    const before = collector.bodies.length
    await withTraces((tracing) => trace(tracing, 1))
    assert.lengthOf(collector.bodies, before)
  })

  it.each([
    ["no variable", {}],
    ["OTEL_SDK_DISABLED", { OTEL_SDK_DISABLED: "true", OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:9" }],
    [
      "OTEL_TRACES_EXPORTER=none",
      { OTEL_TRACES_EXPORTER: "none", OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:9" },
    ],
  ])("are none with %s", async (_, variables) => {
    for (const [name, value] of Object.entries(variables)) vi.stubEnv(name, value)
    assert.deepStrictEqual(await withTraces(Effect.succeed), Option.none())
  })

  it.each(["OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"])(
    "to what is no URL are refused, without its credentials: %s",
    async (name) => {
      vi.stubEnv(name, "me:planted@collector:4318")
      const exit = await Effect.runPromiseExit(Effect.provide(Effect.void, layer()))
      assert.isTrue(Exit.isFailure(exit))
      assert.include(String(exit), name)
      assert.notInclude(String(exit), "planted")
    },
  )
})

describe("a collector", () => {
  it("that is gone changes nothing: work is done, and the process ends", async () => {
    const collector = await startCollector()
    collector.close()
    json(collector)
    assert.strictEqual(await withTraces((tracing) => Effect.as(trace(tracing, 100), "done")), "done")
  })

  it("that refuses is told of in words, without what it was sent or has said", async () => {
    const server = createServer((request, response) => {
      response.writeHead(400).end(`no ${request.headers.authorization}: password=planted`)
    })
    servers.push(server)
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
    const { port } = server.address() as AddressInfo
    vi.stubEnv("OTEL_EXPORTER_OTLP_ENDPOINT", `http://127.0.0.1:${port}`)
    vi.stubEnv("OTEL_EXPORTER_OTLP_HEADERS", "authorization=Bearer%20planted")
    vi.stubEnv("OTEL_BSP_SCHEDULE_DELAY", "10")
    const said = Promise.withResolvers<unknown>()
    const logger = Logger.layer([Logger.map(Logger.formatStructured, said.resolve)])
    await Effect.runPromise(
      Effect.flatMap(Tracing, (tracing) => trace(tracing, 1)).pipe(
        Effect.andThen(Effect.promise(() => said.promise)),
        Effect.provide(telemetryLayer("1.2.3", (text) => text, logger)),
        Effect.scoped,
      ),
    )
    assert.deepInclude(await said.promise, {
      message: "spans cannot be exported",
      annotations: { reason: "Bad Request" },
    })
  })

  it("that never answers holds up nothing, and no more waits for it than its queue holds", async () => {
    const collector = await startCollector(true)
    json(collector)
    vi.stubEnv("OTEL_BSP_MAX_QUEUE_SIZE", "100")
    vi.stubEnv("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", "50")
    const written = 20 * 500
    await withTraces((tracing) =>
      Effect.gen(function* () {
        for (let each = 0; each < 20; each++) {
          yield* trace(tracing, 499)
          // Whatever wants to be sent meanwhile is.
          yield* Effect.promise(() => new Promise((resolve) => setImmediate(resolve)))
        }
        collector.answer()
      }),
    )
    const got = spansOf(collector).length
    assert.isAbove(got, 0)
    // What was on its way when it fell silent, and the queue.
    assert.isAtMost(got, 100 + 2 * 50)
    assert.isAbove(written, 10 * got)
  })
})
