import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Option } from "effect"
import { adopt, noteAgreed, noteBehind } from "../../../src/actors/instance/adopt.ts"
import type { PlatformInstance } from "../../../src/schema/PlatformInstance.ts"
import type { PlatformInstanceStatus } from "../../../src/schema/PlatformStatus.ts"
import { Events } from "../../../src/services/Events/Events.ts"
import { type InstanceRecord, StateStore } from "../../../src/services/StateStore/StateStore.ts"
import { key, storedAs } from "../support/instances.ts"

const installed: NonNullable<InstanceRecord["installed"]> = {
  version: "6.0.22",
  generation: 3,
  reason: "FirstInstall",
  finishedAt: "2026-11-03T12:00:00Z",
  tenants: 1,
  users: 2,
  endpoints: {},
}
const record: InstanceRecord = { format: 1, uid: "life", installed }

/** What becomes of a record, what is written, and the reasons of the Events. */
const told = Effect.fnUntraced(function* <E>(
  work: Effect.Effect<Option.Option<InstanceRecord>, E, StateStore | Events>,
) {
  const written: Array<InstanceRecord> = []
  const reasons: Array<string> = []
  const result = yield* Effect.provide(
    work,
    Layer.mergeAll(
      Layer.mock(StateStore, {
        paths: () => ({ root: "", project: "", backend: "" }),
        packagesDir: "",
        pluginsDir: "",
        writeRecord: (_, next) => Effect.sync(() => void written.push(next)),
      }),
      Layer.mock(Events, { emit: (_, { reason }) => Effect.sync(() => void reasons.push(reason)) }),
    ),
  )
  return { record: Option.getOrUndefined(result), written, reasons }
})

describe("what a predecessor has left", () => {
  const adopted = (left: InstanceRecord | undefined) =>
    told(adopt(storedAs("next"), key, Option.fromUndefinedOr(left)))

  it.effect("is its successor's, its version installed and no generation of it applied", () =>
    Effect.gen(function* () {
      const next: InstanceRecord = { format: 1, uid: "next", installed: { ...installed, generation: 0 } }
      assert.deepStrictEqual(yield* adopted(record), { record: next, written: [next], reasons: ["Adopted"] })
    }),
  )

  it.effect("is told as a backup's where it waits for its data", () =>
    Effect.gen(function* () {
      const notes: Array<string> = []
      yield* adopt(storedAs("next"), key, Option.some({ ...record, restoring: "0011" })).pipe(
        Effect.provide(
          Layer.mergeAll(
            Layer.mock(StateStore, {
              paths: () => ({ root: "", project: "", backend: "" }),
              packagesDir: "",
              pluginsDir: "",
              writeRecord: () => Effect.void,
            }),
            Layer.mock(Events, { emit: (_, { note }) => Effect.sync(() => void notes.push(note)) }),
          ),
        ),
      )
      assert.deepStrictEqual(notes, [
        "the state of this instance is that of backup 0011: nothing is installed until its data is back",
      ])
    }),
  )

  it.effect("is its successor's, too, when nothing was installed", () =>
    Effect.gen(function* () {
      const next = { format: 1, uid: "next" } as const
      assert.deepStrictEqual(yield* adopted({ format: 1, uid: "life" }), {
        record: next,
        written: [next],
        reasons: ["Adopted"],
      })
    }),
  )

  it.effect("is left to be finished when it is half removed", () =>
    Effect.gen(function* () {
      const half = { ...record, deleting: "life" }
      assert.deepStrictEqual(yield* adopted(half), { record: half, written: [], reasons: [] })
    }),
  )

  it.effect("is nothing when the record is its own, or there is none", () =>
    Effect.gen(function* () {
      const own = { ...record, uid: "next" }
      assert.deepStrictEqual(yield* adopted(own), { record: own, written: [], reasons: [] })
      assert.deepStrictEqual(yield* adopted(undefined), { record: undefined, written: [], reasons: [] })
    }),
  )
})

