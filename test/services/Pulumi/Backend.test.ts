import { NodeServices } from "@effect/platform-node"
import { assert, layer } from "@effect/vitest"
import { Effect, FileSystem } from "effect"
import { mendBackend, pruneHistory } from "../../../src/services/Pulumi/Backend.ts"
import { temporary } from "./harness.ts"

const scene = Effect.gen(function* () {
  const fs = yield* FileSystem.FileSystem
  const root = yield* temporary
  const put = (name: string, text: string) => {
    const file = `${root}/.pulumi/${name}`
    return fs
      .makeDirectory(file.slice(0, file.lastIndexOf("/")), { recursive: true })
      .pipe(Effect.andThen(fs.writeFileString(file, text)))
  }
  return { fs, root, put, paths: { root, project: root, backend: root } }
})

layer(NodeServices.layer)("the backend's files", (it) => {
  it.effect("sidecars that were cut off go, and nothing else", () =>
    Effect.gen(function* () {
      const { fs, root, put, paths } = yield* scene
      const stacks = "stacks/platform-instance"
      yield* put(`${stacks}/instance.json.gz`, "")
      yield* put(`${stacks}/instance.json.gz.attrs`, "")
      yield* put(`${stacks}/instance.json.gz.bak.attrs`, '{"md5":"x"}')
      yield* put(`${stacks}/instance.json.gz.bak.18eca30276bae893.tmp`, "half")
      yield* put("meta.yaml.attrs", '{"user.cache')
      const mended = yield* mendBackend(paths)
      assert.deepStrictEqual([...mended].sort(), ["meta.yaml.attrs", `${stacks}/instance.json.gz.attrs`])
      assert.deepStrictEqual((yield* fs.readDirectory(`${root}/.pulumi/${stacks}`)).sort(), [
        "instance.json.gz",
        "instance.json.gz.bak.attrs",
      ])
    }),
  )

  it.effect("meta.yaml goes when it was cut off, and stays when it was not", () =>
    Effect.gen(function* () {
      const { fs, root, put, paths } = yield* scene
      yield* put("meta.yaml", "version: 1\n")
      assert.deepStrictEqual(yield* mendBackend(paths), [])
      yield* put("meta.yaml", "")
      assert.deepStrictEqual(yield* mendBackend(paths), ["meta.yaml"])
      assert.isFalse(yield* fs.exists(`${root}/.pulumi/meta.yaml`))
    }),
  )

  it.effect("the history of the newest operations is kept, by their time and not by their name", () =>
    Effect.gen(function* () {
      const { fs, root, put, paths } = yield* scene
      const history = "history/platform-instance/instance"
      for (let time = 95; time <= 106; time++) {
        for (const kind of ["history.json.gz", "checkpoint.json", "checkpoint.json.attrs"]) {
          yield* put(`${history}/instance-${time}.${kind}`, "")
        }
      }
      yield* pruneHistory(paths)
      const left = yield* fs.readDirectory(`${root}/.pulumi/${history}`)
      assert.strictEqual(left.length, 30)
      assert.isFalse(left.some((name) => /-(95|96)\./.test(name)))
    }),
  )
})
