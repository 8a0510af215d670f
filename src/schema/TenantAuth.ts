// `spec.platform.tenantAuth`: the per-tenant console and `/v1` API against an OIDC issuer. The client secret is never
// inline: `clientSecretRef` names where it lies.
import { Schema } from "effect"
import { between, celRule, int32Between, int64AtLeast, isHttpUrl, isPinnedImage, upTo } from "./Fields.ts"

const url = (description: string) => upTo(2048).check(isHttpUrl).annotate({ description })
const pinnedImage = (description: string) => upTo(512).check(isPinnedImage).annotate({ description })
const limit = (description: string) => Schema.optionalKey(int64AtLeast(1).annotate({ description }))

export const SecretKeyRef = Schema.Struct({
  name: between(1, 253).annotate({
    description: "Secret in the PlatformInstance's namespace holding the OAuth client secret.",
  }),
  key: between(1, 253).annotate({ description: "Key in that Secret." }),
})
export type SecretKeyRef = typeof SecretKeyRef.Type

export const Registry = Schema.Struct({
  component: pinnedImage(
    "The oci-registry component, pinned by digest. Deploys each tenant's own OCI registry.",
  ),
  publicUrl: Schema.optionalKey(url("Registry origin users log in to.")),
  limits: Schema.optionalKey(
    Schema.Struct({
      maxBodyBytes: limit("Largest request body, in bytes."),
      maxConcurrent: limit("Most requests at a time."),
      uploadIdleTimeoutMs: limit("An upload that is idle for so many milliseconds is ended."),
      upstreamTimeoutMs: limit("How many milliseconds the registry behind it has to answer."),
    }).annotate({ description: "Bounds the controller's registry front." }),
  ),
})

export const TenantAuth = Schema.Struct({
  image: pinnedImage("The tenant-auth image, pinned by digest."),
  issuer: Schema.optionalKey(url("OIDC issuer URL, as both pods and browsers name it.")),
  clientId: Schema.optionalKey(
    between(1, 253).annotate({ description: "The console's confidential OAuth client." }),
  ),
  clientSecretRef: Schema.optionalKey(
    SecretKeyRef.annotate({
      description:
        "Where the client secret lies. It is read at each install and repair and appears in no status, Event or log.",
    }),
  ),
  issuerUpstream: Schema.optionalKey(
    upTo(512).annotate({
      description:
        "In-cluster `<service>.<namespace>[.svc...]:<port>` a sidecar forwards a loopback issuer's port to.",
    }),
  ),
  issuerUpstreamPodPort: Schema.optionalKey(
    int32Between(1, 65535).annotate({ description: "Pod port behind `issuerUpstream`." }),
  ),
  issuerIp: Schema.optionalKey(
    upTo(15).annotate({ description: "The issuer's IPv4 when pods cannot resolve its hostname." }),
  ),
  consolePublicUrl: Schema.optionalKey(
    url("Browser-visible console URL; `{tenant}` is replaced with the tenant name."),
  ),
  controllerPublicUrl: Schema.optionalKey(url("Controller URL shown to users and CLIs.")),
  registry: Schema.optionalKey(Registry.annotate({ description: "Each tenant's own OCI registry." })),
})
  .check(
    celRule({
      rule: "has(self.issuer) == has(self.clientId) && has(self.clientId) == has(self.clientSecretRef)",
      message: "tenantAuth needs issuer, clientId and clientSecretRef together",
      holds: (auth) => {
        const given = [auth.issuer, auth.clientId, auth.clientSecretRef].filter((x) => x !== undefined)
        return given.length === 0 || given.length === 3
      },
    }),
  )
  .annotate({
    description:
      "Enables the per-tenant console and `/v1` API against an OIDC issuer. Unset, tenants get no console.",
  })
export type TenantAuth = typeof TenantAuth.Type
