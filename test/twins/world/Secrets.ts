// What is secret in a simulated world, and where a text holds any of it: the operator's passphrase, its credentials of the
// registry, and what lies in Secrets of the host: client secrets, keys and tokens of kubeconfigs.
import { Option } from "effect"
import * as Kinds from "../../../src/services/Kubernetes/Kinds.ts"
import type { KubeObject } from "../../../src/services/Kubernetes/Kubernetes.ts"
import { at, isJson } from "../kubernetes/Json.ts"
import { registryToken } from "./Image.ts"
import type { World } from "./World.ts"

/** Certificates and settings, which anybody may read. */
const open = new Set([
  "ca.crt",
  "tls.crt",
  "certificate-authority",
  "client-certificate",
  "namespace",
  "config.yaml",
])

/** Shorter ones stand in other texts by chance. */
const least = 8

const decode = (text: string) => Buffer.from(text, "base64").toString("latin1")

/** A kubeconfig's keys, as they are too, and tokens; any other value as a whole. */
const partsOf = (value: string): ReadonlyArray<string> => {
  const parts = [...value.matchAll(/(client-key-data|token|password): "?([^\s"]+)/g)].flatMap(
    ([, field, part = ""]) => (field === "client-key-data" ? [part, decode(part)] : [part]),
  )
  return parts.length > 0 ? parts : [value]
}

/** As it is, in base64, and as it stands in JSON. */
const forms = (value: string): ReadonlyArray<string> => [
  value,
  JSON.stringify(value).slice(1, -1),
  Buffer.from(value, "latin1").toString("base64").replace(/=+$/, ""),
]

/** The secret texts of a Secret by what they are; of a release's record none, for it holds the manifest. */
const secretsOf = (object: KubeObject): ReadonlyArray<readonly [what: string, text: string]> => {
  const data = object.data
  if (object.type === "helm.sh/release.v1" || !isJson(data)) return []
  return Object.entries(data).flatMap(([field, value]) =>
    open.has(field) || typeof value !== "string"
      ? []
      : partsOf(decode(value))
          .filter(({ length }) => length >= least)
          .flatMap(forms)
          .map(
            (text) =>
              [`${field} of Secret ${object.metadata.namespace}/${object.metadata.name}`, text] as const,
          ),
  )
}

export interface Secrets {
  /** What of all that was ever secret is in a text. */
  readonly foundIn: (text: string) => string | undefined
}

export const keepSecrets = ({ host, admin, passphrase }: World): Secrets => {
  const known = new Map<string, string>()
  const learn = (object: KubeObject) => {
    for (const [what, text] of secretsOf(object)) if (!known.has(text)) known.set(text, what)
  }
  for (const text of forms(registryToken)) known.set(text, "the registry's token")
  for (const object of admin.list(Kinds.Secret)) learn(object)
  host.subscribe(({ kind, object, previous }) => {
    // What is only labelled anew is known.
    if (kind.kind === "Secret" && at(previous, "data") !== object.data) learn(object)
  })
  return {
    foundIn: (text) => {
      const own = Option.getOrElse(passphrase.text, () => "")
      if (own !== "" && text.includes(own)) return "the passphrase"
      for (const [secret, what] of known) if (text.includes(secret)) return what
      return undefined
    },
  }
}
