// X.509 certificates that can be read and prove nothing: subject, issuer and validity are as told, key and signature are
// zeros.
import { der, nameOf, objectId, type Subject, sequence, utcTime } from "./Der.ts"

const bits = (length: number) => der(0x03, Buffer.alloc(length + 1))

const ed25519 = sequence(objectId(0x2b, 0x65, 0x70))

export interface CertificateOptions {
  readonly subject: Subject
  readonly issuer: Subject
  /** Hexadecimal. */
  readonly serial: string
  /** Milliseconds since the epoch, before 2050. */
  readonly notBefore: number
  readonly notAfter: number
}

export const certificate = (options: CertificateOptions): Buffer => {
  const serial = Buffer.from(`0${options.serial}`.padStart(14, "0").slice(-14), "hex")
  const body = sequence(
    der(0xa0, der(0x02, Buffer.from([2]))),
    der(0x02, Buffer.from([1]), serial),
    ed25519,
    nameOf(options.issuer),
    sequence(utcTime(options.notBefore), utcTime(options.notAfter)),
    nameOf(options.subject),
    sequence(ed25519, bits(32)),
  )
  return sequence(body, ed25519, bits(64))
}
