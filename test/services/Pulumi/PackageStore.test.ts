// The package store with the real npm, against a registry on loopback.
import { createServer, request as forward } from "node:http"
import { assert, it } from "@effect/vitest"
import { Effect, FileSystem, Layer } from "effect"
import type { PulumiOptions } from "../../../src/services/Pulumi/Options.ts"
import { Pulumi } from "../../../src/services/Pulumi/Pulumi.ts"
import { PulumiLive } from "../../../src/services/Pulumi/PulumiLive.ts"
import { StateStoreLive } from "../../../src/services/StateStore/StateStoreLive.ts"
import { machine } from "../../support/machine.ts"
import { makeAuthority } from "./authority.ts"
import { optionsIn, targets, temporary } from "./harness.ts"
import { makeRegistry, type PackageSource } from "./registry.ts"

const provider: PackageSource = {
  name: "@pulumi/kubernetes",
  version: "4.25.0",
  files: { "index.js": "" },
  manifest: {
    pulumi: { resource: true, name: "kubernetes", version: "4.25.0" },
    scripts: { install: "touch /tmp/platform-operator-install-script-ran && exit 1" },
  },
}
const platform = (files: Readonly<Record<string, string>>, version = "6.0.22"): PackageSource => ({
  name: "@di-framework/platform",
  version,
  files,
  manifest: { dependencies: { "@pulumi/kubernetes": "4.25.0" } },
})
const approving = platform({
  "index.js": 'console.log("loaded"); exports.approvedTenantHostImages = ["wash@sha256:1"]',
})

const scene = Effect.gen(function* () {
  const fs = yield* FileSystem.FileSystem
  const root = yield* temporary
  const plugin = `${root}/plugins/resource-kubernetes-v4.25.0`
  yield* fs.makeDirectory(plugin, { recursive: true })
  yield* fs.writeFileString(`${plugin}/pulumi-resource-kubernetes`, "")
  yield* fs.makeDirectory(`${root}/state`)
  return root
})

const withPulumi = <A, E, R>(options: PulumiOptions, root: string, use: Effect.Effect<A, E, R>) =>
  use.pipe(
    Effect.provide(
      PulumiLive.layer(options).pipe(
        Layer.provide([StateStoreLive.layer({ stateDir: `${root}/state` }), targets]),
      ),
    ),
  )

it.live(
  "a version is installed once, whoever asks, and needs no registry afterwards",
  () =>
    Effect.gen(function* () {
      const root = yield* scene
      const registry = yield* makeRegistry([approving, provider])
      const options = optionsIn(root, { registry: registry.url })
      const first = yield* withPulumi(
        options,
        root,
        Effect.gen(function* () {
          const pulumi = yield* Pulumi
          const all = yield* Effect.forEach([1, 2, 3], () => pulumi.fetch("6.0.22"), {
            concurrency: "unbounded",
          })
          assert.strictEqual(registry.requests.filter((path) => path === "@di-framework/platform").length, 1)
          assert.deepStrictEqual(new Set(all.map(({ directory }) => directory)).size, 1)
          return all[0]
        }),
      )
      assert.deepStrictEqual(first?.approvedHostBuilds, ["wash@sha256:1"])

      registry.refuse = 503
      const asked = registry.requests.length
      const again = yield* withPulumi(
        options,
        root,
        Pulumi.use((pulumi) => pulumi.fetch("6.0.22")),
      )
      assert.deepStrictEqual(again, first)
      assert.strictEqual(registry.requests.length, asked)
    }).pipe(Effect.scoped, Effect.provide(machine)),
  600_000,
)

