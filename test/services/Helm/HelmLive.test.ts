// The layer over a program that stands in for helm: what reaches a child, and what comes back from one. That the
// real helm does with it what the layer needs is held by the end-to-end tests.
import { assert, layer } from "@effect/vitest"
import { Effect, Fiber, FileSystem, Layer, Option } from "effect"
import { chartDigest } from "../../../src/services/Helm/ChartDigest.ts"
import { Helm } from "../../../src/services/Helm/Helm.ts"
import { HelmLive, type HelmOptions } from "../../../src/services/Helm/HelmLive.ts"
import { type KubeObject, Kubernetes } from "../../../src/services/Kubernetes/Kubernetes.ts"
import { machine } from "../../support/machine.ts"

const release = { namespace: "host", name: "vcluster" }

const record = (version: number, status: string): KubeObject => ({
  apiVersion: "v1",
  kind: "Secret",
  metadata: {
    name: `sh.helm.release.v1.vcluster.v${version}`,
    uid: "u",
    resourceVersion: "1",
    labels: { status, version: String(version) },
  },
})

/** A record that can be read here. */
const content = { release: Buffer.from(Buffer.from('{"manifest":""}').toString("base64")).toString("base64") }

const withRecords = (records: ReadonlyArray<KubeObject>, deleted: Array<string>) =>
  Layer.mock(Kubernetes, {
    get: (_, { name }) =>
      Effect.succeed(
        Option.map(
          Option.fromUndefinedOr(records.find(({ metadata }) => metadata.name === name)),
          (found) => ({ ...found, data: content }),
        ),
      ),
    delete: (_, { name }) =>
      Effect.sync(() => {
        deleted.push(name)
        return true
      }),
    list: (_, options) =>
      options?.metadataOnly === true && options.labelSelector === "owner=helm,name=vcluster"
        ? Effect.succeed(records)
        : Effect.die("a whole Secret was asked for"),
  })

interface Stage {
  readonly helm: Helm["Service"]
  /** What the last child was given. */
  readonly seen: (what: "argv" | "stdin" | "env") => Effect.Effect<string, unknown>
  readonly dir: string
  /** Names of the records that were deleted. */
  readonly deleted: ReadonlyArray<string>
}

/** The stand-in notes what it is given; then it runs `script`, in which `$OUT` is a folder of the test. */
const onStage = <A, E>(
  script: string,
  test: (stage: Stage) => Effect.Effect<A, E>,
  options?: Partial<HelmOptions> & { readonly records?: ReadonlyArray<KubeObject> },
) =>
  Effect.gen(function* () {
    const fs = yield* FileSystem.FileSystem
    const dir = yield* fs.makeTempDirectoryScoped()
    const deleted: Array<string> = []
    const program = `${dir}/helm`
    yield* fs.writeFileString(
      program,
      `#!/bin/sh
OUT=${dir}
if [ "$1 $2" = "show chart" ]; then cat "$3/Chart.yaml"; exit 0; fi
printf '%s\\n' "$@" > $OUT/argv; env > $OUT/env; cat > $OUT/stdin
${script}
`,
      { mode: 0o755 },
    )
    yield* fs.makeDirectory(`${dir}/chart`)
    yield* fs.writeFileString(`${dir}/chart/Chart.yaml`, "name: vcluster\nversion: 9.8.7\n")
    return yield* Helm.use((helm) =>
      test({ helm, dir, deleted, seen: (what) => fs.readFileString(`${dir}/${what}`) }),
    ).pipe(
      Effect.provide(
        HelmLive.layer({
          helm: program,
          chart: { path: `${dir}/chart`, digest: Option.none() },
          ...options,
        }).pipe(Layer.provide(withRecords(options?.records ?? [], deleted))),
      ),
    )
  })

