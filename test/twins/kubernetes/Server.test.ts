// What raw requests cannot show: listeners, caches held back, compaction, restores, replay.
import { assert, describe, it } from "@effect/vitest"
import { Effect, Random } from "effect"
import * as Kinds from "../../../src/services/Kubernetes/Kinds.ts"
import { ApiStatus, type Change, type WatchLine } from "./ApiServer.ts"
import { at } from "./Json.ts"
import { makeApiServer } from "./Server.ts"

const server = makeApiServer({ name: "host" })

const map = (name: string, data: object = {}) => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name, namespace: "default" },
  data,
})
const ref = (name: string) => ({ namespace: "default", name })
const maps = "/api/v1/namespaces/default/configmaps"

const collect = () => {
  const lines: Array<WatchLine> = []
  let ended = false
  return {
    lines,
    ended: () => ended,
    handlers: {
      onEvent: (line: WatchLine) => {
        lines.push(line)
      },
      onEnd: () => {
        ended = true
      },
    },
  }
}

const codeOf = (run: () => unknown): number => {
  try {
    run()
  } catch (error) {
    if (error instanceof ApiStatus) return error.code
    throw error
  }
  return 200
}

describe("listeners", () => {
  it.effect("hear of writes in order, and of their own after those they were told of", () =>
    Effect.gen(function* () {
      const api = yield* server
      const admin = api.as("admin")
      const heard: Array<string> = []
      const listen = (name: string) =>
        api.subscribe(({ type, object }: Change) => heard.push(`${name} ${type} ${object.metadata.name}`))
      api.subscribe(({ type, object }) => {
        if (type === "ADDED" && object.metadata.name === "a") admin.create(Kinds.ConfigMap, map("b"))
      })
      listen("one")
      const stop = listen("two")
      admin.create(Kinds.ConfigMap, map("a"))
      assert.deepStrictEqual(heard, ["one ADDED a", "two ADDED a", "one ADDED b", "two ADDED b"])
      stop()
      admin.delete(Kinds.ConfigMap, ref("a"))
      assert.deepStrictEqual(heard.slice(4), ["one DELETED a"])
    }),
  )

  it.effect("hear nothing of a write that changes nothing", () =>
    Effect.gen(function* () {
      const api = yield* server
      const admin = api.as("admin")
      const made = admin.apply(Kinds.ConfigMap, map("a", { k: "v" }))
      const heard: Array<Change> = []
      api.subscribe((change) => heard.push(change))
      assert.strictEqual(admin.apply(Kinds.ConfigMap, map("a", { k: "v" })), made)
      assert.deepStrictEqual(heard, [])
    }),
  )
})

describe("a watch cache that is held back", () => {
  it.effect("shows its past to lists that take any version and to watches, not to others", () =>
    Effect.gen(function* () {
      const api = yield* server
      const admin = api.as("admin")
      const a = admin.create(Kinds.ConfigMap, map("a"))
      const seen = collect()
      api.watch(
        {
          user: "admin",
          method: "GET",
          path: `${maps}?watch=1&resourceVersion=${a.metadata.resourceVersion}`,
        },
        seen.handlers,
      )
      api.faults.freezeCache(Kinds.ConfigMap)
      const b = admin.create(Kinds.ConfigMap, map("b"))
      const names = (query: string) => {
        const { status, body } = api.handle({ user: "admin", method: "GET", path: `${maps}?${query}` })
        const items = at(body, "items")
        return status === 200 && Array.isArray(items)
          ? items.map((item) => at(item, "metadata", "name"))
          : status
      }
      assert.deepStrictEqual(names("resourceVersion=0"), ["a"])
      assert.deepStrictEqual(names(""), ["a", "b"])
      assert.deepStrictEqual(
        names(`resourceVersion=${b.metadata.resourceVersion}&resourceVersionMatch=NotOlderThan`),
        504,
      )
      assert.deepStrictEqual(seen.lines, [])
      api.faults.thawCache(Kinds.ConfigMap)
      assert.deepStrictEqual(names("resourceVersion=0"), ["a", "b"])
      assert.deepStrictEqual(
        seen.lines.map(({ type }) => type),
        ["ADDED"],
      )
    }),
  )

  it.effect("may be that of a server in the past", () =>
    Effect.gen(function* () {
      const api = yield* server
      const admin = api.as("admin")
      const a = admin.create(Kinds.ConfigMap, map("a", { k: "1" }))
      admin.apply(Kinds.ConfigMap, map("a", { k: "2" }))
      admin.create(Kinds.ConfigMap, map("b"))
      api.faults.freezeCache(Kinds.ConfigMap, a.metadata.resourceVersion)
      const { body } = api.handle({ user: "admin", method: "GET", path: `${maps}?resourceVersion=0` })
      assert.strictEqual(at(body, "metadata", "resourceVersion"), a.metadata.resourceVersion)
      const items = at(body, "items")
      assert.deepStrictEqual(Array.isArray(items) ? items.map((item) => at(item, "data", "k")) : undefined, [
        "1",
      ])
    }),
  )
})

