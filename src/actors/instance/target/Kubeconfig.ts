// The instance's kubeconfig: read from the vCluster's own Secret, published as `<name>-kubeconfig` beside the
// instance, and owned by it. Only ever held for one version of the source; the source's rotation is a new version.
import { Effect, Option, Redacted, Schema } from "effect"
import { API_VERSION, KIND, KUBECONFIG_KEY, kubeconfigSecretName } from "../../../schema/Names.ts"
import type { PlatformInstance } from "../../../schema/PlatformInstance.ts"
import { instanceKey } from "../../../schema/PlatformInstance.ts"
import { Secret } from "../../../services/Kubernetes/Kinds.ts"
import {
  type KubeError,
  type KubeManifest,
  type KubeObject,
  Kubernetes,
} from "../../../services/Kubernetes/Kubernetes.ts"
import { MANAGED_BY } from "./ownership.ts"

/** The Secret a vCluster writes its kubeconfig to, once a process start. */
export const SOURCE_SECRET = "vc-vcluster"
const SOURCE_KEY = "config"

/** `<uid>.<resourceVersion>` of the source: which version of it a published kubeconfig holds. */
export const ANNOTATION_SOURCE = "platform.di-framework.dev/kubeconfig-source"

export interface Kubeconfig {
  readonly version: string
  readonly text: Redacted.Redacted
}

export const versionOf = (source: KubeObject): string =>
  `${source.metadata.uid}.${source.metadata.resourceVersion}`

/** The version of the source that a published kubeconfig holds. */
export const publishedSource = (published: KubeObject): Option.Option<string> =>
  Option.fromNullishOr(published.metadata.annotations?.[ANNOTATION_SOURCE])

/** The UID of the Service that owns the source: only then is it this vCluster's. */
export const ownerOf = (source: KubeObject): Option.Option<string> =>
  Option.fromNullishOr(source.metadata.ownerReferences?.find((owner) => owner.kind === "Service")?.uid)

const SecretData = Schema.Struct({ data: Schema.optionalKey(Schema.Record(Schema.String, Schema.String)) })

const decodeData = (object: KubeObject, key: string): Option.Option<Redacted.Redacted> =>
  Schema.decodeUnknownOption(SecretData)(object).pipe(
    Option.flatMap(({ data }) => Option.fromNullishOr(data?.[key])),
    Option.map((encoded) => Redacted.make(Buffer.from(encoded, "base64").toString("utf8"))),
    Option.filter((text) => Redacted.value(text) !== ""),
  )

/** One key of a Secret; `None` when the Secret or the key is missing or empty. */
export const readSecretKey = Effect.fn("Secret.readKey")(function* (
  namespace: string,
  name: string,
  key: string,
): Effect.fn.Return<Option.Option<Redacted.Redacted>, KubeError, Kubernetes> {
  const kubernetes = yield* Kubernetes
  const found = yield* kubernetes.get(Secret, { namespace, name })
  return Option.flatMap(found, (object) => decodeData(object, key))
})

/** The vCluster's kubeconfig as it is now. */
export const readKubeconfig = Effect.fn("Kubeconfig.read")(function* (
  hostNamespace: string,
): Effect.fn.Return<Option.Option<Kubeconfig>, KubeError, Kubernetes> {
  const kubernetes = yield* Kubernetes
  const found = yield* kubernetes.get(Secret, { namespace: hostNamespace, name: SOURCE_SECRET })
  return Option.flatMap(found, (object) =>
    Option.map(decodeData(object, SOURCE_KEY), (text) => ({ version: versionOf(object), text })),
  )
})

export const publishedManifest = (instance: PlatformInstance, kubeconfig: Kubeconfig): KubeManifest => ({
  apiVersion: "v1",
  kind: "Secret",
  metadata: {
    name: kubeconfigSecretName(instanceKey(instance)),
    namespace: instance.metadata.namespace,
    labels: MANAGED_BY,
    annotations: { [ANNOTATION_SOURCE]: kubeconfig.version },
    ownerReferences: [
      {
        apiVersion: API_VERSION,
        kind: KIND,
        name: instance.metadata.name,
        uid: instance.metadata.uid,
        controller: true,
        blockOwnerDeletion: false,
      },
    ],
  },
  type: "Opaque",
  data: { [KUBECONFIG_KEY]: Buffer.from(Redacted.value(kubeconfig.text), "utf8").toString("base64") },
})

/** Whether a Secret of that name belongs to this life of the instance; a foreign one is never overwritten. */
export const isOwnedBy = (secret: KubeObject, uid: string): boolean =>
  secret.metadata.ownerReferences?.some((owner) => owner.uid === uid) ?? false
