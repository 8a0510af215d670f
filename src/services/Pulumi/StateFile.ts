// What the state says, read from the backend's file without running anything: whether an operation was cut
// off, and which Helm releases the program has made.
import { gunzipSync } from "node:zlib"
import { Data, Effect, FileSystem, Option, Schema } from "effect"
import type { InstancePaths } from "../StateStore/StateStore.ts"
import { stateFile } from "./Layout.ts"

/** A Helm release inside the target. */
export interface InnerRelease {
  readonly namespace: string
  readonly name: string
  /** The state has it as made; otherwise only an operation on it was begun. */
  readonly recorded: boolean
}

export interface StateSummary {
  readonly resources: number
  readonly pendingOperations: number
  readonly releases: ReadonlyArray<InnerRelease>
}

export class StateFileError extends Data.TaggedError("StateFileError")<{ readonly message: string }> {}

const Names = Schema.Struct({
  name: Schema.optionalKey(Schema.Unknown),
  namespace: Schema.optionalKey(Schema.Unknown),
})
const Resource = Schema.Struct({
  type: Schema.String,
  inputs: Schema.optionalKey(Names),
  outputs: Schema.optionalKey(Names),
})
/** Version 3 of the checkpoint format (seen: CLI 3.274.1). A stack that was only created has no `latest`. */
const Checkpoint = Schema.Struct({
  checkpoint: Schema.Struct({
    latest: Schema.optionalKey(
      Schema.NullOr(
        Schema.Struct({
          resources: Schema.optionalKey(Schema.NullOr(Schema.Array(Resource))),
          pending_operations: Schema.optionalKey(
            Schema.NullOr(Schema.Array(Schema.Struct({ resource: Resource, type: Schema.String }))),
          ),
        }),
      ),
    ),
  }),
})
const decode = Schema.decodeUnknownEffect(Schema.fromJsonString(Checkpoint))

const releaseType = "kubernetes:helm.sh/v3:Release"

const release = (resource: typeof Resource.Type, recorded: boolean): Option.Option<InnerRelease> => {
  if (resource.type !== releaseType) return Option.none()
  const name = resource.outputs?.name ?? resource.inputs?.name
  const namespace = resource.outputs?.namespace ?? resource.inputs?.namespace ?? "default"
  return typeof name === "string" && typeof namespace === "string"
    ? Option.some({ name, namespace, recorded })
    : Option.none()
}

const read = Effect.fn("StateFile.read")(function* (path: string) {
  const fs = yield* FileSystem.FileSystem
  const missing = Option.none<string>()
  const packed = yield* fs.readFile(`${path}.json.gz`).pipe(Effect.option)
  if (Option.isSome(packed)) {
    return yield* Effect.try({
      try: () => Option.some(gunzipSync(packed.value).toString("utf8")),
      catch: (cause) => new StateFileError({ message: `${path}.json.gz: ${String(cause)}` }),
    })
  }
  return yield* fs.readFileString(`${path}.json`).pipe(
    Effect.asSome,
    Effect.orElseSucceed(() => missing),
  )
})

/** `None` when the instance has no state yet. */
export const readState = Effect.fn("StateFile.readState")(function* (paths: InstancePaths) {
  const path = stateFile(paths)
  const text = yield* read(path)
  if (Option.isNone(text)) return Option.none<StateSummary>()
  const { checkpoint } = yield* decode(text.value).pipe(
    // Never the content: a state holds what is worth protecting.
    Effect.mapError(() => new StateFileError({ message: `${path}: cut off or of an unknown format` })),
  )
  const resources = checkpoint.latest?.resources ?? []
  const pending = checkpoint.latest?.pending_operations ?? []
  const recorded = resources.flatMap((resource) => Option.toArray(release(resource, true)))
  const begun = pending
    .flatMap((operation) => Option.toArray(release(operation.resource, false)))
    .filter((one) => !recorded.some((other) => other.name === one.name && other.namespace === one.namespace))
  return Option.some<StateSummary>({
    resources: resources.length,
    pendingOperations: pending.length,
    releases: [...recorded, ...begun],
  })
})
