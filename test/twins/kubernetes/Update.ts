// PUT and PATCH: another state of an object that is there.
import type { KubeObject } from "../../../src/services/Kubernetes/Kubernetes.ts"
import { apiVersion } from "../../../src/services/Kubernetes/Paths.ts"
import { admit } from "./Admission.ts"
import { sameSpec, undeclaredField } from "./Crd.ts"
import { create, decoded, refuseInvalid, shaped } from "./Create.ts"
import { refuseEscalation } from "./Escalation.ts"
import { at, equal, isJson, type Json, listOf, objectOf, textOf, withField, withPath } from "./Json.ts"
import { type Call, type Machine, stored } from "./Machine.ts"
import { ownByApply, ownByUpdate, type Writer } from "./ManagedFields.ts"
import { jsonPatch, mergePatch } from "./Patch.ts"
import { prepareUpdate } from "./Prepare.ts"
import { about, isCustom, type Resource } from "./Resources.ts"
import {
  badRequest,
  conflict,
  invalid,
  modified,
  notFound,
  reasonless,
  unsupportedMediaType,
} from "./Status.ts"
import { STRATEGIC, strategicPatch } from "./Strategic.ts"
import { checkPatched, typedPath, undeclaredInModel } from "./Strict.ts"

/** What a client cannot change. */
const FIXED = [
  "name",
  "namespace",
  "creationTimestamp",
  "deletionTimestamp",
  "deletionGracePeriodSeconds",
  "generation",
  "generateName",
] as const

const live = ({ store }: Machine, call: Call): KubeObject => {
  const found = store.get(call.resource.kind, call.namespace, call.name ?? "")
  if (found === undefined) throw notFound(about(call.resource, call.name))
  return found
}

const refuseOtherName = (call: Call, object: Json): void => {
  const { name, namespace } = objectOf(object.metadata)
  if (name !== undefined && name !== call.name)
    throw badRequest(`the name of the object (${name}) does not match the name on the URL (${call.name})`)
  if (namespace !== undefined && call.namespace !== undefined && namespace !== call.namespace)
    throw badRequest("the namespace of the provided object does not match the namespace sent on the request")
}

/** A stale version is a conflict; none at all is one for custom resources alone, in a PUT. */
const refuseStale = (call: Call, before: KubeObject, object: Json): void => {
  const version = textOf(at(object, "metadata", "resourceVersion")) ?? ""
  if (version === "" || version === "0") return
  if (version !== before.metadata.resourceVersion) throw modified(about(call.resource, call.name))
}

const withFixed = (before: KubeObject, object: Json): Json => {
  const old = objectOf(before.metadata)
  let metadata = objectOf(object.metadata)
  for (const field of FIXED) metadata = withField(metadata, field, old[field])
  return {
    ...object,
    metadata: {
      ...metadata,
      uid: metadata.uid ?? old.uid,
      resourceVersion: old.resourceVersion,
      // A writer may say who owns what; one that says nothing leaves it as it was.
      managedFields: listOf(metadata.managedFields).length > 0 ? metadata.managedFields : old.managedFields,
    },
  }
}

/** What of the new state a request to this place takes; the rest stays as it was. */
const scoped = (call: Call, before: KubeObject, object: Json): Json => {
  const { resource, subresource } = call
  if (subresource === "finalize") return { ...object, status: before.status }
  if (subresource === "status") {
    // Built-in kinds take labels and annotations along; a Deployment's labels and a custom resource's metadata stay.
    const { labels, annotations, uid } = objectOf(object.metadata)
    const metadata = {
      ...before.metadata,
      ...objectOf(object.metadata),
      finalizers: before.metadata.finalizers,
    }
    const kept = isCustom(resource)
      ? { ...before.metadata, uid }
      : {
          ...metadata,
          labels: resource.kind.kind === "Deployment" ? before.metadata.labels : labels,
          annotations,
        }
    return withField(
      {
        ...before,
        metadata: withoutUndefined({ ...kept, managedFields: at(object, "metadata", "managedFields") }),
      },
      "status",
      object.status,
    )
  }
  return resource.status ? withField(object, "status", before.status) : object
}

const withoutUndefined = (object: Json): Json =>
  Object.fromEntries(Object.entries(object).filter(([, value]) => value !== undefined))

const specChanged = (call: Call, before: Json, after: Json): boolean => {
  if (!call.resource.generation || call.subresource !== undefined) return false
  return isCustom(call.resource) ? !sameSpec(before, after) : !equal(before.spec, after.spec)
}

