// What Helm does with the objects of a manifest: who owns one, creating, updating, deleting, waiting. The order of the
// requests and the texts of errors are those of Helm 4.3 (pkg/kube/client.go, pkg/action/validate.go).
import { Clock, Effect } from "effect"
import * as Kinds from "../../../src/services/Kubernetes/Kinds.ts"
import type { KubeObject, ObjectRef, ResourceKind } from "../../../src/services/Kubernetes/Kubernetes.ts"
import { at, type Json, objectOf } from "../kubernetes/Json.ts"
import { HelmFailure, type Manifest, manifestObjects } from "./Chart.ts"
import { HelmError, request, type Session, wrap } from "./Session.ts"
import { threeWayPatch } from "./ThreeWay.ts"

/** An object of a manifest, with where it is. */
export interface Resource {
  readonly kind: ResourceKind
  readonly ref: ObjectRef
  readonly manifest: Manifest
}

const kinds: ReadonlyArray<ResourceKind> = Object.values(Kinds).filter((value) => typeof value === "object")

const apiVersionOf = ({ group, version }: ResourceKind) => (group === "" ? version : `${group}/${version}`)

const resource = (manifest: Manifest, namespace: string): Resource => {
  const kind = kinds.find((each) => each.kind === manifest.kind && apiVersionOf(each) === manifest.apiVersion)
  const { name } = manifest.metadata
  if (kind === undefined) {
    throw new HelmFailure(
      `resource mapping not found for name: "${name}" namespace: "" from "": no matches for kind "${manifest.kind}" in version "${manifest.apiVersion}"`,
    )
  }
  if (!kind.namespaced) return { kind, ref: { name }, manifest }
  const own = manifest.metadata.namespace
  const at = typeof own === "string" ? own : namespace
  return {
    kind,
    ref: { namespace: at, name },
    manifest: { ...manifest, metadata: { ...manifest.metadata, namespace: at } },
  }
}

/** The objects of a manifest. Throws `HelmFailure` for a kind that there is not. */
export const resources = (manifest: string, namespace: string): ReadonlyArray<Resource> =>
  manifestObjects(manifest).map((object) => resource(object, namespace))

const managedBy = "app.kubernetes.io/managed-by"
const releaseName = "meta.helm.sh/release-name"
const releaseNamespace = "meta.helm.sh/release-namespace"

export interface Owner {
  readonly name: string
  readonly namespace: string
}

/** The object with the marks of the release that owns it. */
export const owned = (object: Resource, owner: Owner): Resource => {
  const { metadata } = object.manifest
  return {
    ...object,
    manifest: {
      ...object.manifest,
      metadata: {
        ...metadata,
        labels: { ...objectOf(metadata.labels), [managedBy]: "Helm" },
        annotations: {
          ...objectOf(metadata.annotations),
          [releaseName]: owner.name,
          [releaseNamespace]: owner.namespace,
        },
      },
    },
  }
}

/** `Service "vcluster" in namespace "host"`. */
const described = ({ kind, ref }: Resource) =>
  `${kind.kind} "${ref.name}" in namespace "${ref.namespace ?? ""}"`

/** `host/vcluster apps/v1, Kind=StatefulSet`. */
const named = ({ kind, ref }: Resource) =>
  `${ref.namespace ?? ""}/${ref.name} ${kind.group}/${kind.version}, Kind=${kind.kind}`

const wrongMark = (
  what: "label" | "annotation",
  marks: Readonly<Record<string, string>> = {},
  key: string,
  value: string,
): ReadonlyArray<string> => {
  const found = marks[key]
  if (found === value) return []
  return [
    found === undefined
      ? `${what} validation error: missing key "${key}": must be set to "${value}"`
      : `${what} validation error: key "${key}" must equal "${value}": current value is "${found}"`,
  ]
}

/** Why an object does not belong to a release; undefined when it does. */
const foreign = ({ metadata }: KubeObject, owner: Owner): string | undefined => {
  const wrong = [
    ...wrongMark("label", metadata.labels, managedBy, "Helm"),
    ...wrongMark("annotation", metadata.annotations, releaseName, owner.name),
    ...wrongMark("annotation", metadata.annotations, releaseNamespace, owner.namespace),
  ]
  return wrong.length === 0 ? undefined : `invalid ownership metadata; ${wrong.join("; ")}`
}

const get = ({ api }: Session, { kind, ref }: Resource) => request(() => api.get(kind, ref))

