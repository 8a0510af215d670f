import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs"
import { basename, join } from "node:path"
import { gunzipSync } from "node:zlib"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Option, Redacted } from "effect"
import { Disk } from "../../../src/services/Disk/Disk.ts"
import { DiskLive } from "../../../src/services/Disk/DiskLive.ts"
import { Derivation, parseSalt, proves } from "../../../src/services/Rotation/Passphrase.ts"
import { rotate, summary } from "../../../src/services/Rotation/Rotate.ts"
import { damaged, makeScene, opened, passphrases, remembered, type Scene } from "./Scene.ts"

const inScene = <E>(use: (scene: Scene) => Effect.Effect<void, E, Disk>) =>
  Effect.acquireUseRelease(makeScene(), use, (scene) => Effect.sync(scene.remove)).pipe(
    Effect.provide(DiskLive.layer),
    Effect.provideService(Derivation, remembered),
  )

const request = ({ stateDir }: Scene, from = [passphrases.old], to = passphrases.next) => ({
  stateDir,
  from,
  to,
})

const allOpenWith = Effect.fnUntraced(function* (scene: Scene, by: ReadonlyArray<"old" | "next">) {
  for (const file of scene.files()) {
    if (basename(file) === damaged) continue
    const found = yield* opened(file, by)
    if (found === undefined) continue
    assert.notStrictEqual(found.name, "none", file)
    for (const plain of found.plain) assert.include(plain, "planted-secret")
  }
})

const contents = (scene: Scene) => scene.files().map((file) => [file, readFileSync(file).toString("base64")])

/** What the real engine (CLI 3.274.1) has written with the passphrase `oldpass-oldpass`. */
const real = {
  salt: "v1:5z+6rlTXF/U=:v1:TWxnoMfGaJOFal2h:L4+6rR0cL7kBNgu81NFZwoqdqv3eDA==",
  value: "v1:/aNHYPDSf13Cvz9w:GFI297a2vPrwvOv3uzJjBb2hE1A=",
}

