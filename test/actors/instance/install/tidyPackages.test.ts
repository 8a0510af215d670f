// Which packages stay: what any instance names or has installed, living or retained. The rest goes once an hour.
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { TestClock } from "effect/testing"
import { tidyOnce, tidyPackages } from "../../../../src/actors/instance/install/tidyPackages.ts"
import { Views } from "../../../../src/actors/instance/Views.ts"
import type { KubeObject } from "../../../../src/services/Kubernetes/Kubernetes.ts"
import { Pulumi } from "../../../../src/services/Pulumi/Pulumi.ts"
import { StateStore, StateStoreError } from "../../../../src/services/StateStore/StateStore.ts"

const instance = (own: Readonly<Record<string, unknown>>): KubeObject => ({
  apiVersion: "platform.di-framework.dev/v1alpha1",
  kind: "PlatformInstance",
  metadata: { name: "one", namespace: "team-a", uid: "u", resourceVersion: "1" },
  ...own,
})

const unreadable = new StateStoreError({
  path: "/state/instances/team-a/one/instance.json",
  message: "cut off",
})

/** Versions that each call was told to keep. */
const scene = (
  instances: () => ReadonlyArray<KubeObject>,
  proved: () => Effect.Effect<ReadonlySet<string>, StateStoreError>,
) => {
  const kept: Array<ReadonlyArray<string>> = []
  const layer = Layer.mergeAll(
    Layer.mock(Views, { instances: Effect.sync(instances) }),
    Layer.mock(StateStore, {
      installedVersions: Effect.suspend(proved),
      packagesDir: "/state/packages",
      pluginsDir: "/state/plugins",
      paths: () => ({ root: "", project: "", backend: "" }),
    }),
    Layer.mock(Pulumi, {
      prune: (versions) =>
        Effect.sync(() => {
          kept.push([...versions].sort())
        }),
    }),
  )
  return { kept, layer }
}

describe("packages that are kept", () => {
  it.effect("are those of specs, of statuses, and of every record, a retained instance's among them", () => {
    const { kept, layer } = scene(
      () => [
        instance({ spec: { version: "6.0.3" }, status: { installedVersion: "6.0.2" } }),
        instance({ spec: { version: "6.0.3" } }),
      ],
      () => Effect.succeed(new Set(["6.0.1", "6.0.2"])),
    )
    return Effect.map(tidyOnce(), () => assert.deepStrictEqual(kept, [["6.0.1", "6.0.2", "6.0.3"]])).pipe(
      Effect.provide(layer),
    )
  })

  it.effect("are those of an instance that cannot be read in all else, too", () => {
    const { kept, layer } = scene(
      () => [
        instance({ spec: { version: "6.0.3", target: 7 }, status: "none" }),
        instance({ spec: { version: 6 }, status: { installedVersion: "6.0.2" } }),
        instance({}),
      ],
      () => Effect.succeed(new Set<string>()),
    )
    return Effect.map(tidyOnce(), () => assert.deepStrictEqual(kept, [["6.0.2", "6.0.3"]])).pipe(
      Effect.provide(layer),
    )
  })

  it.effect("are all of them while a record cannot be read; the next hour tries again", () => {
    let isReadable = false
    const { kept, layer } = scene(
      () => [instance({ spec: { version: "6.0.3" } })],
      () => (isReadable ? Effect.succeed(new Set(["6.0.1"])) : Effect.fail(unreadable)),
    )
    return Effect.gen(function* () {
      yield* Effect.forkChild(tidyPackages)
      yield* TestClock.adjust("61 minutes")
      assert.deepStrictEqual(kept, [])
      isReadable = true
      yield* TestClock.adjust("58 minutes")
      assert.deepStrictEqual(kept, [])
      yield* TestClock.adjust("2 minutes")
      assert.deepStrictEqual(kept, [["6.0.1", "6.0.3"]])
      yield* TestClock.adjust("1 hour")
      assert.lengthOf(kept, 2)
    }).pipe(Effect.provide(layer))
  })
})
