// What tells a package from what was fetched: every byte, every name, every link.
import {
  mkdirSync,
  renameSync,
  rmdirSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs"
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { contentDigest, fingerprint, makeReadOnly } from "../../../src/services/Pulumi/PackageDigest.ts"
import { machine } from "../../support/machine.ts"
import { temporary } from "./harness.ts"

/** More files than are looked at in one go, sizes around that of a piece, a link, and an empty folder. */
const makePackage = Effect.gen(function* () {
  const root = `${yield* temporary}/node_modules`
  const scoped = `${root}/@scope/package`
  for (const folder of [`${root}/.bin`, `${root}/empty`, `${scoped}/dist`])
    mkdirSync(folder, { recursive: true })
  for (let index = 0; index < 1_050; index++)
    writeFileSync(`${scoped}/dist/${index}.js`, `exports.index = ${index}\n`)
  for (const size of [0, 2 ** 16, 2 ** 16 + 1, 200_000]) writeFileSync(`${scoped}/${size}`, "x".repeat(size))
  symlinkSync("../@scope/package/dist/1.js", `${root}/.bin/package`)
  return { root, scoped }
})

layer(machine, { excludeTestServices: true })("the digest of a package", (it) => {
  it.effect("is the one that earlier releases have recorded", () =>
    Effect.gen(function* () {
      const { root } = yield* makePackage
      assert.strictEqual(
        yield* contentDigest(root),
        "sha256:b9452223a418eb9968b3b0f4f08428921ab3e8da9f01e36331b6ba3e9811f4e1",
      )
    }).pipe(Effect.scoped),
  )

  it.effect("differs with a byte, a name, a link or a folder, and with nothing else", () =>
    Effect.gen(function* () {
      const { root, scoped } = yield* makePackage
      const fetched = yield* contentDigest(root)
      const [large, away, link] = [`${scoped}/200000`, `${root}/../away`, `${root}/.bin/package`]
      const changes: ReadonlyArray<readonly [string, () => void, () => void]> = [
        [
          "the last byte of a file",
          () => writeFileSync(large, `${"x".repeat(199_999)}y`),
          () => writeFileSync(large, "x".repeat(200_000)),
        ],
        ["a file less", () => renameSync(large, away), () => renameSync(away, large)],
        ["a file's name", () => renameSync(large, `${large}0`), () => renameSync(`${large}0`, large)],
        ["a file more", () => writeFileSync(`${root}/empty/file`, ""), () => rmSync(`${root}/empty/file`)],
        ["a folder less", () => rmdirSync(`${root}/empty`), () => mkdirSync(`${root}/empty`)],
        [
          "a link's target",
          () => {
            rmSync(link)
            symlinkSync("../@scope/package/dist/2.js", link)
          },
          () => {
            rmSync(link)
            symlinkSync("../@scope/package/dist/1.js", link)
          },
        ],
        [
          "a link to it in the place of a file",
          () => {
            renameSync(large, away)
            symlinkSync("../../../away", large)
          },
          () => {
            rmSync(large)
            renameSync(away, large)
          },
        ],
      ]
      for (const [what, change, back] of changes) {
        change()
        assert.notStrictEqual(yield* contentDigest(root), fetched, what)
        back()
        assert.strictEqual(yield* contentDigest(root), fetched, `${what}, and back`)
      }
      utimesSync(large, 0, 0)
      assert.strictEqual(yield* contentDigest(root), fetched)
    }).pipe(Effect.scoped),
  )

  it.effect("need not be taken again while no mark of a file has changed", () =>
    Effect.gen(function* () {
      const { root, scoped } = yield* makePackage
      const marks = yield* fingerprint(root)
      assert.strictEqual(yield* fingerprint(root), marks)
      const file = `${scoped}/dist/7.js`
      const { atime, mtime } = statSync(file)
      // The same size and the same time: whoever sets that cannot set the time of the change itself.
      writeFileSync(file, "exports.index = 8\n")
      utimesSync(file, atime, mtime)
      assert.notStrictEqual(yield* fingerprint(root), marks)
    }).pipe(Effect.scoped),
  )

  it.effect("of a folder that is not there is none: the folder is named", () =>
    Effect.gen(function* () {
      const root = `${yield* temporary}/nowhere`
      const error = yield* Effect.flip(contentDigest(root))
      assert.include(error.message, `${root}: ENOENT`)
    }).pipe(Effect.scoped),
  )

  it.effect("is of a package that nobody may write to any more, its folders among it", () =>
    Effect.gen(function* () {
      const { root, scoped } = yield* makePackage
      yield* makeReadOnly(root)
      for (const path of [
        root,
        `${root}/empty`,
        scoped,
        `${scoped}/dist`,
        `${scoped}/dist/1.js`,
        `${scoped}/0`,
      ])
        assert.strictEqual(statSync(path).mode & 0o222, 0, path)
    }).pipe(Effect.scoped),
  )
})