describe("a rotation of the passphrase", () => {
  it.effect("opens what the real engine has written", () =>
    Effect.gen(function* () {
      const salt = Option.getOrThrow(parseSalt(real.salt))
      const key = yield* remembered(Redacted.make("oldpass-oldpass"), salt.seed)
      assert.isTrue(proves(key, salt))
      assert.deepStrictEqual(key.open(real.value), Option.some("hush"))
      assert.isFalse(proves(yield* remembered(passphrases.old, salt.seed), salt))
    }),
  )

  it.effect("has every file of every instance under the new one, and nothing else in it is another", () =>
    inScene((scene) =>
      Effect.gen(function* () {
        const before = new Map(scene.files().map((file) => [file, scene.textOf(file)]))
        const done = yield* rotate(request(scene))
        assert.deepStrictEqual(
          { ...done, left: done.left.length },
          { instances: 2, rotated: 11, had: 0, left: 1 },
        )
        assert.match(done.left.join(), /^team-a\/one: state-damaged$/)
        yield* allOpenWith(scene, ["next"])
        const token = /v1:[\w+/=:]{20,}/g
        assert.deepStrictEqual(scene.files(), [...before.keys()])
        for (const [file, text] of before) {
          assert.strictEqual(scene.textOf(file).replaceAll(token, ""), text.replaceAll(token, ""), file)
          assert.strictEqual(statSync(file).mode & 0o777, 0o600)
          if (file.endsWith(".gz")) gunzipSync(readFileSync(file))
        }
      }),
    ),
  )

  it.effect("leaves no copy that a backup which was killed has left under the old one", () =>
    inScene((scene) =>
      Effect.gen(function* () {
        const left = join(scene.stateDir, "staging/left/instances")
        mkdirSync(left, { recursive: true })
        yield* rotate(request(scene))
        assert.isFalse(existsSync(join(scene.stateDir, "staging")))
      }),
    ),
  )

  it.effect("changes nothing the second time", () =>
    inScene((scene) =>
      Effect.gen(function* () {
        yield* rotate(request(scene))
        const before = contents(scene)
        const again = yield* rotate(request(scene))
        assert.deepStrictEqual([again.rotated, again.had], [0, 11])
        assert.include(summary(again), "2 instances: 0 files have the new passphrase now, 11 had it already")
        assert.deepStrictEqual(contents(scene), before)
      }),
    ),
  )

  it.effect("opens what is under any of several passphrases", () =>
    inScene((scene) =>
      Effect.gen(function* () {
        const done = yield* rotate(request(scene, [passphrases.other, passphrases.old]))
        assert.strictEqual(done.rotated, 11)
        yield* allOpenWith(scene, ["next"])
      }),
    ),
  )

  it.effect("changes nothing at all where one file opens with none, and names instance and file", () =>
    inScene((scene) =>
      Effect.gen(function* () {
        const stranger = yield* makeScene(passphrases.other)
        const file = scene.files().find((each) => each.includes("/two/") && each.endsWith(".json.gz")) ?? ""
        writeFileSync(file, readFileSync(file.replace(scene.stateDir, stranger.stateDir)))
        stranger.remove()
        const before = contents(scene)
        const error = yield* Effect.flip(rotate(request(scene)))
        assert.match(
          error.message,
          /^nothing was changed: .* opens team-a\/two: backend\/.*instance\.json\.gz$/,
        )
        assert.isTrue(error.untouched)
        assert.deepStrictEqual(contents(scene), before)
      }),
    ),
  )

  it.effect("does not say that nothing was touched where an earlier run has begun", () =>
    inScene((scene) =>
      Effect.gen(function* () {
        const ended = scene.files().filter((file) => file.includes("/one/"))
        const kept = new Map(scene.files().map((file) => [file, readFileSync(file)]))
        yield* rotate(request(scene))
        for (const [file, bytes] of kept) if (!ended.includes(file)) writeFileSync(file, bytes)
        const two = scene.files().find((each) => each.includes("/two/") && each.endsWith(".json.gz")) ?? ""
        writeFileSync(two, scene.textOf(two).replace(/"ciphertext":"v1:..../, '"ciphertext":"v1:AAAA'))
        const error = yield* Effect.flip(rotate(request(scene)))
        assert.isFalse(error.untouched)
      }),
    ),
  )

  it.effect("leaves an entry of the history whose salt is nowhere", () =>
    inScene((scene) =>
      Effect.gen(function* () {
        const stranger = yield* makeScene(passphrases.other)
        const entry = scene.files().find((each) => each.includes(".history.json")) ?? ""
        writeFileSync(entry, readFileSync(entry.replace(scene.stateDir, stranger.stateDir)))
        stranger.remove()
        const done = yield* rotate(request(scene))
        assert.deepStrictEqual([done.rotated, done.left.length], [10, 2])
      }),
    ),
  )

  it.effect("finds nothing to do in a directory without instances", () =>
    inScene((scene) =>
      Effect.gen(function* () {
        const done = yield* rotate({ ...request(scene), stateDir: `${scene.stateDir}/instances/team-a/two` })
        assert.deepStrictEqual(done, { instances: 0, rotated: 0, had: 0, left: [] })
      }),
    ),
  )

  it.effect("gives way to whoever writes a file meanwhile", () =>
    inScene((scene) =>
      Effect.gen(function* () {
        const disk = yield* Disk
        const meddled = Disk.of({
          ...disk,
          writeNew: (path, content, mode) =>
            Effect.tap(disk.writeNew(path, content, mode), () =>
              Effect.sync(() => writeFileSync(path.replace(".0.tmp", ""), "written by an operator")),
            ),
        })
        const error = yield* Effect.flip(Effect.provideService(rotate(request(scene)), Disk, meddled))
        assert.match(
          error.message,
          /^team-a\/one: project\/Pulumi.instance.yaml was written by somebody else/,
        )
        assert.include(
          scene.files().map((file) => scene.textOf(file)),
          "written by an operator",
        )
      }),
    ),
  )
})

/** A disk whose machine dies at the `at`-th write: before it, after it, or, of a new file, in the middle. */
const dying = (disk: Disk["Service"], at: number, how: "before" | "after" | "torn") => {
  let writes = 0
  let dead = false
  const death = Effect.suspend(() => {
    dead = true
    return Effect.die("the machine died")
  })
  const step = <A, E>(run: Effect.Effect<A, E>, torn: Effect.Effect<A, E> = run): Effect.Effect<A, E> =>
    Effect.suspend(() => {
      // What would have tidied up is dead, too.
      if (dead) return death
      writes += 1
      if (writes !== at) return run
      if (how === "before") return death
      return Effect.andThen(how === "torn" ? torn : run, death)
    })
  const mortal = Disk.of({
    ...disk,
    writeNew: (path, content, mode) =>
      step(
        disk.writeNew(path, content, mode),
        disk.writeNew(path, content.subarray(0, content.length >> 1), mode),
      ),
    rename: (from, to) => step(disk.rename(from, to)),
    unlink: (path) => step(disk.unlink(path)),
    syncFolder: (path) => step(disk.syncFolder(path)),
  })
  return { mortal, writes: () => writes }
}

describe("a rotation that is cut short at any of its writes", () => {
  for (const how of ["before", "after", "torn"] as const) {
    it.effect(`(${how}) leaves everything open to one of both, and the next one ends it`, () =>
      Effect.gen(function* () {
        let died = true
        for (let at = 1; died; at += 1) {
          yield* inScene((scene) =>
            Effect.gen(function* () {
              const { mortal, writes } = dying(yield* Disk, at, how)
              const exit = yield* Effect.exit(Effect.provideService(rotate(request(scene)), Disk, mortal))
              died = Exit.isFailure(exit)
              if (!died) {
                // Each file is written, renamed and synced, or not every write was played.
                assert.strictEqual(writes(), 3 * 11)
                return
              }
              const files = scene.files().filter((file) => file.endsWith(".0.tmp"))
              assert.isAtMost(files.length, 1)
              for (const file of scene.files().filter((each) => !files.includes(each))) {
                if (basename(file) === damaged) continue
                assert.notStrictEqual((yield* opened(file, ["old", "next"]))?.name, "none", file)
              }
              const done = yield* rotate(request(scene))
              assert.strictEqual(done.rotated + done.had, 11)
              yield* allOpenWith(scene, ["next"])
              assert.isFalse(scene.files().some((file) => file.endsWith(".tmp")))
            }),
          )
        }
      }),
    )
  }

  it.effect("or that had reached any subset of the files is ended by the next one", () =>
    Effect.gen(function* () {
      // Of each file by itself, and of all but it.
      for (let index = 0; index < 11; index += 1) {
        for (const all of [false, true]) {
          yield* inScene((scene) =>
            Effect.gen(function* () {
              const before = new Map(scene.files().map((file) => [file, readFileSync(file)]))
              yield* rotate(request(scene))
              const changed = scene.files().filter((file) => !before.get(file)?.equals(readFileSync(file)))
              assert.strictEqual(changed.length, 11)
              for (const [at, file] of changed.entries()) {
                if ((at === index) === all) writeFileSync(file, before.get(file) ?? "")
              }
              const done = yield* rotate(request(scene))
              assert.strictEqual(done.rotated, all ? 1 : 10)
              yield* allOpenWith(scene, ["next"])
            }),
          )
        }
      }
    }),
  )
})
