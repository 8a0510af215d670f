// What instances have of the node, by their records: those that live and those that were retained.
import { Effect, Option, Schema } from "effect"
import { formatKey, type InstanceKey } from "../../schema/InstanceKey.ts"
import { NodeShare } from "../../schema/NodeShare.ts"
import { Disk } from "../Disk/Disk.ts"
import { instanceFolder, instanceFolders } from "../StateStore/InstanceFolders.ts"
import { shareOf } from "../StateStore/StateStore.ts"
import { recordIn } from "./StateCopy.ts"

export const Claim = Schema.Struct({
  /** `<namespace>/<name>` */
  instance: Schema.String,
  has: NodeShare,
})
export type Claim = typeof Claim.Type

/** Of every instance but this one. A record that cannot be read claims nothing. */
export const claimsBeside = Effect.fn("Backup.claimsBeside")(function* (stateDir: string, key: InstanceKey) {
  const disk = yield* Disk
  const base = yield* disk.realpath(stateDir)
  const claims: Array<Claim> = []
  for (const each of yield* instanceFolders(base)) {
    const instance = formatKey(each)
    if (instance === formatKey(key)) continue
    const record = yield* recordIn(instanceFolder(base, each))
    claims.push(...Option.toArray(record).map((found) => ({ instance, has: shareOf(found) })))
  }
  return claims
})
