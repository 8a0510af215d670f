// The certificate that the playground's API serves on loopback: signed by its own key, which never leaves this process.
import { generateKeyPairSync, randomBytes, sign } from "node:crypto"
import { der, nameOf, objectId, sequence, utcTime } from "../../test/twins/vcluster/Der.ts"

export interface Credentials {
  /** PEM: the server's, and what clients trust. */
  readonly certificate: string
  /** PEM. */
  readonly key: string
}

const HOUR = 3_600_000
/** A playground lives for a sitting; each start makes a new one. */
const LIFE = 30 * 24 * HOUR

const ecdsaWithSha256 = sequence(objectId(0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 0x02))
const serverAuth = objectId(0x2b, 0x06, 0x01, 0x05, 0x05, 0x07, 0x03, 0x01)
const TRUE = der(0x01, Buffer.from([0xff]))

const extension = (last: number, critical: boolean, value: Uint8Array) =>
  sequence(objectId(0x55, 0x1d, last), ...(critical ? [TRUE] : []), der(0x04, value))

const basicConstraints = extension(0x13, true, sequence(TRUE))
// digitalSignature and keyCertSign
const keyUsage = extension(0x0f, true, der(0x03, Buffer.from([0x02, 0x84])))
const extendedKeyUsage = extension(0x25, false, sequence(serverAuth))
const names = extension(
  0x11,
  false,
  sequence(
    der(0x82, Buffer.from("localhost")),
    der(0x87, Buffer.from([127, 0, 0, 1])),
    der(0x87, Buffer.concat([Buffer.alloc(15), Buffer.from([1])])),
  ),
)

const pem = (content: Buffer) =>
  `-----BEGIN CERTIFICATE-----\n${content.toString("base64").replaceAll(/.{64}/g, "$&\n").trimEnd()}\n-----END CERTIFICATE-----\n`

/** For `localhost` and the loopback addresses. `now`: milliseconds since the epoch. */
export const makeCredentials = (now: number): Credentials => {
  const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" })
  const name = nameOf({ commonName: "platform operator playground" })
  // Positive, and never the same twice: clients remember certificates by issuer and serial.
  const serial = randomBytes(16)
  serial.writeUInt8((serial.readUInt8(0) & 0x7f) | 0x40, 0)
  const body = sequence(
    der(0xa0, der(0x02, Buffer.from([2]))),
    der(0x02, serial),
    ecdsaWithSha256,
    name,
    sequence(utcTime(now - HOUR), utcTime(now + LIFE)),
    name,
    publicKey.export({ type: "spki", format: "der" }),
    der(0xa3, sequence(basicConstraints, keyUsage, extendedKeyUsage, names)),
  )
  const signature = der(0x03, Buffer.from([0]), sign("sha256", body, privateKey))
  return {
    certificate: pem(sequence(body, ecdsaWithSha256, signature)),
    key: privateKey.export({ type: "pkcs8", format: "pem" }).toString(),
  }
}
