import { createHash } from "node:crypto"
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import path from "node:path"
import { setTimeout } from "node:timers/promises"
import { assert, it } from "@effect/vitest"
import { Deferred, Effect, Fiber, Layer, Option } from "effect"
import { Disk, DiskError } from "../../../src/services/Disk/Disk.ts"
import { DiskLive } from "../../../src/services/Disk/DiskLive.ts"
import { InstanceRecord, OperationMarker, StateStore } from "../../../src/services/StateStore/StateStore.ts"
import { StateStoreLive } from "../../../src/services/StateStore/StateStoreLive.ts"

const key = { namespace: "team", name: "one" }
const sibling = { namespace: "team", name: "two" }
const record = InstanceRecord.make({ format: 1, uid: "u1", serviceUID: "s1" })
const marker = OperationMarker.make({
  format: 1,
  kind: "up",
  version: "6.0.22",
  generation: 3,
  startedAt: "2026-01-01T00:00:00Z",
  holder: { podUID: "p", podName: "operator-0", incarnation: "i", pid: 7, startTime: "123" },
})

const io = <A>(run: () => Promise<A>) => Effect.promise(run)
const modeOf = (file: string) => io(() => stat(file).then(({ mode }) => mode & 0o777))
const exists = (file: string) =>
  io(() =>
    stat(file).then(
      () => true,
      () => false,
    ),
  )

/** A test over a state directory of its own on the real disk; `root` is the folder of instance team/one. */
const onDisk = <A, E>(
  test: (store: StateStore["Service"], dir: string, root: string) => Effect.Effect<A, E>,
) =>
  Effect.gen(function* () {
    const dir = yield* Effect.acquireRelease(
      io(() => mkdtemp(path.join(tmpdir(), "state-"))),
      (it) => io(() => rm(it, { recursive: true, force: true })),
    )
    return yield* StateStore.use((store) => test(store, dir, path.join(dir, "instances/team/one"))).pipe(
      Effect.provide(StateStoreLive.layer({ stateDir: dir }).pipe(Layer.provide(DiskLive.layer))),
    )
  })

it.effect("a record or a marker that was never written is none, and a written one comes back", () =>
  onDisk((store) =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* store.readRecord(key), Option.none())
      assert.deepStrictEqual(yield* store.readOperation(key), Option.none())
      yield* store.writeRecord(key, record)
      yield* store.writeOperation(key, marker)
      assert.deepStrictEqual(yield* store.readRecord(key), Option.some(record))
      assert.deepStrictEqual(yield* store.readOperation(key), Option.some(marker))
      yield* store.removeOperation(key)
      yield* store.removeOperation(key)
      assert.deepStrictEqual(yield* store.readOperation(key), Option.none())
      assert.deepStrictEqual(yield* store.readRecord(key), Option.some(record))
    }),
  ),
)

it.effect("folders are 0700 and files 0600, whatever the umask", () =>
  onDisk((store, dir, root) =>
    Effect.gen(function* () {
      const before = process.umask(0o277)
      yield* Effect.gen(function* () {
        yield* store.prepare(key)
        yield* store.writeRecord(key, record)
      }).pipe(Effect.ensuring(Effect.sync(() => process.umask(before))))
      for (const folder of ["instances", "packages", "plugins", "instances/team"]) {
        assert.strictEqual(yield* modeOf(path.join(dir, folder)), 0o700, folder)
      }
      for (const folder of [root, store.paths(key).project, store.paths(key).backend]) {
        assert.strictEqual(yield* modeOf(folder), 0o700, folder)
      }
      assert.strictEqual(yield* modeOf(path.join(root, "instance.json")), 0o600)
    }),
  ),
)

it.effect("a folder that others could read is closed again", () =>
  onDisk((store, _, root) =>
    Effect.gen(function* () {
      yield* store.prepare(key)
      yield* io(() => chmod(root, 0o755))
      yield* store.writeRecord(key, record)
      assert.strictEqual(yield* modeOf(root), 0o700)
    }),
  ),
)

it.effect("what a write cut short left behind goes with the next history, too", () =>
  onDisk((store, _, root) =>
    Effect.gen(function* () {
      yield* store.writeHistory(key, "one")
      yield* io(() => writeFile(path.join(root, "history.json.0123456789ab.tmp"), "tw"))
      yield* store.writeHistory(key, "two")
      assert.deepStrictEqual(yield* io(() => readdir(root)), ["history.json"])
    }),
  ),
)

