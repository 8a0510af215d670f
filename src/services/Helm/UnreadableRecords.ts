// Records of a release that nobody can read any more. Helm passes over what it cannot decode (seen: Helm 4.3.1): it uninstalls
// nothing of them and leaves them where they are, so that a release that is to go would never be gone.
import { Effect, Option, Result } from "effect"
import { Secret } from "../Kubernetes/Kinds.ts"
import { type KubeError, Kubernetes } from "../Kubernetes/Kubernetes.ts"
import type { ReleaseRef } from "./Helm.ts"
import { recordSelector, releaseObjects, releaseRevisions } from "./ReleaseRecord.ts"

/**
 * Removes the records that hold no release, each by its UID, and gives how many those were, and how many are left. What they
 * had installed stays: whoever removes the release's namespace removes that.
 */
export const removeUnreadable = Effect.fnUntraced(function* (
  release: ReleaseRef,
  /** Helm's own word on a revision that can be read here: its decoder is a stricter one. */
  isUnreadable: (revision: number) => Effect.Effect<boolean>,
): Effect.fn.Return<{ readonly removed: number; readonly left: number }, KubeError, Kubernetes> {
  const kubernetes = yield* Kubernetes
  const { namespace } = release
  const labelSelector = recordSelector(release)
  const records = yield* kubernetes.list(Secret, { namespace, labelSelector, metadataOnly: true })
  let removed = 0
  for (const { metadata } of records) {
    const { name, uid } = metadata
    const record = yield* kubernetes.get(Secret, { namespace, name })
    const read = yield* Effect.result(Effect.forEach(Option.toArray(record), releaseObjects))
    const [revision] = releaseRevisions(Option.toArray(record))
    const passedOver =
      Result.isSuccess(read) && revision !== undefined && (yield* isUnreadable(revision.revision))
    if (Result.isSuccess(read) && !passedOver) continue
    yield* Effect.logWarning("a release record that cannot be read is removed").pipe(
      Effect.annotateLogs({
        namespace,
        name,
        problem: Result.isFailure(read) ? read.failure : "Helm cannot decode it",
      }),
    )
    yield* kubernetes.delete(Secret, { namespace, name }, { uid })
    removed += 1
  }
  return { removed, left: records.length - removed }
})