/** A deleting object that nothing holds any more. */
const isReleased = (object: KubeObject): boolean => {
  if (object.metadata.deletionTimestamp === undefined || listOf(object.metadata.finalizers).length > 0)
    return false
  if (object.kind === "Namespace" && listOf(at(object, "spec", "finalizers")).length > 0) return false
  const grace = at(object, "metadata", "deletionGracePeriodSeconds")
  return grace === undefined || grace === 0
}

/** Writes the new state, or removes the object when its last finalizer went with it. */
const commit = (machine: Machine, call: Call, before: KubeObject, after: Json): KubeObject => {
  const { store } = machine
  if (equal(before, after)) return before
  const next = stored(after)
  if (call.dryRun) return next
  if (isReleased(next)) {
    const version = store.nextVersion()
    store.remove(call.resource.kind, stored(withPath(after, ["metadata", "resourceVersion"], version)))
    return next
  }
  const written = stored(withPath(after, ["metadata", "resourceVersion"], store.nextVersion()))
  store.put(call.resource.kind, written)
  return written
}

/** How the fields of the new state come to their owners; gives that state. */
type Own = (before: KubeObject, object: Json) => Json

const replace = (machine: Machine, call: Call, before: KubeObject, desired: Json, own: Own): KubeObject => {
  const { resource } = call
  refuseOtherName(call, desired)
  refuseStale(call, before, desired)
  const owned = own(before, shaped(resource, withFixed(before, desired)))
  const taken = scoped(call, before, owned)
  const prepared = call.subresource === undefined ? prepareUpdate(resource, taken, before, machine) : taken
  const generation = before.metadata.generation ?? 0
  const object = specChanged(call, before, prepared)
    ? withPath(prepared, ["metadata", "generation"], generation + 1)
    : prepared
  refuseInvalid(resource, object, before)
  refuseEscalation(machine.store, machine.authorizer, call.identity, resource, object)
  admit(machine.store, {
    operation: "UPDATE",
    resource,
    subresource: call.subresource,
    namespace: call.namespace,
    name: call.name,
    object,
    before,
    identity: call.identity,
    dryRun: call.dryRun,
  })
  return commit(machine, call, before, object)
}

const writerOf = (machine: Machine, call: Call, operation: Writer["operation"]): Writer => ({
  manager: call.manager,
  operation,
  apiVersion: apiVersion(call.resource.kind),
  subresource: call.subresource,
  time: machine.now(),
})

const ownedByUpdate =
  (machine: Machine, call: Call): Own =>
  (before, object) =>
    ownByUpdate(call.resource, before, object, writerOf(machine, call, "Update"))

export const put = (machine: Machine, call: Call): KubeObject => {
  const object = decoded(call.resource, call.body)
  refuseOtherName(call, object)
  const before = live(machine, call)
  const { uid, resourceVersion } = objectOf(object.metadata)
  if (!resourceVersion && !call.resource.unconditionalUpdate)
    throw invalid(about(call.resource, call.name), [
      {
        reason: "FieldValueInvalid",
        message: "Invalid value: 0: must be specified for an update",
        field: "metadata.resourceVersion",
      },
    ])
  if (uid !== undefined && uid !== "" && uid !== before.metadata.uid) {
    const { group, plural } = call.resource.kind
    const key = ["/registry", ...(group.includes(".") && isCustom(call.resource) ? [group] : []), plural]
    throw conflict(
      about(call.resource, call.name),
      `StorageError: invalid object, Code: 4, Key: ${[...key, call.namespace, call.name].filter((it) => it !== undefined).join("/")}, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: UID in precondition: ${uid}, UID in object meta: ${before.metadata.uid}`,
    )
  }
  return replace(machine, call, before, object, ownedByUpdate(machine, call))
}

const MERGE = "application/merge-patch+json"
const JSON_PATCH = "application/json-patch+json"
const APPLY = "application/apply-patch+yaml"

const merged = (resource: Resource, before: KubeObject, contentType: string, body: unknown): unknown => {
  if (contentType === STRATEGIC) return strategicPatch(resource, before, body)
  return contentType === MERGE ? mergePatch(before, body) : jsonPatch(before, body)
}

const patched = (resource: Resource, before: KubeObject, contentType: string, body: unknown): Json => {
  const result = merged(resource, before, contentType, body)
  if (!isJson(result)) throw badRequest("the patch leaves no object")
  return result
}

