// Field validation: what of a body the server would silently leave out. A client asks for it with `fieldValidation`.

import { unknownToSchema } from "./Crd.ts"
import { type Json, objectOf } from "./Json.ts"
import type { Call } from "./Machine.ts"
import { METADATA, modelOf, unknownToModel } from "./Models.ts"
import type { Resource } from "./Resources.ts"
import { aboutKind } from "./Resources.ts"
import { badRequest, invalid } from "./Status.ts"

/** The fields of an object that its kind does not have, as paths. */
export const unknownFields = (resource: Resource, object: Json): ReadonlyArray<string> => {
  if (resource.schema !== undefined) {
    const metadata = unknownToModel(METADATA, objectOf(object.metadata)).map((field) => `metadata.${field}`)
    return [...metadata, ...unknownToSchema(resource.schema, object)]
  }
  const model = modelOf(resource.kind)
  return model === undefined ? [] : unknownToModel(model, object)
}

const STRICT = "strict decoding error: "

const found = (call: Call, object: Json): ReadonlyArray<string> => {
  const mode = call.query.get("fieldValidation")
  if (mode !== "Strict" && mode !== "Warn") return []
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

/** The same of what a patch has come to. */
export const checkPatched = (call: Call, object: Json, patch: unknown): ReadonlyArray<string> => {
  const all = found(call, object)
  if (all.length === 0 || !isStrict(call)) return all
  throw invalid(aboutKind(call.resource, call.name), [
    {
      reason: "FieldValueInvalid",
      message: `Invalid value: ${JSON.stringify(JSON.stringify(patch))}: ${STRICT}${all.join(", ")}`,
      field: "patch",
    },
  ])
}

/** The first field of a built-in kind's manifest that an apply cannot take, for a client that has its fields validated. */
export const undeclaredInModel = (call: Call, manifest: Json): string | undefined => {
  if (call.query.get("fieldValidation") === null) return undefined
  const [first] = unknownFields(call.resource, manifest)
  return first === undefined ? undefined : `.${first}`
}
