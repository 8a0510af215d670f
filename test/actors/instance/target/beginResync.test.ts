import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Option } from "effect"
import { beginResync, restartControlPlane } from "../../../../src/actors/instance/target/resync.ts"
import { Views } from "../../../../src/actors/instance/Views.ts"
import { hostNamespace } from "../../../../src/schema/Names.ts"
import { KubeError, type KubeObject, Kubernetes } from "../../../../src/services/Kubernetes/Kubernetes.ts"
import { type InstanceRecord, StateStore } from "../../../../src/services/StateStore/StateStore.ts"
import { key } from "../../support/instances.ts"

const object = (uid: string, owner?: string): KubeObject => ({
  apiVersion: "v1",
  kind: "Any",
  metadata: {
    name: uid,
    uid,
    resourceVersion: "1",
    ...(owner === undefined
      ? {}
      : { ownerReferences: [{ apiVersion: "v1", kind: "Service", name: "vcluster", uid: owner }] }),
  },
})

/** Begins a resync over what the server has live, whatever the caches have shown. */
const begun = Effect.fnUntraced(function* (
  live: Readonly<Record<string, KubeObject | undefined>>,
  recorded: string | undefined,
) {
  const distrusted: Array<string> = []
  const written: Array<InstanceRecord> = []
  const record: InstanceRecord = {
    format: 1,
    uid: "life",
    ...(recorded === undefined ? {} : { serviceUID: recorded }),
  }
  const result = yield* Effect.provide(
    beginResync(key, record),
    Layer.mergeAll(
      Layer.mock(Kubernetes, { get: (_, { name }) => Effect.succeed(Option.fromUndefinedOr(live[name])) }),
      Layer.mock(StateStore, {
        paths: () => ({ root: "", project: "", backend: "" }),
        packagesDir: "",
        pluginsDir: "",
        writeRecord: (_, next) =>
          Effect.andThen(
            Effect.yieldNow,
            Effect.sync(() => void written.push(next)),
          ),
      }),
      Layer.mock(Views, { distrust: (_, { name }) => Effect.sync(() => void distrusted.push(name)) }),
    ),
  )
  return { result, written, distrusted }
})

describe("a resync that is about to begin", () => {
  it.effect("does not when the server has what the record says: the caches are behind", () =>
    Effect.gen(function* () {
      for (const recorded of ["service", undefined]) {
        const live = { vcluster: object("service"), "vc-vcluster": object("secret", "service") }
        assert.deepStrictEqual(yield* begun(live, recorded), {
          result: Option.none(),
          written: [],
          distrusted: ["vcluster", "vc-vcluster"],
        })
      }
    }),
  )

  it.effect("waits for the Service", () =>
    Effect.gen(function* () {
      const { result, written } = yield* begun({ "vc-vcluster": object("secret", "service") }, "service")
      assert.deepStrictEqual([result, written], [Option.none(), []])
    }),
  )

  it.effect("does when Service or owner are others, or the Secret is gone, and is written down before", () =>
    Effect.gen(function* () {
      const pod = object("pod")
      for (const live of [
        { vcluster: object("new"), "vc-vcluster": object("secret", "new"), "vcluster-0": pod },
        { vcluster: object("service"), "vc-vcluster": object("secret", "other"), "vcluster-0": pod },
        { vcluster: object("service"), "vcluster-0": pod },
      ]) {
        const { result, written, distrusted } = yield* begun(live, "service")
        assert.deepStrictEqual(Option.toArray(result), written)
        assert.deepStrictEqual(
          written.map(({ resync }) => resync),
          [{ serviceUID: live.vcluster.metadata.uid, startedAt: "1970-01-01T00:00:00Z", podUID: "pod" }],
        )
        assert.deepStrictEqual(distrusted, [])
      }
    }),
  )
})

describe("the restart of a control plane", () => {
  it.effect("asks for the very pod, and is done when that is gone", () =>
    Effect.gen(function* () {
      const asked: Array<unknown> = []
      const distrusted: Array<string> = []
      const conflict = new KubeError({ code: 409, reason: "Conflict", request: "DELETE pods", message: "no" })
      const restart = restartControlPlane(key, "old").pipe(
        Effect.provide(
          Layer.mergeAll(
            Layer.mock(Kubernetes, {
              delete: (_, ref, options) =>
                Effect.andThen(
                  Effect.sync(() => void asked.push([ref, options])),
                  Effect.fail(conflict),
                ),
            }),
            Layer.mock(Views, { distrust: (_, { name }) => Effect.sync(() => void distrusted.push(name)) }),
          ),
        ),
      )
      yield* restart
      assert.deepStrictEqual(asked, [[{ namespace: hostNamespace(key), name: "vcluster-0" }, { uid: "old" }]])
      assert.deepStrictEqual(distrusted, ["vcluster-0"])
    }),
  )
})
