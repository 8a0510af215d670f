// What a rotation writes, before the real engine.
import { execFileSync, spawnSync } from "node:child_process"
import { readdirSync } from "node:fs"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { machine } from "../../support/machine.ts"
import { good, pulumiPath, scene } from "../Pulumi/engineScene.ts"
import { passphrases } from "./Scene.ts"

const planted = "planted-client-secret"

describe.skipIf(pulumiPath === undefined)("a rotation, before the real engine", () => {
  it.live("has it work with the new passphrase, and refuse the one before", () =>
    Effect.gen(function* () {
      const { fs, root, run, instance } = yield* scene(good)
      const secretConfig = new Map([["plantedSecret", Redacted.make(planted)]])
      const files = { old: `${root}/passphrase`, next: `${root}/next`, before: `${root}/before` }
      const { old, next } = { old: Redacted.value(passphrases.old), next: Redacted.value(passphrases.next) }
      yield* fs.writeFileString(files.old, old)
      yield* fs.writeFileString(files.before, old)
      // The engine takes the white space around it away.
      yield* fs.writeFileString(files.next, ` ${next}\n`)
      yield* run({ secretConfig })
      yield* run({ secretConfig, refresh: true })

      const rotated = spawnSync(
        process.execPath,
        [
          "src/services/Rotation/main.ts",
          `--state-dir=${root}/state`,
          `--from-file=${files.before}`,
          `--to-file=${files.next}`,
        ],
        { encoding: "utf8" },
      )
      assert.strictEqual(rotated.status, 0, rotated.stdout + rotated.stderr)
      assert.match(rotated.stdout, /^1 instance: \d+ files have the new passphrase now, 0 had it already\n$/)
      assert.notInclude(rotated.stdout + rotated.stderr, next)

      const cli = (passphraseFile: string, ...args: ReadonlyArray<string>) =>
        spawnSync(pulumiPath ?? "", [...args, "--stack=instance"], {
          cwd: `${instance}/project`,
          encoding: "utf8",
          env: {
            PATH: process.env.PATH ?? "",
            HOME: root,
            USER: "tester",
            PULUMI_HOME: `${root}/pulumi-home`,
            PULUMI_SKIP_UPDATE_CHECK: "true",
            PULUMI_BACKEND_URL: `file://${instance}/backend`,
            PULUMI_CONFIG_PASSPHRASE_FILE: passphraseFile,
          },
        })
      const output = ["stack", "output", "--show-secrets", "--json"]
      assert.include(cli(files.next, ...output).stdout, "secret-kubeconfig")
      assert.include(cli(files.next, "config", "get", "plantedSecret").stdout, planted)
      // Entries of the history have config of their own.
      assert.include(cli(files.next, "stack", "history", "--show-secrets", "--json").stdout, planted)
      for (const args of [output, ["config", "get", "plantedSecret"]]) {
        const refused = cli(files.before, ...args)
        assert.notStrictEqual(refused.status, 0)
        assert.include(refused.stderr, "incorrect passphrase")
      }

      // The operator with the passphrase before writes nothing, with the new one it goes on.
      const tree = () =>
        execFileSync(
          "sh",
          ["-c", `cd ${instance}/backend/.pulumi && find stacks history -type f | xargs sha256sum`],
          {
            encoding: "utf8",
          },
        )
      const before = tree()
      const refused = yield* Effect.flip(run({ secretConfig }))
      assert.match(refused.message, /^The passphrase does not open this instance's state/)
      assert.strictEqual(tree(), before)
      yield* fs.writeFileString(files.old, next)
      yield* run({ secretConfig, refresh: true })

      // The copies, too: each export is what `pulumi stack import` takes.
      const [exported = ""] = readdirSync(`${instance}/exports`)
      const file = `${root}/export.json`
      execFileSync("sh", ["-c", `gunzip -c ${instance}/exports/${exported} > ${file}`])
      assert.strictEqual(cli(files.next, "stack", "import", `--file=${file}`).status, 0)
      assert.include(cli(files.next, ...output).stdout, "secret-kubeconfig")
    }).pipe(Effect.scoped, Effect.provide(machine)),
  )
})
