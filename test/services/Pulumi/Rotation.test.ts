// A state whose passphrase is exchanged: every file of it, at whichever write the run is cut off.
import { createHash, randomBytes } from "node:crypto"
import { gunzipSync, gzipSync } from "node:zlib"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, FileSystem } from "effect"
import { Disk, DiskError } from "../../../src/services/Disk/Disk.ts"
import { type Derive, derive, opensSalt, saltFor } from "../../../src/services/Pulumi/PassphraseKey.ts"
import { rotateInstance } from "../../../src/services/Pulumi/Rotation.ts"
import { machine } from "../../support/machine.ts"
import { temporary } from "./harness.ts"

const known = new Map<string, Effect.Success<ReturnType<Derive>>>()
/** A key that was derived once is derived no more: it takes half a second. */
const deriveOnce: Derive = Effect.fnUntraced(function* (passphrase, seed) {
  const name = createHash("sha256").update(`${passphrase}\0${seed}`).digest("hex")
  const key = known.get(name) ?? (yield* derive(passphrase, seed))
  known.set(name, key)
  return key
})

const passphrases = { from: "the old one", to: "the new one" }
const seed = randomBytes(8).toString("base64")

const scene = Effect.gen(function* () {
  const fs = yield* FileSystem.FileSystem
  const root = yield* temporary
  const old = yield* deriveOnce(passphrases.from, seed)
  const secret = () => ({
    "4dabf18193072939515e22adb298388d": "1b47061264138c4ac30d75fd1eb44270",
    ciphertext: old.encrypt(Buffer.from('"hush"')),
  })
  const latest = () => ({
    secrets_providers: { type: "passphrase", state: { salt: saltFor(old, seed) } },
    resources: [{ outputs: { one: secret(), two: [secret()], big: 12345678901234567890n.toString() } }],
  })
  const checkpoint = () => JSON.stringify({ version: 3, checkpoint: { latest: latest() } }, null, 4)
  const files: Readonly<Record<string, string | Uint8Array>> = {
    "project/Pulumi.instance.yaml": `encryptionsalt: ${saltFor(old, seed)}\nconfig:\n  p:a: plain\n  p:b:\n    secure: ${old.encrypt(Buffer.from("hush"))}\n`,
    "backend/.pulumi/stacks/p/instance.json.gz": gzipSync(checkpoint()),
    "backend/.pulumi/stacks/p/instance.json.bak": checkpoint(),
    // An entry of the history has no salt of its own.
    "backend/.pulumi/history/p/instance-1.history.json": JSON.stringify({
      config: { "p:b": { value: old.encrypt(Buffer.from("hush")), secure: true } },
    }),
    "exports/state-1.json.gz": gzipSync(JSON.stringify({ version: 3, deployment: latest() })),
    "instance.json": '{"format":1}',
    "state-damaged": gzipSync(checkpoint()).subarray(0, 60),
  }
  for (const [name, content] of Object.entries(files)) {
    yield* fs.makeDirectory(`${root}/${name.slice(0, Math.max(0, name.lastIndexOf("/")))}`, {
      recursive: true,
    })
    yield* fs.writeFile(`${root}/${name}`, Buffer.from(content), { mode: 0o600 })
  }
  const textOf = (name: string) =>
    Effect.map(fs.readFile(`${root}/${name}`), (bytes) =>
      (name.endsWith(".gz") ? gunzipSync(bytes) : Buffer.from(bytes)).toString("utf8"),
    )
  const rotate = rotateInstance(root, passphrases, deriveOnce)
  return { fs, root, rotate, textOf, files }
})

const encrypted = 5

describe("another passphrase", () => {
  it.live("opens every file afterwards, and the old one none; the rest of each stays byte by byte", () =>
    Effect.gen(function* () {
      const { root, rotate, textOf, fs } = yield* scene
      const name = "backend/.pulumi/stacks/p/instance.json.gz"
      const blank = (text: string) => text.replaceAll(/v1:[A-Za-z0-9+/=:]+/g, "")
      const before = yield* textOf(name)
      const done = yield* rotate
      assert.deepStrictEqual(done, {
        changed: encrypted,
        unchanged: 0,
        unreadable: [`${root}/state-damaged`],
      })
      const after = yield* textOf(name)
      assert.notStrictEqual(after, before)
      assert.strictEqual(blank(after), blank(before))
      assert.strictEqual((yield* fs.stat(`${root}/${name}`)).mode & 0o777, 0o600)
      const salt = /"salt": "(.*)"/.exec(after)?.[1] ?? ""
      assert.isTrue(opensSalt(yield* deriveOnce(passphrases.to, seed), salt))
      assert.isFalse(opensSalt(yield* deriveOnce(passphrases.from, seed), salt))
      const value = /"ciphertext": "(.*)"/.exec(after)?.[1] ?? ""
      assert.strictEqual((yield* deriveOnce(passphrases.to, seed)).decrypt(value)?.toString(), '"hush"')
      assert.deepStrictEqual(yield* rotate, { ...done, changed: 0, unchanged: encrypted })
    }).pipe(Effect.scoped, Effect.provide(machine)),
  )

  it.live("takes the place of the old one in the next run, at whichever write one was cut off", () =>
    Effect.gen(function* () {
      const real = yield* Disk
      for (let last = 0; ; last++) {
        const { rotate, root, fs } = yield* scene
        let writes = 0
        const dying = <B>(write: Effect.Effect<B, DiskError>): Effect.Effect<B, DiskError> =>
          Effect.suspend(() =>
            writes++ < last
              ? write
              : Effect.fail(new DiskError({ path: "", code: "EIO", message: "it dies" })),
          )
        const disk = Disk.of({
          ...real,
          writeNew: (...args) => dying(real.writeNew(...args)),
          rename: (...args) => dying(real.rename(...args)),
          syncFolder: (...args) => dying(real.syncFolder(...args)),
        })
        const exit = yield* Effect.exit(Effect.provideService(rotate, Disk, disk))
        if (Exit.isSuccess(exit)) {
          assert.strictEqual(last, 3 * encrypted)
          break
        }
        const { changed, unchanged } = yield* rotate
        assert.strictEqual(changed + unchanged, encrypted)
        const names = yield* fs.readDirectory(root, { recursive: true })
        assert.deepStrictEqual(
          names.filter((name) => name.endsWith(".tmp")),
          [],
        )
      }
    }).pipe(Effect.scoped, Effect.provide(machine)),
  )

  it.live("changes nothing where one file opens with neither, and names it", () =>
    Effect.gen(function* () {
      const { root, rotate, fs, files } = yield* scene
      const other = yield* deriveOnce("another one", seed)
      const strange = `${root}/exports/state-2.json`
      yield* fs.writeFileString(
        strange,
        JSON.stringify({ deployment: { secrets_providers: { state: { salt: saltFor(other, seed) } } } }),
      )
      const error = yield* Effect.flip(rotate)
      assert.include(error.message, strange)
      assert.notInclude(error.message, "Pulumi.instance.yaml")
      for (const [name, content] of Object.entries(files)) {
        assert.deepStrictEqual(Buffer.from(yield* fs.readFile(`${root}/${name}`)), Buffer.from(content))
      }
    }).pipe(Effect.scoped, Effect.provide(machine)),
  )
})
