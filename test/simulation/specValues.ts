// Every property of a PlatformInstance's spec, as the schema has it, and values for it: the least, the most, a typical one, one
// that breaks its rule, one in Unicode and a huge one. A property that is added to the schema is in here at once; one whose
// pattern or meaning no value is known for says so.
import { crd } from "../../src/schema/Crd.ts"
import type { StructuralSchema } from "../../src/schema/StructuralSchema.ts"
import { isJson, isList, type Json } from "../twins/kubernetes/Json.ts"

export const ABSENT = Symbol("absent")

/** `platform`, `tenants`, 0, `name`: an entry of a list stands for all of them. */
export type Path = ReadonlyArray<string | 0>

export interface Property {
  readonly path: Path
  readonly schema: StructuralSchema
}

const digest = (digit: string) => `sha256:${digit.repeat(64)}`

/** What a pattern allows: the least of it, something usual, the most. */
const byPattern: ReadonlyArray<readonly [pattern: string, least: string, typical: string, most: string]> = [
  ["^[0-9]+\\.[0-9]+\\.[0-9]+(-[0-9A-Za-z.-]+)?$", "0.0.0", "6.0.21", "999999.999999.999999-rc.1"],
  ["^https?://", "http://", "https://id.example/realms/a", `https://${"a".repeat(2040)}`],
  [
    "^[^@\\s]+@sha256:[0-9a-f]{64}$",
    `a@${digest("0")}`,
    `ghcr.io/di-framework/tenant-auth@${digest("a")}`,
    `${"a".repeat(440)}@${digest("f")}`,
  ],
  [
    "^[^\\s@]+(@sha256:[0-9a-f]{64})?$",
    "a",
    `ghcr.io/di-framework/wash:2.8.1@${digest("2")}`,
    "a".repeat(512),
  ],
  ["^[a-z][a-z0-9]*(-[a-z0-9]+)*$", "a", "acme", `a${"b".repeat(39)}`],
  ["^[0-9]+(\\.[0-9]+)?(m|Ki|Mi|Gi|Ti)?$", "0", "512Mi", `${"9".repeat(30)}Gi`],
]

/** Texts that have no pattern. */
const byName: Readonly<Record<string, readonly [least: string, typical: string, most: string]>> = {
  storageRoot: ["", "/srv/tenants/one", `/srv/${"a".repeat(200)}`],
  "clientSecretRef.name": ["o", "oauth", "o".repeat(253)],
  "clientSecretRef.key": ["k", "clientSecret", "k".repeat(253)],
  clientId: ["c", "console", "c".repeat(253)],
  issuerUpstream: ["", "issuer.team-a.svc:8080", `${"i".repeat(500)}.a:8080`],
  issuerIp: ["", "192.0.2.10", "192.168.100.200"],
  "memberships.tenant": ["", "acme", "a".repeat(40)],
}

const names = (path: Path) => path.filter((part) => part !== 0)

const textsOf = ({ path, schema }: Property): readonly [string, string, string] => {
  if (schema.enum !== undefined) {
    const [first = "", ...others] = schema.enum
    return [first, String(schema.default ?? first), others.at(-1) ?? first]
  }
  const matching = byPattern.find(([pattern]) => pattern === schema.pattern)
  if (matching !== undefined) return [matching[1], matching[2], matching[3]]
  const name = names(path)
  const known = byName[name.slice(-2).join(".")] ?? byName[String(name.at(-1))]
  if (known === undefined || schema.pattern !== undefined)
    throw new Error(`no values are known for ${name.join(".")} with the pattern ${schema.pattern}`)
  return known
}

export const classes = ["absent", "least", "most", "typical", "invalid", "Unicode", "huge"] as const
export type Class = (typeof classes)[number]

const HUGE = 300_000

const numbersOf = ({ schema }: Property, of: Class): unknown => {
  const { minimum = 1, maximum = 2 ** 53 - 1 } = schema
  switch (of) {
    case "least":
      return minimum
    case "most":
      return maximum
    case "typical":
      return schema.default ?? Math.min(maximum, minimum + 2)
    case "invalid":
      return minimum - 1
    case "Unicode":
      return "٣"
    default:
      return 2 ** 80
  }
}

