// POST: a new object.
import * as Kinds from "../../../src/services/Kubernetes/Kinds.ts"
import type { KubeObject } from "../../../src/services/Kubernetes/Kubernetes.ts"
import { apiVersion } from "../../../src/services/Kubernetes/Paths.ts"
import { admit } from "./Admission.ts"
import { pruned, schemaCauses, withDefaults } from "./Crd.ts"
import { defaulted } from "./Defaults.ts"
import { refuseEscalation } from "./Escalation.ts"
import { at, isJson, isList, type Json, objectOf, textOf, without, withPath } from "./Json.ts"
import { type Call, type Machine, stored } from "./Machine.ts"
import { ownByUpdate } from "./ManagedFields.ts"
import { prepareCreate } from "./Prepare.ts"
import { withPriority } from "./Priority.ts"
import { about, aboutKind, isCustom, type Resource } from "./Resources.ts"
import { alreadyExists, badRequest, forbidden, invalid, notFound, reasonless } from "./Status.ts"
import { metadataCauses, required, shapeCauses } from "./Validate.ts"

/** The body as an object of the kind that the path names. */
export const decoded = (resource: Resource, body: unknown): Json => {
  if (!isJson(body))
    throw badRequest(`the object provided is unrecognized (must be of type ${resource.kind.kind})`)
  const wanted = apiVersion(resource.kind)
  if (isCustom(resource) && body.kind === undefined)
    throw badRequest(
      `the object provided is unrecognized (must be of type ${resource.kind.kind}): Object 'Kind' is missing in '${JSON.stringify(body)}'`,
    )
  const [kind, version] = [body.kind ?? resource.kind.kind, body.apiVersion ?? wanted]
  if (kind !== resource.kind.kind || version !== wanted)
    throw badRequest(
      `${String(kind)} in version ${JSON.stringify(textOf(version)?.split("/").at(-1))} cannot be handled as a ${resource.kind.kind}`,
    )
  const given = objectOf(body.metadata)
  const metadata = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== null))
  return { ...body, apiVersion: wanted, kind: resource.kind.kind, metadata }
}

const isBlank = (value: unknown): boolean =>
  isList(value) ? value.length === 0 : isJson(value) && Object.keys(value).length === 0

const compactMetadata = (metadata: Json): Json =>
  Object.fromEntries(Object.entries(metadata).filter(([, value]) => !isBlank(value) && value !== null))

/** Maps of texts, which are not written when there is nothing in them; other empty objects are values. */
const TEXT_MAPS = new Set(["data", "labels", "annotations", "nodeSelector", "stringData"])

const compactValue = (value: unknown): unknown => {
  if (isList(value)) return value.map(compactValue)
  if (!isJson(value)) return value
  const kept = Object.entries(value).filter(
    ([field, item]) => item !== null && !(isBlank(item) && (isList(item) || TEXT_MAPS.has(field))),
  )
  return Object.fromEntries(kept.map(([field, item]) => [field, compactValue(item)]))
}

/** A built-in object as the server's own types write it: without empty lists and nulls. */
const compact = ({ metadata, status, ...rest }: Json): Json => ({
  ...objectOf(compactValue(rest)),
  metadata,
  ...(status !== undefined && { status }),
})

/** Defaults, and what the kind does not know. */
export const shaped = (resource: Resource, object: Json): Json => {
  const full = withPath(object, ["metadata"], compactMetadata(objectOf(object.metadata)))
  if (resource.schema === undefined) return defaulted(resource.kind.kind, compact(full))
  return withDefaults(resource.schema, pruned(resource.schema, full))
}

/** Throws 422 with all that is wrong. */
export const refuseInvalid = (resource: Resource, object: Json, before: Json | undefined): void => {
  const name = textOf(at(object, "metadata", "name"))
  const metadata = metadataCauses(resource, object, before)
  // An update's metadata is checked more than once, and each time its causes are listed; the message has them once.
  const checks = before === undefined ? 1 : isCustom(resource) ? 3 : 2
  const causes = [
    ...Array.from({ length: checks }, () => metadata).flat(),
    ...shapeCauses(resource, object, before),
  ]
  const all =
    resource.schema === undefined ? causes : [...causes, ...schemaCauses(resource.schema, object, before)]
  if (all.length > 0) throw invalid(aboutKind(resource, name), all)
}

