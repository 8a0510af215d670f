import { readFileSync, statSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { gunzipSync, gzipSync } from "node:zlib"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Option } from "effect"
import { adapt, copyIn, copyOut } from "../../../src/services/Backup/StateCopy.ts"
import { DiskLive } from "../../../src/services/Disk/DiskLive.ts"
import { Derivation, parseSalt } from "../../../src/services/Rotation/Passphrase.ts"
import { sealedIn } from "../../../src/services/Rotation/Sealed.ts"
import { makeScene, passphrases, remembered } from "../Rotation/Scene.ts"

const one = { namespace: "team-a", name: "one" }
const copy = { namespace: "team-b", name: "two" }
const id = "00112233445566aa"
const before = "apiVersion: v1\nclusters: [one's]\n"
const after = 'apiVersion: v1\nclusters: ["the copy\'s"]\n'
const own = passphrases.old

const stack = "backend/.pulumi/stacks/platform-instance/instance.json.gz"
const files = [stack, `${stack}.bak`, "exports/state-1.json.gz"]

/** With providers that have it in the clear and encrypted; and the same text where it is none of a provider's. */
const withProviders = (text: string, seal: (plain: string) => string): string => {
  const sealed = {
    "4dabf18193072939515e22adb298388d": "1b47061264138c4ac30d75fd1eb44270",
    ciphertext: seal(JSON.stringify(before)),
  }
  const resources = [
    { type: "pulumi:providers:kubernetes", inputs: { kubeconfig: before }, outputs: { kubeconfig: sealed } },
    { type: "kubernetes:core/v1:Secret", inputs: { other: "kept" } },
  ]
  return text.replace('"resources":[', `"resources":[${JSON.stringify(resources).slice(1, -1)},`)
}

describe("a state that was restored", () => {
  it.effect("reaches the vCluster that is there: its state, the copies of it and its exports", () =>
    Effect.gen(function* () {
      const scene = yield* makeScene()
      const folder = (key: typeof one) => join(scene.stateDir, "instances", key.namespace, key.name)
      const textOf = (file: string) => gunzipSync(readFileSync(join(folder(copy), file))).toString()
      const keyIn = (text: string) => {
        const [salt = ""] = Option.getOrThrow(sealedIn(text, "json")).salts
        return remembered(own, Option.getOrThrow(parseSalt(salt)).seed)
      }
      for (const file of files) {
        const at = join(folder(one), file)
        const text = gunzipSync(readFileSync(at)).toString()
        const key = yield* keyIn(text)
        writeFileSync(at, gzipSync(withProviders(text, key.seal)))
      }
      const through = { own, backup: passphrases.next }
      const copied = yield* copyOut(scene.stateDir, one, through)
      yield* copyIn(scene.stateDir, copy, { files: copied.files, id, isClone: true }, through)
      const first = files.map((file) => readFileSync(join(folder(one), file), "hex"))

      assert.deepStrictEqual(yield* adapt(scene.stateDir, copy, { id, kubeconfig: after, own }), {
        changed: files.length,
      })
      for (const file of files) {
        const text = textOf(file)
        const key = yield* keyIn(text)
        assert.include(text, JSON.stringify(after).slice(1, -1))
        assert.notInclude(text, "[one's]")
        const plain = [...Option.getOrThrow(sealedIn(text, "json")).values].flatMap((value) =>
          Option.toArray(key.open(value)),
        )
        assert.include(plain, JSON.stringify(after))
        assert.notInclude(plain, JSON.stringify(before))
        assert.isTrue(plain.some((each) => each.includes("planted-secret")))
        assert.strictEqual(statSync(join(folder(copy), file)).mode & 0o777, 0o600)
      }
      assert.deepStrictEqual(
        files.map((file) => readFileSync(join(folder(one), file), "hex")),
        first,
      )
      assert.deepStrictEqual(yield* adapt(scene.stateDir, copy, { id, kubeconfig: after, own }), {
        changed: 0,
      })
      const refused = yield* Effect.flip(adapt(scene.stateDir, one, { id, kubeconfig: after, own }))
      assert.match(refused.message, /not that of backup/)
      // One that nobody can open would lead the engine elsewhere.
      writeFileSync(
        join(folder(copy), stack),
        gzipSync(withProviders(textOf(stack), () => "v1:AAAAAAAAAAAAAAAA:AAAAAAAAAAAAAAAAAAAAAAAA")),
      )
      const unopened = yield* Effect.flip(adapt(scene.stateDir, copy, { id, kubeconfig: after, own }))
      assert.match(
        unopened.message,
        /^1 of the providers in backend.* does not open: .* Nothing is installed$/,
      )
      scene.remove()
    }).pipe(Effect.provide(DiskLive.layer), Effect.provideService(Derivation, remembered)),
  )
})
