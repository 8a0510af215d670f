// What deleting an instance needs to know of it, read even from an object whose spec no longer decodes: deleting must
// always be possible.
import { Effect, Schema } from "effect"
import { InstanceMetadata } from "./PlatformInstance.ts"

const Readable = Schema.Struct({
  metadata: InstanceMetadata,
  spec: Schema.optionalKey(Schema.Unknown),
})

const SpecPart = Schema.Struct({
  deletionPolicy: Schema.optionalKey(Schema.Unknown),
  platform: Schema.optionalKey(Schema.Unknown),
})
const PlatformPart = Schema.Struct({ storageRoot: Schema.optionalKey(Schema.Unknown) })

const decodeReadable = Schema.decodeUnknownEffect(Readable, { errors: "all" })
const isSpecPart = Schema.is(SpecPart)
const isPlatformPart = Schema.is(PlatformPart)

export interface DeletionView {
  readonly metadata: InstanceMetadata
  readonly deletionPolicy: "Delete" | "Retain"
  /** A custom storage root is never removed. */
  readonly customStorageRoot: boolean
  /** Which one, where that can be read. */
  readonly storageRoot?: string
}

const isSet = (value: unknown): boolean => value !== undefined && value !== null && value !== ""

/**
 * Only what says so, or says nothing, is deleted: a spec or a policy that cannot be read counts as `Retain`, a storage
 * root that cannot be read as a custom one. Fails when not even the metadata can be read.
 */
export const decodeDeletionView = (object: unknown): Effect.Effect<DeletionView, Schema.SchemaError> =>
  decodeReadable(object).pipe(
    Effect.map(({ metadata, spec }): DeletionView => {
      if (!isSpecPart(spec)) return { metadata, deletionPolicy: "Retain", customStorageRoot: true }
      const { deletionPolicy, platform } = spec
      const root = isPlatformPart(platform) ? platform.storageRoot : undefined
      return {
        metadata,
        deletionPolicy: deletionPolicy === "Delete" || !isSet(deletionPolicy) ? "Delete" : "Retain",
        customStorageRoot: isPlatformPart(platform) ? isSet(root) : isSet(platform),
        ...(typeof root === "string" && isSet(root) && { storageRoot: root }),
      }
    }),
  )
