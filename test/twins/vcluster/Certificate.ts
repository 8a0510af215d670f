// X.509 certificates that can be read and prove nothing: subject, issuer and validity are as told, key and signature are
// zeros.

const der = (tag: number, ...content: ReadonlyArray<Uint8Array>): Buffer => {
  const body = Buffer.concat(content)
  const { length } = body
  if (length < 0x80) return Buffer.concat([Buffer.from([tag, length]), body])
  return Buffer.concat([Buffer.from([tag, 0x82, length >> 8, length & 0xff]), body])
}

const sequence = (...content: ReadonlyArray<Uint8Array>) => der(0x30, ...content)
const objectId = (...bytes: ReadonlyArray<number>) => der(0x06, Buffer.from(bytes))
const bits = (length: number) => der(0x03, Buffer.alloc(length + 1))

const ed25519 = sequence(objectId(0x2b, 0x65, 0x70))
const organization = objectId(0x55, 0x04, 0x0a)
const commonName = objectId(0x55, 0x04, 0x03)

export interface Subject {
  readonly commonName: string
  readonly organization?: string
}

const attribute = (type: Uint8Array, value: string) =>
  der(0x31, sequence(type, der(0x0c, Buffer.from(value))))

const nameOf = (subject: Subject) =>
  sequence(
    ...(subject.organization === undefined ? [] : [attribute(organization, subject.organization)]),
    attribute(commonName, subject.commonName),
  )

/** `YYMMDDHHMMSSZ`, whole seconds. */
const utcTime = (millis: number) =>
  der(0x17, Buffer.from(`${new Date(millis).toISOString().slice(2, 19).replaceAll(/[-:T]/g, "")}Z`))

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