it.live(
  "what is installed is read-only, exact, ran no install script, and lies in a folder called node_modules",
  () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const root = yield* scene
      const registry = yield* makeRegistry([approving, provider])
      const { directory } = yield* withPulumi(
        optionsIn(root, { registry: registry.url }),
        root,
        Pulumi.use((pulumi) => pulumi.fetch("6.0.22")),
      )
      const manifest = yield* fs.readFileString(`${directory}/package.json`)
      assert.include(manifest, '"@di-framework/platform": "6.0.22"')
      const { mode } = yield* fs.stat(`${directory}/node_modules/@di-framework/platform/index.js`)
      assert.strictEqual(mode & 0o222, 0)
      assert.strictEqual((yield* fs.stat(`${directory}/node_modules`)).mode & 0o222, 0)
      assert.isFalse(yield* fs.exists("/tmp/platform-operator-install-script-ran"))
    }).pipe(Effect.scoped, Effect.provide(machine)),
  600_000,
)

it.live(
  "a package that differs from its digest is not used: it is installed again",
  () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const root = yield* scene
      const registry = yield* makeRegistry([approving, provider])
      const options = optionsIn(root, { registry: registry.url, verifiedFor: 0 })
      yield* withPulumi(
        options,
        root,
        Effect.gen(function* () {
          const pulumi = yield* Pulumi
          const { directory, digest } = yield* pulumi.fetch("6.0.22")
          const file = `${directory}/node_modules/@di-framework/platform/index.js`
          yield* fs.chmod(file, 0o600)
          yield* fs.writeFileString(file, "tampered with")
          const again = yield* pulumi.fetch("6.0.22")
          assert.strictEqual(again.digest, digest)
          assert.notInclude(yield* fs.readFileString(file), "tampered")
        }),
      )
    }).pipe(Effect.scoped, Effect.provide(machine)),
  600_000,
)

it.live(
  "what an earlier operator left half-way is swept, and never taken for a package",
  () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const root = yield* scene
      const registry = yield* makeRegistry([approving, provider])
      const packages = `${root}/state/packages`
      yield* fs.makeDirectory(`${packages}/.new-zeroth-x/node_modules`, { recursive: true })
      yield* fs.writeFileString(`${packages}/6.0.22-0.lock.json.zeroth.tmp`, "{")
      const { directory } = yield* withPulumi(
        optionsIn(root, { registry: registry.url }),
        root,
        Pulumi.use((pulumi) => pulumi.fetch("6.0.22")),
      )
      const name = directory.slice(packages.length + 1)
      assert.deepStrictEqual((yield* fs.readDirectory(packages)).sort(), [name, `${name}.lock.json`])
    }).pipe(Effect.scoped, Effect.provide(machine)),
  600_000,
)

it.live(
  "a version the registry lacks, and a registry that is not there, are told apart",
  () =>
    Effect.gen(function* () {
      const root = yield* scene
      const registry = yield* makeRegistry([approving, provider])
      const fetch = (options: Partial<PulumiOptions>) =>
        withPulumi(optionsIn(root, options), root, Effect.flip(Pulumi.use((pulumi) => pulumi.fetch("1.2.3"))))
      const missing = yield* fetch({ registry: registry.url })
      assert.match(
        missing.message,
        /^The registry http:\/\/127\.0\.0\.1:\d+ has no version 1\.2\.3 of @di-framework\/platform, which spec\.version asks for; set spec\.version/,
      )
      const closed = yield* fetch({ registry: "http://127.0.0.1:1" })
      assert.match(closed.message, /^The registry does not answer/)
      registry.refuse = 403
      const refused = yield* fetch({ registry: registry.url })
      assert.match(refused.message, /^The registry refuses/)
      assert.strictEqual(refused.step, "fetch package")
    }).pipe(Effect.scoped, Effect.provide(machine)),
  600_000,
)

it.live(
  "F18 a registry that answers 403, 403, 200 is told as that twice, and has left nothing in the way of the third fetch",
  () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const root = yield* scene
      const registry = yield* makeRegistry([approving, provider])
      yield* withPulumi(
        optionsIn(root, { registry: registry.url }),
        root,
        Effect.gen(function* () {
          const pulumi = yield* Pulumi
          registry.refuse = 403
          for (const _ of [1, 2]) {
            const error = yield* Effect.flip(pulumi.fetch("6.0.22"))
            assert.match(error.message, /^The registry refuses to hand out @di-framework\/platform 6\.0\.22/)
            assert.notStrictEqual(error.final, true)
            assert.deepStrictEqual(yield* fs.readDirectory(`${root}/state/packages`), [])
          }
          registry.refuse = undefined
          assert.deepStrictEqual((yield* pulumi.fetch("6.0.22")).approvedHostBuilds, ["wash@sha256:1"])
        }),
      )
    }).pipe(Effect.scoped, Effect.provide(machine)),
  600_000,
)

