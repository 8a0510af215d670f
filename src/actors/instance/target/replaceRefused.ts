// What Helm cannot put back by itself. It applies, and what is applied is laid beside what somebody else has written: a port of
// a Service that was given another number stays beside the one that comes back under the same name, and the server refuses the
// two (`Duplicate value`), as often as Helm tries (`Replacement.ts`).
import { Effect, Option, Result } from "effect"
import type { InstanceKey } from "../../../schema/InstanceKey.ts"
import { Helm, type HelmError } from "../../../services/Helm/Helm.ts"
import {
  type KubeError,
  type KubeManifest,
  Kubernetes,
  type ResourceKind,
} from "../../../services/Kubernetes/Kubernetes.ts"
import { replace, replacementOf } from "../../../services/Kubernetes/Replacement.ts"
import { Views } from "../Views.ts"
import { releaseRef } from "./observeTarget.ts"
import { kindOf, objectName, placed } from "./releaseObjects.ts"

const putBack = Effect.fnUntraced(function* (
  kind: ResourceKind,
  manifest: KubeManifest,
): Effect.fn.Return<void, KubeError, Kubernetes | Views> {
  const kubernetes = yield* Kubernetes
  const views = yield* Views
  const replacement = yield* replacementOf(kubernetes, kind, manifest)
  if (Option.isNone(replacement)) return
  const { metadata } = manifest
  const written = yield* replace(kubernetes, kind, metadata, replacement.value)
  yield* Effect.logInfo("replaced an object of the release that the server does not let Helm apply").pipe(
    Effect.annotateLogs({ object: `${kind.kind} ${metadata.namespace}/${metadata.name}` }),
  )
  yield* views.awaitWrite(kind, written)
})

/**
 * Before Helm applies this revision (again): replaces the content of each of its objects over which the server refuses that
 * (422). `edited`: of these alone, by `kind/name`; default: of all. It fails at nothing: what cannot be read or replaced is met
 * by Helm, too, which says why.
 */
export const replaceRefused = Effect.fn("Target.replaceRefused")(
  function* (
    key: InstanceKey,
    revision: number,
    edited?: ReadonlySet<string>,
  ): Effect.fn.Return<void, KubeError | HelmError, Helm | Kubernetes | Views> {
    if (edited?.size === 0) return
    const helm = yield* Helm
    const kubernetes = yield* Kubernetes
    const release = releaseRef(key)
    for (const object of (yield* helm.stored(release, revision)).objects) {
      const manifest = placed(release.namespace, object)
      const kind = kindOf(manifest)
      if (kind === undefined || edited?.has(objectName(kind, manifest)) === false) continue
      const applied = yield* Effect.result(kubernetes.apply(kind, manifest, { dryRun: true }))
      if (Result.isFailure(applied) && applied.failure.code === 422)
        yield* Effect.ignore(putBack(kind, manifest))
    }
  },
  (replaced) => Effect.ignore(replaced),
)
