import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Option } from "effect"
import { runUninstall } from "../../../../src/actors/instance/deletion/deleteInstance.ts"
import { decodeDeletionView } from "../../../../src/schema/DeletionView.ts"
import { Helm, type ReleaseState } from "../../../../src/services/Helm/Helm.ts"
import { storedAs } from "../../support/instances.ts"

/** Of a Helm that says each time that it is done, and leaves this. */
const uninstalled = (left: Option.Option<ReleaseState>) =>
  Effect.flatMap(Effect.orDie(decodeDeletionView(storedAs("life"))), runUninstall).pipe(
    Effect.provide(
      Layer.mock(Helm, {
        chartVersion: "0",
        uninstall: () => Effect.void,
        state: () => Effect.succeed(left),
      }),
    ),
  )

describe("an uninstall", () => {
  it.effect("is done when no record of the release is left", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* uninstalled(Option.none()), { _tag: "Uninstalled" })
    }),
  )

  it.effect("has failed when Helm says that it is done and a record is left", () =>
    Effect.gen(function* () {
      const left = {
        revision: 3,
        status: "uninstalling",
        lastDeployed: Option.none(),
        lastSuperseded: Option.none(),
        oldest: 1,
      } as const
      const error = yield* Effect.flip(uninstalled(Option.some(left)))
      assert.deepStrictEqual(
        { reason: error.reason, message: error.message },
        {
          reason: "TargetDeleteFailed",
          message:
            "uninstall vcluster: helm says it is done, but the record of revision 3 (uninstalling) is still there",
        },
      )
    }),
  )
})