/** Those of these objects that are there already, as the release's own. Fails when one is somebody else's. */
export const adopted = Effect.fnUntraced(function* (
  session: Session,
  objects: ReadonlyArray<Resource>,
  owner: Owner,
) {
  const found: Array<Resource> = []
  for (const object of objects) {
    const live = yield* get(session, object).pipe(
      Effect.mapError(wrap(`could not get information about the resource ${described(object)}`)),
    )
    if (live === undefined) continue
    const why = foreign(live, owner)
    if (why !== undefined) {
      return yield* new HelmError({
        message: `${described(object)} exists and cannot be imported into the current release: ${why}`,
      })
    }
    found.push(object)
  }
  return found
})

/** How objects are written: on the server, perhaps taking over fields of others, or on the client as Helm 3 does. */
export interface Apply {
  readonly serverSide: boolean
  readonly force: boolean
}

const applyServerSide = ({ api }: Session, object: Resource, force: boolean) =>
  request(() => api.apply(object.kind, object.manifest, { force })).pipe(
    Effect.mapError((error) =>
      wrap(
        error.reason === "Conflict"
          ? `conflict occurred while applying object ${named(object)}`
          : `server-side apply failed for object ${named(object)}`,
      )(error),
    ),
    Effect.asVoid,
  )

const createOne = (session: Session, object: Resource, apply: Apply) =>
  apply.serverSide
    ? applyServerSide(session, object, apply.force)
    : Effect.asVoid(request(() => session.api.create(object.kind, object.manifest)))

/** Creates them in order. One that fails does not keep the next one back; all that failed are told. */
export const createAll = Effect.fnUntraced(function* (
  session: Session,
  objects: ReadonlyArray<Resource>,
  apply: Apply,
) {
  const errors: Array<HelmError> = []
  for (const object of objects) {
    yield* Effect.catch(createOne(session, object, apply), (error) => Effect.sync(() => errors.push(error)))
  }
  const [first] = errors
  if (first !== undefined) {
    return yield* new HelmError({ ...causeOf(first), message: errors.map((each) => each.message).join("\n") })
  }
})

const causeOf = ({ code, reason }: HelmError) => ({
  ...(code === undefined ? {} : { code }),
  ...(reason === undefined ? {} : { reason }),
})

const updateOne = Effect.fnUntraced(function* (
  session: Session,
  object: Resource,
  original: Resource | undefined,
  live: KubeObject,
  apply: Apply,
) {
  if (apply.serverSide) return yield* applyServerSide(session, object, apply.force)
  const before: Json = (original ?? object).manifest
  // The live object is read once more, for the patch.
  const current = yield* get(session, object)
  const patch = threeWayPatch(before, object.manifest, current ?? live)
  if (Object.keys(patch).length === 0) return
  yield* request(() => session.api.patch(object.kind, object.ref, { type: "merge", patch })).pipe(
    Effect.mapError(wrap(`cannot patch "${object.ref.name}" with kind ${object.kind.kind}`)),
  )
})

const isSame = (a: Resource) => (b: Resource) =>
  a.kind.kind === b.kind.kind &&
  a.kind.group === b.kind.group &&
  a.ref.name === b.ref.name &&
  a.ref.namespace === b.ref.namespace

/** Deletes what was in the manifest before and is not any more, unless it is marked to be kept. */
const removeDropped = Effect.fnUntraced(function* (session: Session, dropped: ReadonlyArray<Resource>) {
  const errors: Array<string> = []
  for (const object of dropped) {
    const live = yield* Effect.orElseSucceed(get(session, object), () => undefined)
    if (live === undefined || live.metadata.annotations?.["helm.sh/resource-policy"] === "keep") continue
    yield* deleteOne(session, object).pipe(
      Effect.catch((error) =>
        Effect.sync(() =>
          errors.push(
            `failed to delete resource namespace=${object.ref.namespace ?? ""}, name=${object.ref.name}, kind=${object.kind.kind}: ${error.message}`,
          ),
        ),
      ),
    )
  }
  return errors
})

/** Brings the cluster from one manifest to another: creates what is missing, updates, deletes what was dropped. */
export const updateAll = Effect.fnUntraced(function* (
  session: Session,
  originals: ReadonlyArray<Resource>,
  targets: ReadonlyArray<Resource>,
  apply: Apply,
) {
  const errors: Array<string> = []
  for (const target of targets) {
    const live = yield* get(session, target).pipe(
      Effect.mapError(wrap("could not get information about the resource")),
    )
    if (live === undefined) {
      yield* createOne(session, target, apply).pipe(Effect.mapError(wrap("failed to create resource")))
      continue
    }
    yield* updateOne(session, target, originals.find(isSame(target)), live, apply).pipe(
      Effect.catch((error) => Effect.sync(() => errors.push(error.message))),
    )
  }
  if (errors.length === 0) {
    const dropped = originals.filter((original) => !targets.some(isSame(original)))
    errors.push(...(yield* removeDropped(session, dropped)))
  }
  if (errors.length > 0) return yield* new HelmError({ message: errors.join(" && ") })
})

