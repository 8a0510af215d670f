import { NodeServices } from "@effect/platform-node"
import { assert, layer } from "@effect/vitest"
import { ConfigProvider, Effect, FileSystem } from "effect"
import { findPrograms } from "../../../src/services/Process/Programs.ts"

/** Two folders, with the files that the test makes, on a PATH of its own. */
const lookUp = (path: (first: string, second: string) => string, files: Readonly<Record<string, number>>) =>
  Effect.gen(function* () {
    const fs = yield* FileSystem.FileSystem
    const root = yield* fs.makeTempDirectoryScoped()
    yield* fs.makeDirectory(`${root}/1`)
    yield* fs.makeDirectory(`${root}/2`)
    for (const [name, mode] of Object.entries(files)) {
      yield* fs.writeFileString(`${root}/${name}`, "#!/bin/sh\n")
      yield* fs.chmod(`${root}/${name}`, mode)
    }
    const env = { PATH: path(`${root}/1`, `${root}/2`) }
    const result = yield* Effect.result(findPrograms()).pipe(
      Effect.provideService(ConfigProvider.ConfigProvider, ConfigProvider.fromEnvRecord(env)),
    )
    return { root, env, result }
  })

layer(NodeServices.layer)("programs", (it) => {
  it.effect("are found in the first folder of the PATH that has them", () =>
    Effect.gen(function* () {
      const files = { "1/helm": 0o755, "2/helm": 0o755, "2/pulumi": 0o700, "2/npm": 0o555 }
      const { root, result } = yield* lookUp((one, two) => `${one}:${two}`, files)
      assert.deepStrictEqual(result._tag === "Success" && result.success, {
        helm: `${root}/1/helm`,
        pulumi: `${root}/2/pulumi`,
        npm: `${root}/2/npm`,
      })
    }),
  )

  it.effect("that are missing or not executable are all named, with the PATH", () =>
    Effect.gen(function* () {
      const { env, result } = yield* lookUp((one, two) => `${one}:${two}`, {
        "1/helm": 0o755,
        "2/npm": 0o644,
      })
      assert.strictEqual(result._tag, "Failure")
      if (result._tag === "Success") return
      assert.strictEqual(result.failure._tag, "ProgramMissing")
      assert.match(result.failure.message, /: pulumi, npm;/)
      assert.include(result.failure.message, env.PATH)
    }),
  )

  it.effect("in relative folders of the PATH are not taken", () =>
    Effect.gen(function* () {
      const { result } = yield* lookUp(() => "node_modules/.bin:.:", {})
      assert.match(result._tag === "Failure" ? result.failure.message : "", /: helm, pulumi, npm;/)
    }),
  )
})
