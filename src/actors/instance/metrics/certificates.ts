// When the certificates of a kubeconfig expire. Of the text nothing but these two times is kept.
import { X509Certificate } from "node:crypto"
import { Option, Schema } from "effect"
import { parseYaml } from "../../../services/Kubernetes/Yaml.ts"

const Kubeconfig = Schema.Struct({
  clusters: Schema.Array(
    Schema.Struct({
      cluster: Schema.Struct({ "certificate-authority-data": Schema.optionalKey(Schema.String) }),
    }),
  ),
  users: Schema.Array(
    Schema.Struct({ user: Schema.Struct({ "client-certificate-data": Schema.optionalKey(Schema.String) }) }),
  ),
})
const decode = Schema.decodeUnknownOption(Kubeconfig)

/** Milliseconds since the epoch. Of a bundle the first counts: it is the one in use. */
const expiryOf = (data: string | undefined): Option.Option<number> =>
  Option.flatMap(Option.fromUndefinedOr(data), (encoded) =>
    Option.liftThrowable(() => new X509Certificate(Buffer.from(encoded, "base64")).validToDate.getTime())(),
  )

export interface Expiries {
  readonly authority: Option.Option<number>
  readonly client: Option.Option<number>
}

/** A kubeconfig without certificates, or with what is none, has no expiry. */
export const expiriesOf = (kubeconfig: string): Expiries => {
  const read = Option.flatMap(Option.liftThrowable((): unknown => parseYaml(kubeconfig))(), decode)
  const { clusters, users } = Option.getOrElse(read, () => ({ clusters: [], users: [] }))
  return {
    authority: expiryOf(clusters[0]?.cluster["certificate-authority-data"]),
    client: expiryOf(users[0]?.user["client-certificate-data"]),
  }
}
