// The operator's spans, as the collector of this run wrote them down.
import { existsSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { Schema } from "effect"
import { cluster } from "./Cluster.ts"

const Request = Schema.Struct({
  resourceSpans: Schema.Array(
    Schema.Struct({
      scopeSpans: Schema.Array(
        Schema.Struct({
          spans: Schema.Array(
            Schema.Struct({
              name: Schema.String,
              startTimeUnixNano: Schema.String,
              endTimeUnixNano: Schema.String,
            }),
          ),
        }),
      ),
    }),
  ),
})
const decode = Schema.decodeSync(Schema.fromJsonString(Request))

/** Times are milliseconds since the epoch. */
export interface Span {
  readonly name: string
  readonly start: number
  readonly end: number
}

const millis = (nanos: string): number => Number(BigInt(nanos) / 1000n) / 1000

/** Those that began in that time, in order. The last of them arrive about five seconds after they have ended. */
export const spansBetween = (from: number, to: number): ReadonlyArray<Span> => {
  const file = join(cluster, "spans.jsonl")
  if (!existsSync(file)) return []
  return readFileSync(file, "utf8")
    .split("\n")
    .filter((line) => line !== "")
    .flatMap((line) => decode(line).resourceSpans)
    .flatMap(({ scopeSpans }) => scopeSpans)
    .flatMap(({ spans }) => spans)
    .map(({ name, startTimeUnixNano, endTimeUnixNano }) => ({
      name,
      start: millis(startTimeUnixNano),
      end: millis(endTimeUnixNano),
    }))
    .filter(({ start }) => start >= from && start <= to)
    .sort((a, b) => a.start - b.start)
}
