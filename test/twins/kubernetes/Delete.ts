// DELETE of one object or of a collection: at once, or as a mark that finalizers, the garbage collector or the kubelet
// act on.
import * as Kinds from "../../../src/services/Kubernetes/Kinds.ts"
import type { KubeObject } from "../../../src/services/Kubernetes/Kubernetes.ts"
import { admit } from "./Admission.ts"
import { shownAs } from "./CoreEvents.ts"
import { at, type Json, listOf, objectOf, stringsOf, textOf, withField, withPath } from "./Json.ts"
import { type Call, type Machine, stored, timestamp } from "./Machine.ts"
import { selectorsOf } from "./Read.ts"
import { about, type Resource } from "./Resources.ts"
import { matcher } from "./Selectors.ts"
import { badRequest, conflict, forbidden, notFound } from "./Status.ts"

const ORPHAN = "orphan"
const FOREGROUND = "foregroundDeletion"

const refusePreconditions = (call: Call, object: KubeObject, options: Json): void => {
  const { uid, resourceVersion } = objectOf(options.preconditions)
  if (call.resource.kind.kind === Kinds.Namespace.kind && uid !== undefined && uid !== object.metadata.uid)
    throw conflict(
      about(call.resource, call.name),
      `Precondition failed: UID in precondition: ${uid}, UID in object meta: ${object.metadata.uid}`,
    )
  const named = { name: object.metadata.name, group: call.resource.kind.group, kind: call.resource.kind.kind }
  if (uid !== undefined && uid !== object.metadata.uid)
    throw conflict(
      named,
      `the UID in the precondition (${uid}) does not match the UID in record (${object.metadata.uid}). The object might have been deleted and then recreated`,
    )
  if (resourceVersion !== undefined && resourceVersion !== object.metadata.resourceVersion)
    throw conflict(
      named,
      `the ResourceVersion in the precondition (${resourceVersion}) does not match the ResourceVersion in record (${object.metadata.resourceVersion}). The object might have been modified`,
    )
}

/** What becomes of dependents. Without a word Jobs orphan their pods (batch/v1), all others have them collected. */
const propagationOf = (call: Call, object: KubeObject, options: Json): string => {
  const asked = textOf(options.propagationPolicy) ?? call.query.get("propagationPolicy")
  if (asked) return asked
  if (options.orphanDependents === true) return "Orphan"
  if (options.orphanDependents === false) return "Background"
  const kept = stringsOf(object.metadata.finalizers)
  if (kept.includes(ORPHAN)) return "Orphan"
  if (kept.includes(FOREGROUND)) return "Foreground"
  return call.resource.kind.kind === Kinds.Job.kind ? "Orphan" : "Background"
}

/** The finalizers with the one that tells the garbage collector what to do. */
const finalizersFor = (object: KubeObject, propagation: string): ReadonlyArray<string> => {
  const others = stringsOf(object.metadata.finalizers).filter((it) => it !== ORPHAN && it !== FOREGROUND)
  if (propagation === "Orphan") return [...others, ORPHAN]
  return propagation === "Foreground" ? [...others, FOREGROUND] : others
}

const DEFAULT_GRACE = 30

/** Seconds that a pod gets: none when it never ran or has ended. */
const graceOf = (call: Call, object: KubeObject, options: Json): number => {
  if (call.resource.kind.kind !== Kinds.Pod.kind) return 0
  const asked = options.gracePeriodSeconds ?? call.query.get("gracePeriodSeconds")
  if (asked !== undefined && asked !== null) return Number(asked)
  const phase = at(object, "status", "phase")
  if (!at(object, "spec", "nodeName") || phase === "Succeeded" || phase === "Failed") return 0
  return Number(at(object, "spec", "terminationGracePeriodSeconds") ?? DEFAULT_GRACE)
}

const marked = (
  machine: Machine,
  call: Call,
  object: KubeObject,
  grace: number,
  finalizers: ReadonlyArray<string>,
): Json => {
  const already = object.metadata.deletionTimestamp !== undefined
  const generation = object.metadata.generation
  const metadata = {
    ...object.metadata,
    deletionTimestamp: timestamp(machine.millis() + grace * 1000),
    deletionGracePeriodSeconds: grace,
    ...(generation !== undefined && { generation: already ? generation : generation + 1 }),
  }
  const next = {
    ...object,
    metadata: withField(metadata, "finalizers", finalizers.length === 0 ? undefined : finalizers),
  }
  // A namespace has no grace period: it has a phase.
  return call.resource.kind.kind === Kinds.Namespace.kind
    ? withPath(
        withPath(next, ["status", "phase"], "Terminating"),
        ["metadata", "deletionGracePeriodSeconds"],
        undefined,
      )
    : next
}

