// What a step does in the target by hand, and what it sees there.
import { Effect, Option } from "effect"
import {
  ConfigMap,
  CustomResourceDefinition,
  Deployment,
  Namespace,
  Secret,
  Service,
  ValidatingAdmissionPolicy,
  ValidatingAdmissionPolicyBinding,
} from "../../../src/services/Kubernetes/Kinds.ts"
import type { KubeObject, ResourceKind } from "../../../src/services/Kubernetes/Kubernetes.ts"
import type { EngineSide } from "./Side.ts"

export const namespace = "wasmcloud"

const tenancy = (plural: string, kind: string): ResourceKind => ({
  group: "platform.di-framework.dev",
  version: "v1alpha1",
  plural,
  kind,
  namespaced: false,
})
export const Tenant = tenancy("tenants", "Tenant")
export const User = tenancy("users", "User")

const isOwn = ({ metadata }: KubeObject): boolean =>
  (metadata.namespace ?? namespace) === namespace &&
  !/^(default|kube-.*)$/.test(metadata.name) &&
  !metadata.name.startsWith("sh.helm.release")

/** Everything of the platform in the target, by kind and name. */
export const objectsOf = ({ client }: EngineSide) =>
  Effect.forEach(
    [
      ...[Namespace, ConfigMap, Secret, Service, Deployment, CustomResourceDefinition],
      ...[ValidatingAdmissionPolicy, ValidatingAdmissionPolicyBinding, Tenant, User],
    ],
    (kind) =>
      client.list(kind).pipe(
        // A kind of the platform's own, before it is defined.
        Effect.orElseSucceed((): ReadonlyArray<KubeObject> => []),
        Effect.map((objects) =>
          objects
            .filter(isOwn)
            .map(({ metadata }) => `${kind.kind} ${metadata.name}`)
            .sort(),
        ),
      ),
  ).pipe(Effect.map((names) => names.flat()))

/** Status of each revision of the release in the target. */
export const revisionsOf = ({ client }: EngineSide) =>
  client
    .list(Secret, { namespace, labelSelector: "owner=helm,name=wasmcloud" })
    .pipe(
      Effect.map((records) =>
        records.map(({ metadata }) => `${metadata.labels?.version} ${metadata.labels?.status}`).sort(),
      ),
    )

export const uidOf = ({ client }: EngineSide, kind: ResourceKind, name: string) =>
  client
    .get(kind, kind.namespaced ? { namespace, name } : { name })
    .pipe(Effect.map(Option.match({ onNone: () => undefined, onSome: ({ metadata }) => metadata.uid })))

/** Until an object is there. */
export const appears = Effect.fnUntraced(function* (side: EngineSide, kind: ResourceKind, name: string) {
  while ((yield* uidOf(side, kind, name)) === undefined) yield* Effect.sleep("100 millis")
})

/** A field of an object, by its path. */
export const fieldOf = (
  { client }: EngineSide,
  kind: ResourceKind,
  name: string,
  read: (object: KubeObject) => unknown,
) =>
  client
    .get(kind, kind.namespaced ? { namespace, name } : { name })
    .pipe(Effect.map(Option.match({ onNone: () => undefined, onSome: read })))

/** What the garbage collector does with an object that waits for its dependents to go: nothing here has any. */
const collectOnce = Effect.fnUntraced(function* ({ client }: EngineSide) {
  for (const kind of [Deployment, Tenant, User, Secret, ConfigMap]) {
    const objects = yield* client.list(kind).pipe(Effect.orElseSucceed((): ReadonlyArray<KubeObject> => []))
    for (const { metadata } of objects) {
      if (metadata.deletionTimestamp === undefined) continue
      const ref =
        metadata.namespace === undefined
          ? { name: metadata.name }
          : { namespace: metadata.namespace, name: metadata.name }
      yield* Effect.ignore(
        client.patch(kind, ref, { type: "merge", patch: { metadata: { finalizers: [] } } }),
      )
    }
  }
})

/** The same as the work, with somebody who collects garbage beside it. */
export const collecting = <A, E, R>(side: EngineSide, work: Effect.Effect<A, E, R>) =>
  Effect.raceFirst(
    work,
    Effect.forever(Effect.andThen(Effect.ignore(collectOnce(side)), Effect.sleep("500 millis"))),
  )

export const remove = ({ client }: EngineSide, kind: ResourceKind, name: string) =>
  client.delete(kind, kind.namespaced ? { namespace, name } : { name }, { propagation: "Background" })