const listOf = (property: Property, of: Class): unknown => {
  const { items, maxItems = 64 } = property.schema
  const path: Path = [...property.path, 0]
  const entries = (count: number) =>
    Array.from({ length: count }, (_, index) => {
      const entry = items === undefined ? undefined : typicalOf({ path, schema: items })
      const key = property.schema["x-kubernetes-list-map-keys"]?.[0] ?? "name"
      // The first is the one that others name.
      return index === 0 || !isJson(entry) ? entry : { ...entry, [key]: `n${index}` }
    })
  switch (of) {
    case "least":
      return []
    case "most":
      return entries(maxItems)
    case "typical":
      return entries(1)
    case "invalid":
      return [...entries(1), ...entries(1)]
    case "Unicode":
      return ["☃"]
    default:
      return entries(maxItems * 20)
  }
}

const typicalObject = ({ path, schema }: Property): Json =>
  Object.fromEntries(
    Object.entries(schema.properties ?? {}).map(([name, child]) => [
      name,
      typicalOf({ path: [...path, name], schema: child }),
    ]),
  )

/** With everything in it. */
const typicalOf = (property: Property): unknown =>
  property.schema.type === "object" ? typicalObject(property) : valueFor(property, "typical")

export const valueFor = (property: Property, of: Class): unknown => {
  if (of === "absent") return ABSENT
  const { schema } = property
  switch (schema.type) {
    case "boolean":
      return { least: false, most: true, typical: true, invalid: "yes", Unicode: "ｔｒｕｅ", huge: 1 }[of]
    case "integer":
      return numbersOf(property, of)
    case "array":
      return listOf(property, of)
    case "object":
      return {
        least: {},
        most: typicalObject(property),
        typical: typicalObject(property),
        invalid: "text",
        Unicode: ["☃"],
        huge: "x".repeat(HUGE),
      }[of]
    case "string": {
      const [least, typical, most] = textsOf(property)
      const invalid = schema.pattern === undefined && schema.enum === undefined ? 7 : "no such\tthing @"
      return { least, typical, most, invalid, Unicode: "ünï/☃‮", huge: "x".repeat(HUGE) }[of]
    }
  }
}

const walk = (path: Path, schema: StructuralSchema): ReadonlyArray<Property> => [
  ...(path.length === 0 || path.at(-1) === 0 ? [] : [{ path, schema }]),
  ...Object.entries(schema.properties ?? {}).flatMap(([name, child]) => walk([...path, name], child)),
  ...(schema.items === undefined ? [] : walk([...path, 0], schema.items)),
]

const specSchema = (): StructuralSchema => {
  const found = crd.spec.versions[0]?.schema.openAPIV3Schema.properties.spec
  if (found === undefined) throw new Error("the CRD has no spec")
  return found
}

/** Every property, those of entries of lists among them. */
export const properties: ReadonlyArray<Property> = walk([], specSchema())

export const formatPath = (path: Path) =>
  path.map((part, index) => (part === 0 ? "[]" : index === 0 ? part : `.${part}`)).join("")

const change = (value: unknown, [part, ...rest]: Path, to: unknown): unknown => {
  if (part === undefined) return to
  if (part === 0) return isList(value) ? [change(value[0], rest, to), ...value.slice(1)] : value
  const object = isJson(value) ? value : {}
  const next = change(object[part], rest, to)
  return Object.fromEntries(Object.entries({ ...object, [part]: next }).filter(([, each]) => each !== ABSENT))
}

/** The spec with this property set, or without it. */
export const withValue = (spec: Json, path: Path, value: unknown): Json => {
  const changed = change(spec, path, value)
  return isJson(changed) ? changed : {}
}

/** Everything is given, so that each property has a place; what cannot be together is as the platform has it. */
export const fullSpec: Json = [
  [["version"], "6.0.22"],
  [["platform", "storageRoot"], ABSENT],
  [["platform", "networkPolicyEngine"], "existing"],
].reduce<Json>(
  (spec, [path, value]) => withValue(spec, path as Path, value),
  typicalObject({ path: [], schema: specSchema() }),
)
