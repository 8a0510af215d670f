// Reads bodies that clients of the typed kinds send as protobuf, by the layout in `protobuf.json` (written by
// tools/playground/protobufTable.ts). Answers are JSON, which those clients take, too.
import { isJson, type Json, textOf } from "./Json.ts"
import layout from "./protobuf.json" with { type: "json" }

type Layout = Readonly<Record<string, Readonly<Record<string, ReadonlyArray<string>>>>>
const messages: Layout = layout

const MAGIC = Buffer.from("k8s\0")

export class ProtobufError extends Error {
  override readonly name = "ProtobufError"
}

type Wire =
  | { readonly number: number; readonly value: bigint }
  | { readonly number: number; readonly bytes: Buffer }

class Reader {
  readonly #bytes: Buffer
  #at = 0

  constructor(bytes: Buffer) {
    this.#bytes = bytes
  }

  get done(): boolean {
    return this.#at >= this.#bytes.length
  }

  varint(): bigint {
    let result = 0n
    for (let shift = 0n; ; shift += 7n) {
      const byte = this.#bytes[this.#at]
      if (byte === undefined || shift > 63n) throw new ProtobufError("it ends in the middle of a number")
      this.#at += 1
      result |= BigInt(byte & 0x7f) << shift
      if (byte < 0x80) return BigInt.asIntN(64, result)
    }
  }

  #take(length: number): Buffer {
    const end = this.#at + length
    if (length < 0 || end > this.#bytes.length) throw new ProtobufError("it ends in the middle of a field")
    const taken = this.#bytes.subarray(this.#at, end)
    this.#at = end
    return taken
  }

  field(): Wire {
    const key = Number(this.varint())
    const number = key >>> 3
    switch (key & 7) {
      case 0:
        return { number, value: this.varint() }
      case 1:
        return { number, bytes: this.#take(8) }
      case 2:
        return { number, bytes: this.#take(Number(this.varint())) }
      case 5:
        return { number, bytes: this.#take(4) }
      default:
        throw new ProtobufError(`field ${number} is of a kind that nobody writes any more`)
    }
  }
}

const fieldsOf = (bytes: Buffer): ReadonlyArray<Wire> => {
  const reader = new Reader(bytes)
  const fields: Array<Wire> = []
  while (!reader.done) fields.push(reader.field())
  return fields
}

const bytesOf = (wire: Wire | undefined): Buffer => {
  if (wire === undefined) return Buffer.alloc(0)
  if ("bytes" in wire) return wire.bytes
  throw new ProtobufError(`field ${wire.number} is a number, and is to be a text or a message`)
}

const numberIn = (bytes: Buffer, number: number): number => {
  const found = fieldsOf(bytes).find((wire) => wire.number === number)
  return found !== undefined && "value" in found ? Number(found.value) : 0
}
const textIn = (bytes: Buffer, number: number): string =>
  bytesOf(fieldsOf(bytes).find((wire) => wire.number === number)).toString("utf8")

const time = (bytes: Buffer, digits: 0 | 6): string | undefined => {
  const [seconds, nanos] = [numberIn(bytes, 1), numberIn(bytes, 2)]
  // The zero of Go's time, and no time at all.
  if (bytes.length === 0 || seconds <= 0) return undefined
  const whole = new Date(seconds * 1000).toISOString().slice(0, 19)
  return digits === 0 ? `${whole}Z` : `${whole}.${String(Math.floor(nanos / 1000)).padStart(6, "0")}Z`
}

const scalar = (type: string, wire: Wire): unknown => {
  if (type === "int" || type === "bool") {
    if (!("value" in wire)) throw new ProtobufError(`field ${wire.number} is to be a number`)
    return type === "int" ? Number(wire.value) : wire.value !== 0n
  }
  const bytes = bytesOf(wire)
  switch (type) {
    case "string":
      return bytes.toString("utf8")
    case "bytes":
      return bytes.toString("base64")
    case "time":
      return time(bytes, 0)
    case "microTime":
      return time(bytes, 6)
    case "quantity":
      return textIn(bytes, 1)
    case "intOrString":
      return numberIn(bytes, 1) === 0 ? numberIn(bytes, 2) : textIn(bytes, 3)
    case "raw":
    case "fields":
      return JSON.parse(textIn(bytes, 1) || "null")
    default:
      return message(type, bytes)
  }
}

const isNothing = (value: unknown): boolean =>
  value === undefined ||
  value === "" ||
  value === 0 ||
  value === false ||
  (isJson(value) && Object.keys(value).length === 0)

const entry = (type: string, bytes: Buffer): readonly [string, unknown] => {
  const fields = fieldsOf(bytes)
  const value = fields.find(({ number }) => number === 2)
  const none = type === "string" || type === "bytes" ? "" : {}
  return [
    bytesOf(fields.find(({ number }) => number === 1)).toString("utf8"),
    value === undefined ? none : scalar(type, value),
  ]
}

const message = (name: string, bytes: Buffer): unknown => {
  const known = messages[name]
  if (known === undefined) throw new ProtobufError(`${name} is not known in this form`)
  const object: Record<string, unknown> = {}
  for (const wire of fieldsOf(bytes)) {
    const [field = "", type = "", kind] = known[wire.number] ?? []
    if (type === "") continue
    if (kind === "inline") Object.assign(object, scalar(type, wire))
    else if (type.startsWith("[]")) {
      const before = object[field]
      object[field] = [...(Array.isArray(before) ? before : []), scalar(type.slice(2), wire)]
    } else if (type.startsWith("{}")) {
      const [key, value] = entry(type.slice(2), bytesOf(wire))
      object[field] = { ...(isJson(object[field]) ? object[field] : {}), [key]: value }
    } else {
      const value = scalar(type, wire)
      // What is no pointer is always written: its zero means that it is not there.
      if (value !== undefined && (kind === "pointer" || !isNothing(value))) object[field] = value
    }
  }
  // A list with a name of its own.
  return Object.keys(known).length === 1 && known["1"]?.[0] === "items" ? (object.items ?? []) : object
}

const packageOf = (apiVersion: string, kind: string): string => {
  if (kind === "DeleteOptions") return "meta"
  return apiVersion.includes("/") ? (apiVersion.split(/[./]/)[0] ?? "") : "core"
}

/** The object in a body. Throws a `ProtobufError` for what is no such body, or of a kind that is not known in this form. */
export const readProtobuf = (body: Buffer): Json => {
  if (!body.subarray(0, MAGIC.length).equals(MAGIC))
    throw new ProtobufError("it does not begin as such a body does")
  const outer = fieldsOf(body.subarray(MAGIC.length))
  const part = (number: number) => bytesOf(outer.find((wire) => wire.number === number))
  const apiVersion = textIn(part(1), 1)
  const kind = textIn(part(1), 2)
  const object = message(`${packageOf(apiVersion, kind)}.${kind}`, part(2))
  if (!isJson(object) || textOf(kind) === undefined) throw new ProtobufError("it holds no object")
  return { apiVersion, kind, ...object }
}
