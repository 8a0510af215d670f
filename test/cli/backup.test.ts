// `kubectl pi backup` and `restore` over a cluster that remembers what is done, interrupted at any call of it.
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { gzipSync } from "node:zlib"
import { assert, describe, it } from "@effect/vitest"
import { Encrypter } from "age-encryption"
import { Effect, Fiber, Redacted } from "effect"
import { TestClock } from "effect/testing"
import { BACKUP_FORMAT, isSnapshotOf, opened, sealed, WorkFactor } from "../../src/cli/BackupFile.ts"
import { hostNamespace } from "../../src/schema/Names.ts"
import { restoringWords } from "../../src/schema/Restoring.ts"
import { packed } from "../../src/services/Backup/Archive.ts"
import { instance, runPi } from "./FakeKubectl.ts"

const RESTORE = "platform.di-framework.dev/restore"
const SLEEP = "platform.di-framework.dev/sleep"
const inside = "0c6c1b60-0000-4000-8000-000000000001"
const b64 = (text: string) => Buffer.from(text).toString("base64")

/** A tar with one entry, whose name begins with a slash, as vCluster's. */
const snapshotOf = Effect.fnUntraced(function* (uid: string) {
  const tar = Buffer.from(
    yield* packed(new Map([["_registry/namespaces/kube-system", Buffer.from(`k8s\0 ${uid} `)]])),
  )
  tar.write("/", 0)
  // The sum over its header, in which the changed character counts.
  tar.fill(" ", 148, 156)
  const sum = tar.subarray(0, 512).reduce((all, byte) => all + byte, 0)
  tar.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148)
  return gzipSync(tar)
})

const spec = {
  version: "6.0.22",
  target: { type: "vcluster" },
  platform: {
    storageRoot: "/srv/one",
    gateway: { httpNodePort: 30001 },
    tenantAuth: { clientSecretRef: { name: "oauth", key: "secret" } },
  },
}
const deployment = {
  metadata: { name: "platform-operator" },
  spec: {
    selector: { matchLabels: {} },
    template: {
      spec: {
        containers: [
          {
            name: "operator",
            image: "x",
            args: ["--state-dir=/state", "--passphrase-file=/p/passphrase"],
            volumeMounts: [
              { name: "state", mountPath: "/state" },
              { name: "p", mountPath: "/p" },
            ],
          },
        ],
        volumes: [
          { name: "state", persistentVolumeClaim: { claimName: "c" } },
          { name: "p", secret: { secretName: "s" } },
        ],
      },
    },
  },
}
const controlPlane = {
  metadata: { namespace: "host", labels: { chart: "vcluster-0.37.3" } },
  spec: {
    template: {
      spec: {
        priorityClassName: "platform-operator-control-plane",
        serviceAccountName: "vc-vcluster",
        containers: [{ name: "syncer", image: "vcluster", volumeMounts: [], env: [], livenessProbe: {} }],
        volumes: [{ name: "tmp", emptyDir: {} }],
      },
    },
  },
}

interface Choices {
  /** Stamps that are told, one a look; the last one stays. */
  readonly stamps?: ReadonlyArray<string>
  readonly state?: "none" | "there"
  readonly chartVersion?: string
  readonly hasInstance?: boolean
  /** The backup that the state is out of; and whether its data is not back yet. */
  readonly restored?: string
  readonly waits?: boolean
  readonly annotations?: Readonly<Record<string, string>>
  readonly installed?: boolean
  readonly hasHost?: boolean
  readonly hasSecret?: boolean
  readonly interrupt?: number
}

