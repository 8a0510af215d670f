// Two questions about two CRDs: does the installed one know every field this operator writes and reads, and does the
// next one still accept every object an earlier release accepted.
import { Option, Schema } from "effect"
import { crd } from "./Crd.ts"
import { VERSION } from "./Names.ts"
import type { StructuralSchema } from "./StructuralSchema.ts"

/** As much of any CRD's schema as naming its fields needs; other keywords are not looked at. */
interface FieldTree {
  readonly properties?: Readonly<Record<string, FieldTree>>
  readonly items?: FieldTree
}
const FieldTree: Schema.Codec<FieldTree> = Schema.suspend(() =>
  Schema.Struct({
    properties: Schema.optionalKey(Schema.Record(Schema.String, FieldTree)),
    items: Schema.optionalKey(FieldTree),
  }),
)
const decodeCrd = Schema.decodeUnknownOption(
  Schema.Struct({
    spec: Schema.Struct({
      versions: Schema.Array(
        Schema.Struct({
          name: Schema.String,
          served: Schema.Boolean,
          schema: Schema.Struct({ openAPIV3Schema: FieldTree }),
        }),
      ),
    }),
  }),
)

const joined = (path: string, key: string): string => (path === "" ? key : `${path}.${key}`)

const missingIn = (installed: FieldTree, needed: FieldTree, path: string): ReadonlyArray<string> => [
  ...Object.entries(needed.properties ?? {}).flatMap(([key, child]) => {
    const other = Object.hasOwn(installed.properties ?? {}, key) ? installed.properties?.[key] : undefined
    return other === undefined ? [joined(path, key)] : missingIn(other, child, joined(path, key))
  }),
  ...(needed.items === undefined ? [] : missingIn(installed.items ?? {}, needed.items, `${path}[]`)),
]

/**
 * The fields this operator needs and the installed CRD lacks (the API server would prune them in silence): none when
 * the CRD is as new as the operator, or newer.
 */
export const missingFields = (installedCrd: unknown): ReadonlyArray<string> => {
  const needed: StructuralSchema = crd.spec.versions[0].schema.openAPIV3Schema
  const installed = Option.flatMapNullishOr(decodeCrd(installedCrd), ({ spec }) =>
    spec.versions.find((version) => version.name === VERSION && version.served),
  )
  return Option.match(installed, {
    onNone: () => [`version ${VERSION}`],
    onSome: ({ schema }) => missingIn(schema.openAPIV3Schema, needed, ""),
  })
}

const upperBounds = ["maximum", "maxLength", "maxItems"] as const
const lowerBounds = ["minimum", "minLength"] as const

const narrowedHere = (old: StructuralSchema, next: StructuralSchema): ReadonlyArray<string> => {
  const found: Array<string> = []
  if (old.type !== next.type) found.push(`type ${old.type} became ${next.type}`)
  for (const key of upperBounds)
    if ((next[key] ?? Number.POSITIVE_INFINITY) < (old[key] ?? Number.POSITIVE_INFINITY))
      found.push(`${key} became ${next[key]}`)
  for (const key of lowerBounds)
    if ((next[key] ?? Number.NEGATIVE_INFINITY) > (old[key] ?? Number.NEGATIVE_INFINITY))
      found.push(`${key} became ${next[key]}`)
  if (next.pattern !== undefined && next.pattern !== old.pattern) found.push(`pattern became ${next.pattern}`)
  if (next.format !== undefined && next.format !== old.format) found.push(`format became ${next.format}`)
  if (next.enum !== undefined) {
    const lost = old.enum?.filter((value) => !next.enum?.includes(value)) ?? ["anything else"]
    if (lost.length > 0) found.push(`no longer allows ${lost.join(", ")}`)
  }
  for (const key of next.required ?? [])
    if (!(old.required ?? []).includes(key)) found.push(`${key} became required`)
  if (next["x-kubernetes-list-type"] !== undefined && old["x-kubernetes-list-type"] === undefined)
    found.push("became a map list")
  for (const { rule } of next["x-kubernetes-validations"] ?? [])
    if (!(old["x-kubernetes-validations"] ?? []).some((known) => known.rule === rule))
      found.push(`new rule ${rule}`)
  return found
}

/**
 * Where the next schema may refuse what the old one accepted; a changed pattern or rule counts, because whether it
 * accepts more cannot be told. A default that changes counts too: it gives stored objects another meaning.
 */
export const narrowings = (
  old: StructuralSchema,
  next: StructuralSchema,
  path = "",
): ReadonlyArray<string> => [
  ...narrowedHere(old, next).map((what) => `${path}: ${what}`),
  ...(old.default === next.default ? [] : [`${path}: default became ${next.default}`]),
  ...Object.entries(old.properties ?? {}).flatMap(([key, child]) => {
    const other = next.properties?.[key]
    return other === undefined
      ? [`${joined(path, key)}: removed`]
      : narrowings(child, other, joined(path, key))
  }),
  ...(old.items === undefined || next.items === undefined
    ? []
    : narrowings(old.items, next.items, `${path}[]`)),
]
