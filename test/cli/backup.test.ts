// `kubectl pi backup` and `restore` over a cluster that remembers what is done, interrupted at any call of it.
import { execFileSync, spawn } from "node:child_process"
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { gunzipSync, gzipSync } from "node:zlib"
import { assert, describe, it } from "@effect/vitest"
import { Encrypter } from "age-encryption"
import { Effect, Fiber, Redacted, Stream } from "effect"
import { TestClock } from "effect/testing"
import { BACKUP_FORMAT, clusterOf, STORAGE_FORMAT, sealed, WorkFactor } from "../../src/cli/BackupFile.ts"
import { opened } from "../../src/cli/BackupReader.ts"
import { cannot, Largest } from "../../src/cli/Kubectl.ts"
import { hostNamespace } from "../../src/schema/Names.ts"
import { restoringWords } from "../../src/schema/Restoring.ts"
import { packed } from "../../src/services/Backup/Archive.ts"
import { ctrlC, instance, runPi } from "./FakeKubectl.ts"

const RESTORE = "platform.di-framework.dev/restore"
const RESTORED = "platform.di-framework.dev/restored"
const SLEEP = "platform.di-framework.dev/sleep"
const inside = "0c6c1b60-0000-4000-8000-000000000001"
const b64 = (text: string) => Buffer.from(text).toString("base64")

/** A tar, its names as they are: those of vCluster begin with a slash. */
const tarOf = (files: Readonly<Record<string, string>>): Buffer =>
  Buffer.concat([
    ...Object.entries(files).flatMap(([name, content]) => {
      const header = Buffer.alloc(512)
      header.write(name)
      header.write(Buffer.byteLength(content).toString(8).padStart(11, "0"), 124)
      header.write("0", 156)
      header.write("ustar\u000000", 257)
      // The sum over its header, in which its own place counts as spaces.
      header.fill(" ", 148, 156)
      const sum = header.reduce((all, byte) => all + byte, 0)
      header.write(`${sum.toString(8).padStart(6, "0")}\u0000 `, 148)
      return [header, Buffer.from(content), Buffer.alloc((512 - (Buffer.byteLength(content) % 512)) % 512)]
    }),
    Buffer.alloc(1024),
  ])
const recordIn = (archive: Uint8Array) =>
  /state under [a-zA-Z0-9+/=]+/.exec(gunzipSync(archive).toString())?.[0]
const snapshotOf = (uid: string): Buffer =>
  gzipSync(tarOf({ "/registry/namespaces/kube-system": `k8s\u0000 ${uid} ` }))

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
  metadata: { uid: "control-plane", namespace: "host", labels: { chart: "vcluster-0.37.3" } },
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
  /** Of the vCluster that is there. */
  readonly chart?: string
  readonly labels?: Record<string, string>
  readonly annotations?: Readonly<Record<string, string>>
  /** The backup that the state is out of; and whether its data is not back yet. */
  readonly restored?: string
  readonly waits?: boolean
  readonly installed?: boolean
  /** The stamp in the copy of the state, if it is not the one that was told. */
  readonly copyOf?: string
  /** What the operator gives of the state is not whole. */
  readonly cut?: boolean
  readonly hasInstance?: boolean
  readonly hasHost?: boolean
  /** Which right is missing. */
  readonly forbidden?: string
  readonly hasPolicy?: boolean
  readonly hasSecret?: boolean
  /** What the operator's records say of other instances. */
  readonly claims?: ReadonlyArray<object>
  /** Other instances, and Services, of all namespaces; or that nobody may look. */
  readonly others?: ReadonlyArray<object> | Error
  readonly services?: ReadonlyArray<object> | Error
  /** The mark on the control plane's claim. */
  readonly onClaim?: string
  /** `kube-system` of the cluster that the state is of. */
  readonly kubeSystemUID?: string
  readonly interrupt?: number
  readonly nodes?: number
  /** What lies in the storage root; and what is read of it is cut off. */
  readonly disk?: string
  readonly cutDisk?: boolean
  /** Which call comes to nothing. */
  readonly fails?: (line: string) => boolean
  /** At which call whoever runs it presses Ctrl-C. */
  readonly stopsAt?: RegExp
  /** Of pods over the node: whether the namespace admits them. */
  readonly admits?: (manifest: string) => boolean
}

const notAdmitted =
  'Error from server (Forbidden): error when creating "STDIN": pods "pi-storage-x" is forbidden: violates PodSecurity "restricted:latest": hostPath volumes (volume "storage")'

