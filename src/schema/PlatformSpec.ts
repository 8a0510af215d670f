// `spec`: what a user asks for, with every default, bound and rule; and the defaults that must hold when `platform`
// is left out, where the CRD's do not reach.
import { Effect, Schema } from "effect"
import { celRule, int32Between, isHttpUrl, matches, upTo, VERSION_PATTERN } from "./Fields.ts"
import { Tenants, Users } from "./Tenancy.ts"
import { TenantAuth } from "./TenantAuth.ts"

export const Target = Schema.Struct({
  type: Schema.Literal("vcluster").annotate({
    description: "What kind of cluster the instance gets. v1alpha1 knows `vcluster` alone.",
  }),
})
  .check(celRule({ rule: "self == oldSelf", message: "target is immutable" }))
  .annotate({ description: "Where the platform is installed. Fixed at creation." })

export const Gateway = Schema.Struct({
  httpNodePort: int32Between(0, 32767)
    .annotate({
      default: 0,
      description: "The gateway's NodePort. With 0 its Service is a ClusterIP.",
    })
    .pipe(Schema.withDecodingDefaultKey(Effect.succeed(0))),
  httpEndpoint: Schema.optionalKey(
    Schema.String.check(isHttpUrl).annotate({
      description:
        "Where the gateway is reached from outside, such as `http://apps.example:30080`. Route URLs begin with it; it comes back as `status.endpoints.http`.",
    }),
  ),
}).annotate({ description: "The platform's HTTP gateway." })

export const Platform = Schema.Struct({
  networkPolicyEngine: Schema.Literals(["existing", "kube-router"])
    .annotate({
      default: "existing",
      description:
        "Who enforces NetworkPolicies: `existing` leaves it to the target, with `kube-router` the platform brings a controller along.",
    })
    .pipe(Schema.withDecodingDefaultKey(Effect.succeed("existing" as const))),
  storageRoot: Schema.optionalKey(
    Schema.String.annotate({
      description:
        "Where tenant data lies on the node. Fixed at creation. Empty stands for the operator's default, a directory an instance, which goes with `deletionPolicy: Delete`. A directory named here is the user's: the operator never removes it.",
    }),
  ),
  gateway: Schema.optionalKey(Gateway),
  tenants: Schema.optionalKey(Tenants),
  users: Schema.optionalKey(Users),
  tenantAuth: Schema.optionalKey(TenantAuth),
  tenantHostImage: Schema.optionalKey(
    upTo(512)
      .check(
        matches("^[^\\s@]+(@sha256:[0-9a-f]{64})?$", "an image reference, with or without @sha256:<digest>"),
      )
      .annotate({
        description:
          "What tenant hosts run. Changing it restarts them at the next install. Empty means the image in `status.applied.tenantHostImage`, or, for a new instance, the operator's default by digest, which the package of `spec.version` has to approve.",
      }),
  ),
  tenantHostImagePullPolicy: Schema.optionalKey(
    Schema.Literals(["Always", "IfNotPresent", "Never"]).annotate({
      description: "When that image is pulled; left out, the platform has `IfNotPresent`.",
    }),
  ),
})
  .check(
    celRule({
      rule: "!has(self.users) || self.users.all(u, u.memberships.all(m, has(self.tenants) && self.tenants.exists(t, t.name == m.tenant)))",
      message: "users[].memberships[].tenant must name an entry of tenants",
      holds: (platform) => {
        const tenants = new Set((platform.tenants ?? []).map((tenant) => tenant.name))
        return (platform.users ?? []).every((user) =>
          user.memberships.every((membership) => tenants.has(membership.tenant)),
        )
      },
    }),
  )
  .annotate({ description: "Settings of the platform itself." })
export type Platform = typeof Platform.Type

const storageRootOf = (self: string) =>
  `(has(${self}.platform) && has(${self}.platform.storageRoot) ? ${self}.platform.storageRoot : '')`

export const PlatformInstanceSpec = Schema.Struct({
  version: Schema.String.check(
    matches(VERSION_PATTERN, "an exact version such as 6.0.22, without a range or a leading v"),
  ).annotate({
    description:
      "The version of the package `@di-framework/platform`, written out in full, such as `6.0.17`; a range is refused.",
  }),
  target: Target,
  deletionPolicy: Schema.Literals(["Delete", "Retain"])
    .annotate({
      default: "Delete",
      description:
        "What deleting the instance does: `Delete` removes the target, its state and the default storage root, `Retain` keeps them for an instance of the same namespace and name.",
    })
    .pipe(Schema.withDecodingDefaultKey(Effect.succeed("Delete" as const))),
  platform: Schema.optionalKey(Platform),
})
  .check(
    // At this level, not on `platform`: a rule there does not run when `platform` comes or goes.
    celRule({
      rule: `${storageRootOf("self")} == ${storageRootOf("oldSelf")}`,
      message: "platform.storageRoot is immutable",
    }),
  )
  .annotate({ description: "What is asked for." })
export type PlatformInstanceSpec = typeof PlatformInstanceSpec.Type

/** `spec.platform` with every default in place. */
export interface EffectivePlatform extends Platform {
  readonly gateway: typeof Gateway.Type
}

/** The CRD's defaults inside `platform` and `gateway` only apply when those are given; these hold always. */
export const effectivePlatform = (spec: Pick<PlatformInstanceSpec, "platform">): EffectivePlatform => ({
  networkPolicyEngine: "existing",
  ...spec.platform,
  gateway: spec.platform?.gateway ?? { httpNodePort: 0 },
})

/** The custom storage root, or nothing: absent and empty are the same. */
export const customStorageRoot = (spec: Pick<PlatformInstanceSpec, "platform">): string | undefined => {
  const root = spec.platform?.storageRoot
  return root === "" ? undefined : root
}

/** As much of an object as its immutable fields need: a decoded instance or an undecoded manifest. */
export interface ImmutableFields {
  readonly spec: {
    readonly target: { readonly type: string }
    readonly platform?: { readonly storageRoot?: string }
  }
}

/** What the API server's transition rules say about an update: one message a broken rule, none when it is allowed. */
export const checkUpdate = (before: ImmutableFields, after: ImmutableFields): ReadonlyArray<string> => {
  const messages: Array<string> = []
  if (before.spec.target.type !== after.spec.target.type) messages.push("target is immutable")
  if ((before.spec.platform?.storageRoot ?? "") !== (after.spec.platform?.storageRoot ?? ""))
    messages.push("platform.storageRoot is immutable")
  return messages
}
