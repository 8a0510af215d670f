// `spec.platform.tenants` and `spec.platform.users`: passed to the platform as they are; the bounds are those of the
// platform's own Tenant and User.
import { Schema } from "effect"
import { int32Between, mapList, matches, upTo } from "./Fields.ts"

const TenancyName = upTo(40)
  .check(
    matches(
      "^[a-z][a-z0-9]*(-[a-z0-9]+)*$",
      "1-40 lowercase letters, digits and hyphens, starting with a letter",
    ),
  )
  .annotate({ description: "1-40 lowercase letters, digits and hyphens, starting with a letter." })

const quantity = (description: string) =>
  upTo(32)
    .check(matches("^[0-9]+(\\.[0-9]+)?(m|Ki|Mi|Gi|Ti)?$", "a quantity such as 500m, 1.5 or 512Mi"))
    .annotate({ description })

const count = (max: number, description: string) => int32Between(1, max).annotate({ description })

export const TenantRuntime = Schema.Struct({
  replicas: Schema.optionalKey(count(10, "Tenant host replicas.")),
  coreInstances: Schema.optionalKey(
    count(10000, "`WASH_CORE_INSTANCES` for the tenant host (platform default 100)."),
  ),
}).annotate({ description: "The tenant's hosts." })

export const TenantResources = Schema.Struct({
  cpu: Schema.optionalKey(quantity("CPU quota, a quantity such as `500m` or `1.5`.")),
  memory: Schema.optionalKey(quantity("Memory quota, such as `512Mi`.")),
  workloads: Schema.optionalKey(count(1000, "Workload quota.")),
  backingServices: Schema.optionalKey(count(100, "Backing-service quota.")),
  serviceBindings: Schema.optionalKey(count(400, "Service-binding quota.")),
  apiKeys: Schema.optionalKey(count(10000, "API-key quota.")),
}).annotate({ description: "The tenant's quotas." })

export const Tenant = Schema.Struct({
  name: TenancyName,
  suspended: Schema.optionalKey(Schema.Boolean.annotate({ description: "Suspends the tenant." })),
  deletionPolicy: Schema.optionalKey(
    Schema.Literals(["Retain", "Delete"]).annotate({
      description: "What removing the tenant does to its data. The platform's default applies when unset.",
    }),
  ),
  runtime: Schema.optionalKey(TenantRuntime),
  resources: Schema.optionalKey(TenantResources),
})
export type Tenant = typeof Tenant.Type

export const Membership = Schema.Struct({
  tenant: upTo(40).annotate({ description: "Tenant name." }),
  role: Schema.Literals(["developer", "viewer"]).annotate({
    description: "The user's role in that tenant.",
  }),
})
export type Membership = typeof Membership.Type

export const User = Schema.Struct({
  name: TenancyName,
  suspended: Schema.optionalKey(Schema.Boolean.annotate({ description: "Blocks the user's access." })),
  memberships: mapList(Membership, "tenant", 16).annotate({
    description: "The tenants the user belongs to, one entry per tenant.",
  }),
})
export type User = typeof User.Type

export const Tenants = mapList(Tenant, "name", 32).annotate({ description: "The platform's `tenants`." })
export const Users = mapList(User, "name", 128).annotate({
  description: "The platform's `users` and their memberships.",
})
