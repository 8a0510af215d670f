// The live client and its list-watch over the twin, and the faults between them.
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Option, Redacted, Stream } from "effect"
import { TestClock } from "effect/testing"
import * as Kinds from "../../../src/services/Kubernetes/Kinds.ts"
import { Kubernetes, type WatchEvent } from "../../../src/services/Kubernetes/Kubernetes.ts"
import { KubernetesTwin } from "./KubernetesTwin.ts"
import { makeNetwork, type Network } from "./Network.ts"
import { makeApiServer } from "./Server.ts"

const map = (name: string) => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name, namespace: "default" },
})
const ref = { namespace: "default", name: "a" }

const twin = Effect.gen(function* () {
  const api = yield* makeApiServer({ name: "host" })
  const kubernetes = yield* Effect.provide(Kubernetes, KubernetesTwin(api, { user: "admin" }))
  return { api, admin: api.as("admin"), kubernetes }
})

describe("the live client", () => {
  it.effect("creates, reads, changes and deletes", () =>
    Effect.gen(function* () {
      const { kubernetes } = yield* twin
      const made = yield* kubernetes.create(Kinds.ConfigMap, map("a"))
      const again = yield* Effect.flip(kubernetes.create(Kinds.ConfigMap, map("a")))
      assert.deepInclude(again, { code: 409, reason: "AlreadyExists" })
      const other = yield* Effect.flip(
        kubernetes.apply(Kinds.ConfigMap, { ...map("a"), metadata: { ...map("a").metadata, uid: "other" } }),
      )
      assert.deepInclude(other, { code: 409, message: "the live object has another UID" })
      yield* kubernetes.patch(Kinds.ConfigMap, ref, { type: "merge", patch: { data: { k: "v" } } })
      const found = Option.getOrThrow(yield* kubernetes.get(Kinds.ConfigMap, ref))
      assert.deepStrictEqual(found.data, { k: "v" })
      assert.notStrictEqual(found.metadata.resourceVersion, made.metadata.resourceVersion)
      assert.strictEqual(yield* kubernetes.whoAmI, "admin")
      assert.isTrue(yield* kubernetes.delete(Kinds.ConfigMap, ref, { uid: made.metadata.uid }))
      assert.isFalse(yield* kubernetes.delete(Kinds.ConfigMap, ref))
    }),
  )

  it.effect("is refused by a server that is down, and hears of it again", () =>
    Effect.gen(function* () {
      const { api, kubernetes } = yield* twin
      api.faults.down()
      assert.deepInclude(yield* Effect.flip(kubernetes.get(Kinds.ConfigMap, ref)), {
        code: 0,
        reason: "Transport",
        message: "connect ECONNREFUSED",
      })
      api.faults.up()
      assert.isTrue(Option.isNone(yield* kubernetes.get(Kinds.ConfigMap, ref)))
    }),
  )

  it.effect("gives up a server that does not answer", () =>
    Effect.gen(function* () {
      const { api, kubernetes } = yield* twin
      api.faults.hang()
      const asking = yield* Effect.forkChild(Effect.flip(kubernetes.get(Kinds.ConfigMap, ref)))
      yield* TestClock.adjust("30 seconds")
      assert.strictEqual((yield* Fiber.join(asking)).message, "no answer within 30s")
    }),
  )

  it.effect("waits as long as a busy server asks, and reads a rotated token again", () =>
    Effect.gen(function* () {
      const { api, kubernetes } = yield* twin
      api.faults.answer(429, { retryAfter: 5 })
      const asking = yield* Effect.forkChild(kubernetes.list(Kinds.ConfigMap))
      yield* TestClock.adjust("4 seconds")
      assert.isUndefined(asking.pollUnsafe())
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(yield* Fiber.join(asking), [])
      api.faults.rotateTokens()
      assert.deepStrictEqual(yield* kubernetes.list(Kinds.ConfigMap), [])
    }),
  )

  it.effect("does not know of a reset whether the request had its effect", () =>
    Effect.gen(function* () {
      const { api, admin, kubernetes } = yield* twin
      api.faults.reset("before", { method: "POST" })
      yield* Effect.flip(kubernetes.create(Kinds.ConfigMap, map("a")))
      assert.isUndefined(admin.get(Kinds.ConfigMap, ref))
      api.faults.reset("after", { method: "POST" })
      yield* Effect.flip(kubernetes.create(Kinds.ConfigMap, map("a")))
      assert.isDefined(admin.get(Kinds.ConfigMap, ref))
    }),
  )
})

