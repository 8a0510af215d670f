import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  utimesSync,
  writeFileSync,
} from "node:fs"
import { basename, join, relative } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { packed, unpacked } from "../../../src/services/Backup/Archive.ts"
import { adapt, copyIn, copyOut, findState, recordFor } from "../../../src/services/Backup/StateCopy.ts"
import { Disk, DiskError } from "../../../src/services/Disk/Disk.ts"
import { DiskLive } from "../../../src/services/Disk/DiskLive.ts"
import { Derivation } from "../../../src/services/Rotation/Passphrase.ts"
import { InstanceRecord } from "../../../src/services/StateStore/StateStore.ts"
import { damaged, makeScene, opened, passphrases, remembered, type Scene } from "../Rotation/Scene.ts"

const one = { namespace: "team-a", name: "one" }
const fresh = { namespace: "team-b", name: "one" }
const id = "00112233445566aa"
const out = { own: passphrases.old, backup: passphrases.next }
const back = { own: passphrases.other, backup: passphrases.next }

const inScene = <E>(use: (scene: Scene) => Effect.Effect<void, E, Disk>) =>
  Effect.acquireUseRelease(makeScene(), use, (scene) => Effect.sync(scene.remove)).pipe(
    Effect.provide(DiskLive.layer),
    Effect.provideService(Derivation, remembered),
  )

const folderOf = ({ stateDir }: Scene, { namespace, name }: typeof one) =>
  join(stateDir, "instances", namespace, name)
const below = (folder: string) =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .flatMap((entry) => (entry.isFile() ? [relative(folder, join(entry.parentPath, entry.name))] : []))
    .toSorted()
const record = (more: object) => ({
  format: 1,
  uid: "life-1",
  storageRoot: { path: "/srv/a", base: "/srv" },
  installed: {
    version: "6.0.22",
    generation: 4,
    reason: "FirstInstall",
    finishedAt: "2026-01-01T00:00:00Z",
    httpNodePort: 30001,
    tenants: 1,
    users: 0,
    endpoints: { http: "http://node:30001" },
  },
  serviceUID: "service",
  kubeSystemUID: "inside",
  server: "https://vcluster.a.svc:443",
  agreed: { uid: "life-1", generation: 4, spec: {} },
  unfinished: true,
  ...more,
})
const writeRecord = (scene: Scene, more = {}) =>
  writeFileSync(join(folderOf(scene, one), "instance.json"), JSON.stringify(record(more)))
const recordOf = (scene: Scene, key: typeof one) =>
  JSON.parse(readFileSync(join(folderOf(scene, key), "instance.json"), "utf8"))

const isUnder = Effect.fnUntraced(function* (folder: string, passphrase: keyof typeof passphrases) {
  let count = 0
  for (const file of below(folder)) {
    if (basename(file) === damaged) continue
    const found = yield* opened(join(folder, file), [passphrase])
    if (found === undefined) continue
    assert.strictEqual(found.name, passphrase, file)
    for (const plain of found.plain) assert.include(plain, "planted-secret")
    count += 1
  }
  return count
})

