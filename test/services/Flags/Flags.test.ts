import { NodeServices } from "@effect/platform-node"
import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect, Layer, Option } from "effect"
import { Command, type Flag } from "effect/cli"
import { TestConsole } from "effect/testing"
import { checkFlags, type Flags, flags, parseAddress } from "../../../src/services/Flags/Flags.ts"
import * as Help from "../../../src/services/Flags/Help.ts"

const digest = `sha256:${"0a".repeat(32)}`

/** Equal durations need not look alike. */
const plain = (value: unknown) => (Duration.isDuration(value) ? Duration.toMillis(value) : value)

/** What the command line gives, and what it says: `given` is undefined when it was refused. */
const run = (...args: ReadonlyArray<string>) =>
  Effect.gen(function* () {
    let given: Flags | undefined
    const command = Command.make("platform-operator", flags, (all) =>
      Effect.sync(() => {
        given = all
      }),
    )
    const exit = yield* Effect.exit(Command.runWith(command, { version: "6.0.22" })(args))
    const out = (yield* TestConsole.logLines).map(String).join("\n")
    const err = (yield* TestConsole.errorLines).map(String).join("\n")
    return { given, exit, out, err }
  }).pipe(Effect.provide(Help.layer.pipe(Layer.provideMerge(NodeServices.layer))))

const accepted = (...args: ReadonlyArray<string>) =>
  Effect.flatMap(run(...args), ({ given, err }) =>
    given === undefined ? Effect.die(new Error(`refused: ${err}`)) : Effect.succeed(given),
  )