describe("the live list-watch", () => {
  const following = Effect.gen(function* () {
    const it = yield* twin
    const events: Array<string> = []
    const note = (event: WatchEvent) =>
      events.push(
        event._tag === "Snapshot"
          ? `Snapshot ${event.objects.map(({ metadata }) => metadata.name).join()}`
          : `${event._tag} ${event.object.metadata.name}`,
      )
    yield* Effect.forkScoped(
      Stream.runForEach(it.kubernetes.listWatch(Kinds.ConfigMap, { namespace: "default" }), (event) =>
        Effect.sync(() => note(event)),
      ),
    )
    yield* TestClock.adjust("1 second")
    return { ...it, events }
  })

  it.effect("follows what happens", () =>
    Effect.gen(function* () {
      const { admin, events } = yield* following
      admin.create(Kinds.ConfigMap, map("a"))
      admin.delete(Kinds.ConfigMap, ref)
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(events, ["Snapshot ", "Upserted a", "Deleted a"])
    }),
  )

  it.effect("goes on after a cut, a compaction and an hour of silence", () =>
    Effect.gen(function* () {
      const { api, admin, events } = yield* following
      api.faults.cutWatches()
      admin.create(Kinds.ConfigMap, map("a"))
      yield* TestClock.adjust("2 minutes")
      assert.deepStrictEqual(events, ["Snapshot ", "Upserted a"])
      api.faults.down()
      admin.create(Kinds.ConfigMap, map("b"))
      api.faults.compact()
      api.faults.up()
      yield* TestClock.adjust("2 minutes")
      assert.include(events, "Snapshot a,b")
      yield* TestClock.adjust("1 hour")
      admin.create(Kinds.ConfigMap, map("c"))
      yield* TestClock.adjust("1 second")
      assert.strictEqual(events.at(-1), "Upserted c")
    }),
  )

  it.effect("comes out of a watch that says nothing", () =>
    Effect.gen(function* () {
      const { api, admin, events } = yield* following
      api.faults.stallWatches()
      admin.create(Kinds.ConfigMap, map("a"))
      yield* TestClock.adjust("1 minute")
      assert.deepStrictEqual(events, ["Snapshot "])
      yield* TestClock.adjust("15 minutes")
      assert.isTrue(events.some((event) => event.endsWith(" a")))
    }),
  )
})

describe("the network", () => {
  const kubeconfig = (server: string, ca: string, token: string) =>
    JSON.stringify({
      apiVersion: "v1",
      kind: "Config",
      clusters: [
        { name: "c", cluster: { server, "certificate-authority-data": Buffer.from(ca).toString("base64") } },
      ],
      users: [{ name: "u", user: { token } }],
      contexts: [{ name: "c", context: { cluster: "c", user: "u" } }],
      "current-context": "c",
    })
  const source = { namespace: "operator", labels: {} }
  const server = "https://vcluster.ns.svc:443"
  const setUp = Effect.gen(function* () {
    const api = yield* makeApiServer({ name: "inner" })
    const network = yield* makeNetwork
    const stop = network.listen("vcluster.ns.svc", 443, {
      api,
      ca: "CA",
      certificateNames: ["vcluster.ns.svc"],
      tokens: new Map([["secret", "admin"]]),
    })
    return { network, stop }
  })
  const ask = (network: Network, text: string) =>
    Effect.flatMap(network.connectFrom(source)(Redacted.make(text)), (client) => client.raw("/readyz"))

  it.effect("leads to the server whose certificate and token are right", () =>
    Effect.gen(function* () {
      const { network } = yield* setUp
      assert.strictEqual(yield* ask(network, kubeconfig(server, "CA", "secret")), "ok")
      const namespaces = network
        .open(source, kubeconfig(server, "CA", "secret"), "helm")
        .list(Kinds.Namespace)
      assert.strictEqual(namespaces.length, 4)
    }),
  )

  it.effect("fails as the live one with another CA, name, token, host, or nobody there", () =>
    Effect.gen(function* () {
      const { network, stop } = yield* setUp
      const failing = (text: string) => Effect.flip(ask(network, text))
      assert.include((yield* failing(kubeconfig(server, "other", "secret"))).message, "certificate")
      assert.deepInclude(yield* failing(kubeconfig(server, "CA", "wrong")), {
        code: 401,
        reason: "Unauthorized",
      })
      assert.include((yield* failing(kubeconfig("https://nobody:443", "CA", "secret"))).message, "ENOTFOUND")
      network.listen(
        "alias",
        443,
        yield* Effect.map(makeApiServer({ name: "x" }), (api) => ({
          api,
          ca: "CA",
          certificateNames: ["vcluster.ns.svc"],
        })),
      )
      assert.include((yield* failing(kubeconfig("https://alias:443", "CA", "secret"))).message, "altnames")
      stop()
      assert.strictEqual((yield* failing(kubeconfig(server, "CA", "secret"))).message, "connect ECONNREFUSED")
      assert.strictEqual((yield* failing("no: [")).request, "read credentials")
    }),
  )

  it.effect("swallows what a policy forbids until the client gives up", () =>
    Effect.gen(function* () {
      const { network } = yield* setUp
      const allow = network.addVerdict(() => false)
      const asking = yield* Effect.forkChild(Effect.flip(ask(network, kubeconfig(server, "CA", "secret"))))
      yield* TestClock.adjust("10 seconds")
      assert.strictEqual((yield* Fiber.join(asking)).message, "no answer within 10s")
      allow()
      assert.strictEqual(yield* ask(network, kubeconfig(server, "CA", "secret")), "ok")
    }),
  )
})
