// Applies an object whose spec is the operator's alone. An apply leaves alone what another manager has added to a spec,
// and that can undo what it says: such a spec is replaced as a whole.
import { Effect, Equal } from "effect"
import {
  type KubeError,
  type KubeManifest,
  type KubeObject,
  Kubernetes,
  type ResourceKind,
} from "../../../services/Kubernetes/Kubernetes.ts"

/** The manifest has to say what the server would add by default: what it does not say is taken for somebody else's. */
export const applyWhole = Effect.fnUntraced(function* (
  kind: ResourceKind,
  manifest: KubeManifest,
): Effect.fn.Return<KubeObject, KubeError, Kubernetes> {
  const kubernetes = yield* Kubernetes
  const applied = yield* kubernetes.apply(kind, manifest)
  if (Equal.equals(applied.spec, manifest.spec)) return applied
  return yield* kubernetes.patch(kind, manifest.metadata, {
    type: "json",
    operations: [
      { op: "test", path: "/metadata/uid", value: applied.metadata.uid },
      { op: "replace", path: "/spec", value: manifest.spec },
    ],
  })
})
