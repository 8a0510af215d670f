// Own writes that a cache has not shown yet: who acts on a cache that is behind his own write does it twice.
//
// A write is shown when the cache has seen the very version that the server answered, or the end of that life of the
// object (its UID). Versions are opaque, so "a later one" cannot be told: a list that jumps over a write leaves it
// open until the time is up, and the reader asks the server. That is rare (a list happens when a watch was lost), and
// the only answer that is never wrong.
import { Deferred, Duration, Effect, Option } from "effect"
import type { KubeObject } from "./Kubernetes.ts"

/** How long a reader waits for the cache. */
export const PATIENCE = Duration.seconds(5)
/** So many last versions a key are remembered: the watch often overtakes the answer to the write. */
const VERSIONS = 16
/** So many last deletions are remembered, for the same reason. */
const DELETIONS = 1024

interface Write {
  readonly uid: string
  readonly version: string
  readonly shown: Deferred.Deferred<void>
}

export interface WriteBarrier {
  /** The cache shows this state now. */
  readonly observed: (key: string, object: KubeObject) => Effect.Effect<void>
  /** The cache saw the end of this object. */
  readonly ended: (key: string, object: KubeObject) => Effect.Effect<void>
  /** The server answered a write with this. Replaces an earlier write of the same key. */
  readonly wrote: (key: string, object: KubeObject) => Effect.Effect<void>
  /** Waits at most five seconds; false when the cache is still behind: read live. */
  readonly settled: (key: string) => Effect.Effect<boolean>
}

export const makeWriteBarrier = (): WriteBarrier => {
  const writes = new Map<string, Write>()
  const versions = new Map<string, ReadonlyArray<string>>()
  const endings = new Set<string>()

  const settle = (key: string, isShown: (write: Write) => boolean): Effect.Effect<void> =>
    Effect.suspend(() => {
      const write = writes.get(key)
      if (write === undefined || !isShown(write)) return Effect.void
      writes.delete(key)
      return Effect.asVoid(Deferred.succeed(write.shown, undefined))
    })

  return {
    observed: (key, { metadata }) =>
      Effect.suspend(() => {
        const seen = versions.get(key) ?? []
        if (!seen.includes(metadata.resourceVersion)) {
          versions.set(key, [...seen, metadata.resourceVersion].slice(-VERSIONS))
        }
        return settle(key, (write) => write.version === metadata.resourceVersion)
      }),
    ended: (key, { metadata }) =>
      Effect.suspend(() => {
        versions.delete(key)
        endings.add(metadata.uid)
        for (const uid of endings) {
          if (endings.size <= DELETIONS) break
          endings.delete(uid)
        }
        return settle(key, (write) => write.uid === metadata.uid)
      }),
    wrote: (key, { metadata }) =>
      Effect.sync(() => {
        const shown =
          endings.has(metadata.uid) || (versions.get(key) ?? []).includes(metadata.resourceVersion)
        if (shown) writes.delete(key)
        else {
          writes.set(key, {
            uid: metadata.uid,
            version: metadata.resourceVersion,
            shown: Deferred.makeUnsafe(),
          })
        }
      }),
    settled: (key) =>
      Effect.suspend(() => {
        const write = writes.get(key)
        if (write === undefined) return Effect.succeed(true)
        return Deferred.await(write.shown).pipe(
          Effect.timeoutOption(PATIENCE),
          Effect.map((result) => {
            // Whoever reads live now need not wait again for the same write.
            if (Option.isNone(result) && writes.get(key) === write) writes.delete(key)
            return Option.isSome(result)
          }),
        )
      }),
  }
}