const instanceOf = (uid: string, status: PlatformInstanceStatus = {}, generation = 4): PlatformInstance => ({
  apiVersion: "platform.di-framework.dev/v1alpha1",
  kind: "PlatformInstance",
  metadata: {
    ...key,
    uid,
    generation,
    resourceVersion: "1",
    creationTimestamp: "2026-11-03T12:00:00Z",
  },
  spec: { version: "6.0.22", target: { type: "vcluster" }, deletionPolicy: "Delete" },
  status,
})
const agreedOn = (generation: number, uid = "life"): NonNullable<InstanceRecord["agreed"]> => ({
  uid,
  generation,
  spec: { version: "6.0.22", target: { type: "vcluster" }, deletionPolicy: "Delete" },
})

describe("a record that is older than what the status has shown", () => {
  const shown = {
    installedVersion: "6.0.22",
    applied: { generation: 4, tenants: 1, users: 2 },
  }
  const noted = (found: InstanceRecord | undefined, uid = "life", status: PlatformInstanceStatus = shown) =>
    told(noteBehind(storedAs(uid), instanceOf(uid, status), Option.fromUndefinedOr(found)))

  it.effect("is noted as such, and told; what was agreed on is what has been shown", () =>
    Effect.gen(function* () {
      const behind: InstanceRecord = { ...record, behind: true, agreed: agreedOn(4) }
      assert.deepStrictEqual(yield* noted({ ...record, agreed: agreedOn(3) }), {
        record: behind,
        written: [behind],
        reasons: ["StateOlder"],
      })
    }),
  )

  it.effect("says no more what was agreed on where the spec is another than was shown", () =>
    Effect.gen(function* () {
      const behind: InstanceRecord = { ...record, behind: true }
      const before = { ...shown, applied: { ...shown.applied, generation: 5 } }
      assert.deepStrictEqual(
        (yield* noted({ ...record, agreed: agreedOn(3) }, "life", before)).record,
        behind,
      )
      // A repair is no other spec.
      const repaired = { lastRepair: "2026-11-03T13:00:00Z" }
      assert.deepStrictEqual(
        (yield* noted({ ...record, agreed: agreedOn(3) }, "life", repaired)).record?.agreed,
        agreedOn(3),
      )
    }),
  )

  it.effect("is noted once, and not when it is none, another life's, or its state is being made anew", () =>
    Effect.gen(function* () {
      const since = "2026-11-03T12:00:00Z"
      const cases: ReadonlyArray<readonly [InstanceRecord | undefined, string, PlatformInstanceStatus]> = [
        [{ ...record, behind: true }, "life", shown],
        [{ ...record, anew: { because: "asked", since } }, "life", shown],
        [record, "next", shown],
        [record, "life", {}],
        [undefined, "life", shown],
      ]
      for (const [found, uid, status] of cases)
        assert.deepStrictEqual(yield* noted(found, uid, status), { record: found, written: [], reasons: [] })
    }),
  )
})

describe("a record that says not what was agreed on", () => {
  const noted = (found: InstanceRecord, generation = 3) =>
    told(noteAgreed(instanceOf("life", {}, generation), Option.some(found)))

  it.effect("says it once what is installed is what the spec says", () =>
    Effect.gen(function* () {
      const next: InstanceRecord = { ...record, agreed: agreedOn(3) }
      for (const found of [record, { ...record, agreed: agreedOn(3, "another") }])
        assert.deepStrictEqual(yield* noted(found), { record: next, written: [next], reasons: [] })
    }),
  )

  it.effect("is left alone where that is not known, or known already", () =>
    Effect.gen(function* () {
      const cases: ReadonlyArray<readonly [InstanceRecord, number]> = [
        [{ ...record, agreed: agreedOn(2) }, 3],
        [{ ...record, behind: true }, 3],
        [{ ...record, uid: "another" }, 3],
        [{ ...record, deleting: "life" }, 3],
        [{ ...record, installed: { ...installed, version: "6.0.21" } }, 3],
        [record, 4],
        [{ format: 1, uid: "life" }, 3],
      ]
      for (const [found, generation] of cases)
        assert.deepStrictEqual(yield* noted(found, generation), { record: found, written: [], reasons: [] })
    }),
  )
})