it.effect("what a write cut short left behind is never read, and goes with the next preparation", () =>
  onDisk((store, _, root) =>
    Effect.gen(function* () {
      yield* store.writeRecord(key, record)
      yield* io(() => writeFile(path.join(root, "instance.json.0123456789ab.tmp"), '{"format":1,"ui'))
      assert.deepStrictEqual(yield* store.readRecord(key), Option.some(record))
      yield* store.prepare(key)
      assert.deepStrictEqual(yield* io(() => readdir(root)), ["backend", "instance.json", "project"])
    }),
  ),
)

it.effect("writes at the same time leave one of the written records, whole, and nothing else", () =>
  onDisk((store, _, root) =>
    Effect.gen(function* () {
      const uids = Array.from({ length: 20 }, (_, index) => `u${index}`)
      yield* Effect.forEach(uids, (uid) => store.writeRecord(key, { ...record, uid }), {
        concurrency: "unbounded",
      })
      assert.include(uids, Option.getOrThrow(yield* store.readRecord(key)).uid)
      assert.deepStrictEqual(yield* io(() => readdir(root)), ["instance.json"])
    }),
  ),
)

it.effect("a write waits for no write of another instance", () =>
  Effect.gen(function* () {
    const dir = yield* Effect.acquireRelease(
      io(() => mkdtemp(path.join(tmpdir(), "state-"))),
      (it) => io(() => rm(it, { recursive: true, force: true })),
    )
    const disk = yield* Disk
    const held = yield* Deferred.make<void>()
    const begun = yield* Deferred.make<void>()
    const slow = Disk.of({
      ...disk,
      writeNew: (file, ...rest) =>
        file.includes("/one/")
          ? Deferred.succeed(begun, undefined).pipe(
              Effect.andThen(Deferred.await(held)),
              Effect.andThen(disk.writeNew(file, ...rest)),
            )
          : disk.writeNew(file, ...rest),
    })
    yield* StateStore.use((store) =>
      Effect.gen(function* () {
        const first = yield* Effect.forkChild(store.writeRecord(key, record))
        yield* Deferred.await(begun)
        yield* store.writeRecord(sibling, record)
        assert.deepStrictEqual(yield* store.readRecord(key), Option.none())
        yield* Deferred.succeed(held, undefined)
        yield* Fiber.join(first)
        assert.deepStrictEqual(yield* store.readRecord(key), Option.some(record))
      }),
    ).pipe(
      Effect.provide(StateStoreLive.layer({ stateDir: dir }).pipe(Layer.provide(Layer.succeed(Disk, slow)))),
    )
  }).pipe(Effect.provide(DiskLive.layer)),
)

it.effect(
  "instances of one namespace are dropped at the same time, and their folder goes with the last",
  () =>
    Effect.gen(function* () {
      const dir = yield* Effect.acquireRelease(
        io(() => mkdtemp(path.join(tmpdir(), "state-"))),
        (it) => io(() => rm(it, { recursive: true, force: true })),
      )
      const disk = yield* Disk
      const team = path.join(dir, "instances/team")
      const moved = yield* Deferred.make<void>()
      let isSlow = false
      const slow = Disk.of({
        ...disk,
        rename: (from, to) =>
          disk.rename(from, to).pipe(
            Effect.tap(() => {
              isSlow = from === path.join(team, key.name)
              return isSlow ? Deferred.succeed(moved, undefined) : Effect.void
            }),
          ),
        // The first one's: as long as the other one's whole removal would take.
        syncFolder: (folder) => {
          const wait = isSlow && folder === team ? io(() => setTimeout(200)) : Effect.void
          isSlow = false
          return Effect.andThen(wait, disk.syncFolder(folder))
        },
      })
      yield* StateStore.use((store) =>
        Effect.gen(function* () {
          yield* store.writeRecord(key, record)
          yield* store.writeRecord(sibling, record)
          const first = yield* Effect.forkChild(store.drop(key))
          yield* Deferred.await(moved)
          yield* store.drop(sibling)
          yield* Fiber.join(first)
          assert.isFalse(yield* exists(team))
        }),
      ).pipe(
        Effect.provide(
          StateStoreLive.layer({ stateDir: dir }).pipe(Layer.provide(Layer.succeed(Disk, slow))),
        ),
      )
    }).pipe(Effect.provide(DiskLive.layer)),
)