describe("history", () => {
  it.effect("that was compacted ends a watch and a paged list with 410", () =>
    Effect.gen(function* () {
      const api = yield* server
      const admin = api.as("admin")
      const a = admin.create(Kinds.ConfigMap, map("a"))
      admin.create(Kinds.ConfigMap, map("b"))
      const page = api.handle({ user: "admin", method: "GET", path: `${maps}?limit=1` })
      const token = String(at(page.body, "metadata", "continue"))
      admin.create(Kinds.ConfigMap, map("c"))
      const next = { user: "admin", method: "GET", path: `${maps}?limit=1&continue=${token}` } as const
      const items = at(api.handle(next).body, "items")
      assert.deepStrictEqual(Array.isArray(items) ? items.map((it) => at(it, "metadata", "name")) : [], ["b"])
      api.faults.compact()
      assert.strictEqual(api.handle(next).status, 410)
      const seen = collect()
      api.watch(
        {
          user: "admin",
          method: "GET",
          path: `${maps}?watch=1&resourceVersion=${a.metadata.resourceVersion}`,
        },
        seen.handlers,
      )
      assert.deepStrictEqual(
        seen.lines.map(({ type, object }) => [type, at(object, "code"), at(object, "reason")]),
        [["ERROR", 410, "Expired"]],
      )
      assert.isTrue(seen.ended())
    }),
  )

  it.effect("goes back in a restore, and a watch from then on stays silent until it is reached", () =>
    Effect.gen(function* () {
      const api = yield* server
      const admin = api.as("admin")
      admin.create(Kinds.ConfigMap, map("a"))
      const backup = api.backup()
      const b = admin.create(Kinds.ConfigMap, map("b"))
      api.restore(backup)
      assert.isUndefined(admin.get(Kinds.ConfigMap, ref("b")))
      const seen = collect()
      const watch = api.watch(
        {
          user: "admin",
          method: "GET",
          path: `${maps}?watch=1&allowWatchBookmarks=true&resourceVersion=${b.metadata.resourceVersion}`,
        },
        seen.handlers,
      )
      if ("bookmark" in watch) watch.bookmark()
      admin.create(Kinds.ConfigMap, map("c"))
      assert.deepStrictEqual(seen.lines, [])
      admin.create(Kinds.ConfigMap, map("d"))
      assert.deepStrictEqual(
        seen.lines.map(({ object }) => at(object, "metadata", "name")),
        ["d"],
      )
    }),
  )
})

describe("a server", () => {
  it.effect("of the same seed gives the same UIDs, and another one others", () =>
    Effect.gen(function* () {
      const uid = (seed: string) =>
        Effect.map(
          server.pipe(Random.withSeed(seed)),
          (api) => api.as("admin").get(Kinds.Namespace, { name: "kube-system" })?.metadata.uid,
        )
      assert.strictEqual(yield* uid("a"), yield* uid("a"))
      assert.notStrictEqual(yield* uid("a"), yield* uid("b"))
    }),
  )

  it.effect("without admission policies answers 404 to them", () =>
    Effect.gen(function* () {
      const api = yield* makeApiServer({ name: "old", admissionPolicies: false })
      const name = { name: "x" }
      assert.strictEqual(
        codeOf(() =>
          api.as("admin").apply(Kinds.ValidatingAdmissionPolicy, {
            apiVersion: "admissionregistration.k8s.io/v1",
            kind: "ValidatingAdmissionPolicy",
            metadata: name,
          }),
        ),
        404,
      )
    }),
  )

  it.effect("refuses whom no role allows, and lets parts of the control plane do their work", () =>
    Effect.gen(function* () {
      const api = yield* server
      assert.strictEqual(
        codeOf(() => api.as("bob").list(Kinds.ConfigMap)),
        403,
      )
      assert.deepStrictEqual(
        api.as("system:serviceaccount:kube-system:generic-garbage-collector").list(Kinds.ConfigMap),
        [],
      )
    }),
  )
})