/** A cluster whose operator does at once what it is asked for. */
const makeCluster = Effect.fnUntraced(function* (choices: Choices) {
  const snapshot = yield* snapshotOf(inside)
  const stamps = [...(choices.stamps ?? ["a"])]
  let there: Record<string, unknown> | undefined =
    choices.hasInstance === true ? { ...instance, spec } : undefined
  let annotations: Record<string, string> = { ...choices.annotations }
  let data = choices.hasInstance === true ? inside : "an empty one"
  let imported = choices.state ?? (choices.hasInstance === true ? "there" : "none")
  let restored = choices.restored
  let waits = choices.waits === true
  const told: Array<string> = []
  const world = { calls: 0, interrupt: choices.interrupt ?? Number.POSITIVE_INFINITY }
  const shown = () => {
    if (there === undefined) return ""
    const sleeps = annotations[SLEEP] === "true"
    const memo = {
      uid: "uid-one",
      ...(sleeps ? { sleep: { askedAt: "2026-01-01T00:00:00Z", since: "2026-01-01T00:00:01Z" } } : {}),
    }
    return {
      ...there,
      metadata: {
        ...Object(there.metadata),
        uid: "uid-one",
        annotations: { ...annotations, "platform.di-framework.dev/day-two": JSON.stringify(memo) },
      },
      status: {
        ...(choices.installed === true ? { installedVersion: "6.0.22" } : {}),
        conditions: [{ type: "TargetReady", status: sleeps ? "False" : "True" }],
      },
    }
  }
  const inOperator = (line: string, input: string): unknown => {
    if (line.includes(" find ")) {
      const stamp = stamps.length > 1 ? stamps.shift() : stamps[0]
      return {
        ...{ format: 1, operatorVersion: "6.0.22", chartVersion: choices.chartVersion ?? "0.37.3" },
        ...{
          state: imported,
          ...(restored === undefined ? {} : { restored }),
          ...(restored === undefined || !waits ? {} : { busy: restoringWords(restored) }),
          ...(imported === "there" ? { stamp, version: "6.0.22", kubeSystemUID: inside } : {}),
        },
      }
    }
    if (line.includes(" export ")) return `state under ${input.split("\n")[0]}`
    if (line.includes(" import ")) {
      imported = "there"
      restored = / --id=(\S+)/.exec(line)?.[1]
      waits = true
      told.push(`import ${line.includes("--clone") ? "clone " : ""}${input.split("\n")[1]}`)
      return "{}"
    }
    waits = false
    told.push(`adapt ${input}`)
    return "{}"
  }
  const make = (line: string, input: string): unknown => {
    const object = JSON.parse(input)
    if (line.includes("--dry-run")) return ""
    if (object.kind === "PlatformInstance") {
      assert.strictEqual(imported, "there", "the state comes first")
      there = object
      annotations = { ...object.metadata.annotations }
    }
    if (object.kind === "Pod") {
      assert.strictEqual(annotations[SLEEP], "true")
      assert.isUndefined(object.spec.priorityClassName)
      assert.isUndefined(object.spec.containers[0].livenessProbe)
    }
    told.push(object.kind)
    return ""
  }
  const kubectl = (line: string, input = ""): unknown => {
    world.calls += 1
    if (world.calls === world.interrupt) return new Error("interrupted")
    if (line.startsWith("get deployments")) return { items: [deployment] }
    if (line.startsWith("get statefulset")) return controlPlane
    if (line.startsWith("get namespace team-")) return { metadata: { name: "team-a" } }
    if (line.startsWith("get namespace pi-"))
      return choices.hasHost === true ? { metadata: { name: "x" } } : ""
    if (line.startsWith("get secret oauth"))
      return choices.hasSecret === false ? "" : { data: { secret: b64("hush") } }
    if (line.startsWith("get secret vcluster-certs")) return { data: { "ca.key": b64("an authority") } }
    if (line.includes("-kubeconfig ")) return { data: { kubeconfig: b64("the kubeconfig") } }
    if (line.startsWith("get platforminstances")) {
      return shown() === "" && !line.includes("--ignore-not-found") ? new Error("Error (NotFound)") : shown()
    }
    if (line.startsWith("exec --stdin deployment/")) return inOperator(line, input)
    if (line.startsWith("exec vcluster-0")) {
      return data === inside ? snapshot.toString("latin1") : "nothing of it"
    }
    if (line.startsWith("exec --stdin vcluster-restore")) {
      assert.deepStrictEqual(Buffer.from(input, "latin1"), snapshot)
      data = inside
      told.push("data")
      return ""
    }
    if (line.startsWith("create") || line.startsWith("apply")) return make(line, input)
    if (line.startsWith("annotate")) {
      const change = /--overwrite (\S+?)(-|=(\S+))(?: |$)/.exec(line)
      const [, name = "", , value] = change ?? []
      const { [name]: _, ...rest } = annotations
      annotations = value === undefined ? rest : { ...rest, [name]: value }
      if (name === RESTORE) told.push(value === undefined ? "let go" : "held")
      return ""
    }
    if (line.startsWith("delete") || line.startsWith("wait")) return ""
    return new Error(`nobody answers: ${line}`)
  }
  return { kubectl, told, world, annotations: () => annotations, made: () => there }
})

