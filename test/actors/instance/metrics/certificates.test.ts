import { assert, describe, it } from "@effect/vitest"
import { Option } from "effect"
import { expiriesOf } from "../../../../src/actors/instance/metrics/certificates.ts"
import { certificate } from "../../../twins/vcluster/Certificate.ts"

const at = Date.UTC(2027, 4, 6, 7, 8, 9)
const pem = (notAfter: number) => {
  const name = { commonName: "kubernetes" }
  const der = certificate({ subject: name, issuer: name, serial: "1", notBefore: 0, notAfter })
  return `-----BEGIN CERTIFICATE-----\n${der.toString("base64")}\n-----END CERTIFICATE-----\n`
}
const encode = (text: string) => Buffer.from(text).toString("base64")
const kubeconfig = (authority: string, client: string) =>
  JSON.stringify({
    clusters: [{ cluster: { "certificate-authority-data": authority, server: "https://x" } }],
    users: [{ user: { "client-certificate-data": client, "client-key-data": "eA==" } }],
  })

describe("the expiry of a kubeconfig's certificates", () => {
  it("is that of the first one in each", () => {
    const text = kubeconfig(encode(pem(at) + pem(at + 1e9)), encode(pem(at - 5000)))
    assert.deepStrictEqual(expiriesOf(text), { authority: Option.some(at), client: Option.some(at - 5000) })
  })

  it.each([
    "",
    "{",
    "a: [b",
    "users: 3",
    kubeconfig("bm90aGluZw==", "?"),
    JSON.stringify({ clusters: [], users: [] }),
  ])("is none where there is none: %s", (text) => {
    assert.deepStrictEqual(expiriesOf(text), { authority: Option.none(), client: Option.none() })
  })
})
