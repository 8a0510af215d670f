// Which tenant host builds a platform package approves. Nothing public says how a package lists them, so that
// this module is the one place that decides: the export `approvedTenantHostImages` of the main entrypoint,
// else the same key of its package.json under `diFramework`; a package with neither approves nothing.
import { Schema } from "effect"

const Images = Schema.Array(Schema.String)
const isImages = Schema.is(Images)

/** What a runner in the mode `approved-host-builds` writes; what is absent is null. */
const Reading = Schema.fromJsonString(Schema.Struct({ entrypoint: Schema.Unknown, manifest: Schema.Unknown }))

/** Decodes what the runner has read. */
export const decodeReading = Schema.decodeUnknownEffect(Reading)

/** The list, by the order above. A value that is no list of strings counts as absent. */
export const approvedHostBuilds = (reading: typeof Reading.Type): ReadonlyArray<string> =>
  [reading.entrypoint, reading.manifest].find(isImages) ?? []
