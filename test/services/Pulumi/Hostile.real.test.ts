// A package that is after more than its own, with the real engine in the real sandbox.
import { createHash } from "node:crypto"
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs"
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { machine } from "../../support/machine.ts"
import { installScene } from "./installScene.ts"

/** A neighbour in the middle of its own operation. */
const plantNeighbour = (root: string) => {
  const neighbour = `${root}/state/instances/team-a/neighbour`
  mkdirSync(`${neighbour}/backend`, { recursive: true })
  writeFileSync(`${neighbour}/instance.json`, "planted-record")
  const hash = createHash("sha256").update("team-a/neighbour").digest("hex").slice(0, 16)
  mkdirSync(`${root}/memory/platform-instance-${hash}`)
  writeFileSync(`${root}/memory/platform-instance-${hash}/kubeconfig`, "planted-kubeconfig")
  return neighbour
}

it.live(
  "a hostile package gets at nothing that is not its own: at its fetch, in an install, in a repair",
  () =>
    Effect.gen(function* () {
      const { root, api, fetch, run } = yield* installScene
      const neighbour = plantNeighbour(root)
      const hostile = yield* fetch("6.0.92")
      assert.deepStrictEqual(hostile.approvedHostBuilds.slice(1), [
        // No pod: there is no token on this machine. The end-to-end tests have one.
        "token absent",
        "environment-of-the-operator EACCES",
        "other-packages EACCES",
        "write-package EACCES",
        "write-tmp EACCES",
      ])

      for (const kind of ["FirstInstall", "RepairDue"]) {
        yield* run({ kind, refresh: kind === "RepairDue", version: "6.0.92", package: hostile })
        const { refused, signal, had } = JSON.parse(
          yield* api.kubectl(
            ...["-n", "wasmcloud", "get", "configmap", "di-platform-attempts", "-o", "jsonpath={.data}"],
          ),
        )
        const { token, ...others } = JSON.parse(refused)
        assert.strictEqual(token, "absent")
        assert.isAbove(Object.keys(others).length, 20)
        assert.deepStrictEqual(
          others,
          Object.fromEntries(Object.keys(others).map((attempt) => [attempt, "EACCES"])),
        )
        assert.strictEqual(signal, "EPERM")
        assert.deepStrictEqual(JSON.parse(had), {
          kubeconfig: "done",
          passphrase: "done",
          "write-project": "done",
          "write-tmpdir": "done",
        })
        assert.strictEqual(readFileSync(`${neighbour}/instance.json`, "utf8"), "planted-record")
        yield* api.kubectl("-n", "wasmcloud", "delete", "configmap", "di-platform-attempts")
      }
      assert.deepStrictEqual(readdirSync(neighbour).sort(), ["backend", "instance.json"])
      assert.isFalse(existsSync("/tmp/planted-by-a-package"))
    }).pipe(Effect.scoped, Effect.provide(machine)),
  3_600_000,
)
