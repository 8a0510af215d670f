// What the state says, read from the backend's file without running anything: whether an operation was cut
// off, and which Helm releases the program has made.
import { Data, Effect, FileSystem, Option, Schema } from "effect"
import { unpackedText } from "../Disk/Packed.ts"
import type { InstancePaths } from "../StateStore/StateStore.ts"
import { releaseType, stateFile } from "./Layout.ts"

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
  /** It has objects in the target, which a refresh looks at. */
  readonly inTarget: boolean
}

export class StateFileError extends Data.TaggedError("StateFileError")<{ readonly message: string }> {}

const Names = Schema.Struct({
  name: Schema.optionalKey(Schema.Unknown),
  namespace: Schema.optionalKey(Schema.Unknown),
  /** Of a provider. */
  clusterIdentifier: Schema.optionalKey(Schema.Unknown),
})
const Resource = Schema.Struct({
  type: Schema.String,
  inputs: Schema.optionalKey(Names),
  outputs: Schema.optionalKey(Names),
})
/** What a state holds. */
export const Deployment = Schema.Struct({
  manifest: Schema.optionalKey(Schema.Struct({ time: Schema.optionalKey(Schema.String) })),
  resources: Schema.optionalKey(Schema.NullOr(Schema.Array(Resource))),
  pending_operations: Schema.optionalKey(
    Schema.NullOr(Schema.Array(Schema.Struct({ resource: Resource, type: Schema.String }))),
  ),
})
export type Deployment = typeof Deployment.Type
/** Version 3 of the checkpoint format (seen: CLI 3.274.1). A stack that was only created has no `latest`. */
export const Checkpoint = Schema.Struct({
  checkpoint: Schema.Struct({
    stack: Schema.optionalKey(Schema.String),
    latest: Schema.optionalKey(Schema.NullOr(Deployment)),
  }),
})
const decode = Schema.decodeUnknownEffect(Schema.fromJsonString(Checkpoint))

const release = (resource: typeof Resource.Type, recorded: boolean): Option.Option<InnerRelease> => {
  if (resource.type !== releaseType) return Option.none()
  const name = resource.outputs?.name ?? resource.inputs?.name
  const namespace = resource.outputs?.namespace ?? resource.inputs?.namespace ?? "default"
  return typeof name === "string" && typeof namespace === "string"
    ? Option.some({ name, namespace, recorded })
    : Option.none()
}

/** The text of a file of the backend, packed or plain by what it begins with; fails when it is packed and was cut off. */
export const readPacked = Effect.fn("StateFile.readPacked")(function* (file: string) {
  const fs = yield* FileSystem.FileSystem
  const content = yield* fs.readFile(file).pipe(Effect.option)
  if (Option.isNone(content)) return Option.none<string>()
  return yield* Effect.try({
    try: () => Option.some(unpackedText(content.value)),
    catch: (cause) => new StateFileError({ message: `${file}: ${String(cause)}` }),
  })
})

/** The state's own text; `None` when there is none. */
export const readStateText = Effect.fn("StateFile.read")(function* (paths: InstancePaths) {
  const path = stateFile(paths)
  const packed = yield* readPacked(`${path}.json.gz`)
  return Option.isSome(packed) ? packed : yield* readPacked(`${path}.json`)
})

/** `None` when the instance has no state yet. */
export const readState = Effect.fn("StateFile.readState")(function* (paths: InstancePaths) {
  const path = stateFile(paths)
  const text = yield* readStateText(paths)
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
    inTarget: resources.some(({ type }) => type.startsWith("kubernetes:")),
  })
})
