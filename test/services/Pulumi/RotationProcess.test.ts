// The process that gives a whole state directory another passphrase, as it is started.
import { spawnSync } from "node:child_process"
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import path from "node:path"
import { afterAll, assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { derive, opensSalt, saltFor } from "../../../src/services/Pulumi/PassphraseKey.ts"
import { source } from "./harness.ts"

const root = mkdtempSync(path.join(tmpdir(), "rotation-"))
afterAll(() => rmSync(root, { recursive: true, force: true }))

const passphrases = { from: "correct horse battery", to: "another horse" }
const seed = Buffer.from("12345678").toString("base64")

const rotate = () => {
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    [
      path.join(source, "rotation/main.ts"),
      ...[`--state-dir=${root}/state`, `--from-file=${root}/from`, `--to-file=${root}/to`],
    ],
    { encoding: "utf8" },
  )
  for (const secret of Object.values(passphrases)) assert.notInclude(stdout + stderr, secret)
  return { status, stdout, stderr }
}

it.live("does every instance it can, names the one it cannot, and can be run again", () =>
  Effect.gen(function* () {
    writeFileSync(`${root}/from`, `${passphrases.from}\n`)
    const settings = (name: string) => `${root}/state/instances/team-a/${name}/project/Pulumi.instance.yaml`
    const plant = Effect.fnUntraced(function* (name: string, passphrase: string) {
      mkdirSync(path.dirname(settings(name)), { recursive: true })
      writeFileSync(settings(name), `encryptionsalt: ${saltFor(yield* derive(passphrase, seed), seed)}\n`)
    })
    yield* plant("one", passphrases.from)
    yield* plant("strange", "another one")
    yield* plant("two", passphrases.from)
    assert.strictEqual(rotate().status, 2)
    writeFileSync(`${root}/to`, passphrases.to)
    const first = rotate()
    assert.strictEqual(first.status, 1, first.stderr)
    assert.match(first.stdout, /^team-a\/two: 1 files changed, 0 had it already$/m)
    assert.include(first.stdout, settings("strange"))
    const key = yield* derive(passphrases.to, seed)
    for (const name of ["one", "two"]) {
      assert.isTrue(opensSalt(key, readFileSync(settings(name), "utf8").slice(16).trim()))
    }
    rmSync(settings("strange"))
    const second = rotate()
    assert.strictEqual(second.status, 0, second.stderr)
    assert.include(second.stdout, "3 instances have the new passphrase")
    assert.match(second.stdout, /^team-a\/one: 0 files changed, 1 had it already$/m)
  }),
)
