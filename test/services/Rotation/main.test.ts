// The rotation Job's process, as it is started.
import { spawnSync } from "node:child_process"
import { rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { makeScene, passphrases, type Scene } from "./Scene.ts"

const run = (...args: ReadonlyArray<string>) => {
  const { status, stdout, stderr } = spawnSync(process.execPath, ["src/services/Rotation/main.ts", ...args], {
    encoding: "utf8",
  })
  for (const each of Object.values(passphrases)) {
    assert.notInclude(stdout + stderr, Redacted.value(each))
  }
  assert.match(stdout, /^[^\n]+\n$/)
  return { status, said: stdout, stderr }
}

const inScene = (use: (scene: Scene, rotate: (from: string, to: string) => ReturnType<typeof run>) => void) =>
  Effect.acquireUseRelease(
    makeScene(),
    (scene) =>
      Effect.sync(() => {
        for (const [name, text] of Object.entries(passphrases)) {
          // White space around it is none of the engine's.
          writeFileSync(join(scene.stateDir, name), ` ${Redacted.value(text)}\n`, { mode: 0o600 })
        }
        use(scene, (from, to) =>
          run(
            `--state-dir=${scene.stateDir}`,
            `--from-file=${join(scene.stateDir, from)}`,
            `--to-file=${join(scene.stateDir, to)}`,
          ),
        )
      }),
    (scene) => Effect.sync(scene.remove),
  )

describe("the rotation process", () => {
  it.effect(
    "says in one line what it did, and can be run again, also once the new one is the current one",
    () =>
      inScene((_, rotate) => {
        const first = rotate("old", "next")
        assert.strictEqual(first.status, 0, first.stderr)
        assert.match(
          first.said,
          /^2 instances: 11 files have the new passphrase now, 0 had it already; left as/,
        )
        for (const from of ["old", "next"]) {
          const again = rotate(from, "next")
          assert.strictEqual(again.status, 0, again.stderr)
          assert.match(again.said, /^2 instances: 0 files have the new passphrase now, 11 had it already/)
        }
      }),
  )

  it.effect("ends with 10 where it has changed nothing, with 1 where something may be changed", () =>
    inScene((scene, rotate) => {
      const strange = rotate("other", "next")
      assert.strictEqual(strange.status, 10)
      assert.match(strange.said, /^nothing was changed: neither .* opens team-a\/one: .*; team-a\/two: /)
      writeFileSync(join(scene.stateDir, "empty"), "\n")
      assert.deepStrictEqual([rotate("old", "empty").status, rotate("missing", "next").status], [10, 10])
      rotate("old", "next")
      const file = scene.files().find((each) => each.includes("/two/") && each.endsWith(".json.gz")) ?? ""
      writeFileSync(file, scene.textOf(file).replace(/"ciphertext":"v1:..../, '"ciphertext":"v1:AAAA'))
      assert.strictEqual(rotate("old", "next").status, 1)
      rmSync(file)
      assert.strictEqual(rotate("old", "next").status, 0)
    }),
  )

  it("refuses what it was not asked for in the right way", () => {
    assert.deepStrictEqual([run().status, run("--state-dir=/x", "--what").status], [2, 2])
  })
})
