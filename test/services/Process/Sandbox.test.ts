import { assert, layer } from "@effect/vitest"
import { ConfigProvider, Effect, FileSystem } from "effect"
import { confined, isWhole, probeSandbox, shortcomings } from "../../../src/services/Process/Sandbox.ts"
import { machine } from "../../support/machine.ts"

/** What is said of a launcher that does this; of none, when there is nothing to do. */
const probed = (script: string | undefined) =>
  Effect.gen(function* () {
    const fs = yield* FileSystem.FileSystem
    const root = yield* fs.makeTempDirectoryScoped()
    if (script !== undefined) {
      yield* fs.writeFileString(`${root}/platform-sandbox`, `#!/bin/sh\n${script}\n`)
      yield* fs.chmod(`${root}/platform-sandbox`, 0o755)
    }
    const state = yield* probeSandbox().pipe(
      Effect.provideService(
        ConfigProvider.ConfigProvider,
        ConfigProvider.fromEnvRecord({ PATH: `${root}:nowhere` }),
      ),
    )
    return { root, state }
  })

layer(machine, { excludeTestServices: true })("a sandbox", (it) => {
  it.effect("is there when the launcher says which version of Landlock it has", () =>
    Effect.gen(function* () {
      const { root, state } = yield* probed(`[ "$*" = probe ] && echo 7`)
      assert.deepStrictEqual(state, { _tag: "Available", launcher: `${root}/platform-sandbox`, abi: 7 })
    }),
  )

  const missing: ReadonlyArray<readonly [when: string, script: string | undefined, reason: RegExp]> = [
    ["there is no launcher", undefined, /^platform-sandbox is not on PATH$/],
    [
      "the kernel cannot",
      "echo 'platform-sandbox: no Landlock' >&2; exit 1",
      /^platform-sandbox: no Landlock$/,
    ],
    ["it says a version and fails", "echo 7; exit 1", /^platform-sandbox ended without a word$/],
    ["it says none", "echo yes", /^platform-sandbox ended without a word$/],
    ["it cannot be run", "#!/nowhere\nkill -9 $$", /^platform-sandbox ended without a word$/],
  ]
  it.effect.each(missing)("is not there when %s", ([, script, reason]) =>
    Effect.gen(function* () {
      const { state } = yield* probed(script)
      assert.match(state._tag === "Unavailable" ? state.reason : "", reason)
    }),
  )

  it.effect("is asked for by paths in front of the command", () =>
    Effect.sync(() => {
      assert.deepStrictEqual(
        confined("/bin/box", { read: ["/usr", "/--write"], write: ["/own"] }, "/bin/node", ["--write", "/x"]),
        {
          command: "/bin/box",
          args: [
            "run",
            "--read",
            "/usr",
            "--read",
            "/--write",
            "--write",
            "/own",
            "--",
            "/bin/node",
            "--write",
            "/x",
          ],
        },
      )
    }),
  )

  it.effect("lacks on older kernels what their Landlock does not know", () =>
    Effect.sync(() => {
      assert.deepStrictEqual(
        [1, 2, 3, 5, 6].map((abi) => [shortcomings(abi), isWhole(abi)]),
        [
          [["cutting off files of others", "signals to the operator"], false],
          [["cutting off files of others", "signals to the operator"], false],
          [["signals to the operator"], true],
          [["signals to the operator"], true],
          [[], true],
        ],
      )
    }),
  )
})
