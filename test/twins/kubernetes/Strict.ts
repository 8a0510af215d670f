// Field validation: what of a body the server leaves out. It warns of it, unless the client wants it refused or ignored
// (`fieldValidation`).

import { unknownToSchema } from "./Crd.ts"
import { at, canonical, type Json, listOf, objectOf } from "./Json.ts"
import { keyValue } from "./ListTypes.ts"
import type { Call } from "./Machine.ts"
import { METADATA, modelOf, unknownToModel } from "./Models.ts"
import type { Resource } from "./Resources.ts"
import { badRequest, invalid } from "./Status.ts"
import { goText, STRATEGIC } from "./Strategic.ts"

/** The fields of an object that its kind does not have, as paths. */
export const unknownFields = (resource: Resource, object: Json): ReadonlyArray<string> => {
  if (resource.schema !== undefined) {
    const metadata = unknownToModel(METADATA, objectOf(object.metadata)).map((field) => `metadata.${field}`)
    // What is pruned is told in the order of the alphabet.
    return [...metadata, ...[...unknownToSchema(resource.schema, object)].sort()]
  }
  const model = modelOf(resource.kind)
  return model === undefined ? [] : unknownToModel(model, object)
}

const STRICT = "strict decoding error: "

const found = (call: Call, object: Json): ReadonlyArray<string> => {
  if (call.query.get("fieldValidation") === "Ignore") return []
  return unknownFields(call.resource, object).map((field) => `unknown field ${JSON.stringify(field)}`)
}

const isStrict = (call: Call) => call.query.get("fieldValidation") === "Strict"

/** Of a whole object: warnings, or a refusal where the client is strict. */
export const checkFields = (call: Call, object: Json): ReadonlyArray<string> => {
  const all = found(call, object)
  if (all.length === 0 || !isStrict(call)) return all
  const { kind, version } = call.resource.kind
  throw badRequest(
    `${kind} in version ${JSON.stringify(version)} cannot be handled as a ${kind}: ${STRICT}${all.join(", ")}`,
  )
}

/** The same of what a patch has come to. The refusal names no object; it shows the patch, or what it would have made. */
export const checkPatched = (call: Call, object: Json): ReadonlyArray<string> => {
  const all = found(call, object)
  if (all.length === 0 || !isStrict(call)) return all
  const shown = call.contentType.startsWith(STRATEGIC) ? goText(call.body) : canonical(object)
  throw invalid({}, [
    {
      reason: "FieldValueInvalid",
      message: `Invalid value: ${JSON.stringify(shown)}: ${STRICT}${all.join(", ")}`,
      field: "patch",
    },
  ])
}

/** A path as server-side apply tells it: `.spec.containers[name="a"].image` in place of an index. */
export const typedPath = ({ listTypes }: Resource, manifest: Json, path: string): string => {
  let value: unknown = manifest
  let place = ""
  return path.replaceAll(/\.([^.[\]]+)|\[(\d+)\]/g, (text, field: string | undefined, index: string) => {
    if (field !== undefined) {
      value = at(value, field)
      place = place === "" ? field : `${place}.${field}`
      return text
    }
    const item = listOf(value)[Number(index)]
    const type = listTypes.get(place)
    value = item
    place = `${place}[]`
    if (type === undefined || typeof type === "string") return text
    return `[${type.map((key) => `${key}=${JSON.stringify(keyValue(item, key))}`).join(",")}]`
  })
}

/** The first field of a built-in kind's manifest that an apply cannot take, for a client that has its fields validated. */
export const undeclaredInModel = (call: Call, manifest: Json): string | undefined => {
  if (call.query.get("fieldValidation") === null) return undefined
  const [first] = unknownFields(call.resource, manifest)
  return first === undefined ? undefined : `.${first}`
}