describe("the command line", () => {
  it.effect("has the reference's defaults", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* accepted(), {
        stateDir: "/var/lib/platform-operator",
        passphraseFile: "/etc/platform-operator/passphrase/passphrase",
        storageRootBase: "/var/lib/kubesolo/instances",
        allowPrivilegedInstances: false,
        protectInstances: true,
        isolateInstanceNetwork: false,
        podRanges: [],
        instanceQuota: new Map(),
        controlPlanePriority: true,
        installTimeout: Duration.minutes(30),
        repairInterval: Duration.minutes(30),
        targetPoll: Duration.seconds(10),
        maxConcurrentInstalls: 2,
        maxConcurrentTargets: 4,
        minFreeSpace: 512 * 2 ** 20,
        operationMemory: 768 * 2 ** 20,
        sandbox: true,
        requireSandbox: false,
        pluginDirectory: Option.none(),
        cleanupNamespace: Option.none(),
        operatorNamespace: Option.none(),
        operatorImage: Option.none(),
        leaderElect: false,
        logLevel: "Info",
        npmRegistry: Option.none(),
        pluginServer: Option.none(),
        watchNamespaces: [],
        npmrc: Option.none(),
        vclusterChart: Option.none(),
        vclusterChartDigest: Option.none(),
        vclusterImage: Option.none(),
        vclusterKubernetesImage: Option.none(),
        imageRegistry: Option.none(),
        defaultTenantHostImage: Option.none(),
        healthAddress: ":8081",
        metricsAddress: ":8080",
      })
    }),
  )

  const good: ReadonlyArray<readonly [flag: string, value: string, key: keyof Flags, expected: unknown]> = [
    ["state-dir", "/srv/state of mine/", "stateDir", "/srv/state of mine"],
    ["passphrase-file", "/run/secrets/..data/p", "passphraseFile", "/run/secrets/..data/p"],
    ["storage-root-base", "/srv/Instances_1.2-x", "storageRootBase", "/srv/Instances_1.2-x"],
    ["storage-root-base", "/srv/instances/", "storageRootBase", "/srv/instances"],
    ["install-timeout", "30m", "installTimeout", Duration.minutes(30)],
    ["install-timeout", "1h30m", "installTimeout", Duration.minutes(90)],
    ["repair-interval", "1.5h", "repairInterval", Duration.minutes(90)],
    ["target-poll", "10s", "targetPoll", Duration.seconds(10)],
    ["target-poll", "500ms", "targetPoll", Duration.millis(500)],
    ["max-concurrent-installs", "1", "maxConcurrentInstalls", 1],
    ["max-concurrent-targets", "7", "maxConcurrentTargets", 7],
    ["max-concurrent-installs", "100", "maxConcurrentInstalls", 100],
    ["min-free-space", "2Gi", "minFreeSpace", 2 * 2 ** 30],
    ["min-free-space", "0", "minFreeSpace", 0],
    ["operation-memory", "700Mi", "operationMemory", 700 * 2 ** 20],
    ["plugin-directory", "/srv/plugins", "pluginDirectory", Option.some("/srv/plugins")],
    [
      "instance-quota",
      "pods=50,requests.cpu=1500m,requests.memory=8Gi,services.loadbalancers=0",
      "instanceQuota",
      new Map([
        ["pods", 50],
        ["requests.cpu", 1500],
        ["requests.memory", 8 * 2 ** 30],
        ["services.loadbalancers", 0],
      ]),
    ],
    [
      "pod-ranges",
      "10.244.0.0/16,0.0.0.0/1,fd00:10:244::/56,::10.0.0.1/120",
      "podRanges",
      ["10.244.0.0/16", "0.0.0.0/1", "fd00:10:244::/56", "::10.0.0.1/120"],
    ],
    ["protect-instances", "false", "protectInstances", false],
    ["control-plane-priority", "false", "controlPlanePriority", false],
    ["cleanup-namespace", "a".repeat(63), "cleanupNamespace", Option.some("a".repeat(63))],
    ["operator-namespace", "platform-operator", "operatorNamespace", Option.some("platform-operator")],
    [
      "operator-image",
      `registry:5000/op@${digest}`,
      "operatorImage",
      Option.some(`registry:5000/op@${digest}`),
    ],
    ["leader-elect", "false", "leaderElect", false],
    ["sandbox", "false", "sandbox", false],
    ["require-sandbox", "true", "requireSandbox", true],
    ["zap-log-level", "debug", "logLevel", "Debug"],
    ["zap-log-level", "WARN", "logLevel", "Warn"],
    ["zap-log-level", "error", "logLevel", "Error"],
    ["zap-log-level", "panic", "logLevel", "Fatal"],
    ["zap-log-level", "1", "logLevel", "Debug"],
    ["zap-log-level", "5", "logLevel", "Trace"],
    ["npm-registry", "http://registry:4873/", "npmRegistry", Option.some("http://registry:4873/")],
    ["watch-namespaces", "team-a,team-b", "watchNamespaces", ["team-a", "team-b"]],
    ["plugin-server", "https://plugins/here", "pluginServer", Option.some("https://plugins/here")],
    ["npmrc", "/etc/npmrc", "npmrc", Option.some("/etc/npmrc")],
    ["vcluster-chart", "/charts/v.tgz", "vclusterChart", Option.some("/charts/v.tgz")],
    ["vcluster-chart-digest", digest, "vclusterChartDigest", Option.some(digest)],
    ["vcluster-image", "ghcr.io/a/b:1", "vclusterImage", Option.some("ghcr.io/a/b:1")],
    ["vcluster-kubernetes-image", "k:v1", "vclusterKubernetesImage", Option.some("k:v1")],
    [
      "image-registry",
      "mirror.example:5000/proxy",
      "imageRegistry",
      Option.some("mirror.example:5000/proxy"),
    ],
    ["default-tenant-host-image", `h@${digest}`, "defaultTenantHostImage", Option.some(`h@${digest}`)],
    ["health-address", "[::1]:0", "healthAddress", "[::1]:0"],
    ["metrics-address", "127.0.0.1:65535", "metricsAddress", "127.0.0.1:65535"],
  ]
  it.effect.each(good)("takes --%s=%s", ([flag, value, key, expected]) =>
    Effect.gen(function* () {
      assert.deepStrictEqual(plain((yield* accepted(`--${flag}=${value}`))[key]), plain(expected))
    }),
  )

  const bad: ReadonlyArray<readonly [flag: string, value: string, wayOut: string]> = [
    ["state-dir", "state", "an absolute path"],
    ["state-dir", "/", "an absolute path"],
    ["min-free-space", "1GB", "a number of bytes, such as 512Mi"],
    ["operation-memory", "-1", "a number of bytes, such as 512Mi"],
    ["state-dir", "/a//b", "an absolute path"],
    ["passphrase-file", "/a/../b", "without . and .. parts"],
    ["passphrase-file", "/a\nb", "an absolute path"],
    ["storage-root-base", "instances", "/var/lib/kubesolo/instances"],
    ["storage-root-base", "/", "an absolute path on the node"],
    ["storage-root-base", "/srv/../etc", "an absolute path on the node"],
    ["storage-root-base", "/srv/./x", "an absolute path on the node"],
    ["storage-root-base", "/srv/in stances", "an absolute path on the node"],
    ["storage-root-base", "/srv/{x}", "an absolute path on the node"],
    ["storage-root-base", `/${"a".repeat(1024)}`, "an absolute path on the node"],
    ["install-timeout", "5x", "a duration longer than 0s, such as 30m, 1h30m or 10s"],
    ["install-timeout", "30", "a duration longer than 0s"],
    ["install-timeout", "0s", "a duration longer than 0s"],
    ["repair-interval", "-5m", "a duration longer than 0s"],
    ["target-poll", "10 s", "a duration longer than 0s"],
    ["max-concurrent-installs", "0", "at least 1"],
    ["max-concurrent-targets", "0", "at least 1"],
    ["max-concurrent-installs", "-1", "at least 1"],
    ["max-concurrent-installs", "1.5", "a whole number"],
    ["max-concurrent-installs", "two", "a whole number"],
    ["max-concurrent-installs", "9007199254740993", "a whole number"],
    ["pod-ranges", "10.244.0.0", "ranges of addresses in CIDR notation"],
    ["pod-ranges", "10.244.0.0/33", "ranges of addresses in CIDR notation"],
    ["pod-ranges", "0.0.0.0/0", "none of them all there are"],
    ["pod-ranges", "10.0.0.0/8,::/0", "none of them all there are"],
    ["pod-ranges", "::ffff:10.0.0.0/104", "ranges of addresses in CIDR notation"],
    ["pod-ranges", "0:0:0:0:0:FFFF:a00:0/104", "ranges of addresses in CIDR notation"],
    ["instance-quota", "gpus=1", "such as pods=50,requests.cpu=4,requests.memory=8Gi; there are pods,"],
    ["instance-quota", "pods=0", "amounts by resource"],
    ["cleanup-namespace", "Clean", "a namespace's name"],
    ["cleanup-namespace", "a".repeat(64), "at most 63"],
    ["operator-namespace", "a.b", "a namespace's name"],
    ["operator-image", "op image", "an image reference"],
    ["operator-image", "op@sha256:00", "an image reference"],
    ["zap-log-level", "loud", "debug, info, warn, error or panic"],
    ["zap-log-level", "toString", "debug, info, warn, error or panic"],
    ["zap-log-level", "0", "a whole number of at least 1"],
    ["zap-log-level", "-1", "a whole number of at least 1"],
    ["npm-registry", "registry:4873", "an http or https URL"],
    ["watch-namespaces", "team-a, team-b", "names of namespaces, separated by commas"],
    ["plugin-server", "plugins", "an http or https URL"],
    ["npm-registry", "ftp://registry", "an http or https URL"],
    ["npm-registry", "http://", "an http or https URL"],
    ["npmrc", ".npmrc", "an absolute path"],
    ["vcluster-chart", "charts/vcluster", "an absolute path"],
    ["vcluster-chart-digest", "sha256:00", "64 hexadecimal digits"],
    ["vcluster-image", "a:1@sha256:0", "an image reference"],
    ["vcluster-kubernetes-image", " ", "an image reference"],
    ["image-registry", "https://mirror.example", "without https://"],
    ["default-tenant-host-image", "host:1", "with its digest"],
    ["health-address", "8081", "such as :8081"],
    ["health-address", "::1:8081", "[::1]:8081"],
    ["metrics-address", ":65536", "a port from 0 to 65535"],
    ["metrics-address", ":http", "a port from 0 to 65535"],
  ]
  it.effect.each(bad)("refuses --%s=%s in a line with both and the way out", ([flag, value, wayOut]) =>
    Effect.gen(function* () {
      const { given, exit, out, err } = yield* run(`--${flag}=${value}`)
      assert.strictEqual(given, undefined)
      assert.strictEqual(exit._tag, "Failure")
      assert.strictEqual(out, "")
      assert.include(err, `--${flag}: "${value}"`)
      assert.include(err, wayOut)
    }),
  )

  it.effect("refuses a flag without its value", () =>
    Effect.gen(function* () {
      assert.include((yield* run("--state-dir=")).err, "Missing value for flag --state-dir")
      assert.include((yield* run("--state-dir")).err, "Missing value for flag --state-dir")
    }),
  )

  it.effect("refuses what it does not know, and a flag that is given twice", () =>
    Effect.gen(function* () {
      for (const [args, said] of [
        [["--instal-timeout=5m"], "--instal-timeout"],
        [["--log-level=debug"], "--log-level"],
        [["--wizard"], "--wizard"],
        [["start"], '"start"'],
        [["--target-poll=5s", "--target-poll=6s"], "--target-poll"],
      ] as const) {
        const { given, exit, err } = yield* run(...args)
        assert.strictEqual(given, undefined)
        assert.strictEqual(exit._tag, "Failure")
        assert.include(err, said)
      }
    }),
  )

  it.effect("does not repeat credentials that were put into a URL", () =>
    Effect.gen(function* () {
      for (const [url, shown] of [
        ["https://me:planted@registry.example/npm", "https://***@registry.example/npm"],
        ["http://planted@registry.example", "http://***@registry.example"],
        ["me:planted@registry.example", '"***@registry.example"'],
      ] as const) {
        const { given, err } = yield* run(`--npm-registry=${url}`)
        assert.strictEqual(given, undefined)
        assert.include(err, shown)
        assert.notInclude(err, "planted")
      }
      assert.include((yield* run("--npm-registry=https://me:planted@r")).err, "--npmrc")
    }),
  )

  it.effect("--help lists every flag with its default, and runs nothing", () =>
    Effect.gen(function* () {
      const { given, exit, out, err } = yield* run("--help")
      assert.strictEqual(given, undefined)
      assert.strictEqual(exit._tag, "Success")
      assert.strictEqual(err, "")
      for (const flag of Object.values(flags)) assert.include(out, `--${Help.leafOf(flag).name} `)
      const lineOf = (flag: string) => out.split("\n").find((line) => line.includes(`--${flag} `)) ?? ""
      assert.include(lineOf("install-timeout"), "(default 30m)")
      assert.include(lineOf("target-poll"), "(default 10s)")
      assert.include(lineOf("zap-log-level"), "(default info)")
      assert.include(lineOf("min-free-space"), "(default 512Mi)")
      assert.notInclude(lineOf("watch-namespaces"), "(default")
      assert.include(lineOf("max-concurrent-installs"), "(default 2)")
      assert.include(lineOf("health-address"), "(default :8081)")
      assert.notInclude(lineOf("npmrc"), "default")
      assert.notInclude(out, "--wizard")
      assert.notInclude(lineOf("instance-quota"), "(default")
      assert.notInclude(out, "[object")
    }),
  )

  it.effect.each(Object.entries(flags))("the default of %s that is shown can be given", ([, flag]) =>
    Effect.gen(function* () {
      const any: Flag.Flag<unknown> = flag
      const shown = yield* Help.defaultText(any)
      if (Option.isNone(shown)) return
      const { name } = Help.leafOf(any)
      const [, unset] = yield* any.parse({ flags: {}, arguments: [] })
      const [, given] = yield* any.parse({ flags: { [name]: [shown.value] }, arguments: [] })
      assert.deepStrictEqual(plain(given), plain(unset))
    }).pipe(Effect.provide(NodeServices.layer)),
  )
})