/** A cluster whose operator does at once what it is asked for. */
const makeCluster = Effect.fnUntraced(function* (choices: Choices) {
  const snapshot = snapshotOf(inside)
  const stamps = [...(choices.stamps ?? ["a"])]
  let there: Record<string, unknown> | undefined =
    choices.hasInstance === true ? { ...instance, spec } : undefined
  let annotations: Record<string, string> = { ...choices.annotations }
  let data = choices.hasInstance === true ? inside : "an empty one"
  /** Of the control plane's claim. */
  let onClaim = choices.onClaim
  let claimVersion = 1
  /** Of the command that has made the pod over the volume. */
  let pod: string | undefined
  let imported = choices.state ?? (choices.hasInstance === true ? "there" : "none")
  let restored = choices.restored
  let waits = choices.waits === true
  let seen = ""
  const told: Array<string> = []
  /** The storage root of a restore: what lies there, and what has come to be put there. */
  const disk = { content: choices.disk, staged: undefined as string | undefined, isWhole: false }
  let storageRoot: string | undefined
  const onDisk = (line: string, input: string): unknown => {
    assert.match(line, / --namespace=platform-operator/)
    if (line.includes("tar --create")) {
      assert.strictEqual(annotations[SLEEP], "true")
      const all = gzipSync(disk.content ?? "")
      return all.subarray(0, choices.cutDisk === true ? -4 : undefined).toString("latin1")
    }
    if (line.includes("echo whole"))
      return disk.isWhole ? "whole" : disk.content === undefined ? "empty" : "there di-tenants"
    if (line.includes("tar --extract")) {
      assert.strictEqual(annotations[SLEEP], "true")
      disk.staged = gunzipSync(Buffer.from(input, "latin1")).toString()
      disk.isWhole = true
      told.push("files come")
    } else if (line.includes("mv -T")) {
      assert.isTrue(disk.isWhole)
      disk.content = disk.staged ?? disk.content
      told.push(`files at ${storageRoot}: ${disk.content}`)
    } else {
      disk.isWhole = false
      told.push("tidied")
    }
    return ""
  }
  const world = {
    calls: 0,
    /** Kinds of what the vCluster has synced. */
    removed: [] as ReadonlyArray<string>,
    interrupt: choices.interrupt ?? Number.POSITIVE_INFINITY,
    fails: choices.fails ?? (() => false),
    /** What others do just before a call. */
    meanwhile: (_line: string): void => {},
  }
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
        ...(choices.labels === undefined ? {} : { labels: choices.labels }),
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
      const stamp = (stamps.length > 1 ? stamps.shift() : stamps[0]) ?? ""
      seen = stamp
      return {
        ...{ format: 1, operatorVersion: "6.0.22", chartVersion: choices.chartVersion ?? "0.37.3" },
        ...{
          state: imported,
          ...(restored === undefined ? {} : { restored }),
          ...(restored === undefined || !waits ? {} : { busy: restoringWords(restored) }),
          ...(restored === undefined || waits ? {} : { restoredAt: "2026-01-02T00:00:00Z" }),
          ...(imported === "there"
            ? { stamp, version: "6.0.22", kubeSystemUID: choices.kubeSystemUID ?? inside }
            : {}),
        },
      }
    }
    if (line.includes(" claims ")) return choices.claims ?? []
    if (line.includes(" export ")) {
      const record = `state under ${input.split("\n")[0]}`
      const whole = gzipSync(tarOf({ stamp: choices.copyOf ?? seen, "files/instance.json": record }))
      return whole.subarray(0, choices.cut === true ? -20 : undefined).toString("latin1")
    }
    if (line.includes(" import ")) {
      imported = "there"
      restored = / --id=(\S+)/.exec(line)?.[1]
      waits = true
      const archive = Buffer.from(input.slice(input.indexOf("\n") + 1), "latin1")
      told.push(`import ${line.includes("--clone") ? "clone " : ""}${recordIn(archive)}`)
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
    if (object.kind === "Pod" && object.metadata.name.startsWith("pi-storage-")) {
      storageRoot = object.spec.volumes[0].hostPath.path
      return ""
    }
    if (object.kind === "Pod") {
      assert.strictEqual(annotations[SLEEP], "true")
      pod = object.metadata.labels["platform.di-framework.dev/restore-run"]
      assert.isUndefined(object.spec.priorityClassName)
      assert.isUndefined(object.spec.containers[0].livenessProbe)
    }
    told.push(object.kind)
    return ""
  }
  const kubectl = (line: string, input = ""): unknown => {
    world.calls += 1
    world.meanwhile(line)
    if (world.calls === world.interrupt || world.fails(line)) return new Error("interrupted")
    if (choices.stopsAt?.test(line) === true) return ctrlC
    if (line.startsWith("create") && input.includes("pi-storage-") && choices.admits?.(input) === false)
      return new Error(notAdmitted)
    if (line.startsWith("get deployments")) return { items: [deployment] }
    if (line.startsWith("get statefulset"))
      return choices.chart === undefined
        ? controlPlane
        : { ...controlPlane, metadata: { ...controlPlane.metadata, labels: { chart: choices.chart } } }
    if (line.startsWith("get namespace team-")) return { metadata: { name: "team-a" } }
    if (line.startsWith("get nodes")) return { items: Array.from({ length: choices.nodes ?? 1 }, () => ({})) }
    if (line.startsWith("get pods ")) return { items: [] }
    if (line.startsWith("exec") && line.includes("pi-storage-")) return onDisk(line, input)
    if (line.startsWith("get namespace pi-") && !line.includes("--ignore-not-found")) {
      const platform = Object(Object(Object(there).spec).platform)
      const own = platform.storageRoot ?? "/var/lib/kubesolo/instances/team-a/two"
      return { metadata: { annotations: { "platform.di-framework.dev/storage-root": own } } }
    }
    if (line.startsWith("get namespace pi-"))
      return choices.hasHost === true ? { metadata: { name: "x" } } : ""
    if (line.startsWith("auth can-i"))
      return line.includes(choices.forbidden ?? "\n") ? new Error("no") : "yes"
    if (line.startsWith("get validatingadmissionpolicybinding"))
      return choices.hasPolicy === false
        ? ""
        : { spec: { policyName: / (platform-\S+) /.exec(line)?.[1], validationActions: ["Deny"] } }
    if (line.startsWith("get secret oauth"))
      return choices.hasSecret === false ? "" : { data: { secret: b64("hush") } }
    if (line.startsWith("get secret vcluster-certs")) return { data: { "ca.key": b64("an authority") } }
    if (line.includes("-kubeconfig ")) return { data: { kubeconfig: b64("the kubeconfig") } }
    if (line.includes("--all-namespaces")) {
      const items = (line.startsWith("get services") ? choices.services : choices.others) ?? []
      return items instanceof Error ? items : { items }
    }
    if (line.startsWith("get platforminstances")) {
      return shown() === "" && !line.includes("--ignore-not-found") ? new Error("Error (NotFound)") : shown()
    }
    if (line.startsWith("exec --stdin deployment/")) return inOperator(line, input)
    if (line.startsWith("exec vcluster-0")) {
      return snapshotOf(data).toString("latin1")
    }
    if (line.startsWith("exec --stdin vcluster-restore")) {
      if (!line.includes(`"$KUBECTL_PI_RUN" = ${pod} `)) return new Error("the pod is another command's")
      assert.deepStrictEqual(Buffer.from(input, "latin1"), snapshot)
      data = inside
      told.push("data")
      return ""
    }
    if (line.startsWith("create") || line.startsWith("apply")) return make(line, input)
    if (line.startsWith("get pod vcluster-0"))
      return annotations[SLEEP] === "true" ? "" : { metadata: { name: "vcluster-0" } }
    if (line.startsWith("get persistentvolumeclaim data-vcluster-0"))
      return {
        metadata: {
          resourceVersion: String(claimVersion),
          ...(onClaim === undefined ? {} : { annotations: { [RESTORED]: onClaim } }),
        },
      }
    if (line.startsWith("annotate persistentvolumeclaim")) {
      const at = / --resource-version=(\d+) /.exec(line)?.[1] ?? String(claimVersion)
      if (at !== String(claimVersion)) return new Error("Error from server (Conflict): it has been modified")
      claimVersion += 1
      onClaim = / \S+\/restored(?:-|=(\S+))/.exec(line)?.[1]
      return ""
    }
    if (line.startsWith("annotate")) {
      const change = /--overwrite (\S+?)(-|=(\S+))(?: |$)/.exec(line)
      const [, name = "", , value] = change ?? []
      const { [name]: _, ...rest } = annotations
      annotations = value === undefined ? rest : { ...rest, [name]: value }
      if (name === RESTORE) told.push(value === undefined ? "let go" : "held")
      return ""
    }
    if (line.startsWith("delete") && line.includes("managed-by"))
      world.removed = /delete (\S+)/.exec(line)?.[1]?.split(",") ?? []
    if (line.startsWith("delete") || line.startsWith("wait")) return ""
    return new Error(`nobody answers: ${line}`)
  }
  return {
    kubectl,
    told,
    world,
    annotations: () => annotations,
    made: () => there,
    disk: () => disk.content,
    /** Another command has begun with the same. */
    overtake: () => {
      pod = "another"
      onClaim = "begun-another"
      claimVersion += 1
    },
    edit: (change: object) => {
      there = { ...there, ...change }
    },
    wake: () => {
      annotations = { [RESTORE]: annotations[RESTORE] ?? "" }
    },
  }
})