const inFolder = <E, R>(use: (folder: string) => Effect.Effect<void, E, R>) =>
  Effect.acquireUseRelease(
    Effect.sync(() => mkdtempSync(join(tmpdir(), "backup-"))),
    (folder) => {
      writeFileSync(join(folder, "pass"), "correct horse\n")
      return use(folder)
    },
    (folder) => Effect.sync(() => rmSync(folder, { recursive: true })),
  ).pipe(Effect.provideService(WorkFactor, 2))

const run = Effect.fnUntraced(function* (
  args: ReadonlyArray<string>,
  folder: string,
  { kubectl }: { readonly kubectl: unknown },
) {
  const fiber = yield* Effect.forkChild(
    runPi([...args, "--passphrase-file", join(folder, "pass")], { "": kubectl }),
  )
  for (let times = 0; times < 400 && fiber.pollUnsafe() === undefined; times++) {
    yield* TestClock.adjust("2 seconds")
    yield* Effect.promise(() => new Promise((resolve) => setImmediate(resolve)))
  }
  return yield* Fiber.join(fiber)
})

const backupIn = Effect.fnUntraced(function* (folder: string, choices: Choices = {}) {
  const file = join(folder, "one.age")
  const cluster = yield* makeCluster({ hasInstance: true, ...choices })
  return { file, said: yield* run(["backup", "one", "-n", "team-a", "-f", file], folder, cluster) }
})

describe("a backup", () => {
  it.effect("is one file for its owner, with all of it, and no passphrase in an argument", () =>
    inFolder((folder) =>
      Effect.gen(function* () {
        const { file, said } = yield* backupIn(folder)
        assert.strictEqual(said.exitCode, 0, said.err)
        assert.strictEqual(statSync(file).mode & 0o777, 0o600)
        const { manifest, parts } = yield* opened(file, readFileSync(file), Redacted.make("correct horse"))
        assert.deepStrictEqual(manifest.instance, { namespace: "team-a", name: "one" })
        assert.strictEqual(manifest.kubeSystemUID, inside)
        assert.strictEqual(
          Buffer.from(parts.get("state.tar.gz") ?? []).toString(),
          `state under ${manifest.statePassphrase}`,
        )
        const text = Buffer.from(parts.get("instance.json") ?? []).toString()
        assert.deepStrictEqual(JSON.parse(text), { metadata: {}, spec })
        for (const line of said.asked) {
          assert.notInclude(line, manifest.statePassphrase)
          assert.notInclude(line, "correct horse")
        }
      }),
    ),
  )

  it.effect("is taken anew where an operation has come between, and not for ever", () =>
    inFolder((folder) =>
      Effect.gen(function* () {
        const late = yield* backupIn(folder, { stamps: ["a", "b", "b"] })
        assert.strictEqual(late.said.exitCode, 0, late.said.err)
        assert.match(late.said.err, /an operation has begun; waiting for its end/)
        rmSync(late.file)
        const stamps = Array.from({ length: 20 }, (_, index) => String(index))
        const never = yield* backupIn(folder, { stamps })
        assert.strictEqual(never.said.exitCode, 1)
        assert.match(never.said.err, /team-a\/one is at work .*give the command again when it is done/)
        assert.isFalse(existsSync(never.file))
      }),
    ),
  )

  it.effect("overwrites nothing", () =>
    inFolder((folder) =>
      Effect.gen(function* () {
        writeFileSync(join(folder, "one.age"), "an older one")
        const { file, said } = yield* backupIn(folder)
        assert.strictEqual(said.exitCode, 2)
        assert.strictEqual(readFileSync(file, "utf8"), "an older one")
      }),
    ),
  )
})