const isHeld = (call: Call, object: Json, grace: number): boolean =>
  grace > 0 ||
  listOf(at(object, "metadata", "finalizers")).length > 0 ||
  (call.resource.kind.kind === Kinds.Namespace.kind && listOf(at(object, "spec", "finalizers")).length > 0)

export interface Deleted {
  /** As it was last, or as it is now. */
  readonly object: KubeObject
  readonly gone: boolean
}

const isMarked = ({ metadata }: KubeObject, grace: number, finalizers: ReadonlyArray<string>): boolean =>
  metadata.deletionTimestamp !== undefined &&
  finalizers.join() === stringsOf(metadata.finalizers).join() &&
  Number(at(metadata, "deletionGracePeriodSeconds") ?? 0) <= grace

/** Gives the last state, under the version of the deletion. */
const vanish = (machine: Machine, call: Call, object: Json): KubeObject => {
  const version = machine.store.nextVersion()
  const last = stored(withPath(object, ["metadata", "resourceVersion"], version))
  machine.store.remove(call.resource.kind, last)
  return last
}

const deleteObject = (
  machine: Machine,
  call: Call,
  object: KubeObject,
  options: Json,
  collection: boolean,
): Deleted => {
  refusePreconditions(call, object, options)
  admit(machine.store, {
    operation: "DELETE",
    resource: call.resource,
    subresource: undefined,
    namespace: call.namespace ?? object.metadata.namespace,
    name: collection ? undefined : object.metadata.name,
    object: undefined,
    before: object,
    identity: call.identity,
    dryRun: call.dryRun,
  })
  const grace = graceOf(call, object, options)
  const finalizers = finalizersFor(object, propagationOf(call, object, options))
  const mark = marked(machine, call, object, grace, finalizers)
  if (isHeld(call, mark, grace)) {
    if (isMarked(object, grace, finalizers)) return { object, gone: false }
    if (call.dryRun) return { object: stored(mark), gone: false }
    const written = stored(withPath(mark, ["metadata", "resourceVersion"], machine.store.nextVersion()))
    machine.store.put(call.resource.kind, written)
    return { object: written, gone: false }
  }
  if (call.dryRun) return { object, gone: true }
  if (call.resource.kind.kind !== Kinds.Pod.kind) return { object: vanish(machine, call, object), gone: true }
  // A pod is marked first, even when nothing holds it.
  const written = stored(withPath(mark, ["metadata", "resourceVersion"], machine.store.nextVersion()))
  machine.store.put(call.resource.kind, written)
  return { object: vanish(machine, call, written), gone: true }
}

const optionsOf = (body: unknown): Json => {
  const options = objectOf(body)
  if (options.kind !== undefined && options.kind !== "DeleteOptions")
    throw badRequest(`${String(options.kind)} in version "v1" cannot be handled as a DeleteOptions`)
  return options
}

/** Initial namespaces of the system, which cannot be deleted. */
const IMMORTAL = new Set(["default", "kube-system", "kube-public"])

export const deleteOne = (machine: Machine, call: Call): Deleted => {
  const object = machine.store.get(call.resource.kind, call.namespace, call.name ?? "")
  if (object === undefined) throw notFound(about(call.resource, call.name))
  if (call.resource.kind.kind === Kinds.Namespace.kind && IMMORTAL.has(object.metadata.name))
    throw forbidden(about(call.resource, call.name), "this namespace may not be deleted")
  return deleteObject(machine, call, object, optionsOf(call.body), false)
}

/** One after the other; a refusal ends it, and what went before is gone. `shown`: as what the client selects among them. */
export const deleteCollection = (
  machine: Machine,
  call: Call,
  shown: Resource,
): ReadonlyArray<KubeObject> => {
  const selected = matcher(shown, selectorsOf(call.query))
  const objects = machine.store
    .list(call.resource.kind, call.namespace)
    .filter((object) => selected(shownAs(shown, object)))
  const options = optionsOf(call.body)
  for (const object of objects) deleteObject(machine, call, object, options, true)
  return objects
}
