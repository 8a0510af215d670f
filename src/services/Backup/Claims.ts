// What instances have of the node, by their records: those that live and those that were retained.
import path from "node:path"
import { Effect, Option, Schema } from "effect"
import { formatKey, type InstanceKey } from "../../schema/InstanceKey.ts"
import { Disk, unless } from "../Disk/Disk.ts"
import { instancesOf, recordIn } from "./StateCopy.ts"

export const Claim = Schema.Struct({
  /** `<namespace>/<name>` */
  instance: Schema.String,
  storageRoot: Schema.optionalKey(Schema.String),
  /** It was made below the operator's base, and goes with the instance. */
  isDefaultRoot: Schema.optionalKey(Schema.Boolean),
  httpNodePort: Schema.optionalKey(Schema.Finite),
})
export type Claim = typeof Claim.Type

const foldersIn = Effect.fnUntraced(function* (folder: string) {
  const disk = yield* Disk
  const entries = yield* disk.readdir(folder).pipe(unless(["ENOENT", "ENOTDIR"], []))
  return entries.flatMap(({ name, kind }) => (kind === "directory" ? [name] : [])).toSorted()
})

const claimIn = Effect.fnUntraced(function* (folder: string, instance: string) {
  // One that waits for its data has given up what it had.
  const record = Option.filter(yield* recordIn(folder), ({ restoring }) => restoring === undefined)
  return Option.map(record, ({ storageRoot, installed }): Claim => {
    const port = installed?.httpNodePort
    return {
      instance,
      ...(storageRoot === undefined
        ? {}
        : { storageRoot: storageRoot.path, isDefaultRoot: storageRoot.base !== undefined }),
      ...(port === undefined ? {} : { httpNodePort: port }),
    }
  })
})

/** Of every instance but this one. A record that cannot be read claims nothing. */
export const claimsBeside = Effect.fn("Backup.claimsBeside")(function* (stateDir: string, key: InstanceKey) {
  const base = yield* instancesOf(stateDir)
  const claims: Array<Claim> = []
  for (const namespace of yield* foldersIn(base)) {
    for (const name of yield* foldersIn(path.join(base, namespace))) {
      const instance = formatKey({ namespace, name })
      if (instance === formatKey(key)) continue
      claims.push(...Option.toArray(yield* claimIn(path.join(base, namespace, name), instance)))
    }
  }
  return claims
})