for (const [what, text] of [
  ["torn", '{"format":1,"uid":"u'],
  ["empty", ""],
  ["of another format", '{"format":0,"uid":"u1"}'],
] as const) {
  it.effect(`a record that is ${what} is an error that names its path and a way out, never absent`, () =>
    onDisk((store, _, root) =>
      Effect.gen(function* () {
        yield* store.prepare(key)
        const file = path.join(root, "instance.json")
        yield* io(() => writeFile(file, text))
        const error = yield* Effect.flip(store.readRecord(key))
        assert.strictEqual(error.path, file)
        assert.include(error.message, file)
        assert.include(error.message, "restore it from a backup")
        assert.strictEqual(yield* io(() => readFile(file, "utf8")), text)
      }),
    ),
  )
}

for (const bad of [
  { namespace: "..", name: "one" },
  { namespace: "team", name: ".." },
  { namespace: "team", name: "a/../../b" },
  { namespace: "team", name: "a\0b" },
  { namespace: "", name: "one" },
  { namespace: "team/x", name: "one" },
]) {
  it.effect(`${JSON.stringify(bad)} is no place`, () =>
    onDisk((store) =>
      Effect.gen(function* () {
        assert.strictEqual((yield* Effect.flip(store.writeRecord(bad, record)))._tag, "StateStoreError")
        assert.strictEqual((yield* Effect.flip(store.drop(bad)))._tag, "StateStoreError")
        assert.throws(() => store.paths(bad))
      }),
    ),
  )
}

it.effect("a record that a full disk has no room for leaves the one before it", () =>
  onDisk((store, dir) =>
    Effect.gen(function* () {
      yield* store.writeRecord(key, record)
      const full = Layer.effect(
        Disk,
        Effect.map(Disk, (disk) => ({
          ...disk,
          writeNew: (file: string) =>
            Effect.fail(new DiskError({ path: file, code: "ENOSPC", message: "no space left on device" })),
        })),
      ).pipe(Layer.provide(DiskLive.layer))
      yield* StateStore.use((other) => Effect.flip(other.writeRecord(key, { ...record, uid: "u2" }))).pipe(
        Effect.provide(StateStoreLive.layer({ stateDir: dir }).pipe(Layer.provide(full))),
      )
      assert.deepStrictEqual(yield* store.readRecord(key), Option.some(record))
    }),
  ),
)

it.effect("a record of a newer operator is refused by its format, and left as it is", () =>
  onDisk((store, _, root) =>
    Effect.gen(function* () {
      const text = JSON.stringify({ format: 2, uid: "u1", moons: 3 })
      yield* store.prepare(key)
      yield* io(() => writeFile(path.join(root, "instance.json"), text, { mode: 0o600 }))
      const error = yield* Effect.flip(store.readRecord(key))
      assert.include(error.message, "has format 2, and this operator reads 1: a newer operator wrote it")
      assert.strictEqual(yield* io(() => readFile(path.join(root, "instance.json"), "utf8")), text)
    }),
  ),
)

it.effect("dropping removes everything of the instance, and the namespace folder with the last one", () =>
  onDisk((store, dir) =>
    Effect.gen(function* () {
      yield* store.drop(key)
      const { backend } = yield* store.prepare(key)
      yield* io(() => mkdir(path.join(backend, "read-only")))
      yield* io(() => writeFile(path.join(backend, "read-only", "state"), "x"))
      yield* io(() => chmod(path.join(backend, "read-only"), 0o500))
      yield* store.writeRecord(key, record)
      yield* store.writeRecord(sibling, record)

      yield* store.drop(key)
      assert.deepStrictEqual(yield* io(() => readdir(path.join(dir, "instances/team"))), ["two"])
      yield* store.drop(sibling)
      assert.deepStrictEqual(yield* io(() => readdir(path.join(dir, "instances"))), [])
      assert.deepStrictEqual(yield* io(() => readdir(path.join(dir, "dropped"))), [])
    }),
  ),
)

