// What an instance has of the node that no other may have as well: the port of its gateway, and where its storage root lies.
import { Schema } from "effect"
import { storageRootProblem, storageRootsOverlap } from "./StorageRoot.ts"

export const NodeShare = Schema.Struct({
  /** Absent: the gateway has no port of its own. */
  port: Schema.optional(Schema.Finite),
  /** A custom root. */
  root: Schema.optional(Schema.String),
  /**
   * A default root. It was made under the base of its time, which may not be today's: then nothing else keeps another
   * instance's custom root out of what its cleanup removes.
   */
  defaultRoot: Schema.optional(Schema.String),
})
export type NodeShare = typeof NodeShare.Type

export const noShare: NodeShare = {}

/** The root in a share that a custom root is equal to, lies in or around, or whose cleanup would reach it. */
export const rootInTheWay = (customRoot: string, { root, defaultRoot }: NodeShare): string | undefined => {
  if (root !== undefined && storageRootsOverlap(root, customRoot)) return root
  return defaultRoot !== undefined && storageRootProblem(customRoot, defaultRoot) !== undefined
    ? defaultRoot
    : undefined
}