describe("a restore", () => {
  const whole = [
    ...["import state", "PlatformInstance", "Pod", "data", "Secret", "adapt the kubeconfig", "let go"],
  ]
  const brief = (told: ReadonlyArray<string>) => told.map((each) => each.replace(/state under \S+/, "state"))

  it.effect("puts the state back, then the data, and lets go then", () =>
    inFolder((folder) =>
      Effect.gen(function* () {
        const { file } = yield* backupIn(folder)
        const cluster = yield* makeCluster({})
        const said = yield* run(["restore", "-f", file], folder, cluster)
        assert.strictEqual(said.exitCode, 0, said.err)
        assert.deepStrictEqual(brief(cluster.told), whole)
        assert.deepStrictEqual(cluster.annotations(), {})
        assert.deepInclude(cluster.made(), { spec })
      }),
    ),
  )

  it.effect("under another name takes neither the first one's keys nor its places", () =>
    inFolder((folder) =>
      Effect.gen(function* () {
        const { file } = yield* backupIn(folder)
        const cluster = yield* makeCluster({})
        const said = yield* run(["restore", "two", "-f", file], folder, cluster)
        assert.strictEqual(said.exitCode, 0, said.err)
        assert.deepStrictEqual(
          brief(cluster.told),
          whole.flatMap((each) => (each === "Secret" ? [] : [each.replace("import", "import clone")])),
        )
        assert.match(said.err, /left out, .*storageRoot \/srv\/one, .*httpNodePort 30001/)
        const { tenantAuth } = spec.platform
        assert.deepInclude(cluster.made(), { spec: { ...spec, platform: { tenantAuth } } })
      }),
    ),
  )

  it.effect("goes on wherever it was interrupted, and lets go once, after the data", () =>
    inFolder((folder) =>
      Effect.gen(function* () {
        const { file } = yield* backupIn(folder)
        const undisturbed = yield* makeCluster({})
        yield* run(["restore", "-f", file], folder, undisturbed)
        for (let at = 1; at <= undisturbed.world.calls; at++) {
          const cluster = yield* makeCluster({ interrupt: at })
          const first = yield* run(["restore", "-f", file], folder, cluster)
          assert.strictEqual(first.exitCode, 1, `call ${at}`)
          const said = yield* run(["restore", "-f", file], folder, cluster)
          assert.strictEqual(said.exitCode, 0, `call ${at}: ${said.err}`)
          assert.deepStrictEqual(cluster.annotations(), {}, `call ${at}`)
          assert.strictEqual(cluster.told.at(-1), "let go")
          assert.lengthOf(
            cluster.told.filter((each) => each === "PlatformInstance"),
            1,
          )
          assert.include(cluster.told, "data")
        }
      }),
    ),
  )

  const idOf = (path: string) =>
    Effect.map(
      opened(path, readFileSync(path), Redacted.make("correct horse")),
      ({ manifest }) => manifest.id,
    )

  it.effect("goes on, and holds it again, where somebody has taken its annotation away", () =>
    inFolder((folder) =>
      Effect.gen(function* () {
        const { file } = yield* backupIn(folder)
        const cluster = yield* makeCluster({ hasInstance: true, restored: yield* idOf(file), waits: true })
        const said = yield* run(["restore", "-f", file], folder, cluster)
        assert.strictEqual(said.exitCode, 0, said.err)
        assert.deepStrictEqual(brief(cluster.told), ["held", ...whole.slice(2)])
      }),
    ),
  )

  it.effect("goes on with what was given up half-way and retained, host namespace and all", () =>
    inFolder((folder) =>
      Effect.gen(function* () {
        const { file } = yield* backupIn(folder)
        const half = { state: "there", hasHost: true, restored: yield* idOf(file), waits: true } as const
        const cluster = yield* makeCluster(half)
        const said = yield* run(["restore", "-f", file], folder, cluster)
        assert.strictEqual(said.exitCode, 0, said.err)
        assert.deepStrictEqual(brief(cluster.told), whole)
      }),
    ),
  )

  it.effect("leaves an instance alone that lives, whatever its annotation says", () =>
    inFolder((folder) =>
      Effect.gen(function* () {
        const { file } = yield* backupIn(folder)
        const id = yield* idOf(file)
        const held = { [RESTORE]: id }
        const living: ReadonlyArray<readonly [Choices, string]> = [
          [{ annotations: held }, "team-a/one is there: nothing is restored over it"],
          [
            { restored: id },
            "is restored from this backup already, and has had its data back: nothing is left",
          ],
          [{ restored: id, annotations: held, installed: true }, "was put on it again, and holds it"],
          [{ restored: "another", waits: true }, "team-a/one is there: nothing is restored over it"],
        ]
        for (const [choices, words] of living) {
          const cluster = yield* makeCluster({ ...choices, hasInstance: true })
          const said = yield* run(["restore", "-f", file], folder, cluster)
          assert.strictEqual(said.exitCode, 1, words)
          assert.include(said.err, words)
          assert.deepStrictEqual(cluster.told, [])
        }
      }),
    ),
  )

  it.effect("is refused before anything is changed", () =>
    inFolder((folder) =>
      Effect.gen(function* () {
        const { file } = yield* backupIn(folder)
        const host = hostNamespace({ namespace: "team-a", name: "one" })
        const refusals: ReadonlyArray<readonly [Choices, string]> = [
          [{ hasInstance: true }, "team-a/one is there: nothing is restored over it"],
          [{ state: "there" }, "the operator has a state of team-a/one already"],
          [
            { state: "there", restored: "0011", waits: true },
            "already, of a restore of backup 0011 that was cut off: the same command goes on",
          ],
          [{ state: "there", restored: yield* idOf(file) }, "of an instance that was retained"],
          [{ hasHost: true }, `host namespace ${host} is there`],
          [{ hasSecret: false }, "Secret team-a/oauth with key secret"],
          [{ chartVersion: "0.36.1" }, "upgrade the operator first"],
        ]
        for (const [choices, words] of refusals) {
          const cluster = yield* makeCluster(choices)
          const said = yield* run(["restore", "-f", file], folder, cluster)
          assert.strictEqual(said.exitCode, 1, words)
          assert.include(said.err, words)
          assert.deepStrictEqual(cluster.told, [])
        }
      }),
    ),
  )
})