it.effect("dropping the state keeps the record", () =>
  onDisk((store, _, root) =>
    Effect.gen(function* () {
      const { backend } = yield* store.prepare(key)
      assert.isFalse(yield* store.hasState(key))
      yield* io(() => writeFile(path.join(backend, "state"), "x"))
      assert.isTrue(yield* store.hasState(key))
      yield* store.writeOperation(key, marker)
      yield* store.writeRecord(key, record)

      yield* store.dropState(key)
      yield* store.dropState(key)
      assert.isFalse(yield* store.hasState(key))
      assert.deepStrictEqual(yield* io(() => readdir(root)), ["instance.json"])
    }),
  ),
)

it.effect("a removal that a crash cut short is finished by the next one", () =>
  onDisk((store, dir) =>
    Effect.gen(function* () {
      const aside = path.join(dir, "dropped", createHash("sha256").update("instances/team/one").digest("hex"))
      yield* io(() => mkdir(path.join(aside, "backend"), { recursive: true }))
      yield* store.drop(key)
      assert.deepStrictEqual(yield* io(() => readdir(path.join(dir, "dropped"))), [])
    }),
  ),
)

it.effect(
  "a removal that a crash cut short is finished by the next operator, though its instance is gone",
  () =>
    onDisk((_, dir) =>
      Effect.gen(function* () {
        const kept = path.join(dir, "instances/team/one/backend")
        yield* io(() => mkdir(path.join(dir, "dropped/of-nobody/backend"), { recursive: true }))
        yield* io(() => mkdir(path.join(dir, "staging/of-a-backup/instances"), { recursive: true }))
        yield* io(() => mkdir(path.join(dir, "instances/empty")))
        yield* io(() => mkdir(kept, { recursive: true }))

        yield* StateStore.pipe(
          Effect.provide(StateStoreLive.layer({ stateDir: dir }).pipe(Layer.provide(DiskLive.layer))),
        )
        assert.deepStrictEqual(yield* io(() => readdir(path.join(dir, "dropped"))), [])
        assert.notInclude(yield* io(() => readdir(dir)), "staging")
        assert.deepStrictEqual(yield* io(() => readdir(path.join(dir, "instances"))), ["team"])
        assert.deepStrictEqual(yield* io(() => readdir(kept)), [])
      }),
    ),
)

it.effect("no symbolic link leads out of the state directory", () =>
  onDisk((store, dir) =>
    Effect.gen(function* () {
      const outside = path.join(dir, "outside")
      yield* io(() => mkdir(path.join(outside, "one/backend"), { recursive: true }))
      yield* io(() => writeFile(path.join(outside, "one/instance.json"), JSON.stringify(record)))
      yield* io(() => writeFile(path.join(outside, "one/backend/state"), "precious"))
      yield* io(() => symlink(outside, path.join(dir, "instances/team")))

      for (const attempt of [
        store.readRecord(key),
        store.writeRecord(key, record),
        store.prepare(key),
        store.hasState(key),
        store.dropState(key),
        store.drop(key),
      ]) {
        const error = yield* Effect.flip(Effect.asVoid<unknown, unknown, never>(attempt))
        assert.include(String(error), "StateStoreError")
      }
      assert.isTrue(yield* exists(path.join(outside, "one/backend/state")))
    }),
  ),
)

it.effect("links inside an instance's folder are removed, not followed", () =>
  onDisk((store, dir, root) =>
    Effect.gen(function* () {
      const { project } = yield* store.prepare(key)
      const shared = path.join(dir, "packages/6.0.22")
      yield* io(() => mkdir(shared))
      yield* io(() => writeFile(path.join(shared, "index.js"), ""))
      yield* io(() => symlink(shared, path.join(project, "node_modules")))
      yield* io(() => symlink(path.join(shared, "index.js"), path.join(root, "instance.json")))

      const error = yield* Effect.flip(store.readRecord(key))
      assert.include(error.message, "symbolic link")
      yield* store.drop(key)
      assert.isTrue(yield* exists(path.join(shared, "index.js")))
    }),
  ),
)

it.effect("a state directory that is not there stops the start", () =>
  Effect.gen(function* () {
    const error = yield* Effect.flip(
      StateStore.use(Effect.succeed).pipe(
        Effect.provide(
          StateStoreLive.layer({ stateDir: "/nowhere/state" }).pipe(Layer.provide(DiskLive.layer)),
        ),
      ),
    )
    assert.include(error.message, "/nowhere/state")
  }),
)
