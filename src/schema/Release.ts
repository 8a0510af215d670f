// What one release of the operator consists of, as `release.json` at the root of the repository and of the image
// says it: the versions and digests that were tested together.
import { Option, Schema } from "effect"

const Version = Schema.String.check(Schema.isPattern(/^[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.-]+)?$/u))
const Digest = Schema.String.check(Schema.isPattern(/^sha256:[0-9a-f]{64}$/u))

export const Release = Schema.Struct({
  operatorVersion: Version,
  /** The platform version an instance gets when its spec names none. */
  platformVersion: Version,
  vcluster: Schema.Struct({
    chartVersion: Version,
    /** Of the folder `charts/vcluster`, as the Helm service computes it. */
    chartDigest: Digest,
    /** Of the image that the chart starts. Null as long as it is not known: then the chart's tag is taken. */
    imageDigest: Schema.NullOr(Digest),
  }),
  /** The tenant host image of new instances that name none. */
  tenantHostImage: Schema.String,
  /** Null as long as it is not known: then there is no pinned default. */
  tenantHostImageDigest: Schema.NullOr(Digest),
})
export type Release = typeof Release.Type

/** The text of a `release.json`. */
export const ReleaseJson = Schema.fromJsonString(Release)

/** The default tenant host image pinned by its digest; `None` in a release that does not know the digest. */
export const pinnedTenantHostImage = (release: Release): Option.Option<string> =>
  Option.map(
    Option.fromNullishOr(release.tenantHostImageDigest),
    (digest) => `${release.tenantHostImage}@${digest}`,
  )

const vclusterImage = "ghcr.io/loft-sh/vcluster-oss"

/** The vCluster image of this release's chart pinned by its digest; `None` in a release that does not know the digest. */
export const pinnedVclusterImage = ({ vcluster }: Release): Option.Option<string> =>
  Option.map(
    Option.fromNullishOr(vcluster.imageDigest),
    (digest) => `${vclusterImage}:${vcluster.chartVersion}@${digest}`,
  )
