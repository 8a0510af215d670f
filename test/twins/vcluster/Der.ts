// The few forms of DER that certificates are written in.

export const der = (tag: number, ...content: ReadonlyArray<Uint8Array>): Buffer => {
  const body = Buffer.concat(content)
  const { length } = body
  if (length < 0x80) return Buffer.concat([Buffer.from([tag, length]), body])
  return Buffer.concat([Buffer.from([tag, 0x82, length >> 8, length & 0xff]), body])
}

export const sequence = (...content: ReadonlyArray<Uint8Array>) => der(0x30, ...content)
export const objectId = (...bytes: ReadonlyArray<number>) => der(0x06, Buffer.from(bytes))

const organization = objectId(0x55, 0x04, 0x0a)
const commonName = objectId(0x55, 0x04, 0x03)

export interface Subject {
  readonly commonName: string
  readonly organization?: string
}

const attribute = (type: Uint8Array, value: string) =>
  der(0x31, sequence(type, der(0x0c, Buffer.from(value))))

export const nameOf = (subject: Subject) =>
  sequence(
    ...(subject.organization === undefined ? [] : [attribute(organization, subject.organization)]),
    attribute(commonName, subject.commonName),
  )

/** `YYMMDDHHMMSSZ`, whole seconds. */
export const utcTime = (millis: number) =>
  der(0x17, Buffer.from(`${new Date(millis).toISOString().slice(2, 19).replaceAll(/[-:T]/g, "")}Z`))
