// F16 on the real npm and the real pulumi: a volume that is full while a package, npm's cache or a plugin is unpacked. The
// volume is a small file system in memory that only the child sees, in a mount namespace of its own.
import { execFileSync } from "node:child_process"
import { randomBytes } from "node:crypto"
import { chmodSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs"
import { createServer } from "node:http"
import { assert, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import type { PulumiOptions } from "../../../src/services/Pulumi/Options.ts"
import { Pulumi, PulumiError } from "../../../src/services/Pulumi/Pulumi.ts"
import { PulumiLive } from "../../../src/services/Pulumi/PulumiLive.ts"
import { StateStoreLive } from "../../../src/services/StateStore/StateStoreLive.ts"
import { machine } from "../../support/machine.ts"
import { programPath } from "./apiServer.ts"
import { optionsIn, targets, temporary } from "./harness.ts"
import { makeRegistry, type PackageSource } from "./registry.ts"

const large = randomBytes(3_000_000).toString("base64")
const provider: PackageSource = { name: "@pulumi/kubernetes", version: "4.25.0", files: { "index.js": "" } }
const platform: PackageSource = {
  name: "@di-framework/platform",
  version: "6.0.22",
  files: { "index.js": "", "dist/large": large },
  manifest: { dependencies: { "@pulumi/kubernetes": "4.25.0" } },
}

/** The program with 2 MiB at most in a folder, of whose files it keeps the manifest; `folder`: a variable of the shell's. */
const cramped = (root: string, program: string, folder: string): string => {
  const script = `${root}/cramped-${readdirSync(root).length}`
  writeFileSync(
    script,
    `#!/bin/sh
exec unshare --map-root-user --mount /bin/sh -ec '
  manifest=$(cat "${folder}/package.json" 2>/dev/null || true)
  mount -t tmpfs -o size=2m none "${folder}"
  cd "$PWD"; [ -z "$manifest" ] || printf %s "$manifest" > "${folder}/package.json"
  exec ${program} "$@"' sh "$@"
`,
  )
  chmodSync(script, 0o755)
  return script
}

/** A plugin host of one plugin, as `pulumi plugin install --server` asks it. Gives its address. */
const pluginHost = Effect.fnUntraced(function* (root: string) {
  mkdirSync(`${root}/plugin`)
  writeFileSync(`${root}/plugin/pulumi-resource-kubernetes`, `#!/bin/sh\n# ${large}\n`, { mode: 0o755 })
  execFileSync("tar", ["-czf", `${root}/plugin.tgz`, "-C", `${root}/plugin`, "pulumi-resource-kubernetes"])
  const archive = readFileSync(`${root}/plugin.tgz`)
  const asked: Array<string> = []
  const server = createServer((request, response) => {
    asked.push(request.url ?? "")
    const has = /^\/pulumi-resource-kubernetes-v4\.25\.0-linux-[a-z0-9]+\.tar\.gz$/.test(request.url ?? "")
    // The CLI takes no archive whose length is not told ("expected -1 bytes": seen, 3.274.1).
    response.writeHead(has ? 200 : 404, { "content-length": has ? archive.length : 0 })
    response.end(has ? archive : undefined)
  })
  yield* Effect.acquireRelease(
    Effect.callback<void>((resume) => {
      server.listen(0, "127.0.0.1", () => resume(Effect.void))
    }),
    () =>
      Effect.sync(() => {
        server.closeAllConnections()
        server.close()
      }),
  )
  const address = server.address()
  const port = typeof address === "object" && address !== null ? address.port : 0
  return { url: `http://127.0.0.1:${port}`, asked }
})

it.live(
  "F16 a full volume is named with the step, nothing half-written is used, and the next fetch has it whole",
  () =>
    Effect.gen(function* () {
      const root = yield* temporary
      for (const folder of ["state", "tmp", "memory"]) mkdirSync(`${root}/${folder}`)
      const registry = yield* makeRegistry([platform, provider])
      const host = yield* pluginHost(root)
      const fetch = (own: Partial<PulumiOptions>) =>
        Pulumi.use((pulumi) => pulumi.fetch("6.0.22")).pipe(
          Effect.provide(
            PulumiLive.layer(
              optionsIn(root, {
                registry: registry.url,
                pluginServer: host.url,
                pulumiPath: programPath("pulumi") ?? "",
                verifiedFor: 0,
                ...own,
              }),
            ).pipe(
              Layer.provide([Layer.orDie(StateStoreLive.layer({ stateDir: `${root}/state` })), targets]),
            ),
          ),
        )
      const { npmPath, pulumiPath } = optionsIn(root, { pulumiPath: programPath("pulumi") ?? "" })
      const packages = () =>
        readdirSync(`${root}/state/packages`).filter((name) => !name.endsWith(".lock.json"))
      const plugins = () => readdirSync(`${root}/state/plugins`).filter((name) => !name.endsWith(".lock"))

      for (const [where, folder] of [
        ["the package's folder", "$PWD"],
        ["npm's cache", "$HOME"],
      ] as const) {
        const error = yield* Effect.flip(fetch({ npmPath: cramped(root, npmPath, folder) }))
        if (!(error instanceof PulumiError)) return assert.fail(String(error))
        assert.strictEqual(error.step, "fetch package", where)
        assert.match(
          error.message,
          /^The disk is full \(ENOSPC: no space left on device[^)]*\); make room in the operator's state claim/,
          where,
        )
        assert.deepStrictEqual(packages(), [], where)
      }

      const error = yield* Effect.flip(fetch({ pulumiPath: cramped(root, pulumiPath, "$PULUMI_HOME") }))
      if (!(error instanceof PulumiError)) return assert.fail(String(error))
      assert.strictEqual(error.step, "fetch plugin")
      assert.match(error.message, /plugin 4\.25\.0 .* could not be downloaded.*no space left on device/s)
      assert.deepStrictEqual(plugins(), [])
      assert.lengthOf(packages(), 1)

      const { directory } = yield* fetch({})
      assert.strictEqual(
        readFileSync(`${directory}/node_modules/@di-framework/platform/dist/large`, "utf8"),
        large,
      )
      assert.deepStrictEqual(plugins(), ["resource-kubernetes-v4.25.0"])
      assert.include(
        readFileSync(`${root}/state/plugins/resource-kubernetes-v4.25.0/pulumi-resource-kubernetes`, "utf8"),
        large,
      )
      // What is there is not asked for again.
      const asked = [registry.requests.length, host.asked.length]
      yield* fetch({})
      assert.deepStrictEqual([registry.requests.length, host.asked.length], asked)
    }).pipe(Effect.scoped, Effect.provide(machine)),
  1_800_000,
)
