import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { Disk, type DiskEntry, DiskError } from "../../../src/services/Disk/Disk.ts"
import { DiskLive } from "../../../src/services/Disk/DiskLive.ts"
import { bytesBelow } from "../../../src/services/Metrics/DiskUsage.ts"

/** A folder in each folder, a hundred deep, with ten files of ten bytes in each. */
const deep = () => {
  let looks = 0
  const missing = (path: string) => new DiskError({ path, code: "ENOENT", message: "gone" })
  const entries: ReadonlyArray<DiskEntry> = [
    ...Array.from({ length: 10 }, (_, index) => ({ name: `file-${index}`, kind: "file" as const })),
    { name: "link", kind: "link" },
    { name: "below", kind: "directory" },
  ]
  const disk = Disk.of({
    ...Effect.runSync(Effect.provide(Disk, DiskLive.layer)),
    readdir: (path) => Effect.succeed(path.split("/below").length > 100 ? [] : entries),
    lstat: (path) => {
      looks += 1
      return path.endsWith("file-9")
        ? Effect.fail(missing(path))
        : Effect.succeed({ kind: "file", mode: 0, size: 10, mtimeMs: 0, ctimeMs: 0, ino: 0 })
    },
  })
  return { disk, looks: () => looks }
}

describe("the bytes below a folder", () => {
  it.effect("are those of its files; what goes meanwhile counts for nothing, and no link is followed", () =>
    Effect.gen(function* () {
      const { disk } = deep()
      assert.strictEqual(yield* Effect.provideService(bytesBelow("/store"), Disk, disk), 100 * 9 * 10)
    }),
  )

  it.effect("are looked for only so far", () =>
    Effect.gen(function* () {
      const { disk, looks } = deep()
      const bytes = yield* Effect.provideService(bytesBelow("/store", 60), Disk, disk)
      assert.strictEqual(bytes, 5 * 9 * 10)
      assert.isAtMost(looks(), 60)
    }),
  )
})

describe("the space of a volume", () => {
  it.live("is what the machine says", () =>
    Effect.gen(function* () {
      const { size, free } = yield* (yield* Disk).space("/tmp")
      assert.isAbove(size, 0)
      assert.isAtLeast(free, 0)
      assert.isAtMost(free, size)
      const { code } = yield* Effect.flip((yield* Disk).space("/nowhere"))
      assert.strictEqual(code, "ENOENT")
    }).pipe(Effect.provide(DiskLive.layer)),
  )
})
