// Whose fields the provider makes its own before an update, so that an edit is undone and does not stay beside what it
// applies (read in 4.25.0, and seen).
import type { ObjectRef, ResourceKind } from "../../../../src/services/Kubernetes/Kubernetes.ts"
import type { ApiClient } from "../../kubernetes/ApiServer.ts"
import { at, type Json, listOf, objectOf, textOf } from "../../kubernetes/Json.ts"

const mergedFields = (left: Json, right: Json): Json => ({
  ...left,
  ...Object.fromEntries(
    Object.entries(right).map(([key, value]) => [key, mergedFields(objectOf(left[key]), objectOf(value))]),
  ),
})

/** kubectl's writes, and its own from before server-side apply. */
const mayTakeOver = (entry: Json): boolean => {
  const manager = textOf(entry.manager) ?? ""
  const update = ["kubectl", "before-first-apply", "pulumi-kubernetes", "pulumi-resource-kubernetes"]
  const names = entry.operation === "Update" ? update : ["kubectl"]
  return entry.subresource === undefined && names.some((name) => manager.startsWith(name))
}

export const takeOver = (client: ApiClient, kind: ResourceKind, ref: ObjectRef, manager: string): void => {
  const entries = listOf(at(client.get(kind, ref), "metadata", "managedFields")).map(objectOf)
  const isOwn = (entry: Json) => entry.operation === "Apply" && entry.manager === manager
  const isOther = (entry: Json) => !isOwn(entry) && mayTakeOver(entry)
  const others = entries.filter(isOther)
  if (others.length === 0) return
  const own = entries.find(isOwn) ?? { ...others[0], manager, operation: "Apply", fieldsV1: {} }
  const fieldsV1 = others
    .map((entry) => objectOf(entry.fieldsV1))
    .reduce(mergedFields, objectOf(own.fieldsV1))
  const value = [...entries.filter((entry) => !isOther(entry) && !isOwn(entry)), { ...own, fieldsV1 }]
  client.patch(kind, ref, {
    type: "json",
    operations: [{ op: "replace", path: "/metadata/managedFields", value }],
  })
}