describe("the file", () => {
  const about = {
    format: BACKUP_FORMAT,
    id: "00112233445566aa",
    createdAt: "2026-01-01T00:00:00Z",
    instance: { namespace: "team-a", name: "one" },
    versions: { operator: "6.0.22", platform: "6.0.22", vcluster: "0.37.3" },
    stateFormat: 1,
    kubeSystemUID: inside,
    statePassphrase: "drawn",
  } as const
  const contents = new Map(
    ["instance.json", "state.tar.gz", "vcluster.tar.gz", "certificates.json"].map((name) => [
      name,
      Buffer.from(name.repeat(5000)),
    ]),
  )
  const word = Redacted.make("a word")
  const messageOf = (content: Uint8Array, by = word) =>
    Effect.map(Effect.flip(opened("one.age", content, by)), ({ message }) => message)

  it.effect("is refused as a whole where it is cut off, changed, or opened with another passphrase", () =>
    Effect.gen(function* () {
      const file = yield* sealed(about, contents, word)
      assert.deepStrictEqual((yield* opened("one.age", file, word)).manifest.id, about.id)
      for (const length of [300, 70_000, file.length - 1])
        assert.match(yield* messageOf(file.subarray(0, length)), /is cut off or damaged/)
      const changed = Buffer.from(file)
      changed[100_000] = (changed[100_000] ?? 0) ^ 1
      assert.match(yield* messageOf(changed), /is cut off or damaged/)
      assert.match(yield* messageOf(file, Redacted.make("another")), /the passphrase does not open one\.age/)
      assert.match(yield* messageOf(Buffer.from("text")), /is no backup of kubectl pi/)
    }).pipe(Effect.provideService(WorkFactor, 2)),
  )

  it.effect("of a later format names the way out", () =>
    Effect.gen(function* () {
      const manifest = Buffer.from(JSON.stringify({ ...about, format: 2 }))
      const tar = yield* packed(new Map([["manifest.json", manifest]]))
      const file = yield* Effect.promise(() => {
        const encrypter = new Encrypter()
        encrypter.setScryptWorkFactor(2)
        encrypter.setPassphrase("a word")
        return encrypter.encrypt(tar)
      })
      assert.match(yield* messageOf(file), /has format 2, and this program reads 1: use the kubectl-pi of/)
    }),
  )
})

describe("a snapshot", () => {
  it.effect("is whole, and of one cluster", () =>
    Effect.gen(function* () {
      const snapshot = yield* snapshotOf(inside)
      assert.isTrue(yield* isSnapshotOf(snapshot, inside))
      assert.isFalse(yield* isSnapshotOf(snapshot, "another"))
      assert.isFalse(yield* isSnapshotOf(snapshot.subarray(0, -20), inside))
      assert.isFalse(yield* isSnapshotOf(new Uint8Array(), inside))
    }),
  )
})
