import { execFile } from "node:child_process"
import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import path from "node:path"
import { promisify } from "node:util"
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { DiskLive } from "../../../src/services/Disk/DiskLive.ts"
import { chartDigest, checkChartDigest } from "../../../src/services/Helm/ChartDigest.ts"

const io = <A>(run: () => Promise<A>) => Effect.promise(run)

const chartFolder = Effect.acquireRelease(
  io(async () => {
    const dir = await mkdtemp(path.join(tmpdir(), "chart-"))
    await mkdir(path.join(dir, "templates"))
    await writeFile(path.join(dir, "Chart.yaml"), "name: x\nversion: 1.0.0\n")
    await writeFile(path.join(dir, "templates", "a.yaml"), "a")
    // Sorts before the folder's files by bytes, and after them for a locale that ignores punctuation.
    await writeFile(path.join(dir, "templates.txt"), "t")
    return dir
  }),
  (dir) => io(() => rm(dir, { recursive: true })),
)

const inShell = (dir: string, script: string) =>
  io(() => promisify(execFile)("/bin/sh", ["-c", script], { cwd: dir })).pipe(
    Effect.map(({ stdout }) => `sha256:${stdout.split(" ")[0]}`),
  )

layer(DiskLive.layer)("a chart's digest", (it) => {
  it.effect("the digest of a folder is what the documented shell command prints", () =>
    Effect.gen(function* () {
      const dir = yield* chartFolder
      const expected = yield* inShell(
        dir,
        "find . -type f -printf '%P\\n' | LC_ALL=C sort | xargs sha256sum | sha256sum",
      )
      assert.strictEqual(yield* chartDigest(dir), expected)
    }),
  )

  it.effect("the digest of an archive is the one of its bytes", () =>
    Effect.gen(function* () {
      const dir = yield* chartFolder
      const expected = yield* inShell(dir, "sha256sum < Chart.yaml")
      assert.strictEqual(yield* chartDigest(path.join(dir, "Chart.yaml")), expected)
    }),
  )

  it.effect("another content, another name and another file each make another digest", () =>
    Effect.gen(function* () {
      const dir = yield* chartFolder
      const digests = [yield* chartDigest(dir)]
      yield* io(() => writeFile(path.join(dir, "templates", "a.yaml"), "b"))
      digests.push(yield* chartDigest(dir))
      yield* io(() => writeFile(path.join(dir, "templates", "b.yaml"), ""))
      digests.push(yield* chartDigest(dir))
      yield* io(() => rm(path.join(dir, "templates", "b.yaml")))
      yield* io(() => writeFile(path.join(dir, "templates", "c.yaml"), ""))
      digests.push(yield* chartDigest(dir))
      assert.strictEqual(new Set(digests).size, 4)
    }),
  )

  it.effect("a chart with a link in it has no digest, for what it points to can change", () =>
    Effect.gen(function* () {
      const dir = yield* chartFolder
      yield* io(() => symlink("/etc/hostname", path.join(dir, "templates", "link.yaml")))
      const error = yield* Effect.flip(chartDigest(dir))
      assert.include(error.message, "templates/link.yaml")
    }),
  )

  it.effect("a mismatch names both digests", () =>
    Effect.gen(function* () {
      const dir = yield* chartFolder
      const found = yield* chartDigest(dir)
      yield* checkChartDigest(dir, found)
      const error = yield* Effect.flip(checkChartDigest(dir, "sha256:0000"))
      assert.include(error.message, found)
      assert.include(error.message, "sha256:0000")
    }),
  )

  it.effect("a chart that is not there is named", () =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(chartDigest("/nowhere/chart"))
      assert.include(error.message, "/nowhere/chart")
      assert.strictEqual(error.operation, "chart")
    }),
  )
})