describe("flags together", () => {
  const problem = (...args: ReadonlyArray<string>) =>
    Effect.flatMap(accepted(...args), (given) => Effect.flip(checkFlags(given)))

  it.effect("a chart and its digest need each other", () =>
    Effect.gen(function* () {
      assert.include(
        yield* problem("--vcluster-chart=/c"),
        "--vcluster-chart /c needs --vcluster-chart-digest",
      )
      assert.include(yield* problem(`--vcluster-chart-digest=${digest}`), `${digest} needs --vcluster-chart`)
      yield* Effect.flatMap(accepted("--vcluster-chart=/c", `--vcluster-chart-digest=${digest}`), checkFlags)
    }),
  )

  it.effect("a sandbox that is required cannot be turned off", () =>
    Effect.gen(function* () {
      assert.include(
        yield* problem("--require-sandbox", "--sandbox=false"),
        "--sandbox=false exclude each other",
      )
      yield* Effect.flatMap(accepted("--require-sandbox"), checkFlags)
      yield* Effect.flatMap(accepted("--sandbox=false"), checkFlags)
    }),
  )

  it.effect("two addresses cannot be one, unless any free port will do", () =>
    Effect.gen(function* () {
      assert.include(yield* problem("--metrics-address=:8081"), "--metrics-address are both :8081")
      yield* Effect.flatMap(accepted("--metrics-address=:0", "--health-address=:0"), checkFlags)
    }),
  )
})

describe("an address", () => {
  it("is every interface without a host, and an IPv6 host without its brackets", () => {
    assert.deepStrictEqual(parseAddress(":8081"), { port: 8081 })
    assert.deepStrictEqual(parseAddress("127.0.0.1:0"), { host: "127.0.0.1", port: 0 })
    assert.deepStrictEqual(parseAddress("[::1]:8080"), { host: "::1", port: 8080 })
  })
})
