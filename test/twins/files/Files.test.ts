// What no real disk here can be asked about: power cuts, a full disk, and volumes that outlive a container.
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, type FileSystem } from "effect"
import { Disk } from "../../../src/services/Disk/Disk.ts"
import { removeTree, writeText } from "../../../src/services/StateStore/DurableFiles.ts"
import { Simulation, simulate } from "../simulation/Simulation.ts"
import { seeds } from "../simulation/seeds.ts"
import { diskOf } from "./DiskTwin.ts"
import { FileError } from "./FileError.ts"
import { fileSystemOf } from "./FileSystemTwin.ts"
import { type Files, type FilesTwin, makeFiles } from "./Files.ts"

const operator = { uid: 1000, gid: 1000, umask: 0o022 }

const codeOf = (run: () => unknown): string => {
  try {
    run()
  } catch (error) {
    if (error instanceof FileError) return error.code
    throw error
  }
  return "none"
}

/** A container with a state directory of the operator's own. */
const withFiles = (test: (twin: FilesTwin, files: Files) => Effect.Effect<void, unknown, Simulation>) =>
  simulate(
    Effect.gen(function* () {
      const twin = yield* makeFiles
      twin.mount("/state", twin.makeVolume({ uid: 1000, mode: 0o700 }))
      yield* test(twin, twin.files.as(operator))
    }),
    { seed: 1 },
  )

describe("a power cut", () => {
  it("loses names and contents that nobody synced", () =>
    withFiles((twin, files) =>
      Effect.sync(() => {
        files.writeText("/state/synced", "one")
        files.sync("/state/synced")
        files.sync("/state")
        files.writeText("/state/synced", "two")
        files.writeText("/state/new", "x")
        files.mkdir("/state/folder")
        twin.powerCut()
        assert.deepStrictEqual(files.list("/state"), ["synced"])
        assert.strictEqual(files.readText("/state/synced"), "one")
      }),
    ))

  it("leaves a file empty whose name was synced, and its content not", () =>
    withFiles((twin, files) =>
      Effect.sync(() => {
        files.writeText("/state/file", "content")
        files.sync("/state")
        twin.powerCut()
        assert.strictEqual(files.readText("/state/file"), "")
      }),
    ))

  it("brings back what was removed", () =>
    withFiles((twin, files) =>
      Effect.sync(() => {
        files.mkdir("/state/a/b")
        files.writeText("/state/a/b/c", "content")
        for (const path of ["/state/a/b/c", "/state/a/b", "/state/a", "/state"]) files.sync(path)
        files.remove("/state/a")
        assert.deepStrictEqual(files.list("/state"), [])
        twin.powerCut()
        assert.strictEqual(files.readText("/state/a/b/c"), "content")
      }),
    ))

  it("undoes both halves of a rename, or none", () =>
    withFiles((twin, files) =>
      Effect.sync(() => {
        for (const folder of ["/state/a", "/state/b"]) files.mkdir(folder)
        files.writeText("/state/a/x", "content")
        files.sync("/state/a/x")
        for (const folder of ["/state/a", "/state/b", "/state"]) files.sync(folder)
        files.rename("/state/a/x", "/state/b/y")
        twin.powerCut()
        assert.strictEqual(files.readText("/state/a/x"), "content")
        assert.isFalse(files.exists("/state/b/y"))
        files.rename("/state/a/x", "/state/b/y")
        files.sync("/state/a")
        twin.powerCut()
        assert.isFalse(files.exists("/state/a/x"))
        assert.strictEqual(files.readText("/state/b/y"), "content")
      }),
    ))

  it("may lose the last changes alone", () =>
    withFiles((twin, files) =>
      Effect.sync(() => {
        files.mkdir("/state/a")
        files.mkdir("/state/b")
        files.mkdir("/state/c")
        twin.powerCut(1)
        assert.deepStrictEqual(files.list("/state"), ["a", "b"])
      }),
    ))

  it("does not reach what the kernel has written back meanwhile", () =>
    withFiles((twin, files) =>
      Effect.gen(function* () {
        files.writeText("/state/old", "content")
        yield* Effect.sleep("31 seconds")
        files.writeText("/state/young", "content")
        twin.powerCut()
        assert.deepStrictEqual(files.list("/state"), ["old"])
        assert.strictEqual(files.readText("/state/old"), "content")
      }),
    ))

  it("empties memory, and leaves the mounts", () =>
    withFiles((twin, files) =>
      Effect.sync(() => {
        twin.mount("/run/memory", twin.makeVolume({ memory: true, uid: 1000 }))
        files.writeText("/run/memory/kubeconfig", "secret")
        twin.powerCut()
        assert.deepStrictEqual(files.list("/run/memory"), [])
        files.writeText("/state/x", "")
        assert.isTrue(files.exists("/state/x"))
      }),
    ))

  it.each(seeds(30))("at any moment leaves the old text of a durable file, or the new one: seed %i", (seed) =>
    simulate(
      Effect.gen(function* () {
        const { lifetime } = yield* Simulation
        const twin = yield* makeFiles
        twin.mount("/state", twin.makeVolume({ uid: 1000, mode: 0o700 }))
        const life = lifetime()
        const write = (text: string) =>
          life.run(writeText("/state/file", text)).pipe(Effect.provideService(Disk, diskOf(twin, operator)))
        yield* write("old")
        yield* Effect.forkChild(write("new"))
        for (let steps = 0; steps < seed % 12; steps++) yield* Effect.yieldNow
        life.end()
        twin.powerCut(seed % 3 === 0 ? undefined : seed % 4)
        assert.include(["old", "new"], twin.files.readText("/state/file"))
      }),
      { seed },
    ),
  )
})