/** The answer of an apply tells whether the object was made. */
export interface Patched {
  readonly object: KubeObject
  readonly created: boolean
  /** What the server has left out, for a client that wants to know. */
  readonly warnings: ReadonlyArray<string>
}

const patchType = ({ contentType }: Call): string => contentType.split(";")[0] ?? ""

const refusePatchType = (call: Call): void => {
  const type = patchType(call)
  const known = type === MERGE || type === JSON_PATCH || (type === STRATEGIC && !isCustom(call.resource))
  if (!known) {
    const custom = `the body of the request was in an unknown format - accepted media types include: ${JSON_PATCH}, ${MERGE}, ${APPLY}`
    throw isCustom(call.resource)
      ? unsupportedMediaType(custom)
      : unsupportedMediaType("415: Unsupported Media Type", {})
  }
}

/** What a patch that is no apply makes of an object. */
export const patchedState = (call: Call, before: KubeObject): Json =>
  patched(call.resource, before, patchType(call), call.body)

export const patch = (machine: Machine, call: Call): Patched => {
  if (patchType(call) === APPLY) return apply(machine, call)
  refusePatchType(call)
  const before = live(machine, call)
  const desired = patchedState(call, before)
  const warnings = checkPatched(call, desired)
  const object = replace(machine, call, before, desired, ownedByUpdate(machine, call))
  return { object, created: false, warnings }
}

const refuseUndeclared = (call: Call, manifest: Json): void => {
  const { resource } = call
  const field =
    resource.schema === undefined
      ? undeclaredInModel(call, manifest)
      : undeclaredField(resource.schema, manifest)
  if (field === undefined) return
  const key = `${textOf(at(manifest, "metadata", "namespace")) ?? ""}/${call.name}`
  throw reasonless(
    `failed to create typed patch object (${key}; ${apiVersion(resource.kind)}, Kind=${resource.kind.kind}): ${typedPath(resource, manifest, field)}: field not declared in schema`,
  )
}

const apply = (machine: Machine, call: Call): Patched => {
  const { resource, query } = call
  if (!query.get("fieldManager"))
    throw invalid({ name: "", group: "meta.k8s.io", kind: "PatchOptions" }, [
      {
        reason: "FieldValueRequired",
        message: "Required value: is required for apply patch",
        field: "fieldManager",
      },
    ])
  const manifest = objectOf(call.body)
  if (manifest.kind !== resource.kind.kind || manifest.apiVersion !== apiVersion(resource.kind)) {
    const [group, version] = (textOf(manifest.apiVersion) ?? "").split(/\/(.*)/s)
    const named = version === undefined ? `/${group}` : `${group}/${version}`
    throw badRequest(`invalid object type: ${named}, Kind=${String(manifest.kind ?? "")}`)
  }
  if (at(manifest, "metadata", "managedFields") !== undefined)
    throw badRequest("metadata.managedFields must be nil")
  refuseOtherName(call, manifest)
  refuseUndeclared(call, manifest)
  const before = machine.store.get(resource.kind, call.namespace, call.name ?? "")
  const writer = writerOf(machine, call, "Apply")
  const force = query.get("force") === "true"
  const body =
    call.subresource === "status"
      ? manifest
      : withField(manifest, "status", resource.status ? undefined : manifest.status)
  if (before === undefined)
    return { object: applyNew(machine, call, body, writer), created: true, warnings: [] }
  refuseStale(call, before, manifest)
  const desired = ownByApply(
    resource,
    before,
    withPath(body, ["metadata", "resourceVersion"], undefined),
    writer,
    force,
  )
  const owners = at(desired, "metadata", "managedFields")
  const own: Own = (_, object) => withPath(object, ["metadata", "managedFields"], owners)
  return { object: replace(machine, call, before, desired, own), created: false, warnings: [] }
}

const applyNew = (machine: Machine, call: Call, manifest: Json, writer: Writer): KubeObject => {
  const uid = textOf(at(manifest, "metadata", "uid"))
  if (uid !== undefined)
    throw conflict(
      about(call.resource, call.name),
      `uid mismatch: the provided object specified uid ${uid}, and no existing object was found`,
    )
  if (call.subresource !== undefined) throw notFound(about(call.resource, call.name))
  const named = withPath(
    withPath(manifest, ["metadata", "name"], call.name),
    ["metadata", "resourceVersion"],
    undefined,
  )
  const owners = at(ownByApply(call.resource, undefined, named, writer, true), "metadata", "managedFields")
  return create(machine, { ...call, body: named }, (object) =>
    withPath(object, ["metadata", "managedFields"], owners),
  )
}
