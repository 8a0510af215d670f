// A preview of the real engine, with the real provider, an API server and the sandbox: what it says, and that it has changed
// nothing, neither of the instance's files nor of its objects.
import { createHash } from "node:crypto"
import { lstatSync, readdirSync, readFileSync, readlinkSync } from "node:fs"
import { assert, it } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { machine } from "../../support/machine.ts"
import { installScene } from "./installScene.ts"

/** Of all that lies in a folder, names, modes and times of writing among it. */
const digest = (folder: string): string => {
  const hash = createHash("sha256")
  for (const name of readdirSync(folder, { recursive: true, encoding: "utf8" }).sort()) {
    const file = `${folder}/${name}`
    const info = lstatSync(file)
    hash.update(`${name} ${info.mode} ${info.isDirectory() ? "" : info.mtimeMs}\n`)
    if (info.isFile()) hash.update(readFileSync(file))
    if (info.isSymbolicLink()) hash.update(readlinkSync(file))
  }
  return hash.digest("hex")
}

it.live(
  "a preview says what an install would do, and changes nothing",
  () =>
    Effect.gen(function* () {
      const { api, root, run, preview, stateDigest, request, instance } = yield* installScene
      assert.strictEqual(yield* stateDigest, "")
      const secretConfig = new Map([["tenantAuthClientSecret", Redacted.make("planted-client-secret")]])
      const auth = {
        image: `auth@sha256:${"a".repeat(64)}`,
        issuer: "https://id",
        oauthClient: { id: "console", secretName: "platform-operator-tenant-auth" },
      }
      const config = new Map([...request.config, ["tenantAuth", JSON.stringify(auth)]])
      yield* run({ config, secretConfig })
      const objects = api.kubectl(
        ...["get", "namespace,crd,service,deployment,secret,configmap,tenant", "-A", "-o"],
        'jsonpath={range .items[*]}{.kind}/{.metadata.namespace}/{.metadata.name} {.metadata.uid} {.metadata.resourceVersion}{"\\n"}{end}',
      )
      const before = [digest(instance), yield* objects]
      const state = yield* stateDigest
      assert.match(state, /^[0-9a-f]{64}$/)

      const same = yield* preview({ config, secretConfig })
      assert.deepStrictEqual(same, { steps: [], drifted: [], uncompared: [] })

      // Another tenant, another Secret, an object that is gone, and one of the chart's.
      const changed = new Map([...config, ["tenants", JSON.stringify([{ name: "beta" }])]])
      const planned = yield* preview({
        config: changed,
        secretConfig: new Map([["tenantAuthClientSecret", Redacted.make("planted-other-secret")]]),
      })
      const told = planned.steps.map(({ deed, type, name }) => `${deed} ${type.split(":").at(-1)} ${name}`)
      for (const each of [
        "create Namespace di-tenant-beta",
        "create Namespace di-runtime-beta",
        "create Tenant beta",
        "delete Namespace di-tenant-acme",
        "delete Namespace di-runtime-acme",
        "delete Tenant acme",
      ]) {
        assert.include(told, each)
      }
      assert.isTrue(told.some((each) => each.endsWith(" Secret platform-operator-tenant-auth")))
      assert.notInclude(JSON.stringify(planned), "planted")
      assert.deepStrictEqual([digest(instance), yield* objects], before)

      yield* api.kubectl("-n", "wasmcloud", "delete", "service", "di-platform-gateway")
      yield* api.kubectl("-n", "wasmcloud", "delete", "deployment", "wasmcloud-hosts")
      const drifted = yield* preview({ config, secretConfig })
      assert.deepStrictEqual(
        drifted.steps.map(({ deed, name }) => `${deed} ${name}`),
        ["create di-platform-gateway"],
      )
      assert.deepStrictEqual(drifted.drifted, ["Deployment wasmcloud/wasmcloud-hosts (missing)"])
      assert.strictEqual(digest(instance), before[0])
      // A plan is of this state: what changes it outdates the plan.
      assert.strictEqual(yield* stateDigest, state)
      yield* run({ config, secretConfig, refresh: true })
      assert.notStrictEqual(yield* stateDigest, state)
      assert.isEmpty(readdirSync(`${root}/tmp`).filter((name) => name.startsWith("operation-")))
      assert.deepStrictEqual(readdirSync(`${root}/memory`), [])
    }).pipe(Effect.scoped, Effect.provide(machine)),
  3_600_000,
)
