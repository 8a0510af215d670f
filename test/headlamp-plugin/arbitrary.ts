// Valid instances of any shape, made from the operator's own schema.
import { Arbitrary, Schema } from "effect"
import {
  isList,
  isObject,
  type Json,
  type JsonObject,
  type Path,
} from "../../headlamp-plugin/src/logic/schema.ts"
import { Gateway } from "../../src/schema/PlatformSpec.ts"
import { Tenant } from "../../src/schema/Tenancy.ts"
import { TenantAuth } from "../../src/schema/TenantAuth.ts"

const names = Schema.String.check(Schema.isPattern(/^[a-z][a-z0-9]{0,5}$/))

const Parts = Schema.Struct({
  version: Schema.String.check(Schema.isPattern(/^[0-9]{1,2}\.[0-9]{1,2}\.[0-9]{1,2}$/)),
  policy: Schema.optionalKey(Schema.Literals(["Delete", "Retain"])),
  platform: Schema.optionalKey(
    Schema.Struct({
      storageRoot: Schema.optionalKey(Schema.Literals(["/data", "/data/ä"])),
      gateway: Schema.optionalKey(Schema.toEncoded(Gateway)),
      tenants: Schema.optionalKey(Schema.Array(Tenant).check(Schema.isMinLength(1), Schema.isMaxLength(4))),
      users: Schema.optionalKey(
        Schema.Array(
          Schema.Struct({
            name: names,
            suspended: Schema.optionalKey(Schema.Boolean),
            roles: Schema.Array(Schema.Literals(["developer", "viewer"])).check(Schema.isMaxLength(4)),
          }),
        ).check(Schema.isMinLength(1), Schema.isMaxLength(4)),
      ),
      tenantAuth: Schema.optionalKey(TenantAuth),
    }),
  ),
})

const plain = (value: unknown): Json => JSON.parse(JSON.stringify(value))

const unique = <T extends { readonly name: string }>(items: ReadonlyArray<T>): ReadonlyArray<T> =>
  items.filter(({ name }, i) => items.findIndex((other) => other.name === name) === i)

const platformOf = ({ tenants, users, ...rest }: NonNullable<(typeof Parts.Type)["platform"]>): Json => {
  const declared = unique(tenants ?? [])
  return plain({
    ...rest,
    ...(tenants === undefined ? {} : { tenants: declared }),
    ...(users === undefined
      ? {}
      : {
          users: unique(users).map(({ roles, ...user }) => ({
            ...user,
            memberships: declared
              .slice(0, roles.length)
              .map(({ name }, i) => ({ tenant: name, role: roles[i] ?? "viewer" })),
          })),
        }),
  })
}

const objectOf = ({ version, policy, platform }: typeof Parts.Type): JsonObject => ({
  apiVersion: "platform.di-framework.dev/v1alpha1",
  kind: "PlatformInstance",
  metadata: { name: "one", namespace: "team-a" },
  spec: {
    version,
    target: { type: "vcluster" },
    deletionPolicy: policy ?? "Delete",
    ...(platform === undefined ? {} : { platform: platformOf(platform) }),
  },
})

export const instances: Arbitrary.Arbitrary<JsonObject> = Arbitrary.map(Arbitrary.schema(Parts), objectOf)

export interface Scalar {
  readonly path: Path
  readonly value: string | number | boolean
}

/** All that can be typed of an object, and how long its lists are; whether it has an object without fields. */
export const scalarsOf = (object: JsonObject) => {
  const scalars: Array<Scalar> = []
  const lists: Array<readonly [Path, number]> = []
  let empty = false
  const walk = (value: Json, path: Path): void => {
    if (isList(value)) {
      lists.push([path, value.length])
      for (const [i, item] of value.entries()) walk(item, [...path, i])
    } else if (isObject(value)) {
      if (Object.keys(value).length === 0) empty = true
      for (const [key, child] of Object.entries(value)) walk(child, [...path, key])
    } else if (value !== null) scalars.push({ path, value })
  }
  walk(object, [])
  return { scalars, lists, empty }
}