describe("a full disk", () => {
  it("takes what there is space for, and refuses the rest", () =>
    withFiles((twin, files) =>
      Effect.sync(() => {
        const [, state] = twin.tree.paths.mounted
        state?.free(4)
        assert.strictEqual(
          codeOf(() => files.writeText("/state/file", "content")),
          "ENOSPC",
        )
        assert.strictEqual(files.readText("/state/file"), "cont")
        assert.strictEqual(
          codeOf(() => files.mkdir("/state/folder")),
          "ENOSPC",
        )
        files.remove("/state/file")
        files.writeText("/state/file", "abcd")
        state?.free(undefined)
        files.writeText("/state/file", "content")
      }),
    ))

  it("leaves a durable file as it was, and no temporary", () =>
    withFiles((twin, files) =>
      Effect.gen(function* () {
        const disk = diskOf(twin, operator)
        yield* writeText("/state/file", "old").pipe(Effect.provideService(Disk, disk))
        twin.tree.paths.mounted[1]?.free(2)
        const error = yield* Effect.flip(
          writeText("/state/file", "other").pipe(Effect.provideService(Disk, disk)),
        )
        assert.include(error.message, "the volume of the state directory is full")
        assert.deepStrictEqual(files.list("/state"), ["file"])
        assert.strictEqual(files.readText("/state/file"), "old")
      }),
    ))
})

describe("a volume", () => {
  it("is seen in each container it is mounted in, and outlives them", () =>
    withFiles((twin, files) =>
      Effect.gen(function* () {
        files.writeText("/state/file", "content")
        const next = yield* makeFiles
        const [, state] = twin.tree.paths.mounted
        if (state === undefined) throw new Error("no state volume")
        next.mount("/var/lib/state", state)
        assert.strictEqual(next.files.readText("/var/lib/state/file"), "content")
        assert.strictEqual(
          codeOf(() => next.files.rename("/var/lib/state/file", "/file")),
          "EXDEV",
        )
        assert.strictEqual(
          codeOf(() => next.files.remove("/var/lib/state")),
          "EBUSY",
        )
      }),
    ))

  it("lets nobody but its owner and root in", () =>
    withFiles((twin, files) =>
      Effect.sync(() => {
        files.writeText("/state/file", "content")
        const other = twin.files.as({ uid: 1001, gid: 1001 })
        assert.strictEqual(
          codeOf(() => other.readText("/state/file")),
          "EACCES",
        )
        assert.strictEqual(twin.files.readText("/state/file"), "content")
      }),
    ))
})

it("a death in the middle of a removal leaves the rest", () =>
  withFiles((twin, files) =>
    Effect.gen(function* () {
      const { lifetime } = yield* Simulation
      for (const name of ["a", "b", "c", "d"]) files.writeText(`/state/folder-${name}`, "")
      files.mkdir("/state/folder")
      for (const name of ["a", "b", "c", "d"]) files.writeText(`/state/folder/${name}`, "")
      const life = lifetime()
      const fiber = yield* Effect.forkChild(
        life.run(removeTree("/state/folder")).pipe(Effect.provideService(Disk, diskOf(twin, operator))),
      )
      while (files.list("/state/folder").length > 2) yield* Effect.yieldNow
      life.end()
      const left = files.list("/state/folder")
      assert.isNotEmpty(left)
      yield* Effect.sleep("1 second")
      assert.deepStrictEqual(files.list("/state/folder"), left)
      yield* Fiber.interrupt(fiber)
    }),
  ))

it("temporary folders have names that the seed decides", () => {
  const names = (seed: number) =>
    simulate(
      Effect.gen(function* () {
        const twin = yield* makeFiles
        twin.files.mkdirs("/tmp")
        const fs: FileSystem.FileSystem = fileSystemOf(twin, { uid: 0, gid: 0, umask: 0o022 })
        return [yield* fs.makeTempDirectory(), yield* fs.makeTempDirectory({ prefix: "helm-" })]
      }),
      { seed },
    )
  assert.deepStrictEqual(names(1), names(1))
  assert.notDeepEqual(names(1), names(2))
  assert.match(names(1).join(), /^\/tmp\/[a-zA-Z0-9]{6},\/tmp\/helm-[a-zA-Z0-9]{6}$/)
})
