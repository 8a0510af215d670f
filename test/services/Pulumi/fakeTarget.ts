// A target in memory, as far as Helm releases are looked at: objects, the kinds it knows, and what an apply of a
// manifest would make of an object. It refuses to be written to.
import { Effect, Option, Predicate } from "effect"
import {
  KubeError,
  type KubeManifest,
  type KubeObject,
  type KubernetesClient,
  type ObjectRef,
} from "../../../src/services/Kubernetes/Kubernetes.ts"

const keyOf = (kind: string, { namespace, name }: ObjectRef) => `${kind} ${namespace ?? ""}/${name}`

export const refused = (code: number, reason: string, ...fields: ReadonlyArray<string>) =>
  new KubeError({ code, reason, request: "PATCH x", message: reason, ...(fields.length > 0 && { fields }) })

const written = () => Effect.die(new Error("the target was written to"))

const resources: Readonly<Record<string, ReadonlyArray<object>>> = {
  "/api/v1": [
    { name: "configmaps", kind: "ConfigMap", namespaced: true },
    { name: "secrets", kind: "Secret", namespaced: true },
    { name: "namespaces", kind: "Namespace", namespaced: false },
  ],
  "/apis/apps/v1": [
    { name: "deployments", kind: "Deployment", namespaced: true },
    { name: "deployments/scale", kind: "Scale", namespaced: true },
  ],
  "/apis/batch/v1": [{ name: "jobs", kind: "Job", namespaced: true }],
}

const merge = (before: unknown, own: unknown): unknown =>
  Predicate.isObject(before) && Predicate.isObject(own) && !Array.isArray(before) && !Array.isArray(own)
    ? {
        ...before,
        ...Object.fromEntries(
          Object.entries(own).map(([key, value]) => [key, merge(Reflect.get(before, key), value)]),
        ),
      }
    : own

/** An object as the server keeps it. */
export const stored = (manifest: KubeManifest): KubeObject => ({
  ...manifest,
  metadata: {
    ...manifest.metadata,
    uid: `uid of ${manifest.metadata.name}`,
    resourceVersion: "7",
    generation: 2,
  },
  status: { ready: true },
})

export const makeTarget = (
  /** Asked anew each time. */
  objects: () => ReadonlyArray<KubeObject>,
  refusal: (manifest: KubeManifest) => Option.Option<KubeError> = () => Option.none(),
): KubernetesClient => {
  const find = (kind: string, ref: ObjectRef) =>
    objects().find((object) => keyOf(object.kind, object.metadata) === keyOf(kind, ref))
  return {
    get: (kind, ref) => Effect.sync(() => Option.fromNullishOr(find(kind.kind, ref))),
    list: (kind, { namespace, labelSelector = "" } = {}) =>
      Effect.sync(() =>
        objects().filter(
          ({ kind: own, metadata }) =>
            own === kind.kind &&
            metadata.namespace === namespace &&
            labelSelector.split(",").every((term) => {
              const [key = "", value] = term.split("=")
              return metadata.labels?.[key] === value
            }),
        ),
      ),
    apply: (kind, manifest, options) => {
      const before = find(kind.kind, manifest.metadata)
      if (options?.dryRun !== true || before === undefined) return written()
      const becomes = { ...before, ...manifest, metadata: { ...before.metadata, ...manifest.metadata } }
      for (const [field, value] of Object.entries(manifest)) {
        if (field !== "metadata") Reflect.set(becomes, field, merge(before[field], value))
      }
      const own = { ...becomes, metadata: { ...becomes.metadata, resourceVersion: "8", generation: 3 } }
      return Option.match(refusal(manifest), { onNone: () => Effect.succeed(own), onSome: Effect.fail })
    },
    raw: (path) =>
      resources[path] === undefined
        ? Effect.fail(refused(404, "NotFound"))
        : Effect.succeed(JSON.stringify({ resources: resources[path] })),
    create: written,
    patch: (kind, ref, patch, options) => {
      const before = find(kind.kind, ref)
      if (options?.dryRun !== true || before === undefined || patch.type !== "merge") return written()
      const { apiVersion } = before
      const manifest = { apiVersion, kind: kind.kind, metadata: ref, ...patch.patch }
      const own = { ...before, ...patch.patch }
      return Option.match(refusal(manifest), { onNone: () => Effect.succeed(own), onSome: Effect.fail })
    },
    delete: written,
  }
}
