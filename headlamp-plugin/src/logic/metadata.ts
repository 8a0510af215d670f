// What of ObjectMeta a user writes, checked by the API server's own rules: a CRD says nothing about it but the name's length.
import { type Issue, issue } from "./checks.ts"
import { isObject, type Json, valueAt } from "./schema.ts"
import { say } from "./words.ts"

const codePoints = (text: string): number => [...text].length

/** Fields of ObjectMeta (k8s.io/apimachinery, meta/v1): a strict server refuses any other. */
const METADATA = new Set(
  "name generateName namespace selfLink uid resourceVersion generation creationTimestamp deletionTimestamp deletionGracePeriodSeconds labels annotations ownerReferences finalizers managedFields".split(
    " ",
  ),
)

export const checkMetadata = (metadata: Json | undefined): ReadonlyArray<Issue> => {
  const name = valueAt(metadata, ["name"])
  const namespace = valueAt(metadata, ["namespace"])
  const found: Array<Issue> = []
  if (name === undefined || name === "") found.push(issue(["metadata", "name"], say("is required")))
  else if (
    typeof name !== "string" ||
    codePoints(name) > 253 ||
    !/^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/.test(name)
  )
    found.push(
      issue(
        ["metadata", "name"],
        say("must be lower-case letters, digits, hyphens and dots, and begin and end with a letter or digit"),
      ),
    )
  if (namespace === "") found.push(issue(["metadata", "namespace"], say("is required")))
  else if (
    namespace !== undefined &&
    (typeof namespace !== "string" || !/^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/.test(namespace))
  )
    found.push(
      issue(["metadata", "namespace"], say("must be at most 63 lower-case letters, digits and hyphens")),
    )
  for (const key of isObject(metadata) ? Object.keys(metadata) : [])
    if (!METADATA.has(key)) found.push(issue(["metadata", key], say("is not a field of metadata")))
  return found
}
