import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Option } from "effect"
import { whyTerminating } from "../../../../src/actors/instance/deletion/whyTerminating.ts"
import { KubeError, type KubeObject, Kubernetes } from "../../../../src/services/Kubernetes/Kubernetes.ts"

const namespace = (conditions: ReadonlyArray<unknown>): KubeObject => ({
  apiVersion: "v1",
  kind: "Namespace",
  metadata: { name: "pi-x", uid: "ns", resourceVersion: "1", deletionTimestamp: "2026-11-03T12:00:00Z" },
  status: { phase: "Terminating", conditions },
})
/** As the namespace controller of 1.35 words them. */
const remaining = (kinds: string) => [
  {
    type: "NamespaceDeletionContentFailure",
    status: "False",
    message: "All content successfully deleted, may be waiting on finalization",
  },
  { type: "NamespaceContentRemaining", status: "True", message: `Some resources are remaining: ${kinds}` },
  {
    type: "NamespaceFinalizersRemaining",
    status: "True",
    message:
      "Some content in the namespace has finalizers remaining: example.com/hold in 1 resource instances",
  },
]
const object = (name: string, finalizers: ReadonlyArray<string>): KubeObject => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name, namespace: "pi-x", uid: name, resourceVersion: "1", finalizers },
})

const api = (answer: Effect.Effect<ReadonlyArray<KubeObject>, KubeError>) =>
  Layer.mock(Kubernetes, {
    list: (kind) =>
      kind.plural === "configmaps" || (kind.group === "example.com" && kind.version === "v1beta1")
        ? answer
        : Effect.succeed([]),
    raw: () => Effect.succeed(JSON.stringify({ preferredVersion: { version: "v1beta1" } })),
  })
const refused = Effect.fail(
  new KubeError({ code: 403, reason: "Forbidden", request: "GET configmaps", message: "no" }),
)
const ask = (
  seen: KubeObject,
  answer: Effect.Effect<ReadonlyArray<KubeObject>, KubeError> = Effect.succeed([]),
) => Effect.map(Effect.provide(whyTerminating(seen), api(answer)), Option.getOrUndefined)

describe("a namespace that does not end", () => {
  it.effect("names the object that a finalizer holds", () =>
    Effect.gen(function* () {
      const held = Effect.succeed([object("free", []), object("held", ["example.com/hold"])])
      const why = yield* ask(namespace(remaining("configmaps. has 1 resource instances")), held)
      assert.strictEqual(why, "it is held by configmaps/held (finalizer example.com/hold)")
    }),
  )

  it.effect("finds objects of a group in the version that the server prefers", () =>
    Effect.gen(function* () {
      const held = Effect.succeed([object("w", ["example.com/hold"])])
      const why = yield* ask(namespace(remaining("widgets.example.com has 1 resource instances")), held)
      assert.strictEqual(why, "it is held by widgets/w (finalizer example.com/hold)")
    }),
  )

  it.effect("names three of many", () =>
    Effect.gen(function* () {
      const held = Effect.succeed(["a", "b", "c", "d", "e"].map((name) => object(name, ["example.com/hold"])))
      const why = yield* ask(namespace(remaining("configmaps. has 5 resource instances")), held)
      assert.match(why ?? "", /configmaps\/a .*configmaps\/c .* and 2 more$/)
    }),
  )

  it.effect("is told in the controller's words where its content may not be listed", () =>
    Effect.gen(function* () {
      const why = yield* ask(namespace(remaining("configmaps. has 1 resource instances")), refused)
      assert.match(why ?? "", /configmaps\. has 1 resource instances; .*example\.com\/hold/)
    }),
  )

  it.effect("says nothing while nothing is in its way", () =>
    Effect.gen(function* () {
      assert.isUndefined(yield* ask(namespace([])))
      assert.isUndefined(yield* ask({ ...namespace([]), status: undefined }))
    }),
  )
})
