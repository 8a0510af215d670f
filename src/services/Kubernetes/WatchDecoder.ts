// The bytes of a watch, turned into events: one JSON document a line.
import { createHash } from "node:crypto"
import { Data, Option, Result, Schema } from "effect"
import type { KubeObject, ResourceKind } from "./Kubernetes.ts"
import { decodeObject, type Status, StatusSchema } from "./Objects.ts"

/** Longest line taken, in bytes. An object in etcd is at most 1.5 MiB. */
const MAX_LINE = 4 * 1024 * 1024

const NEWLINE = 0x0a

export type WatchLine =
  | { readonly _tag: "Changed"; readonly object: KubeObject }
  | { readonly _tag: "Deleted"; readonly object: KubeObject }
  | { readonly _tag: "Bookmark"; readonly version: string }
  | { readonly _tag: "Error"; readonly status: Status }

/** A line that cannot be understood. It may hold a Secret: only its size and hash are told. */
export class BrokenLine extends Data.TaggedError("BrokenLine")<{
  /** In bytes; of what had come when the line is too long. */
  readonly size: number
  readonly sha256: string
}> {}

/** Most lines come in one piece. */
const joined = (parts: ReadonlyArray<Uint8Array>): Uint8Array => {
  const [first] = parts
  return parts.length === 1 && first !== undefined ? first : Buffer.concat(parts)
}

/** Lines out of chunks. A character may straddle two chunks, so lines are cut out of bytes and decoded whole. */
export const makeLineSplitter = () => {
  let rest: Array<Uint8Array> = []
  let size = 0

  const take = (part: Uint8Array): void => {
    if (part.length > 0) rest.push(part)
    size += part.length
  }

  return (chunk: Uint8Array): Result.Result<ReadonlyArray<Uint8Array>, BrokenLine> => {
    const lines: Array<Uint8Array> = []
    let start = 0
    for (let end = chunk.indexOf(NEWLINE); end !== -1; end = chunk.indexOf(NEWLINE, start)) {
      take(chunk.subarray(start, end))
      if (size > MAX_LINE) return Result.fail(broken(Buffer.concat(rest)))
      if (size > 0) lines.push(joined(rest))
      rest = []
      size = 0
      start = end + 1
    }
    take(chunk.subarray(start))
    return size > MAX_LINE ? Result.fail(broken(Buffer.concat(rest))) : Result.succeed(lines)
  }
}

const broken = (line: Uint8Array): BrokenLine =>
  new BrokenLine({ size: line.length, sha256: createHash("sha256").update(line).digest("hex") })

const decodeEnvelope = Schema.decodeUnknownOption(
  Schema.Union([
    Schema.Struct({ type: Schema.Literals(["ADDED", "MODIFIED", "DELETED"]), object: Schema.Unknown }),
    Schema.Struct({
      type: Schema.Literal("BOOKMARK"),
      object: Schema.Struct({ metadata: Schema.Struct({ resourceVersion: Schema.String }) }),
    }),
    Schema.Struct({ type: Schema.Literal("ERROR"), object: StatusSchema }),
  ]),
)

const utf8 = new TextDecoder("utf-8", { fatal: true })

const parseJson = (line: Uint8Array): Option.Option<unknown> => {
  try {
    return Option.some(JSON.parse(utf8.decode(line)))
  } catch {
    return Option.none()
  }
}

export const decodeLine = (kind: ResourceKind, line: Uint8Array): Result.Result<WatchLine, BrokenLine> =>
  parseJson(line).pipe(
    Option.flatMap(decodeEnvelope),
    Option.flatMap((envelope): Option.Option<WatchLine> => {
      switch (envelope.type) {
        case "BOOKMARK":
          return Option.some({ _tag: "Bookmark", version: envelope.object.metadata.resourceVersion })
        case "ERROR":
          return Option.some({ _tag: "Error", status: envelope.object })
        default:
          return Option.map(decodeObject(kind, envelope.object), (object) => ({
            _tag: envelope.type === "DELETED" ? "Deleted" : "Changed",
            object,
          }))
      }
    }),
    Result.fromOption(() => broken(line)),
  )