const deleteOne = ({ api }: Session, { kind, ref }: Resource) =>
  Effect.asVoid(request(() => api.delete(kind, ref, { propagation: "Background" })))

/** Splits what a release wants to delete into what is its own, and what is left alone: gone, foreign, unreadable. */
export const ownedAmong = Effect.fnUntraced(function* (
  session: Session,
  objects: ReadonlyArray<Resource>,
  owner: Owner,
) {
  const own: Array<Resource> = []
  for (const object of objects) {
    const fields = {
      kind: object.kind.kind,
      name: object.ref.name,
      namespace: object.ref.namespace ?? "",
      release: owner.name,
    }
    const live = yield* get(session, object).pipe(
      Effect.catch((error) =>
        Effect.sync(() => {
          const message = "skipping delete of resource because ownership could not be verified"
          session.log("WARN", message, { ...fields, error: error.message })
          return undefined
        }),
      ),
    )
    if (live === undefined) continue
    if (foreign(live, owner) === undefined) own.push(object)
    else session.log("WARN", "skipping delete of resource not owned by this release", fields)
  }
  return own
})

/** Deletes them all; gives the errors. */
export const deleteAll = Effect.fnUntraced(function* (session: Session, objects: ReadonlyArray<Resource>) {
  const errors: Array<HelmError> = []
  for (const object of objects) {
    yield* Effect.catch(deleteOne(session, object), (error) => Effect.sync(() => errors.push(error)))
  }
  return errors
})

/** How often a wait looks. */
const interval = "2 seconds"

const poll = Effect.fnUntraced(function* (
  timeoutMillis: number,
  remaining: Effect.Effect<ReadonlyArray<Resource>, HelmError>,
) {
  const deadline = (yield* Clock.currentTimeMillis) + timeoutMillis
  let left = yield* remaining
  while (left.length > 0 && (yield* Clock.currentTimeMillis) < deadline) {
    yield* Effect.sleep(interval)
    left = yield* remaining
  }
  return left
})

const filtered = (
  session: Session,
  objects: ReadonlyArray<Resource>,
  keep: (object: Resource, live: KubeObject | undefined) => boolean,
) =>
  Effect.forEach(objects, (object) =>
    Effect.map(get(session, object), (live) => (keep(object, live) ? [object] : [])),
  ).pipe(Effect.map((found) => found.flat()))

/** Waits until none of them is there any more; gives the error that Helm makes of the rest. */
export const waitForDelete = Effect.fnUntraced(function* (
  session: Session,
  objects: ReadonlyArray<Resource>,
  timeoutMillis: number,
) {
  const left = yield* poll(
    timeoutMillis,
    filtered(session, objects, (_, live) => live !== undefined),
  )
  if (left.length === 0) return
  const each = left.map(
    ({ kind, ref }) =>
      `resource ${kind.kind}/${ref.namespace ?? ""}/${ref.name} still exists. status: Terminating, message: Resource scheduled for deletion`,
  )
  return yield* new HelmError({ message: [...each, "context deadline exceeded"].join("\n") })
})

const number = (object: KubeObject, ...path: ReadonlyArray<string>): number =>
  Number(at(object, ...path) ?? 0)

/** Whether a workload has all its pods ready, and what else has no readiness is there. */
const isReady = (live: KubeObject): boolean => {
  if (live.kind === "Deployment" || live.kind === "StatefulSet") {
    const replicas = Number(at(live, "spec", "replicas") ?? 1)
    const seen = number(live, "status", "observedGeneration") >= (live.metadata.generation ?? 0)
    const updated = number(live, "status", "updatedReplicas") >= replicas
    return seen && updated && number(live, "status", "readyReplicas") >= replicas
  }
  return live.kind !== "PersistentVolumeClaim" || at(live, "status", "phase") === "Bound"
}

/** Waits until all of them are ready. */
export const waitForReady = Effect.fnUntraced(function* (
  session: Session,
  objects: ReadonlyArray<Resource>,
  timeoutMillis: number,
) {
  const left = yield* poll(
    timeoutMillis,
    filtered(session, objects, (_, live) => live === undefined || !isReady(live)),
  )
  if (left.length === 0) return
  const each = left.map(
    ({ kind, ref }) =>
      `resource ${kind.kind}/${ref.namespace ?? ""}/${ref.name} not ready. status: InProgress, message: `,
  )
  return yield* new HelmError({
    message:
      session.major === 3 ? "context deadline exceeded" : [...each, "context deadline exceeded"].join("\n"),
  })
})