describe("the state of an instance", () => {
  it.effect("leaves under the backup's passphrase, and what it was copied from stays as it was", () =>
    inScene((scene) =>
      Effect.gen(function* () {
        writeRecord(scene)
        const before = scene.files().map((file) => [file, readFileSync(file, "hex")])
        const { files, stamp } = yield* copyOut(scene.stateDir, one, out)
        assert.deepStrictEqual(
          scene.files().map((file) => [file, readFileSync(file, "hex")]),
          before,
        )
        assert.strictEqual((yield* findState(scene.stateDir, one)).stamp, stamp)
        assert.isTrue([...files.keys()].every((file) => below(folderOf(scene, one)).includes(file)))
        assert.deepStrictEqual(readdirSync(join(scene.stateDir, "staging")), [])
        const folder = join(scene.stateDir, "out")
        for (const [file, content] of files) {
          mkdirSync(join(folder, file, ".."), { recursive: true })
          writeFileSync(join(folder, file), content)
        }
        assert.isAbove(yield* isUnder(folder, "next"), 6)
      }),
    ),
  )

  it.effect("comes in under the passphrase of the operator that is there, 0600, as a life before", () =>
    inScene((scene) =>
      Effect.gen(function* () {
        writeRecord(scene)
        const { files } = yield* copyOut(scene.stateDir, one, out)
        const done = yield* copyIn(scene.stateDir, fresh, { files, id, isClone: false }, back)
        assert.deepStrictEqual(done, { again: false })
        const folder = folderOf(scene, fresh)
        assert.isAbove(yield* isUnder(folder, "other"), 6)
        assert.deepStrictEqual(below(folder), [...below(folderOf(scene, one)), "restored"].toSorted())
        for (const file of below(folder)) assert.strictEqual(statSync(join(folder, file)).mode & 0o777, 0o600)
        assert.strictEqual(statSync(folder).mode & 0o777, 0o700)
        const { installed: before, storageRoot, uid, kubeSystemUID } = record({})
        const { httpNodePort: _, ...installed } = before
        assert.deepStrictEqual(recordOf(scene, fresh), {
          format: 1,
          uid,
          storageRoot,
          installed,
          kubeSystemUID,
          behind: true,
          restoring: id,
        })
        assert.deepStrictEqual(readdirSync(join(scene.stateDir, "staging")), [])
      }),
    ),
  )

  it.effect(
    "has neither port nor custom storage root of its own any more: another one may have them by now",
    () => {
      const { storageRoot: _, ...rest } = record({})
      const before = Schema.decodeUnknownSync(InstanceRecord)({ ...rest, storageRoot: { path: "/srv/own" } })
      const { storageRoot, installed } = recordFor(before, false, id)
      assert.isUndefined(storageRoot)
      assert.deepInclude(installed, { endpoints: before.installed?.endpoints ?? {} })
      assert.isUndefined(installed?.httpNodePort)
      return Effect.void
    },
  )

  it.effect("as a clone's has neither the storage root, nor the port, nor the address of the first one", () =>
    inScene((scene) =>
      Effect.gen(function* () {
        writeRecord(scene)
        const { files } = yield* copyOut(scene.stateDir, one, out)
        yield* copyIn(scene.stateDir, fresh, { files, id, isClone: true }, back)
        const { storageRoot, installed } = recordOf(scene, fresh)
        assert.isUndefined(storageRoot)
        assert.deepStrictEqual([installed.httpNodePort, installed.endpoints], [undefined, {}])
      }),
    ),
  )

  it.effect("is put back once: again does nothing, and over another one or a later life is refused", () =>
    inScene((scene) =>
      Effect.gen(function* () {
        writeRecord(scene)
        const { files } = yield* copyOut(scene.stateDir, one, out)
        const copy = { files, id, isClone: false }
        yield* copyIn(scene.stateDir, fresh, copy, back)
        assert.deepStrictEqual(yield* copyIn(scene.stateDir, fresh, copy, back), { again: true })
        const before = scene.files().map((file) => [file, readFileSync(file, "hex")])
        const other = yield* Effect.flip(
          copyIn(scene.stateDir, fresh, { ...copy, id: "ffffffffffffffff" }, back),
        )
        assert.match(other.message, /^there is a state of team-b\/one already: .* Nothing was changed$/)
        yield* Effect.flip(copyIn(scene.stateDir, one, copy, back))
        assert.deepStrictEqual(
          scene.files().map((file) => [file, readFileSync(file, "hex")]),
          before,
        )
        const file = join(folderOf(scene, fresh), "instance.json")
        const { restoring: _, ...later } = { ...recordOf(scene, fresh), uid: "life-2" }
        // Begun with, and given up half-way: nothing is installed.
        writeFileSync(file, JSON.stringify({ ...later, restoring: id }))
        assert.deepStrictEqual(yield* copyIn(scene.stateDir, fresh, copy, back), { again: true })
        writeFileSync(file, JSON.stringify(later))
        yield* Effect.flip(copyIn(scene.stateDir, fresh, copy, back))
      }),
    ),
  )

  it.effect(
    "is not there at all where the backup's passphrase does not open it, or its record is a newer one's",
    () =>
      inScene((scene) =>
        Effect.gen(function* () {
          writeRecord(scene)
          const { files } = yield* copyOut(scene.stateDir, one, out)
          const wrong = { own: passphrases.other, backup: passphrases.old }
          const refused = yield* Effect.flip(
            copyIn(scene.stateDir, fresh, { files, id, isClone: false }, wrong),
          )
          assert.match(refused.message, /neither the passphrase nor the next one opens team-b\/one/)
          const newer = new Map([...files, ["instance.json", Buffer.from('{"format":2,"uid":"x"}')] as const])
          const told = yield* Effect.flip(
            copyIn(scene.stateDir, fresh, { files: newer, id, isClone: false }, back),
          )
          assert.match(told.message, /made by a newer one. Nothing was changed/)
          assert.isFalse(existsSync(folderOf(scene, fresh)))
          assert.deepStrictEqual(readdirSync(join(scene.stateDir, "staging")), [])
        }),
      ),
  )

  it.effect("waits for its data, and is not backed up itself, until it reaches its vCluster", () =>
    inScene((scene) =>
      Effect.gen(function* () {
        writeRecord(scene)
        const { files } = yield* copyOut(scene.stateDir, one, out)
        yield* copyIn(scene.stateDir, fresh, { files, id, isClone: false }, back)
        const waiting = yield* findState(scene.stateDir, fresh)
        assert.deepStrictEqual([waiting.restored, waiting.busy], [id, `restore of backup ${id}`])
        assert.isTrue((yield* Effect.flip(copyOut(scene.stateDir, fresh, back))).busy)
        const { restoring, ...rest } = recordOf(scene, fresh)
        assert.strictEqual(restoring, id)
        const reach = adapt(scene.stateDir, fresh, { id, kubeconfig: "clusters: []", own: passphrases.other })
        yield* reach
        assert.deepStrictEqual(recordOf(scene, fresh), rest)
        const { restored, busy } = yield* findState(scene.stateDir, fresh)
        assert.deepStrictEqual([restored, busy], [id, undefined])
        yield* reach
        assert.deepStrictEqual(recordOf(scene, fresh), rest)
      }),
    ),
  )

  it.effect("is not read while an operation is at work, which is named", () =>
    inScene((scene) =>
      Effect.gen(function* () {
        writeRecord(scene)
        const marker = {
          format: 1,
          kind: "install",
          version: "6.0.22",
          generation: 4,
          startedAt: "2026-01-01T00:00:00Z",
          holder: { podUID: "a", podName: "b", incarnation: "c" },
        }
        writeFileSync(join(folderOf(scene, one), "operation.json"), JSON.stringify(marker))
        const busy = yield* Effect.flip(copyOut(scene.stateDir, one, out))
        assert.deepStrictEqual(
          [busy.busy, busy.message],
          [true, "install of 6.0.22 (since 2026-01-01T00:00:00Z) is at work"],
        )
      }),
    ),
  )

  it.effect("is not taken for consistent where it changes while it is read", () =>
    inScene((scene) =>
      Effect.gen(function* () {
        writeRecord(scene)
        const disk = yield* Disk
        const disturbed = Disk.of({
          ...disk,
          readFile: (file) =>
            Effect.tap(disk.readFile(file), () =>
              Effect.sync(() => {
                if (file.endsWith("Pulumi.instance.yaml")) writeRecord(scene, { kubeSystemUID: "another" })
              }),
            ),
        })
        const busy = yield* Effect.flip(
          Effect.provideService(copyOut(scene.stateDir, one, out), Disk, disturbed),
        )
        assert.isTrue(busy.busy)
        assert.strictEqual(busy.message, "an operation has begun")
      }),
    ),
  )

  it.effect("is an operation's where a file goes while it is looked at", () =>
    inScene((scene) =>
      Effect.gen(function* () {
        writeRecord(scene)
        const disk = yield* Disk
        const error = new DiskError({ path: "gone", code: "ENOENT", message: "no such file or directory" })
        const disturbed = Disk.of({ ...disk, sha256All: () => Effect.fail(error) })
        const busy = yield* Effect.flip(
          Effect.provideService(findState(scene.stateDir, one), Disk, disturbed),
        )
        assert.deepStrictEqual([busy.busy, busy.message], [true, "an operation has begun"])
        yield* Effect.all(
          Array.from({ length: 6 }, () => copyOut(scene.stateDir, one, out)),
          { concurrency: 6 },
        )
      }),
    ),
  )

  it.effect("leaves nothing for good where a process died in the middle", () =>
    inScene((scene) =>
      Effect.gen(function* () {
        writeRecord(scene)
        const left = join(scene.stateDir, "staging/left")
        mkdirSync(left, { recursive: true })
        utimesSync(left, 0, 0)
        yield* copyOut(scene.stateDir, one, out)
        assert.deepStrictEqual(readdirSync(join(scene.stateDir, "staging")), [])
      }),
    ),
  )
})

describe("an archive", () => {
  const files = new Map([
    ["a", Buffer.from("1")],
    ["b/c", Buffer.alloc(3000, 7)],
  ])

  it.effect("gives what was put into it", () =>
    Effect.gen(function* () {
      const tar = yield* packed(files)
      assert.deepStrictEqual(
        [...(yield* unpacked(tar))].map(([name, content]) => [name, Buffer.from(content)]),
        [...files].map(([name, content]) => [name, Buffer.from(content)]),
      )
    }),
  )

  it.effect("is refused where it is cut off or leads elsewhere", () =>
    Effect.gen(function* () {
      const tar = yield* packed(files)
      yield* Effect.flip(unpacked(tar.subarray(0, 2000)))
      for (const name of ["../x", "/etc/x", "a/../../x"]) {
        yield* Effect.flip(unpacked(yield* packed(new Map([[name, Buffer.from("1")]]))))
      }
    }),
  )
})