it.live(
  "the approved host builds are the entrypoint's, else the manifest's, else none",
  () =>
    Effect.gen(function* () {
      const root = yield* scene
      const quiet = platform({ "index.js": "" }, "1.0.0")
      const listed: PackageSource = {
        ...platform({ "index.js": "exports.approvedTenantHostImages = 'no list'" }, "2.0.0"),
        manifest: {
          dependencies: { "@pulumi/kubernetes": "4.25.0" },
          diFramework: { approvedTenantHostImages: ["a", "b"] },
        },
      }
      const broken = platform({ "index.js": "throw new Error('bad entrypoint')" }, "3.0.0")
      const registry = yield* makeRegistry([quiet, listed, broken, provider])
      yield* withPulumi(
        optionsIn(root, { registry: registry.url }),
        root,
        Effect.gen(function* () {
          const pulumi = yield* Pulumi
          assert.deepStrictEqual((yield* pulumi.fetch("1.0.0")).approvedHostBuilds, [])
          assert.deepStrictEqual((yield* pulumi.fetch("2.0.0")).approvedHostBuilds, ["a", "b"])
          const error = yield* Effect.flip(pulumi.fetch("3.0.0"))
          assert.match(error.message, /^The package's main entrypoint cannot be loaded.*bad entrypoint/s)
        }),
      )
    }).pipe(Effect.scoped, Effect.provide(machine)),
  600_000,
)

it.live(
  "an entrypoint that is refused a file in the sandbox is told of with what lifts it",
  () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const root = yield* scene
      const launcher = `${root}/launcher`
      yield* fs.writeFileString(
        launcher,
        `#!/bin/sh\nwhile [ "$1" != -- ]; do shift; done; shift; exec "$@"\n`,
      )
      yield* fs.chmod(launcher, 0o755)
      const refused = platform(
        { "index.js": "throw new Error('EACCES: permission denied, open x')" },
        "1.0.0",
      )
      const broken = platform({ "index.js": "throw new Error('bad entrypoint')" }, "2.0.0")
      const registry = yield* makeRegistry([refused, broken, provider])
      yield* withPulumi(
        optionsIn(root, { registry: registry.url, sandbox: { launcher, code: [] } }),
        root,
        Effect.gen(function* () {
          const pulumi = yield* Pulumi
          const error = yield* Effect.flip(pulumi.fetch("1.0.0"))
          assert.match(error.message, /open x.*\n.*--sandbox=false lifts it \(docs\/security\.md\)\.$/s)
          assert.notInclude((yield* Effect.flip(pulumi.fetch("2.0.0"))).message, "--sandbox")
        }),
      )
    }).pipe(Effect.scoped, Effect.provide(machine)),
  600_000,
)

it.live(
  "a plugin that is missing or half unpacked stops before anything runs, naming version and places",
  () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const root = yield* scene
      const registry = yield* makeRegistry([approving, provider])
      yield* fs.writeFileString(`${root}/plugins/resource-kubernetes-v4.25.0.partial`, "")
      const error = yield* withPulumi(
        optionsIn(root, { registry: registry.url }),
        root,
        Effect.flip(Pulumi.use((pulumi) => pulumi.fetch("6.0.22"))),
      )
      assert.strictEqual(error.step, "fetch plugin")
      assert.include(error.message, "plugin 4.25.0")
      assert.include(error.message, `${root}/plugins`)
    }).pipe(Effect.scoped, Effect.provide(machine)),
  600_000,
)

