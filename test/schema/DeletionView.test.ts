import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { decodeDeletionView } from "../../src/schema/DeletionView.ts"

const metadata = {
  name: "one",
  namespace: "team-a",
  uid: "4be1",
  resourceVersion: "7",
  generation: 2,
  creationTimestamp: "2026-11-03T10:00:00Z",
  deletionTimestamp: "2026-11-03T11:00:00Z",
}
const view = (object: object) =>
  Effect.map(decodeDeletionView({ metadata, ...object }), ({ metadata: _, ...view }) => view)

const deleted = { deletionPolicy: "Delete", customStorageRoot: false }

describe("decodeDeletionView", () => {
  it.effect.each<readonly [title: string, object: object, expected: object]>([
    ["the least there is is deleted", { spec: {} }, deleted],
    ["Delete is deleted", { spec: { deletionPolicy: "Delete" } }, deleted],
    ["Retain is kept", { spec: { deletionPolicy: "Retain" } }, { ...deleted, deletionPolicy: "Retain" }],
    [
      "a spec that is otherwise broken is deleted",
      { spec: { version: 6, target: null, platform: {} } },
      deleted,
    ],
    [
      "a policy that cannot be read is kept",
      { spec: { deletionPolicy: "Orphan" } },
      { ...deleted, deletionPolicy: "Retain" },
    ],
    [
      "a custom storage root is seen",
      { spec: { platform: { storageRoot: "/data" } } },
      { ...deleted, customStorageRoot: true, storageRoot: "/data" },
    ],
    ["an empty storage root is none", { spec: { platform: { storageRoot: "" } } }, deleted],
    [
      "a storage root that cannot be read is a custom one",
      { spec: { platform: { storageRoot: 7 } } },
      { ...deleted, customStorageRoot: true },
    ],
    [
      "a platform that cannot be read has a custom root",
      { spec: { platform: "x" } },
      { ...deleted, customStorageRoot: true },
    ],
    [
      "a spec that cannot be read is kept",
      { spec: "x" },
      { deletionPolicy: "Retain", customStorageRoot: true },
    ],
    ["no spec is kept", {}, { deletionPolicy: "Retain", customStorageRoot: true }],
  ])("%s", ([, object, expected]) =>
    Effect.map(view(object), (seen) => assert.deepStrictEqual<unknown>(seen, expected)),
  )

  it.effect("hands on the metadata", () =>
    Effect.map(decodeDeletionView({ metadata, spec: {} }), (view) =>
      assert.strictEqual(view.metadata.deletionTimestamp, metadata.deletionTimestamp),
    ),
  )
})
