import { gzipSync } from "node:zlib"
import { NodeServices } from "@effect/platform-node"
import { assert, layer } from "@effect/vitest"
import { Effect, FileSystem, Option } from "effect"
import { readState } from "../../../src/services/Pulumi/StateFile.ts"
import { temporary } from "./harness.ts"

const releaseType = "kubernetes:helm.sh/v3:Release"
const checkpoint = {
  version: 3,
  checkpoint: {
    stack: "organization/platform-instance/instance",
    latest: {
      resources: [
        { type: "pulumi:pulumi:Stack", urn: "a" },
        {
          type: releaseType,
          urn: "b",
          inputs: { namespace: "wasmcloud" },
          outputs: { name: "made", namespace: "wasmcloud" },
        },
      ],
      pending_operations: [
        {
          type: "updating",
          resource: { type: releaseType, inputs: { name: "made", namespace: "wasmcloud" } },
        },
        {
          type: "creating",
          resource: { type: releaseType, inputs: { name: "begun", namespace: "wasmcloud" } },
        },
        { type: "creating", resource: { type: "kubernetes:core/v1:Namespace" } },
      ],
    },
  },
}

const scene = Effect.gen(function* () {
  const fs = yield* FileSystem.FileSystem
  const root = yield* temporary
  const folder = `${root}/backend/.pulumi/stacks/platform-instance`
  yield* fs.makeDirectory(folder, { recursive: true })
  const paths = { root, project: `${root}/project`, backend: `${root}/backend` }
  return { fs, paths, file: `${folder}/instance.json` }
})

layer(NodeServices.layer)("the state file", (it) => {
  it.effect("tells what was cut off, and which Helm releases there are, made and begun", () =>
    Effect.gen(function* () {
      const { fs, paths, file } = yield* scene
      const expected = Option.some({
        resources: 2,
        pendingOperations: 3,
        releases: [
          { name: "made", namespace: "wasmcloud", recorded: true },
          { name: "begun", namespace: "wasmcloud", recorded: false },
        ],
        inTarget: true,
      })
      yield* fs.writeFileString(file, JSON.stringify(checkpoint))
      assert.deepStrictEqual(yield* readState(paths), expected)
      yield* fs.writeFile(`${file}.gz`, gzipSync(JSON.stringify(checkpoint)))
      yield* fs.remove(file)
      assert.deepStrictEqual(yield* readState(paths), expected)
    }),
  )

  it.effect(
    "that is not there is no state; one that is cut off is a failure that repeats nothing of it",
    () =>
      Effect.gen(function* () {
        const { fs, paths, file } = yield* scene
        assert.deepStrictEqual(yield* readState(paths), Option.none())
        yield* fs.writeFileString(file, JSON.stringify(checkpoint).slice(0, 200))
        const error = yield* Effect.flip(readState(paths))
        assert.include(error.message, file.replace(".json", ""))
        assert.notInclude(error.message, "wasmcloud")
      }),
  )

  it.effect("of a stack that was only created holds nothing", () =>
    Effect.gen(function* () {
      const { fs, paths, file } = yield* scene
      yield* fs.writeFileString(file, '{"version":3,"checkpoint":{"stack":"x"}}')
      assert.deepStrictEqual(
        yield* readState(paths),
        Option.some({ resources: 0, pendingOperations: 0, releases: [], inTarget: false }),
      )
    }),
  )
})