/** A proxy of a few lines: it passes everything on to one server, and remembers what it was asked for. */
const makeProxy = (to: string) =>
  Effect.acquireRelease(
    Effect.callback<{ readonly url: string; readonly asked: Array<string>; readonly close: () => void }>(
      (resume) => {
        const asked: Array<string> = []
        const server = createServer((incoming, answer) => {
          asked.push(incoming.url ?? "")
          const { pathname } = new URL(incoming.url ?? "/", to)
          forward(`${to}${pathname}`, { method: incoming.method ?? "GET" }, (found) => {
            answer.writeHead(found.statusCode ?? 502, found.headers)
            found.pipe(answer)
          }).end()
        })
        server.on("connect", ({ url }, socket) => {
          asked.push(`CONNECT ${url}`)
          socket.end("HTTP/1.1 502 Bad Gateway\r\n\r\n")
        })
        server.listen(0, "127.0.0.1", () => {
          const address = server.address()
          const port = typeof address === "object" && address !== null ? address.port : 0
          resume(
            Effect.succeed({
              url: `http://127.0.0.1:${port}`,
              asked,
              close: () => {
                server.closeAllConnections()
                server.close()
              },
            }),
          )
        })
      },
    ),
    ({ close }) => Effect.sync(close),
  )

/** Of this process, as of the operator's container. */
const withEnvironment = (own: Readonly<Record<string, string>>) =>
  Effect.acquireRelease(
    Effect.sync(() => {
      const before = { ...process.env }
      for (const name of Object.keys(process.env)) if (/proxy/i.test(name)) delete process.env[name]
      Object.assign(process.env, own)
      return before
    }),
    (before) =>
      Effect.sync(() => {
        for (const name of Object.keys(process.env)) if (!(name in before)) delete process.env[name]
        Object.assign(process.env, before)
      }),
  )

it.live(
  "a registry behind a proxy is reached through it, a registry of one's own directly, and nobody else is asked",
  () =>
    Effect.gen(function* () {
      const registry = yield* makeRegistry([approving, provider])
      const proxy = yield* makeProxy(registry.url)
      yield* withEnvironment({ HTTP_PROXY: proxy.url, HTTPS_PROXY: proxy.url })
      const far = yield* scene
      const fetch = (root: string, url: string) =>
        withPulumi(
          optionsIn(root, { registry: url }),
          root,
          Pulumi.use((pulumi) => pulumi.fetch("6.0.22")),
        )
      yield* fetch(far, "http://registry.invalid")
      assert.include(proxy.asked, "http://registry.invalid/@di-framework%2fplatform")
      assert.isAbove(registry.requests.length, 0)

      // With the plugin in a folder and the registry at hand there is nothing to ask for outside.
      yield* withEnvironment({ HTTP_PROXY: proxy.url, HTTPS_PROXY: proxy.url, NO_PROXY: "127.0.0.1" })
      const near = yield* scene
      proxy.asked.length = 0
      const before = registry.requests.length
      yield* fetch(near, registry.url)
      assert.deepStrictEqual(proxy.asked, [])
      assert.isAbove(registry.requests.length, before)
    }).pipe(Effect.scoped, Effect.provide(machine)),
  600_000,
)