/** Throws when nothing can be made in a namespace. */
export const refuseNamespace = (
  { store }: Machine,
  resource: Resource,
  namespace: string | undefined,
  name: string,
) => {
  if (namespace === undefined || !resource.kind.namespaced) return
  const found = store.get(Kinds.Namespace, undefined, namespace)
  if (found === undefined) throw notFound({ name: namespace, kind: "namespaces" })
  if (found.metadata.deletionTimestamp === undefined) return
  throw forbidden(
    about(resource, name),
    `unable to create new content in namespace ${namespace} because it is being terminated`,
    [
      {
        reason: "NamespaceTerminating",
        message: `namespace ${namespace} is being terminated`,
        field: "metadata.namespace",
      },
    ],
  )
}

const identified = (machine: Machine, call: Call, body: Json): Json => {
  const { resource } = call
  const metadata = objectOf(body.metadata)
  if (
    call.namespace !== undefined &&
    metadata.namespace !== undefined &&
    metadata.namespace !== call.namespace
  )
    throw badRequest("the namespace of the provided object does not match the namespace sent on the request")
  if (metadata.resourceVersion !== undefined && metadata.resourceVersion !== "")
    throw reasonless("resourceVersion should not be set on objects to be created")
  const prefix = textOf(metadata.generateName)
  const name = textOf(metadata.name) || (prefix === undefined ? undefined : `${prefix}${machine.suffix()}`)
  if (name === undefined)
    throw invalid(aboutKind(resource), [required("metadata.name", "name or generateName is required")])
  return {
    ...body,
    metadata: {
      ...without(
        metadata,
        "deletionTimestamp",
        "deletionGracePeriodSeconds",
        "generation",
        "managedFields",
        "selfLink",
      ),
      name,
      ...(call.namespace !== undefined && resource.kind.namespaced && { namespace: call.namespace }),
      uid: machine.uid(),
      creationTimestamp: machine.now(),
      ...(resource.generation && { generation: 1 }),
    },
  }
}

/** How the fields of a new object come to their owners. */
export type Own = (object: Json) => Json

export const ownedByPost =
  (machine: Machine, call: Call): Own =>
  (object) =>
    ownByUpdate(call.resource, undefined, object, {
      manager: call.manager,
      operation: "Update",
      apiVersion: apiVersion(call.resource.kind),
      subresource: undefined,
      time: machine.now(),
    })

export const create = (machine: Machine, call: Call, own: Own = ownedByPost(machine, call)): KubeObject => {
  const { resource } = call
  const draft = identified(machine, call, decoded(resource, call.body))
  const name = textOf(at(draft, "metadata", "name")) ?? ""
  refuseNamespace(machine, resource, call.namespace, name)
  const bare = resource.status ? without(draft, "status") : draft
  const prepared = prepareCreate(resource, own(shaped(resource, bare)), machine)
  const object = withPriority(machine.store, resource, prepared)
  refuseInvalid(resource, object, undefined)
  refuseEscalation(machine.store, machine.authorizer, call.identity, resource, object)
  admit(machine.store, {
    operation: "CREATE",
    resource,
    subresource: undefined,
    namespace: call.namespace,
    name,
    object,
    before: undefined,
    identity: call.identity,
    dryRun: call.dryRun,
  })
  if (machine.store.get(resource.kind, call.namespace, name) !== undefined)
    throw alreadyExists(about(resource, name))
  if (call.dryRun) return stored(object)
  const made = stored(withPath(object, ["metadata", "resourceVersion"], machine.store.nextVersion()))
  machine.store.put(resource.kind, made)
  return made
}
