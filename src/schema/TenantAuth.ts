// `spec.platform.tenantAuth`: the per-tenant console and `/v1` API against an OIDC issuer. The client secret is never
// inline: `clientSecretRef` names where it lies.
import { Schema } from "effect"
import { between, celRule, int32Between, int64AtLeast, isHttpUrl, isPinnedImage, upTo } from "./Fields.ts"

const url = (description: string) => upTo(2048).check(isHttpUrl).annotate({ description })
const pinnedImage = (description: string) => upTo(512).check(isPinnedImage).annotate({ description })
const limit = (description: string) => Schema.optionalKey(int64AtLeast(1).annotate({ description }))

export const SecretKeyRef = Schema.Struct({
  name: between(1, 253).annotate({
    description: "Name of the Secret with the OAuth client secret, in the instance's namespace.",
  }),
  key: between(1, 253).annotate({ description: "Key in that Secret." }),
})
export type SecretKeyRef = typeof SecretKeyRef.Type

export const Registry = Schema.Struct({
  component: pinnedImage(
    "Image of the oci-registry component, by digest; with it each tenant gets an OCI registry.",
  ),
  publicUrl: Schema.optionalKey(url("The origin that `login` is given.")),
  limits: Schema.optionalKey(
    Schema.Struct({
      maxBodyBytes: limit("Largest request body, in bytes."),
      maxConcurrent: limit("Most requests at a time."),
      uploadIdleTimeoutMs: limit("An upload that is idle for so many milliseconds is ended."),
      upstreamTimeoutMs: limit("How many milliseconds the registry behind it has to answer."),
    }).annotate({ description: "Limits of the controller in front of the registries." }),
  ),
})

export const TenantAuth = Schema.Struct({
  image: pinnedImage("Image of tenant-auth, by digest."),
  issuer: Schema.optionalKey(url("The OIDC issuer, under the one URL that pods and browsers both use.")),
  clientId: Schema.optionalKey(
    between(1, 253).annotate({
      description: "The OAuth client (a confidential one) that the console signs in with.",
    }),
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
        "For an issuer on loopback: the `<service>.<namespace>[.svc...]:<port>` in the cluster that a sidecar passes its port on to.",
    }),
  ),
  issuerUpstreamPodPort: Schema.optionalKey(
    int32Between(1, 65535).annotate({ description: "The port of the pods that `issuerUpstream` leads to." }),
  ),
  issuerIp: Schema.optionalKey(
    upTo(15).annotate({ description: "IPv4 address of the issuer, for pods that have no DNS name for it." }),
  ),
  consolePublicUrl: Schema.optionalKey(
    url("Browser-visible console URL; `{tenant}` is replaced with the tenant name."),
  ),
  controllerPublicUrl: Schema.optionalKey(
    url("The controller's URL as users and command lines get to see it."),
  ),
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
      "Sign-in by an OIDC issuer. With it each tenant has a console and the `/v1` API; without it there is no console.",
  })
export type TenantAuth = typeof TenantAuth.Type