const bytesIn = <E>(content: Stream.Stream<Uint8Array, E>) =>
  Effect.map(Stream.runCollect(content), (chunks) => Buffer.concat(chunks))
const sourceOf = (content: Uint8Array) => ({ name: "one.age", bytes: Stream.make(content) })
const open = (file: string) => opened(sourceOf(readFileSync(file)), Redacted.make("correct horse"))

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
  while (fiber.pollUnsafe() === undefined) {
    yield* TestClock.adjust("2 seconds")
    yield* Effect.promise(() => new Promise((resolve) => setImmediate(resolve)))
  }
  return yield* Fiber.join(fiber)
})

const backupIn = Effect.fnUntraced(function* (
  folder: string,
  choices: Choices = {},
  meanwhile: (line: string, edit: (change: object) => void) => void = () => {},
  passphraseIn = folder,
  more: ReadonlyArray<string> = [],
) {
  const file = join(folder, "one.age")
  const cluster = yield* makeCluster({ hasInstance: true, ...choices })
  cluster.world.meanwhile = (line) => meanwhile(line, cluster.edit)
  const said = yield* run(["backup", "one", "-n", "team-a", "-f", file, ...more], passphraseIn, cluster)
  return { file, said, cluster }
})

describe("a backup", () => {
  it.effect("is one file for its owner, with all of it, and no passphrase in an argument", () =>
    inFolder((folder) =>
      Effect.gen(function* () {
        const { file, said } = yield* backupIn(folder)
        assert.strictEqual(said.exitCode, 0, said.err)
        assert.strictEqual(statSync(file).mode & 0o777, 0o600)
        const { manifest, held, part } = yield* open(file)
        assert.deepStrictEqual(manifest.instance, { namespace: "team-a", name: "one" })
        assert.strictEqual(manifest.kubeSystemUID, inside)
        assert.strictEqual(
          recordIn(yield* bytesIn(part("state.tar.gz"))),
          `state under ${manifest.statePassphrase}`,
        )
        const text = Buffer.from(held.get("instance.json") ?? []).toString()
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
        assert.match(late.said.err, /an operation has begun; it is taken anew/)
        rmSync(late.file)
        const stamps = Array.from({ length: 20 }, (_, index) => String(index))
        const never = yield* backupIn(folder, { stamps })
        assert.strictEqual(never.said.exitCode, 1)
        assert.match(never.said.err, /of one moment \(an operation has begun\): give the command again/)
        assert.isFalse(existsSync(never.file))
      }),
    ),
  )

  it.effect("has the settings of the moment of its state, not those from before a wait", () =>
    inFolder((folder) =>
      Effect.gen(function* () {
        const edited = { ...spec, version: "6.0.23" }
        for (const moment of [" export ", "exec vcluster-0"]) {
          let isEdited = false
          const { file, said } = yield* backupIn(folder, {}, (line, edit) => {
            if (isEdited || !line.includes(moment)) return
            isEdited = true
            edit({ spec: edited })
          })
          assert.strictEqual(said.exitCode, 0, said.err)
          assert.match(said.err, /an operation has begun; it is taken anew/)
          const { held } = yield* open(file)
          const kept = JSON.parse(Buffer.from(held.get("instance.json") ?? []).toString())
          assert.deepStrictEqual(kept.spec, edited)
          rmSync(file)
        }
      }),
    ),
  )

  it.effect("is none where its state came cut off, or is a copy of another moment's", () =>
    inFolder((folder) =>
      Effect.gen(function* () {
        const other = yield* backupIn(folder, { copyOf: "another" })
        assert.strictEqual(other.said.exitCode, 1)
        assert.match(other.said.err, /of one moment \(an operation has begun\)/)
        const { file, said } = yield* backupIn(folder, { cut: true })
        assert.strictEqual(said.exitCode, 1)
        assert.match(said.err, /of one moment \(its state came cut off\): give the command again/)
        assert.isFalse(existsSync(file))
      }),
    ),
  )

  it.effect("is none of an instance that is being deleted, from before or meanwhile", () =>
    inFolder((folder) =>
      Effect.gen(function* () {
        for (const moment of ["get deployments", "exec vcluster-0"]) {
          const { file, said } = yield* backupIn(folder, {}, (line, edit) => {
            if (line.startsWith(moment))
              edit({ metadata: { ...instance.metadata, deletionTimestamp: "2026-01-01T00:00:00Z" } })
          })
          assert.strictEqual(said.exitCode, 1)
          assert.match(said.err, /team-a\/one is being deleted, .*deletionPolicy Retain/)
          assert.isFalse(existsSync(file))
        }
      }),
    ),
  )

  it.effect("takes no passphrase that is no text: another file would open it, too", () =>
    inFolder((folder) =>
      Effect.gen(function* () {
        writeFileSync(join(folder, "pass"), Buffer.from([0xff, 0xfe, 0x81, 0x90]))
        const { file, said } = yield* backupIn(folder)
        assert.strictEqual(said.exitCode, 2)
        assert.match(said.err, /--passphrase-file \S+ is no text .*openssl rand -base64 32/)
        assert.isFalse(existsSync(file))
      }),
    ),
  )

  it.effect("that fails because a program in the operator's pod was killed says so", () =>
    inFolder((folder) =>
      Effect.gen(function* () {
        const cluster = yield* makeCluster({ hasInstance: true })
        const inOperator = (line: string, input?: string) =>
          line.includes(" export ")
            ? new Error("command terminated with exit code 137")
            : cluster.kubectl(line, input)
        const said = yield* run(["backup", "one", "-n", "team-a", "-f", join(folder, "one.age")], folder, {
          kubectl: inOperator,
        })
        assert.strictEqual(said.exitCode, 1)
        assert.match(said.err, /kubectl pi: .* was killed \(exit code 137\).*resources\.limits\.memory/)
      }),
    ),
  )

  it.effect("leaves what somebody else has beside it, and nothing of its own", () =>
    inFolder((folder) =>
      Effect.gen(function* () {
        writeFileSync(join(folder, "one.age.new"), "somebody's")
        const { said } = yield* backupIn(folder)
        assert.strictEqual(said.exitCode, 0, said.err)
        assert.strictEqual(readFileSync(join(folder, "one.age.new"), "utf8"), "somebody's")
        assert.sameMembers(readdirSync(folder), ["one.age", "one.age.new", "pass"])
      }),
    ),
  )

  it.effect("into a folder that is not there is refused before anything is read", () =>
    inFolder((folder) =>
      Effect.gen(function* () {
        for (const [below, why] of [
          ["no/such", "is not there: make it"],
          ["pass", "is no folder"],
        ] as const) {
          const { said } = yield* backupIn(join(folder, below), {}, () => {}, folder)
          assert.strictEqual(said.exitCode, 2)
          assert.include(said.err, `${join(folder, below)} ${why}`)
          assert.deepStrictEqual(said.asked, [])
        }
      }),
    ),
  )

  it.effect("that would be too large is refused as that, and not as one that is cut off", () =>
    inFolder((folder) =>
      Effect.gen(function* () {
        const { file, said } = yield* Effect.provideService(backupIn(folder), Largest, 100)
        assert.strictEqual(said.exitCode, 1)
        assert.match(
          said.err,
          /what kubectl exec \S+ gives is larger than 0 MiB, the most that kubectl pi takes/,
        )
        assert.isFalse(existsSync(file))
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
        assert.includeMembers(
          [...cluster.world.removed],
          ["services", "endpoints", "endpointslices.discovery.k8s.io"],
        )
      }),
    ),
  )

  it.effect("of what can be read only once keeps it in a file of its own, as long as it takes", () =>
    inFolder((folder) =>
      Effect.gen(function* () {
        const { file } = yield* backupIn(folder)
        const pipe = join(folder, "pipe")
        const temporary = join(folder, "tmp")
        mkdirSync(temporary)
        execFileSync("mkfifo", [pipe])
        const before = process.env.TMPDIR
        process.env.TMPDIR = temporary
        const cluster = yield* makeCluster({})
        const seen = new Set<string>()
        cluster.world.meanwhile = () => {
          for (const entry of readdirSync(temporary, { recursive: true, withFileTypes: true })) {
            const { mode } = statSync(join(entry.parentPath, entry.name))
            seen.add(`${entry.isFile() ? "file" : "folder"} ${(mode & 0o777).toString(8)}`)
          }
        }
        const feeding = spawn("sh", ["-c", `cat "${file}" > "${pipe}"`])
        try {
          const said = yield* run(["restore", "-f", pipe], folder, cluster)
          assert.strictEqual(said.exitCode, 0, said.err)
          assert.deepStrictEqual(brief(cluster.told), whole)
          assert.deepStrictEqual([...seen].toSorted(), ["file 600", "folder 700"])
          assert.deepStrictEqual(readdirSync(temporary), [])
        } finally {
          feeding.kill()
          if (before === undefined) delete process.env.TMPDIR
          else process.env.TMPDIR = before
        }
      }),
    ),
  )

  it.effect("of an older vCluster says which versions lie between", () =>
    inFolder((folder) =>
      Effect.gen(function* () {
        const { file } = yield* backupIn(folder, { chart: "vcluster-0.30.1" })
        const said = yield* run(["restore", "-f", file], folder, yield* makeCluster({}))
        assert.strictEqual(said.exitCode, 0, said.err)
        assert.match(said.err, /of vCluster 0\.30\.1, and goes into one of 0\.37\.3/)
        rmSync(file)
        yield* backupIn(folder)
        const same = yield* run(["restore", "-f", file], folder, yield* makeCluster({}))
        assert.notMatch(same.err, /goes into one of/)
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

  it.effect("under another name has nothing by which others would take it for the first one", () =>
    inFolder((folder) =>
      Effect.gen(function* () {
        const labels = { "argocd.argoproj.io/instance": "app" }
        const own = { "platform.di-framework.dev/protect": "true" }
        const annotations = { "argocd.argoproj.io/tracking-id": "app:x", ...own }
        const { file } = yield* backupIn(folder, { labels, annotations })
        const same = yield* makeCluster({})
        yield* run(["restore", "-f", file], folder, same)
        assert.deepStrictEqual(same.annotations(), annotations)
        assert.deepInclude(same.made()?.metadata, { labels })
        const clone = yield* makeCluster({})
        const said = yield* run(["restore", "two", "-f", file], folder, clone)
        assert.deepStrictEqual(clone.annotations(), own)
        assert.notProperty(clone.made()?.metadata, "labels")
        assert.match(
          said.err,
          /left out, .*label argocd\.argoproj\.io\/instance, annotation argocd\.argoproj\.io\/tracking-id$/m,
        )
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

  it.effect("does not overwrite what tenants have done since it was woken", () =>
    inFolder((folder) =>
      Effect.gen(function* () {
        const { file } = yield* backupIn(folder)
        const cluster = yield* makeCluster({ fails: (line) => line.includes(" adapt ") })
        const first = yield* run(["restore", "-f", file], folder, cluster)
        assert.strictEqual(first.exitCode, 1)
        assert.notProperty(cluster.annotations(), SLEEP)
        cluster.world.fails = () => false
        const said = yield* run(["restore", "-f", file], folder, cluster)
        assert.strictEqual(said.exitCode, 0, said.err)
        assert.match(said.err, /has its data back already: it is left as it is/)
        assert.deepStrictEqual(
          brief(cluster.told).filter((each) => each !== "held"),
          whole,
        )
      }),
    ),
  )

  it.effect("of a vCluster that somebody wakes meanwhile is no success, and is done again", () =>
    inFolder((folder) =>
      Effect.gen(function* () {
        const { file } = yield* backupIn(folder)
        for (const moment of ["wait pod/vcluster-restore", "exec --stdin vcluster-restore"]) {
          const cluster = yield* makeCluster({})
          cluster.world.meanwhile = (line) => {
            if (line.startsWith(moment)) cluster.wake()
          }
          const first = yield* run(["restore", "-f", file], folder, cluster)
          assert.strictEqual(first.exitCode, 1, moment)
          assert.match(first.err, /team-a\/one was woken while .*give the same command again/)
          assert.notInclude(cluster.told, "let go")
          assert.strictEqual(cluster.told.includes("data"), moment.startsWith("exec"), moment)
          cluster.world.meanwhile = () => {}
          const said = yield* run(["restore", "-f", file], folder, cluster)
          assert.strictEqual(said.exitCode, 0, said.err)
          assert.deepStrictEqual(brief(cluster.told).slice(-5), [
            "Pod",
            "data",
            "Secret",
            "adapt the kubeconfig",
            "let go",
          ])
        }
      }),
    ),
  )

  it.effect("that another command overtakes gets no further, wherever that is", () =>
    inFolder((folder) =>
      Effect.gen(function* () {
        const { file } = yield* backupIn(folder)
        const moments = [
          "annotate persistentvolumeclaim",
          "exec --stdin vcluster-restore",
          "apply --server-side",
        ]
        for (const moment of moments) {
          const cluster = yield* makeCluster({})
          cluster.world.meanwhile = (line) => {
            if (!line.startsWith(moment)) return
            cluster.world.meanwhile = () => {}
            cluster.overtake()
          }
          const first = yield* run(["restore", "-f", file], folder, cluster)
          assert.strictEqual(first.exitCode, 1, moment)
          assert.match(first.err, /another command/)
          assert.match(first.err, /give the same command again/)
          assert.strictEqual(cluster.annotations()[SLEEP], "true")
          const said = yield* run(["restore", "-f", file], folder, cluster)
          assert.strictEqual(said.exitCode, 0, said.err)
          assert.include(cluster.told, "data")
        }
      }),
    ),
  )

  const idOf = (path: string) => Effect.map(open(path), ({ manifest }) => manifest.id)

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

  it.effect("that is done already is no failure, and changes nothing", () =>
    inFolder((folder) =>
      Effect.gen(function* () {
        const { file } = yield* backupIn(folder)
        const cluster = yield* makeCluster({})
        yield* run(["restore", "-f", file], folder, cluster)
        const told = [...cluster.told]
        const again = yield* run(["restore", "-f", file], folder, cluster)
        assert.strictEqual(again.exitCode, 0, again.err)
        assert.match(
          again.out,
          /^team-a\/one: its data is back since 2026-01-02T00:00:00Z, .*: nothing is left to do/,
        )
        assert.deepStrictEqual(cluster.told, told)
        const asJson = yield* run(["restore", "-f", file, "-o", "json"], folder, cluster)
        assert.deepInclude(JSON.parse(asJson.out), { name: "one", restoredAt: "2026-01-02T00:00:00Z" })
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
          [{ restored: id }, "was restored from this backup, and has another vCluster by now"],
          [
            { restored: id, onClaim: id, kubeSystemUID: "another" },
            "was restored from this backup, and has another vCluster by now",
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

  it.effect("takes nothing of the node that another one has, and says how it goes without", () =>
    inFolder((folder) =>
      Effect.gen(function* () {
        const { file } = yield* backupIn(folder)
        const other = { metadata: { namespace: "team-c", name: "new" } }
        const taken: ReadonlyArray<readonly [Choices, string]> = [
          [
            { claims: [{ instance: "team-b/two", has: { root: "/srv/one/below" } }] },
            "spec.platform.storageRoot /srv/one of the backup overlaps /srv/one/below of instance team-b/two: delete",
          ],
          [
            { claims: [{ instance: "team-b/two", has: { defaultRoot: "/srv" } }] },
            "overlaps /srv of instance team-b/two",
          ],
          [
            { others: [{ ...other, spec: { platform: { storageRoot: "/srv/one" } } }] },
            "overlaps /srv/one of instance team-c/new: delete that one, or restore a copy, under another name",
          ],
          [
            { claims: [{ instance: "team-b/two", has: { port: 30001 } }] },
            "spec.platform.gateway.httpNodePort 30001 of the backup is taken by instance team-b/two: give",
          ],
          [
            { others: [{ ...other, spec: { platform: { gateway: { httpNodePort: 30001 } } } }] },
            "30001 of the backup is taken by instance team-c/new",
          ],
          [
            { services: [{ ...other, spec: { ports: [{ nodePort: 30001 }] } }] },
            "30001 of the backup is taken by Service team-c/new",
          ],
        ]
        for (const [choices, words] of taken) {
          const cluster = yield* makeCluster(choices)
          const said = yield* run(["restore", "-f", file], folder, cluster)
          assert.strictEqual(said.exitCode, 1, words)
          assert.include(said.err, words)
          assert.deepStrictEqual(cluster.told, [])
          const copy = yield* run(["restore", "two", "-f", file], folder, yield* makeCluster(choices))
          assert.strictEqual(copy.exitCode, 0, copy.err)
        }
        const beside = {
          claims: [{ instance: "team-b/two", has: { root: "/srv/two", port: 30002 } }],
          others: [{ metadata: { namespace: "team-a", name: "one" }, spec }],
          services: new Error("Error from server (Forbidden): services is forbidden"),
        }
        const said = yield* run(["restore", "-f", file], folder, yield* makeCluster(beside))
        assert.strictEqual(said.exitCode, 0, said.err)
        assert.match(said.err, /whether a Service has .* is not known here .*Forbidden/)
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
          [{ forbidden: "get secret" }, "you may not get secret/one-kubeconfig in namespace team-a"],
          [{ forbidden: "patch" }, "you may not patch platforminstances.platform.di-framework.dev/one"],
        ]
        for (const [choices, words] of refusals) {
          const cluster = yield* makeCluster(choices)
          const said = yield* run(["restore", "-f", file], folder, cluster)
          assert.strictEqual(said.exitCode, 1, words)
          assert.include(said.err, words)
          assert.deepStrictEqual(cluster.told, [])
        }
        // What one under its own name does not need.
        const cluster = yield* makeCluster({ hasPolicy: false })
        const said = yield* run(["restore", "two", "-f", file], folder, cluster)
        assert.strictEqual(said.exitCode, 1)
        assert.match(
          said.err,
          /platform-operator-restrict-instance-pods is not in force .*--allow-privileged/,
        )
        assert.deepStrictEqual(cluster.told, [])
      }),
    ),
  )
})

describe("a storage root", () => {
  const files = "what tenants have ".repeat(1000)
  const backupOf = (folder: string, choices: Choices = {}, meanwhile?: (line: string) => void) =>
    backupIn(folder, { disk: files, ...choices }, meanwhile, folder, ["--storage"])

  it.effect("is read while the instance is asleep, and comes back before anything of it runs", () =>
    inFolder((folder) =>
      Effect.gen(function* () {
        const { file, said, cluster } = yield* backupOf(folder)
        assert.strictEqual(said.exitCode, 0, said.err)
        assert.deepStrictEqual(cluster.annotations(), {}, "it is awake again")
        const { manifest, storage } = yield* open(file)
        assert.strictEqual(manifest.format, 2)
        assert.deepStrictEqual(manifest.storage, { root: "/srv/one", isCustom: true })
        assert.strictEqual(gunzipSync(yield* bytesIn(storage)).toString(), files)
        const to = yield* makeCluster({})
        const restored = yield* run(["restore", "-f", file], folder, to)
        assert.strictEqual(restored.exitCode, 0, restored.err)
        assert.strictEqual(to.disk(), files)
        assert.deepStrictEqual(
          to.told.filter((each) => /files|data|tidied|let go/.test(each)),
          ["files come", `files at /srv/one: ${files}`, "data", "tidied", "let go"],
        )
        const copy = yield* makeCluster({})
        yield* run(["restore", "two", "-f", file], folder, copy)
        assert.include(copy.told, `files at /var/lib/kubesolo/instances/team-a/two: ${files}`)
      }),
    ),
  )

  it.effect(
    "of a pod that the cluster does not admit is refused before anything is changed, and not as a missing right",
    () =>
      inFolder((folder) =>
        Effect.gen(function* () {
          const { file } = yield* backupOf(folder)
          const words =
            /cannot be made in namespace platform-operator: .*violates PodSecurity.*\nThat is no missing right: .*pod-security\.kubernetes\.io\/enforce=privileged/
          const asked = yield* makeCluster({ hasInstance: true, disk: files, admits: () => false })
          const args = ["backup", "one", "-n", "team-a", "-f", join(folder, "two.age"), "--storage"]
          const said = yield* run(args, folder, asked)
          assert.match(said.err, words)
          assert.notInclude(said.err, "for that right")
          assert.isFalse(said.asked.some((line) => line.startsWith("annotate")))
          const onlyRead = (manifest: string) => manifest.includes('"readOnly":true')
          const to = yield* makeCluster({ admits: onlyRead })
          const refused = yield* run(["restore", "-f", file], folder, to)
          assert.match(refused.err, words)
          assert.deepStrictEqual(to.told, [])
        }),
      ),
  )

  it.effect("is put back once, wherever a restore was interrupted", () =>
    inFolder((folder) =>
      Effect.gen(function* () {
        const { file } = yield* backupOf(folder)
        const undisturbed = yield* makeCluster({})
        yield* run(["restore", "-f", file], folder, undisturbed)
        for (let at = 1; at <= undisturbed.world.calls; at++) {
          const cluster = yield* makeCluster({ interrupt: at })
          yield* run(["restore", "-f", file], folder, cluster)
          const said = yield* run(["restore", "-f", file], folder, cluster)
          assert.strictEqual(said.exitCode, 0, `call ${at}: ${said.err}`)
          assert.strictEqual(cluster.disk(), files, `call ${at}`)
          assert.deepStrictEqual(cluster.annotations(), {}, `call ${at}`)
        }
      }),
    ),
  )

  it.effect("that is not empty is refused before anything is changed, and can be left as it is", () =>
    inFolder((folder) =>
      Effect.gen(function* () {
        const { file } = yield* backupOf(folder)
        const cluster = yield* makeCluster({ disk: "somebody's" })
        const said = yield* run(["restore", "-f", file], folder, cluster)
        assert.strictEqual(said.exitCode, 1)
        assert.match(said.err, /storage root \/srv\/one .*\(di-tenants lies there\).*--without-storage/)
        assert.deepStrictEqual(cluster.told, [])
        const without = yield* run(["restore", "-f", file, "--without-storage"], folder, cluster)
        assert.strictEqual(without.exitCode, 0, without.err)
        assert.strictEqual(cluster.disk(), "somebody's")
      }),
    ),
  )

  it.effect(
    "is in no backup of an instance that was woken, paused, or has several nodes, or where it came cut off",
    () =>
      inFolder((folder) =>
        Effect.gen(function* () {
          const paused = { "platform.di-framework.dev/paused": "true" }
          const refused: ReadonlyArray<readonly [Choices, string]> = [
            [{ annotations: paused }, "team-a/one is paused, and is not put to sleep"],
            [{ nodes: 2 }, "the cluster has 2 nodes"],
            [{ cutDisk: true }, "what came of the storage root is cut off"],
          ]
          for (const [choices, words] of refused) {
            const { file, said, cluster } = yield* backupOf(folder, choices)
            assert.strictEqual(said.exitCode, 1, words)
            assert.include(said.err, words)
            assert.isFalse(existsSync(file))
            assert.notProperty(cluster.annotations(), SLEEP)
            assert.sameMembers(readdirSync(folder), ["pass"])
          }
          const cluster = yield* makeCluster({ hasInstance: true, disk: files })
          cluster.world.meanwhile = (line) => {
            if (line.includes("tar --create")) cluster.world.meanwhile = () => cluster.wake()
          }
          const woken = yield* run(
            ["backup", "one", "-n", "team-a", "-f", join(folder, "one.age"), "--storage"],
            folder,
            cluster,
          )
          assert.strictEqual(woken.exitCode, 1)
          assert.match(woken.err, /team-a\/one was woken while its storage root was read/)
          assert.sameMembers(readdirSync(folder), ["pass"])
        }),
      ),
  )
})

describe("Ctrl-C", () => {
  it.effect("in a backup leaves none, says so, and wakes the instance", () =>
    inFolder((folder) =>
      Effect.gen(function* () {
        for (const stopsAt of [/ export /, /^exec vcluster-0/, /tar --create/]) {
          const { said, cluster } = yield* backupIn(folder, { stopsAt, disk: "files" }, () => {}, folder, [
            "--storage",
          ])
          assert.include(said.err, "interrupted: there is no backup of team-a/one")
          assert.notProperty(cluster.annotations(), SLEEP)
          assert.sameMembers(readdirSync(folder), ["pass"])
        }
      }),
    ),
  )

  it.effect("in a restore says that the same command goes on", () =>
    inFolder((folder) =>
      Effect.gen(function* () {
        const { file } = yield* backupIn(folder)
        for (const stopsAt of [/ import /, /^create --filename/, /vcluster-restore/, / adapt /]) {
          const said = yield* run(["restore", "-f", file], folder, yield* makeCluster({ stopsAt }))
          assert.include(
            said.err,
            "interrupted: team-a/one is not restored yet; give the same command again, and it goes on",
          )
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
    Effect.map(Effect.flip(opened(sourceOf(content), by)), ({ message }) => message)

  it.effect("is refused as a whole where it is cut off, changed, or opened with another passphrase", () =>
    Effect.gen(function* () {
      const file = yield* bytesIn(sealed(about, contents, word))
      assert.deepStrictEqual((yield* opened(sourceOf(file), word)).manifest.id, about.id)
      for (const length of [300, 70_000, file.length - 1])
        assert.match(yield* messageOf(file.subarray(0, length)), /is cut off or damaged/)
      const changed = Buffer.from(file)
      changed[100_000] = (changed[100_000] ?? 0) ^ 1
      assert.match(yield* messageOf(changed), /is cut off or damaged/)
      assert.match(yield* messageOf(file, Redacted.make("another")), /the passphrase does not open one\.age/)
      assert.match(yield* messageOf(Buffer.from("text")), /is no backup of kubectl pi/)
    }).pipe(Effect.provideService(WorkFactor, 2)),
  )

  it.effect("with a storage root is none without its end, and none that an earlier release reads", () =>
    Effect.gen(function* () {
      const of = { ...about, format: STORAGE_FORMAT, storage: { root: "/srv/one", isCustom: true } } as const
      const piece = Buffer.alloc(3_000_000, "x")
      const whole = yield* bytesIn(sealed(of, contents, word, Stream.make(piece, piece, piece)))
      const found = yield* opened(sourceOf(whole), word)
      assert.isTrue((yield* bytesIn(found.storage)).equals(Buffer.concat([piece, piece, piece])))
      assert.match(
        yield* messageOf(yield* bytesIn(sealed(of, contents, word))),
        /is cut off or damaged/,
        "without it",
      )
      const broken = sealed(
        of,
        contents,
        word,
        Stream.concat(Stream.make(piece), Stream.fail(cannot("gone"))),
      )
      assert.strictEqual((yield* Effect.flip(bytesIn(broken))).message, "gone")
    }).pipe(Effect.provideService(WorkFactor, 2)),
  )

  it.effect("is read a little at a time, however large it is", () =>
    Effect.gen(function* () {
      const of = { ...about, format: STORAGE_FORMAT, storage: { root: "/srv/one", isCustom: true } } as const
      const piece = Buffer.alloc(2 ** 20, "x")
      const file = yield* bytesIn(
        sealed(of, contents, word, Stream.fromIterable(Array.from({ length: 64 }, () => piece))),
      )
      let asked = 0
      let taken = 0
      let most = 0
      const bytes = Stream.suspend(() => {
        asked = 0
        return Stream.fromIterable(
          Array.from({ length: Math.ceil(file.length / 65_536) }, (_, at) => at),
        ).pipe(
          Stream.rechunk(1),
          Stream.map((at) => {
            const chunk = file.subarray(at * 65_536, (at + 1) * 65_536)
            asked += chunk.length
            most = Math.max(most, asked - taken)
            return chunk
          }),
        )
      })
      taken = Number.POSITIVE_INFINITY
      const { storage } = yield* opened({ name: "one.age", bytes }, word)
      taken = 0
      most = 0
      yield* Stream.runForEach(storage, (chunk) =>
        Effect.sync(() => {
          taken += chunk.length
        }),
      )
      assert.strictEqual(taken, 64 * 2 ** 20)
      assert.isBelow(most, 4 * 2 ** 20)
    }).pipe(Effect.provideService(WorkFactor, 2)),
  )

  it.effect("of a later format names the way out", () =>
    Effect.gen(function* () {
      const manifest = Buffer.from(JSON.stringify({ ...about, format: 3 }))
      const tar = yield* packed(new Map([["manifest.json", manifest]]))
      const file = yield* Effect.promise(() => {
        const encrypter = new Encrypter()
        encrypter.setScryptWorkFactor(2)
        encrypter.setPassphrase("a word")
        return encrypter.encrypt(tar)
      })
      assert.match(
        yield* messageOf(file),
        /has format 3, and this program reads 1 and 2: use the kubectl-pi of/,
      )
    }),
  )
})

describe("a snapshot", () => {
  it.effect("is whole, and of one cluster", () =>
    Effect.gen(function* () {
      const snapshot = snapshotOf(inside)
      assert.strictEqual(yield* clusterOf(Stream.make(snapshot), inside), "same")
      assert.strictEqual(yield* clusterOf(Stream.make(snapshot), "another"), "another")
      assert.strictEqual(yield* clusterOf(Stream.make(snapshot.subarray(0, -20)), inside), "unknown")
      assert.strictEqual(yield* clusterOf(Stream.empty, inside), "unknown")
    }),
  )
})