it.live(
  "a registry with a certificate of one's own authority is refused by name, and used once the authority is known",
  () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const root = yield* scene
      const { authority, certificate, key } = makeAuthority(Date.now())
      const registry = yield* makeRegistry([approving, provider], { certificate, key })
      yield* fs.writeFileString(`${root}/authority.pem`, authority)
      const npmrc = `${root}/npmrc`
      const own = `registry=${registry.url}\n`
      const fetch = (text: string) =>
        Effect.andThen(
          fs.writeFileString(npmrc, text),
          withPulumi(
            optionsIn(root, { npmrc, verifiedFor: 0 }),
            root,
            Pulumi.use((pulumi) => Effect.andThen(pulumi.prune(new Set()), pulumi.fetch("6.0.22"))),
          ),
        )
      const error = yield* Effect.flip(fetch(own))
      if (!("step" in error)) return assert.fail(String(error))
      assert.strictEqual(error.step, "fetch package")
      assert.match(
        error.message,
        /^The certificate of the registry is not trusted \([A-Z_]+\); give the certificate of its authority/,
      )
      assert.notInclude(error.message, authority.split("\n")[1] ?? "")
      assert.deepStrictEqual(registry.requests, [])
      assert.deepStrictEqual(yield* fs.readDirectory(`${root}/state/packages`), [])

      // As the mounted npmrc names it.
      const byCafile = yield* fetch(`${own}cafile=${root}/authority.pem\n`)
      assert.deepStrictEqual(byCafile.approvedHostBuilds, ["wash@sha256:1"])
      const asked = registry.requests.length
      assert.isAbove(asked, 0)
      // As the chart's npm.caBundle makes it known.
      yield* withEnvironment({ NODE_EXTRA_CA_CERTS: `${root}/authority.pem` })
      yield* fetch(own)
      assert.isAbove(registry.requests.length, asked)
    }).pipe(Effect.scoped, Effect.provide(machine)),
  600_000,
)

it.live(
  "a version that comes again with another content is refused, and what was unpacked of it is gone",
  () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const root = yield* scene
      const first = yield* makeRegistry([approving, provider])
      const other = platform({ "index.js": "exports.approvedTenantHostImages = []", "more.js": "" })
      const options = (registry: string) =>
        optionsIn(root, { npmrc: `${root}/npmrc`, registry, verifiedFor: 0 })
      const fetch = (registry: string) =>
        withPulumi(
          options(registry),
          root,
          Pulumi.use((pulumi) => pulumi.fetch("6.0.22")),
        )
      const { directory } = yield* fetch(first.url)
      yield* withPulumi(
        options(first.url),
        root,
        Pulumi.use((pulumi) => pulumi.prune(new Set())),
      )
      assert.isFalse(yield* fs.exists(directory))
      first.replace([other, provider])
      const error = yield* Effect.flip(fetch(first.url))
      assert.match(error.message, /^The registry has another content for @di-framework\/platform 6\.0\.22/)
      assert.isFalse(yield* fs.exists(directory))
      first.replace([approving, provider])
      assert.strictEqual((yield* fetch(first.url)).directory, directory)
    }).pipe(Effect.scoped, Effect.provide(machine)),
  600_000,
)

it.live(
  "an archive that is cut off, refused or never comes is no package, and the next fetch has it whole",
  () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const root = yield* scene
      const registry = yield* makeRegistry([approving, provider])
      const packages = `${root}/state/packages`
      const fetch = (own: Partial<PulumiOptions> = {}) =>
        withPulumi(
          optionsIn(root, { registry: registry.url, ...own }),
          root,
          Pulumi.use((pulumi) => pulumi.fetch("6.0.22")),
        )
      const troubles = [
        ["half", /^What the registry sent differs from what it promised/, {}],
        [
          "cut off",
          /^(The registry does not answer|npm could not install|What the registry sent differs)/,
          {},
        ],
        ["refused", /^The registry refuses to hand out/, {}],
        [
          "never",
          /^npm did not end in time; check the registry and the way to it/,
          { fetchTimeout: "15 seconds" },
        ],
      ] as const
      for (const [how, words, own] of troubles) {
        registry.tarballs = how
        const error = yield* Effect.flip(fetch(own))
        assert.strictEqual("step" in error ? error.step : "", "fetch package", how)
        assert.match(error.message, words, how)
        assert.deepStrictEqual(
          (yield* fs.readDirectory(packages)).filter((name) => !name.endsWith(".lock.json")),
          [],
          how,
        )
      }
      registry.tarballs = undefined
      const { directory, approvedHostBuilds } = yield* fetch()
      assert.deepStrictEqual(approvedHostBuilds, ["wash@sha256:1"])
      assert.isTrue(yield* fs.exists(`${directory}/node_modules/@pulumi/kubernetes/index.js`))
    }).pipe(Effect.scoped, Effect.provide(machine)),
  600_000,
)
