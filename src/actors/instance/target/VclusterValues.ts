// The values an instance's vCluster is installed with. They say all that the operator relies on, though its own
// chart has most of it as defaults: upstream's chart, whose value paths these are, can be installed instead.

export interface VclusterValuesInput {
  readonly hostNamespace: string
  /** The open-source vCluster, e.g. `ghcr.io/loft-sh/vcluster-oss:0.37.3`. Absent: the chart's version of it. */
  readonly image?: string
  /** Where the Kubernetes binaries come from, e.g. `ghcr.io/loft-sh/kubernetes:v1.36.0`. Absent: the chart's. */
  readonly kubernetesImage?: string
  /** Takes the place of every image's registry, of those that vCluster starts itself, too. */
  readonly imageRegistry?: string
  /** A PriorityClass that is there: without it the pod is refused. */
  readonly priorityClassName?: string
}

/** The name of the instance's API server: what the kubeconfig says, and what its certificate must be valid for. */
export const vclusterHost = (hostNamespace: string): string => `vcluster.${hostNamespace}.svc`

interface ImageParts {
  readonly registry: string
  readonly repository: string
  readonly tag: string
}

/**
 * A reference in the parts that a chart puts together as `registry/repository:tag`. The first segment is a
 * registry when it looks like a host (a dot, a port, or `localhost`), as container runtimes have it. A digest
 * stays with its algorithm before the colon, so that it comes back whole.
 */
export const imageParts = (reference: string): ImageParts => {
  const [first = "", ...rest] = reference.split("/")
  const hasRegistry = rest.length > 0 && (/[.:]/.test(first) || first === "localhost")
  const path = hasRegistry ? rest.join("/") : reference
  const digest = path.indexOf("@")
  const colon = digest < 0 ? path.lastIndexOf(":") : tagColon(path, digest)
  return {
    registry: hasRegistry ? first : "",
    repository: colon < 0 ? path : path.slice(0, colon),
    tag: colon < 0 ? "latest" : path.slice(colon + 1),
  }
}

/** With a tag before the digest the tag's colon (`x:1@sha256:…`), without one the digest's own (`x@sha256:…`). */
const tagColon = (path: string, digest: number): number => {
  const tag = path.lastIndexOf(":", digest)
  return tag < 0 ? path.indexOf(":", digest) : tag
}

const openSource = { registry: "ghcr.io", repository: "loft-sh/vcluster-oss" }

/** The values of one instance's release. Pure: the same input gives the same text, and so no restart. */
export const vclusterValues = (input: VclusterValuesInput): Record<string, unknown> => {
  const host = vclusterHost(input.hostNamespace)
  return {
    controlPlane: {
      ...(input.kubernetesImage === undefined
        ? {}
        : { distro: { k8s: { image: imageParts(input.kubernetesImage) } } }),
      ...(input.imageRegistry === undefined
        ? {}
        : { advanced: { defaultImageRegistry: input.imageRegistry } }),
      // The names its certificate has by itself leave out the one with `.svc`.
      proxy: { extraSANs: [host] },
      statefulSet: {
        image: input.image === undefined ? openSource : imageParts(input.image),
        ...(input.priorityClassName === undefined
          ? {}
          : { scheduling: { priorityClassName: input.priorityClassName } }),
        // On a volume, kept when the StatefulSet goes: the host namespace's deletion takes it.
        persistence: { volumeClaim: { enabled: true, retentionPolicy: "Retain" } },
      },
    },
    sync: { toHost: { networkPolicies: { enabled: true } } },
    exportKubeConfig: { server: `https://${host}:443` },
    telemetry: { enabled: false },
  }
}
