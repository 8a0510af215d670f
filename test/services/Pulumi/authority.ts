// An authority of one's own, and a server's certificate from it: what no machine trusts by itself.
import { generateKeyPairSync, type KeyObject, randomBytes, sign } from "node:crypto"
import { der, nameOf, objectId, sequence, utcTime } from "../../twins/vcluster/Der.ts"

const ecdsaWithSha256 = sequence(objectId(0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 0x02))
const serverAuth = objectId(0x2b, 0x06, 0x01, 0x05, 0x05, 0x07, 0x03, 0x01)
const day = 86_400_000

const extension = (last: number, value: Uint8Array) => sequence(objectId(0x55, 0x1d, last), der(0x04, value))
const bits = (value: Uint8Array) => der(0x03, Buffer.from([0]), value)

const authority = [
  // It may sign certificates.
  extension(0x13, sequence(der(0x01, Buffer.from([0xff])))),
  extension(0x0f, der(0x03, Buffer.from([0x02, 0x04]))),
]
const server = [
  extension(0x25, sequence(serverAuth)),
  extension(0x11, sequence(der(0x87, Buffer.from([127, 0, 0, 1])))),
]

const pem = (content: Buffer) =>
  `-----BEGIN CERTIFICATE-----\n${content.toString("base64").replaceAll(/.{64}/g, "$&\n").trimEnd()}\n-----END CERTIFICATE-----\n`

const issue = (
  subject: string,
  publicKey: KeyObject,
  by: { readonly name: string; readonly privateKey: KeyObject },
  extensions: ReadonlyArray<Uint8Array>,
  now: number,
): string => {
  // The first byte makes it positive.
  const serial = Buffer.concat([Buffer.from([1]), randomBytes(15)])
  const body = sequence(
    der(0xa0, der(0x02, Buffer.from([2]))),
    der(0x02, serial),
    ecdsaWithSha256,
    nameOf({ commonName: by.name }),
    sequence(utcTime(now - day), utcTime(now + day)),
    nameOf({ commonName: subject }),
    publicKey.export({ type: "spki", format: "der" }),
    der(0xa3, sequence(...extensions)),
  )
  return pem(sequence(body, ecdsaWithSha256, bits(sign("sha256", body, by.privateKey))))
}

/** PEM. The server is 127.0.0.1; what it sends does not contain the authority. `now`: milliseconds since the epoch. */
export const makeAuthority = (now: number) => {
  const [own, theirs] = [0, 1].map(() => generateKeyPairSync("ec", { namedCurve: "P-256" }))
  if (own === undefined || theirs === undefined) throw new Error("no keys")
  const by = { name: "an authority of one's own", privateKey: own.privateKey }
  return {
    authority: issue(by.name, own.publicKey, by, authority, now),
    certificate: issue("registry", theirs.publicKey, by, server, now),
    key: theirs.privateKey.export({ type: "pkcs8", format: "pem" }).toString(),
  }
}
