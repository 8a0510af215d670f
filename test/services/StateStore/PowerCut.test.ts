// What the state directory has said is done is done, though the power fails right after and the disk loses every change
// that was not synced.
import { assert, it } from "@effect/vitest"
import { Effect, Layer, Option } from "effect"
import { Disk } from "../../../src/services/Disk/Disk.ts"
import { InstanceRecord, OperationMarker, StateStore } from "../../../src/services/StateStore/StateStore.ts"
import { StateStoreLive } from "../../../src/services/StateStore/StateStoreLive.ts"
import { diskOf } from "../../twins/files/DiskTwin.ts"
import { type Files, makeFiles } from "../../twins/files/Files.ts"
import { simulate } from "../../twins/simulation/Simulation.ts"

const operator = { uid: 1000, gid: 1000, umask: 0o022 }
const key = { namespace: "team", name: "one" }
const sibling = { namespace: "team", name: "two" }
const record = InstanceRecord.make({ format: 1, uid: "u1" })
const marker = OperationMarker.make({
  format: 1,
  kind: "up",
  version: "6.0.22",
  generation: 3,
  startedAt: "2026-01-01T00:00:00Z",
  holder: { podUID: "p", podName: "operator-0", incarnation: "i" },
})

type Act = (store: StateStore["Service"], files: Files) => Effect.Effect<unknown, unknown>

/** Does `before`, which has long been written; then `act`; then the power fails, and another operator starts and looks. */
const afterPowerCut = (steps: { readonly before?: Act; readonly act: Act; readonly look: Act }) =>
  simulate(
    Effect.gen(function* () {
      const twin = yield* makeFiles
      twin.mount("/state", twin.makeVolume({ uid: 1000, mode: 0o700 }))
      const files = twin.files.as(operator)
      const start = (act: Act) =>
        StateStore.use((store) => act(store, files)).pipe(
          Effect.provide(
            StateStoreLive.layer({ stateDir: "/state" }).pipe(
              Layer.provide(Layer.succeed(Disk, diskOf(twin, operator))),
            ),
          ),
        )
      if (steps.before !== undefined) yield* start(steps.before)
      for (const volume of twin.tree.paths.mounted) volume.settle()
      yield* start(steps.act)
      twin.powerCut()
      yield* start(steps.look)
    }),
    { seed: 1 },
  )

const both: Act = (store) =>
  Effect.andThen(store.writeRecord(key, record), store.writeRecord(sibling, record))
const records = (store: StateStore["Service"]) =>
  Effect.map(store.records, (all) => all.map(({ key: { name }, record: { uid } }) => `${name} ${uid}`))

it("a first record is there", () =>
  afterPowerCut({
    act: (store) => store.writeRecord(key, record),
    look: Effect.fnUntraced(function* (store) {
      assert.deepStrictEqual(yield* store.readRecord(key), Option.some(record))
    }),
  }))

it("a record that replaces another is there", () =>
  afterPowerCut({
    before: both,
    act: (store) => store.writeRecord(key, { ...record, uid: "u2" }),
    look: Effect.fnUntraced(function* (store) {
      assert.deepStrictEqual(yield* records(store), ["one u2", "two u1"])
    }),
  }))

it("a history is there as it was last written, and goes with all else of its instance", () => {
  afterPowerCut({
    before: (store) => store.writeHistory(key, "one"),
    act: (store) => store.writeHistory(key, "two"),
    look: Effect.fnUntraced(function* (store, files) {
      assert.deepStrictEqual(yield* store.readHistory(key), Option.some("two\n"))
      assert.strictEqual((files.lstat(`${store.paths(key).root}/history.json`)?.mode ?? 0) & 0o777, 0o600)
    }),
  })
  afterPowerCut({
    before: (store) => Effect.andThen(store.writeRecord(key, record), store.writeHistory(key, "one")),
    act: (store) => store.drop(key),
    look: Effect.fnUntraced(function* (store) {
      assert.deepStrictEqual(yield* store.readHistory(key), Option.none())
    }),
  })
})

it("a marker is there, and one that was removed is not", () => {
  afterPowerCut({
    before: both,
    act: (store) => store.writeOperation(key, marker),
    look: Effect.fnUntraced(function* (store) {
      assert.deepStrictEqual(yield* store.readOperation(key), Option.some(marker))
    }),
  })
  afterPowerCut({
    before: (store) => store.writeOperation(key, marker),
    act: (store) => store.removeOperation(key),
    look: Effect.fnUntraced(function* (store) {
      assert.deepStrictEqual(yield* store.readOperation(key), Option.none())
    }),
  })
})

it("the folders that were made are there", () =>
  afterPowerCut({
    act: (store) => store.prepare(key),
    look: (store, files) =>
      Effect.sync(() => {
        assert.isTrue(files.exists(store.paths(key).project))
        assert.isTrue(files.exists(store.paths(key).backend))
      }),
  }))

it("an instance that was dropped does not come back, beside another one or alone", () => {
  afterPowerCut({
    before: both,
    act: (store) => store.drop(key),
    look: Effect.fnUntraced(function* (store) {
      assert.deepStrictEqual(yield* records(store), ["two u1"])
    }),
  })
  afterPowerCut({
    before: (store) => store.writeRecord(key, record),
    act: (store) => store.drop(key),
    look: Effect.fnUntraced(function* (store, files) {
      assert.deepStrictEqual(yield* records(store), [])
      assert.deepStrictEqual(files.list("/state/instances"), [])
    }),
  })
})

it("state that was dropped does not come back, and the record stays", () =>
  afterPowerCut({
    before: Effect.fnUntraced(function* (store, files) {
      yield* both(store, files)
      const { backend, project } = yield* store.prepare(key)
      files.writeText(`${backend}/state`, "x")
      files.writeText(`${project}/program`, "x")
    }),
    act: (store) => store.dropState(key),
    look: Effect.fnUntraced(function* (store) {
      assert.isFalse(yield* store.hasState(key))
      assert.deepStrictEqual(yield* records(store), ["one u1", "two u1"])
    }),
  }))
