// The stack config that an instance's spec becomes: the keys `@di-framework/platform/existing` reads, without the
// project's prefix. Structured values are JSON, as `pulumi.Config.getObject` reads them. What the spec leaves out is
// left out here, so that a key gone from the spec is gone from the stack.
import { TENANT_AUTH_SECRET_NAME } from "./Names.ts"
import { effectivePlatform, type PlatformInstanceSpec } from "./PlatformSpec.ts"
import type { Tenant, User } from "./Tenancy.ts"
import type { TenantAuth } from "./TenantAuth.ts"

/** What the operator knows and the spec does not say. */
export interface SuppliedConfig {
  /** The effective storage root: recorded, custom or default. */
  readonly storageRoot: string
  /** The target's in-cluster address; it becomes the server of the tenants' kubeconfigs. */
  readonly kubernetesEndpoint: string
  /** The image used when the spec names none. Absent: the package's own default. */
  readonly tenantHostImage?: string
}

/** Without the keys that are undefined; nothing when none is left. Keys keep the order they are written in. */
const compact = (
  fields: Readonly<Record<string, unknown>>,
): Readonly<Record<string, unknown>> | undefined => {
  const given = Object.entries(fields).filter(([, value]) => value !== undefined)
  return given.length === 0 ? undefined : Object.fromEntries(given)
}

// Spelled out field by field, so that the text does not depend on the order the user wrote them in: an edit that
// changes nothing renders to the same config and starts no install.
const tenantConfig = ({ name, suspended, deletionPolicy, runtime, resources }: Tenant) =>
  compact({
    name,
    suspended,
    deletionPolicy,
    runtime: runtime && compact({ replicas: runtime.replicas, coreInstances: runtime.coreInstances }),
    resources:
      resources &&
      compact({
        cpu: resources.cpu,
        memory: resources.memory,
        workloads: resources.workloads,
        backingServices: resources.backingServices,
        serviceBindings: resources.serviceBindings,
        apiKeys: resources.apiKeys,
      }),
  })

const userConfig = ({ name, suspended, memberships }: User) =>
  compact({
    name,
    suspended,
    memberships: memberships.map(({ tenant, role }) => ({ tenant, role })),
  })

const registryConfig = ({ component, publicUrl, limits }: NonNullable<TenantAuth["registry"]>) =>
  compact({
    component,
    publicUrl,
    limits:
      limits &&
      compact({
        maxBodyBytes: limits.maxBodyBytes,
        maxConcurrent: limits.maxConcurrent,
        uploadIdleTimeoutMs: limits.uploadIdleTimeoutMs,
        upstreamTimeoutMs: limits.upstreamTimeoutMs,
      }),
  })

const tenantAuthConfig = (auth: TenantAuth) =>
  compact({
    image: auth.image,
    issuer: auth.issuer,
    oauthClient: compact({
      id: auth.clientId,
      secretName: auth.clientSecretRef === undefined ? undefined : TENANT_AUTH_SECRET_NAME,
    }),
    issuerUpstream: auth.issuerUpstream,
    issuerUpstreamPodPort: auth.issuerUpstreamPodPort,
    issuerIp: auth.issuerIp,
    consolePublicUrl: auth.consolePublicUrl,
    controllerPublicUrl: auth.controllerPublicUrl,
    registry: auth.registry && registryConfig(auth.registry),
  })

/** The whole plain config of a stack but for `kubeconfig`, whose path exists for one operation only. */
export const platformConfig = (
  spec: Pick<PlatformInstanceSpec, "platform">,
  supplied: SuppliedConfig,
): ReadonlyMap<string, string> => {
  const platform = effectivePlatform(spec)
  const values: Readonly<Record<string, string | undefined>> = {
    networkPolicyEngine: platform.networkPolicyEngine,
    storageRoot: supplied.storageRoot,
    httpNodePort: String(platform.gateway.httpNodePort),
    httpEndpoint: platform.gateway.httpEndpoint,
    kubernetesEndpoint: supplied.kubernetesEndpoint,
    tenants: platform.tenants && JSON.stringify(platform.tenants.map(tenantConfig)),
    users: platform.users && JSON.stringify(platform.users.map(userConfig)),
    tenantAuth: platform.tenantAuth && JSON.stringify(tenantAuthConfig(platform.tenantAuth)),
    tenantHostImage: platform.tenantHostImage ?? supplied.tenantHostImage,
    tenantHostImagePullPolicy: platform.tenantHostImagePullPolicy,
  }
  return new Map(
    Object.entries(values).flatMap(
      ([key, value]): ReadonlyArray<readonly [string, string]> => (value === undefined ? [] : [[key, value]]),
    ),
  )
}
