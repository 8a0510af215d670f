// Watching objects as the API server tells of them: every state in order, each with the moment it was told.
import { Schema } from "effect"
import { startChild } from "./Child.ts"
import { kubectlPath } from "./Kubectl.ts"

export interface Seen<A> {
  /** Milliseconds since the epoch. */
  readonly at: number
  readonly type: string
  readonly object: A
}

export interface Watch<A> {
  /** Everything seen until now. */
  readonly seen: ReadonlyArray<Seen<A>>
  readonly end: () => Promise<void>
}

const Event = Schema.fromJsonString(Schema.Struct({ type: Schema.String, object: Schema.Unknown }))
const decodeEvent = Schema.decodeSync(Event)

/** `path` is that of a list in the API, such as `/api/v1/namespaces/x/secrets?fieldSelector=metadata.name=y`. */
export const watch = <S extends Schema.Codec<unknown, unknown>>(
  schema: S,
  path: string,
): Watch<S["Type"]> => {
  const decodeObject = Schema.decodeUnknownSync(schema)
  const seen: Array<Seen<S["Type"]>> = []
  const separator = path.includes("?") ? "&" : "?"
  const child = startChild(kubectlPath, ["get", "--raw", `${path}${separator}watch=1&timeoutSeconds=3600`])
  child.lines((line) => {
    const { type, object } = decodeEvent(line)
    seen.push({ at: Date.now(), type, object: decodeObject(object) })
  })
  return { seen, end: child.end }
}
