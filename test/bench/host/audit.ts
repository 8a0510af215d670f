// What an API server was asked, by whom and when, as its audit log has it.
import { closeSync, openSync, readSync, statSync } from "node:fs"
import { Option, Schema } from "effect"

const Entry = Schema.Struct({
  user: Schema.Struct({ username: Schema.String }),
  verb: Schema.String,
  requestURI: Schema.String,
  objectRef: Schema.optionalKey(
    Schema.Struct({
      resource: Schema.String,
      namespace: Schema.optionalKey(Schema.String),
      name: Schema.optionalKey(Schema.String),
      subresource: Schema.optionalKey(Schema.String),
    }),
  ),
  responseStatus: Schema.optionalKey(Schema.Struct({ code: Schema.optionalKey(Schema.Finite) })),
  requestReceivedTimestamp: Schema.String,
  stageTimestamp: Schema.String,
})
const decode = Schema.decodeOption(Schema.fromJsonString(Entry))

export interface Asked {
  readonly user: string
  readonly verb: string
  /** `secrets`, `platforminstances/status`; empty where it is no resource. */
  readonly resource: string
  readonly namespace: string
  readonly name: string
  readonly uri: string
  readonly code: number
  /** Milliseconds since the epoch, with the fraction: when it came, and when it was answered. */
  readonly came: number
  readonly answered: number
}

const micros = /\.(\d{6})Z$/

/** RFC 3339 with microseconds, which a `Date` would cut off. */
const millis = (time: string): number =>
  Date.parse(time.replace(micros, "Z")) + Number(micros.exec(time)?.[1] ?? 0) / 1000

const askedOf = (line: string): ReadonlyArray<Asked> =>
  Option.match(decode(line), {
    onNone: () => [],
    onSome: ({ user, verb, requestURI, objectRef, responseStatus, ...times }) => [
      {
        user: user.username,
        verb,
        resource: [objectRef?.resource ?? "", objectRef?.subresource ?? []].flat().join("/"),
        namespace: objectRef?.namespace ?? "",
        name: objectRef?.name ?? "",
        uri: requestURI,
        code: responseStatus?.code ?? 0,
        came: millis(times.requestReceivedTimestamp),
        answered: millis(times.stageTimestamp),
      },
    ],
  })

/** Who is asked for, each request when it was answered. Watches come at their end. */
export const auditPolicy = (users: ReadonlyArray<string>): string =>
  JSON.stringify({
    apiVersion: "audit.k8s.io/v1",
    kind: "Policy",
    omitStages: ["RequestReceived"],
    omitManagedFields: true,
    rules: [{ level: "Metadata", users }, { level: "None" }],
  })

/** The log from where a reader stands; reading moves it on. */
export const auditReader = (file: string) => {
  let position = 0
  return {
    /** From now on. */
    skip: () => {
      position = statSync(file).size
    },
    read: (): ReadonlyArray<Asked> => {
      const { size } = statSync(file)
      const buffer = Buffer.alloc(size - position)
      const handle = openSync(file, "r")
      readSync(handle, buffer, 0, buffer.length, position)
      closeSync(handle)
      const end = buffer.lastIndexOf("\n") + 1
      position += end
      return buffer
        .subarray(0, end)
        .toString("utf8")
        .split("\n")
        .flatMap((line) => (line === "" ? [] : askedOf(line)))
    },
  }
}
export type AuditReader = ReturnType<typeof auditReader>

export const isWrite = ({ verb }: Asked): boolean => ["create", "update", "patch", "delete"].includes(verb)
export const isEvent = ({ resource }: Asked): boolean => resource === "events"
/** Open for long: no request for something. */
export const isWatch = ({ verb }: Asked): boolean => verb === "watch"
