// The state of a stack: resources as they were last made, and what was begun and not ended. Written in version 3 of the
// checkpoint format (seen: CLI 3.274.1).
import { Predicate, Schema } from "effect"
import type { Keeper } from "./Passphrase.ts"
import { remember } from "./remember.ts"
import { Secret } from "./sdk/Output.ts"

export type Properties = Readonly<Record<string, unknown>>

export interface ResourceState {
  readonly urn: string
  readonly custom: boolean
  readonly id?: string
  readonly type: string
  readonly inputs?: Properties
  readonly outputs?: Properties
  readonly parent?: string
  readonly provider?: string
  readonly dependencies?: ReadonlyArray<string>
  readonly initErrors?: ReadonlyArray<string>
  readonly retainOnDelete?: boolean
  /** Replaced by another of the same URN, and still to be deleted. */
  readonly delete?: boolean
}

export interface PendingOperation {
  readonly resource: ResourceState
  readonly type: "creating" | "updating" | "deleting"
}

export interface Deployment {
  readonly resources: ReadonlyArray<ResourceState>
  readonly pending: ReadonlyArray<PendingOperation>
}

/** Marks a secret in a state file (read in the SDK: a constant of the property format). */
const secretSignature = "1b47061264138c4ac30d75fd1eb44270"
const signatureKey = "4dabf18193072939515e22adb298388d"

const encrypted = (value: unknown, keeper: Keeper): unknown => {
  if (value instanceof Secret) {
    return {
      [signatureKey]: secretSignature,
      ciphertext: keeper.encrypt(JSON.stringify(value.value) ?? "null"),
    }
  }
  if (Array.isArray(value)) return value.map((inner) => encrypted(inner, keeper))
  if (!Predicate.isObject(value)) return value
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, encrypted(inner, keeper)]))
}

const decrypted = (value: unknown, keeper: Keeper): unknown => {
  if (Array.isArray(value)) return value.map((inner) => decrypted(inner, keeper))
  if (!Predicate.isObject(value)) return value
  if (signatureKey in value && value[signatureKey] === secretSignature) {
    if ("ciphertext" in value && typeof value.ciphertext === "string") {
      return new Secret(JSON.parse(keeper.decrypt(value.ciphertext)))
    }
  }
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, decrypted(inner, keeper)]))
}

const AnyProperties = Schema.Record(Schema.String, Schema.Unknown)
const Resource = Schema.Struct({
  urn: Schema.String,
  custom: Schema.Boolean,
  id: Schema.optionalKey(Schema.String),
  type: Schema.String,
  inputs: Schema.optionalKey(AnyProperties),
  outputs: Schema.optionalKey(AnyProperties),
  parent: Schema.optionalKey(Schema.String),
  provider: Schema.optionalKey(Schema.String),
  dependencies: Schema.optionalKey(Schema.Array(Schema.String)),
  initErrors: Schema.optionalKey(Schema.Array(Schema.String)),
  retainOnDelete: Schema.optionalKey(Schema.Boolean),
  delete: Schema.optionalKey(Schema.Boolean),
})
const Checkpoint = Schema.Struct({
  version: Schema.Literal(3),
  checkpoint: Schema.Struct({
    stack: Schema.String,
    latest: Schema.optionalKey(
      Schema.NullOr(
        Schema.Struct({
          secrets_providers: Schema.optionalKey(
            Schema.Struct({ type: Schema.String, state: Schema.Struct({ salt: Schema.String }) }),
          ),
          resources: Schema.optionalKey(Schema.Array(Resource)),
          pending_operations: Schema.optionalKey(
            Schema.Array(
              Schema.Struct({
                resource: Resource,
                type: Schema.Literals(["creating", "updating", "deleting"]),
              }),
            ),
          ),
        }),
      ),
    ),
  }),
})
const decodeCheckpoint = Schema.decodeUnknownSync(Checkpoint)

export interface StoredDeployment {
  readonly salt: string | undefined
  readonly open: (keeper: Keeper) => Deployment
}

const withSecrets = (resource: ResourceState, keeper: Keeper, change: typeof encrypted): ResourceState => {
  const part = (key: "inputs" | "outputs") => {
    const value = resource[key]
    const changed = value === undefined ? undefined : change(value, keeper)
    return Predicate.isObject(changed) ? { [key]: { ...changed } } : {}
  }
  return { ...resource, ...part("inputs"), ...part("outputs") }
}

/** Throws `SyntaxError` for a text that was cut off. */
export const parseCheckpoint = remember((text: string): StoredDeployment => {
  const latest = decodeCheckpoint(JSON.parse(text)).checkpoint.latest
  const opened = new WeakMap<Keeper, Deployment>()
  const open = (keeper: Keeper): Deployment => ({
    resources: (latest?.resources ?? []).map((one) => withSecrets(one, keeper, decrypted)),
    pending: (latest?.pending_operations ?? []).map(({ resource, type }) => ({
      type,
      resource: withSecrets(resource, keeper, decrypted),
    })),
  })
  return {
    salt: latest?.secrets_providers?.state.salt,
    open: (keeper) => {
      const deployment = opened.get(keeper) ?? open(keeper)
      opened.set(keeper, deployment)
      return deployment
    },
  }
})

const texts = new WeakMap<Keeper, WeakMap<ResourceState, string>>()

/** Most resources are as they were when the state was written last. */
const resourceText = (resource: ResourceState, keeper: Keeper): string => {
  const of = texts.get(keeper) ?? new WeakMap<ResourceState, string>()
  texts.set(keeper, of)
  const text = of.get(resource) ?? JSON.stringify(withSecrets(resource, keeper, encrypted))
  of.set(resource, text)
  return text
}

/** A field with a list of texts that are JSON already; nothing where there are none. */
const listField = (name: string, items: ReadonlyArray<string>): string =>
  items.length === 0 ? "" : `"${name}":[${items.join(",")}],`

export const checkpointText = (
  stack: string,
  { resources, pending }: Deployment,
  keeper: Keeper,
  time: string,
): string => {
  const manifest = JSON.stringify({ time, magic: "", version: "v3.274.1" })
  const provider = JSON.stringify({ type: "passphrase", state: { salt: keeper.salt } })
  const made = listField(
    "resources",
    resources.map((one) => resourceText(one, keeper)),
  )
  const begun = listField(
    "pending_operations",
    pending.map(({ resource, type }) => `{"resource":${resourceText(resource, keeper)},"type":"${type}"}`),
  )
  const latest = `{"manifest":${manifest},"secrets_providers":${provider},${made}${begun}"metadata":{}}`
  return `{"version":3,"checkpoint":{"stack":${JSON.stringify(stack)},"latest":${latest}}}`
}
