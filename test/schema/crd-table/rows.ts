// How rows of the CRD table are written: a verdict, and builders for the manifest around the one thing a row is about.
export type Json = string | number | boolean | null | ReadonlyArray<Json> | { readonly [key: string]: Json }
export type JsonObject = { readonly [key: string]: Json }

/** `message`: what is said word for word, where the reference gives the words. */
export interface Verdict {
  readonly valid: boolean
  readonly message?: string
}
export interface ManifestRow extends Verdict {
  readonly title: string
  readonly manifest: JsonObject
}
export interface UpdateRow extends Verdict {
  readonly title: string
  readonly before: JsonObject
  readonly after: JsonObject
}
/** A status written to an existing instance through the subresource. */
export interface StatusRow extends Verdict {
  readonly title: string
  readonly status: JsonObject
}

export const digest = `sha256:${"0123456789abcdef".repeat(4)}`
export const image = `ghcr.io/di-framework/tenant-auth@${digest}`
export const repeat = (text: string, n: number) => text.repeat(n)

export const manifest = (spec: Json, name = "one"): JsonObject => ({
  apiVersion: "platform.di-framework.dev/v1alpha1",
  kind: "PlatformInstance",
  metadata: { name },
  spec,
})
export const minimal: JsonObject = { version: "6.0.22", target: { type: "vcluster" } }
export const spec = (fields: JsonObject): JsonObject => manifest({ ...minimal, ...fields })
export const platform = (fields: Json): JsonObject => spec({ platform: fields })
export const tenant = (fields: JsonObject): JsonObject => platform({ tenants: [{ name: "acme", ...fields }] })
export const gateway = (fields: Json): JsonObject => platform({ gateway: fields })
export const user = (fields: JsonObject): JsonObject =>
  platform({ tenants: [{ name: "acme" }], users: [{ name: "dev", memberships: [], ...fields }] })
export const oidc: JsonObject = {
  issuer: "https://id.example",
  clientId: "console",
  clientSecretRef: { name: "oauth", key: "clientSecret" },
}
export const auth = (fields: Json): JsonObject => platform({ tenantAuth: fields })
export const auths = (fields: JsonObject): JsonObject => auth({ image, ...fields })
export const registry = (fields: JsonObject): JsonObject =>
  auths({ registry: { component: `ghcr.io/di-framework/oci-registry@${digest}`, ...fields } })

export const ok = (title: string, manifest: JsonObject): ManifestRow => ({ title, manifest, valid: true })
export const no = (title: string, manifest: JsonObject, message?: string): ManifestRow =>
  message === undefined ? { title, manifest, valid: false } : { title, manifest, valid: false, message }

/** Valid and invalid values of one field. */
export const field = (
  name: string,
  make: (value: Json) => JsonObject,
  valid: ReadonlyArray<Json>,
  invalid: ReadonlyArray<Json>,
): ReadonlyArray<ManifestRow> => {
  const label = (value: Json) => {
    const text = JSON.stringify(value)
    return `${name} = ${text.length > 56 ? `${text.slice(0, 34)}…${text.slice(-16)} (${text.length} characters)` : text}`
  }
  return [...valid.map((v) => ok(label(v), make(v))), ...invalid.map((v) => no(label(v), make(v)))]
}

export const integerBounds = (name: string, make: (value: Json) => JsonObject, min: number, max: number) =>
  field(name, make, [min, max], [min - 1, max + 1, 1.5, String(min), true])

export const names = (n: number) => Array.from({ length: n }, (_, i) => ({ name: `t${i}` }))
export const people = (n: number): ReadonlyArray<JsonObject> =>
  Array.from({ length: n }, (_, i) => ({ name: `u${i}`, memberships: [] }))
export const memberOf = (...tenants: ReadonlyArray<string>): ReadonlyArray<JsonObject> =>
  tenants.map((tenant) => ({ tenant, role: "viewer" }))

export const undeclared = "users[].memberships[].tenant must name an entry of tenants"
export const together = "tenantAuth needs issuer, clientId and clientSecretRef together"
export const nameTooLong = "name must be at most 63 characters"
