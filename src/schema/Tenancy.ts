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
  .annotate({ description: "A letter first, then lower-case letters, digits and single hyphens; 40 in all." })

const quantity = (description: string) =>
  upTo(32)
    .check(matches("^[0-9]+(\\.[0-9]+)?(m|Ki|Mi|Gi|Ti)?$", "a quantity such as 500m, 1.5 or 512Mi"))
    .annotate({ description })

const count = (max: number, description: string) => int32Between(1, max).annotate({ description })

export const TenantRuntime = Schema.Struct({
  replicas: Schema.optionalKey(count(10, "Tenant host replicas.")),
  coreInstances: Schema.optionalKey(
    count(10000, "What a tenant host gets as `WASH_CORE_INSTANCES`; the platform's own value is 100."),
  ),
}).annotate({ description: "The tenant's hosts." })

export const TenantResources = Schema.Struct({
  cpu: Schema.optionalKey(quantity("How much CPU it may use: `500m`, `1.5`.")),
  memory: Schema.optionalKey(quantity("How much memory it may use: `512Mi`.")),
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
      description:
        "What becomes of the tenant's data when the tenant is removed. Left to the platform when not set.",
    }),
  ),
  runtime: Schema.optionalKey(TenantRuntime),
  resources: Schema.optionalKey(TenantResources),
})
export type Tenant = typeof Tenant.Type

export const Membership = Schema.Struct({
  tenant: upTo(40).annotate({ description: "Tenant name." }),
  role: Schema.Literals(["developer", "viewer"]).annotate({
    description: "What the user may do there.",
  }),
})
export type Membership = typeof Membership.Type

export const User = Schema.Struct({
  name: TenancyName,
  suspended: Schema.optionalKey(Schema.Boolean.annotate({ description: "Blocks the user's access." })),
  memberships: mapList(Membership, "tenant", 16).annotate({
    description: "Where the user belongs, each tenant once.",
  }),
})
export type User = typeof User.Type

export const Tenants = mapList(Tenant, "name", 32).annotate({ description: "The tenants of the platform." })
export const Users = mapList(User, "name", 128).annotate({
  description: "Who uses the platform, and in which tenants.",
})
