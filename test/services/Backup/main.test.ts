// The program as `kubectl pi` runs it in the operator's pod.
import { spawnSync } from "node:child_process"
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { makeScene, passphrases, type Scene } from "../Rotation/Scene.ts"

const run = (args: ReadonlyArray<string>, input: string | Uint8Array = "") => {
  const { status, stdout, stderr } = spawnSync(process.execPath, ["src/services/Backup/main.ts", ...args], {
    input,
    maxBuffer: 2 ** 26,
  })
  return { status, stdout, stderr: stderr.toString().trim() }
}

const argsOf = ({ stateDir }: Scene, instance: string) => {
  const file = join(stateDir, "passphrase")
  writeFileSync(file, `${Redacted.value(passphrases.old)}\n`)
  return [`--state-dir=${stateDir}`, `--instance=${instance}`, `--passphrase-file=${file}`]
}

const record = {
  format: 1,
  uid: "life",
  kubeSystemUID: "inside",
  installed: {
    ...{ version: "6.0.22", generation: 1, reason: "FirstInstall", finishedAt: "2026-01-01T00:00:00Z" },
    ...{ tenants: 0, users: 0, endpoints: {}, httpNodePort: 30001 },
  },
}

describe("the program of a backup", { timeout: 60_000 }, () => {
  it.effect("finds a state, gives it, and takes it as another instance's, once", () =>
    Effect.gen(function* () {
      const scene = yield* makeScene()
      const one = argsOf(scene, "team-a/one")
      const two = argsOf(scene, "team-b/two")
      writeFileSync(join(scene.stateDir, "instances/team-a/one/instance.json"), JSON.stringify(record))
      const found = JSON.parse(run(["find", ...one]).stdout.toString())
      assert.deepInclude(found, { format: 1, state: "there", version: "6.0.22", kubeSystemUID: "inside" })
      assert.deepInclude(JSON.parse(run(["find", ...two]).stdout.toString()), { state: "none" })
      const claims = (args: ReadonlyArray<string>) =>
        JSON.parse(run(["claims", ...args]).stdout.toString()).filter(
          ({ instance }: { readonly instance: string }) => instance === "team-a/one",
        )
      assert.deepStrictEqual(claims(two), [{ instance: "team-a/one", has: { port: 30001 } }])
      assert.deepStrictEqual(claims(one), [])
      const given = run(["export", ...one], "drawn\n")
      assert.strictEqual(given.status, 0, given.stderr)
      const input = Buffer.concat([Buffer.from("drawn\n"), given.stdout])
      const id = "--id=00112233445566aa"
      for (const again of [false, true]) {
        const taken = run(["import", ...two, id], input)
        assert.strictEqual(taken.status, 0, taken.stderr)
        assert.deepStrictEqual(JSON.parse(taken.stdout.toString()), { again })
      }
      assert.deepInclude(JSON.parse(run(["find", ...two]).stdout.toString()), {
        restored: "00112233445566aa",
      })
      const adapted = run(["adapt", ...two, id], "a kubeconfig")
      assert.deepStrictEqual(JSON.parse(adapted.stdout.toString()), { changed: 0 })
      const cut = run(["import", ...argsOf(scene, "team-b/cut"), id], input.subarray(0, -20))
      assert.deepStrictEqual([cut.status, cut.stderr], [1, "the archive is cut off"])
      scene.remove()
    }),
  )

  it.effect("ends with 3 where an operation is at work, 2 where it was asked in a wrong way", () =>
    Effect.gen(function* () {
      const scene = yield* makeScene()
      const one = argsOf(scene, "team-a/one")
      writeFileSync(join(scene.stateDir, "instances/team-a/one/operation.json"), "{}")
      const busy = run(["export", ...one], "drawn\n")
      assert.deepStrictEqual([busy.status, busy.stderr], [3, "an operation is at work"])
      for (const args of [
        ["find", "--state-dir=/nowhere"],
        ["find", "--instance=team-a/one"],
        ["find", "--state-dir=/nowhere", "--instance=../one"],
        ["tell", ...one],
        ["find", "--what", ...one],
      ])
        assert.strictEqual(run(args).status, 2, args.join(" "))
      assert.strictEqual(run(["export", ...one]).status, 2)
      const gone = run(["find", `--state-dir=${join(scene.stateDir, "gone")}`, "--instance=team-a/one"])
      assert.strictEqual(gone.status, 1)
      assert.match(gone.stderr, /gone/)
      assert.notInclude(busy.stderr + gone.stderr, Redacted.value(passphrases.old))
      scene.remove()
    }),
  )
})