layer(machine, { excludeTestServices: true })("Helm as a child", (it) => {
  it.effect("installs the chart, with values that only its input carries", () =>
    onStage(":", ({ dir, helm, seen }) =>
      Effect.gen(function* () {
        assert.strictEqual(helm.chartVersion, "9.8.7")
        yield* helm.install(release, { exportKubeConfig: { server: "https://x" } })
        const argv = (yield* seen("argv")).split("\n")
        assert.deepStrictEqual(argv.slice(0, 4), ["upgrade", "--install", "vcluster", `${dir}/chart`])
        assert.includeMembers(argv, ["host", "-", "--server-side=true", "--force-conflicts", "300s"])
        assert.notInclude(argv.join(" "), "https://x")
        assert.deepStrictEqual(JSON.parse(yield* seen("stdin")), {
          exportKubeConfig: { server: "https://x" },
        })
      }),
    ),
  )

  it.effect("F54: keeps 5 revisions, and values come to it byte for byte", () =>
    onStage(
      ":",
      ({ helm, seen }) =>
        Effect.gen(function* () {
          const values = { text: 'Grüße, 世界 \u{1F680} \u0000 \\ "quoted"' }
          const kept = Effect.map(seen("argv"), (argv) => {
            const words = argv.split("\n")
            return words[words.indexOf("--history-max") + 1]
          })
          yield* helm.install(release, values)
          assert.strictEqual(yield* seen("stdin"), JSON.stringify(values))
          assert.strictEqual(yield* kept, "5")
          yield* helm.reapply(release)
          assert.strictEqual(yield* kept, "5")
          yield* helm.rollback(release, 1)
          assert.strictEqual(yield* kept, "5")
        }),
      { records: [record(1, "deployed")] },
    ),
  )

  it.effect("waits for no object to be ready, and takes nothing away when it fails", () =>
    onStage(
      ":",
      ({ helm, seen }) =>
        Effect.gen(function* () {
          for (const run of [helm.install(release, {}), helm.rollback(release, 1), helm.reapply(release)]) {
            yield* run
            assert.notMatch(
              yield* seen("argv"),
              /^--(wait|atomic|rollback-on-failure|cleanup-on-fail|force-replace|force)\b(?!-conflicts)/m,
            )
            assert.match(yield* seen("argv"), /^--server-side=true$/m)
            assert.match(yield* seen("argv"), /^--force-conflicts$/m)
          }
        }),
      { records: [record(1, "deployed")] },
    ),
  )

  const decoded = (said: string) => `
    case "$1" in
      uninstall) echo 'Error: no release provided' >&2; exit 1;;
      get) echo 'Error: ${said}' >&2; exit 1;;
    esac`
  const name = "sh.helm.release.v1.vcluster.v1"
  it.effect("removes a record that it cannot decode itself, though it can be read here", () =>
    onStage(
      decoded(`get: failed to decode data "${name}": json: cannot unmarshal string into Go struct field`),
      ({ helm, deleted }) =>
        Effect.gen(function* () {
          yield* helm.uninstall(release)
          assert.deepStrictEqual(deleted, [name])
        }),
      { records: [record(1, "deployed")] },
    ),
  )

  it.effect("removes none of which it says anything else", () =>
    onStage(
      decoded("Kubernetes cluster unreachable"),
      ({ helm, deleted }) =>
        Effect.gen(function* () {
          assert.include((yield* Effect.flip(helm.uninstall(release))).message, "no release provided")
          assert.isEmpty(deleted)
        }),
      { records: [record(1, "deployed")] },
    ),
  )

  it.effect("sees neither the operator's own environment nor its home", () =>
    onStage(
      ":",
      ({ helm, seen }) =>
        Effect.gen(function* () {
          yield* helm.uninstall(release)
          const env = yield* seen("env")
          assert.notInclude(env, "VITEST")
          assert.notInclude(env, `HOME=${process.env.HOME}\n`)
          assert.include(env, "KUBECONFIG=/some/kubeconfig\n")
        }),
      { kubeconfig: "/some/kubeconfig" },
    ),
  )

  it.effect("that fails tells the first cause and its exit code", () =>
    onStage(
      "echo 'level=WARN msg=x' >&2; echo 'Error: INSTALLATION FAILED: no room for Bearer abcdefgh12345' >&2; exit 1",
      ({ helm }) =>
        Effect.gen(function* () {
          const error = yield* Effect.flip(helm.install(release, {}))
          assert.strictEqual(error.message, "no room for Bearer [redacted]")
          assert.deepStrictEqual([error.operation, error.exitCode], ["install", Option.some(1)])
        }),
    ),
  )

  it.effect("that was killed has no exit code", () =>
    onStage("kill -9 $$", ({ helm }) =>
      Effect.gen(function* () {
        const error = yield* Effect.flip(helm.rollback(release, 3))
        assert.deepStrictEqual([error.operation, error.exitCode], ["rollback", Option.none()])
        assert.include(error.message, "ended by a signal")
      }),
    ),
  )

  it.effect("that takes too long is ended, and said to", () =>
    onStage(
      "exec sleep 600",
      ({ helm }) =>
        Effect.gen(function* () {
          const error = yield* Effect.flip(helm.uninstall(release))
          assert.include(error.message, "did not end within")
        }),
      // Its start is bounded by it, too, and takes as long as the machine lets it.
      { timeout: "5 seconds" },
    ),
  )

  it.effect("F03: gets one SIGTERM when interrupted, and is awaited while it writes its record", () =>
    onStage(
      `trap 'echo asked >> $OUT/log; sleep 0.2; echo recorded >> $OUT/log; exit 1' TERM
       touch $OUT/ready; while :; do sleep 0.05; done`,
      ({ dir, helm }) =>
        Effect.gen(function* () {
          const fs = yield* FileSystem.FileSystem
          const fiber = yield* Effect.forkChild(helm.install(release, {}))
          yield* fs.exists(`${dir}/ready`).pipe(Effect.repeat({ until: (there) => there }))
          yield* Fiber.interrupt(fiber)
          assert.strictEqual(yield* fs.readFileString(`${dir}/log`), "asked\nrecorded\n")
        }).pipe(Effect.provide(machine)),
    ),
  )

  it.effect("reapplies the newest deployed revision, and not a later one that failed", () =>
    onStage(
      ":",
      ({ helm, seen }) =>
        Effect.gen(function* () {
          yield* helm.reapply(release)
          assert.deepStrictEqual((yield* seen("argv")).split("\n").slice(0, 3), ["rollback", "vcluster", "4"])
        }),
      { records: [record(3, "superseded"), record(4, "deployed"), record(5, "failed")] },
    ),
  )

  it.effect("has nothing to reapply of a release that was never deployed, and starts no child", () =>
    onStage(
      ":",
      ({ dir, helm }) =>
        Effect.gen(function* () {
          const fs = yield* FileSystem.FileSystem
          assert.include((yield* Effect.flip(helm.reapply(release))).message, "no deployed revision")
          assert.isFalse(yield* fs.exists(`${dir}/argv`))
        }).pipe(Effect.provide(machine)),
      { records: [record(1, "pending-install")] },
    ),
  )

  it.effect("installs no chart that was changed since the start", () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const chart = yield* fs.makeTempDirectoryScoped()
      const text = "apiVersion: v2\nname: vcluster\nversion: 0.37.3\n"
      yield* fs.writeFileString(`${chart}/Chart.yaml`, text)
      const digest = yield* chartDigest(chart)
      yield* onStage(
        ":",
        ({ helm }) =>
          Effect.gen(function* () {
            yield* helm.install(release, {})
            yield* fs.writeFileString(`${chart}/Chart.yaml`, `${text}# Changed.\n`)
            assert.include((yield* Effect.flip(helm.install(release, {}))).message, digest)
          }),
        { chart: { path: chart, digest: Option.some(digest) } },
      )
    }).pipe(Effect.provide(machine)),
  )

  it.effect("does not start with another chart than its release names", () =>
    Effect.gen(function* () {
      const expected = `sha256:${"0".repeat(64)}`
      const error = yield* Effect.flip(
        onStage(":", () => Effect.void, {
          chart: { path: "charts/vcluster", digest: Option.some(expected) },
        }),
      )
      assert.include(String(error), expected)
    }),
  )
})
