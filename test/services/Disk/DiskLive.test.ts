// The live disk has written what it says it has: each fsync is seen where node makes it.
import { lstatSync, readdirSync, readFileSync } from "node:fs"
import { mkdtemp, rm, symlink, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import path from "node:path"
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { Disk } from "../../../src/services/Disk/Disk.ts"
import { DiskLive } from "../../../src/services/Disk/DiskLive.ts"
import { writeText } from "../../../src/services/StateStore/DurableFiles.ts"
import { watchSyncs } from "../../support/syncs.ts"

/** What is at a path: of a file its mode and text, of a folder its names without the random parts of them. */
const look = (found: string) => {
  const stat = lstatSync(found)
  return stat.isDirectory()
    ? [
        path.basename(found),
        ...readdirSync(found).map((name) => name.replace(/\.[0-9a-f]{12}\./, ".<random>.")),
      ]
    : [
        path.basename(found).replace(/\.[0-9a-f]{12}\./, ".<random>."),
        stat.mode & 0o777,
        readFileSync(found, "utf8"),
      ]
}

/** A test in a folder of its own, over the real disk: gives what each fsync has found. */
const syncsOf = (
  test: (disk: Disk["Service"], folder: string) => Effect.Effect<unknown, unknown, Disk>,
  seeing: (found: string) => unknown = look,
) =>
  Effect.gen(function* () {
    const parent = yield* Effect.acquireRelease(
      Effect.promise(() => mkdtemp(path.join(tmpdir(), "disk-"))),
      (it) => Effect.promise(() => rm(it, { recursive: true, force: true })),
    )
    const folder = path.join(parent, "folder")
    const disk = yield* Disk
    yield* disk.mkdir(folder, 0o700)
    const watched = yield* Effect.acquireDisposable(Effect.promise(() => watchSyncs(seeing)))
    yield* test(disk, folder)
    return watched.seen
  }).pipe(Effect.provide(DiskLive.layer))

const io = <A>(run: () => Promise<A>) => Effect.promise(run)

it.effect("a new file is synced when all of it is written", () =>
  Effect.gen(function* () {
    const seen = yield* syncsOf((disk, folder) =>
      disk.writeNew(path.join(folder, "file"), new TextEncoder().encode("content"), 0o600),
    )
    assert.deepStrictEqual(seen, [["file", 0o600, "content"]])
  }),
)

it.effect("a file that another has written is synced, and a link to one refused", () =>
  Effect.gen(function* () {
    const seen = yield* syncsOf((disk, folder) =>
      Effect.gen(function* () {
        yield* io(() => writeFile(path.join(folder, "file"), "of another", { mode: 0o640 }))
        yield* disk.syncFile(path.join(folder, "file"))
        yield* io(() => symlink("file", path.join(folder, "link")))
        assert.strictEqual((yield* Effect.flip(disk.syncFile(path.join(folder, "link")))).code, "ELOOP")
      }),
    )
    assert.deepStrictEqual(seen, [["file", 0o640, "of another"]])
  }),
)

it.effect("a folder is synced, and nothing else taken for one", () =>
  Effect.gen(function* () {
    const seen = yield* syncsOf((disk, folder) =>
      Effect.gen(function* () {
        yield* io(() => writeFile(path.join(folder, "file"), ""))
        yield* disk.syncFolder(folder)
        assert.strictEqual((yield* Effect.flip(disk.syncFolder(path.join(folder, "file")))).code, "ENOTDIR")
      }),
    )
    assert.deepStrictEqual(seen, [["folder", "file"]])
  }),
)

it.effect("a durable file is synced under its temporary name, and then its folder with its own", () =>
  Effect.gen(function* () {
    const seen = yield* syncsOf((_, folder) => writeText(path.join(folder, "file"), "text"))
    assert.deepStrictEqual(seen, [
      ["file.<random>.tmp", 0o600, "text"],
      ["folder", "file"],
    ])
  }),
)

it.effect("a disk that cannot sync is told of, and not taken for one that has", () =>
  syncsOf(
    (disk, folder) =>
      Effect.gen(function* () {
        const file = path.join(folder, "file")
        for (const attempt of [
          disk.writeNew(file, new Uint8Array(), 0o600),
          disk.syncFile(file),
          disk.syncFolder(folder),
        ]) {
          assert.strictEqual((yield* Effect.flip(attempt)).code, "EIO")
        }
      }),
    () => {
      throw Object.assign(new Error("i/o error"), { code: "EIO" })
    },
  ),
)
