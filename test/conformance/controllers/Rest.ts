// One API server of either kind, asked by its administrator over REST, and what a scenario looks at in its answers.
import { Effect, Schema } from "effect"

export interface Answer {
  readonly status: number
  readonly body: unknown
}

export interface Rest {
  readonly request: (
    method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE",
    path: string,
    body?: unknown,
  ) => Effect.Effect<Answer>
}

const optional = Schema.optionalKey
const Texts = Schema.Record(Schema.String, Schema.String)
const Condition = Schema.Struct({
  type: Schema.String,
  status: Schema.String,
  reason: optional(Schema.String),
  message: optional(Schema.String),
})

/** What scenarios read of any object. */
export const Seen = Schema.Struct({
  kind: optional(Schema.String),
  metadata: Schema.Struct({
    name: Schema.String,
    uid: optional(Schema.String),
    labels: optional(Texts),
    annotations: optional(Texts),
    generation: optional(Schema.Finite),
    deletionTimestamp: optional(Schema.String),
    finalizers: optional(Schema.Array(Schema.String)),
    ownerReferences: optional(
      Schema.Array(
        Schema.Struct({
          kind: Schema.String,
          name: Schema.String,
          uid: Schema.String,
          controller: optional(Schema.Boolean),
          blockOwnerDeletion: optional(Schema.Boolean),
        }),
      ),
    ),
  }),
  spec: optional(Schema.Record(Schema.String, Schema.Json)),
  status: optional(Schema.Record(Schema.String, Schema.Json)),
})
export type Seen = typeof Seen.Type

const Conditions = Schema.Struct({ conditions: optional(Schema.Array(Condition)) })
const decode = Schema.decodeUnknownSync(Seen)
const decodeList = Schema.decodeUnknownSync(Schema.Struct({ items: Schema.Array(Seen) }))
const decodeConditions = Schema.decodeUnknownSync(Conditions)

/** `Available=True MinimumReplicasAvailable: …`, sorted. */
export const conditionsOf = ({ status }: Seen): ReadonlyArray<string> =>
  (decodeConditions(status ?? {}).conditions ?? [])
    .map(({ type, status: value, reason = "", message = "" }) => `${type}=${value} ${reason}: ${message}`)
    .toSorted()

export const get = ({ request }: Rest, path: string): Effect.Effect<Seen | undefined> =>
  Effect.map(request("GET", path), ({ status, body }) => (status === 200 ? decode(body) : undefined))

export const list = ({ request }: Rest, path: string): Effect.Effect<ReadonlyArray<Seen>> =>
  Effect.map(request("GET", path), ({ body }) =>
    decodeList(body).items.toSorted((a, b) => a.metadata.name.localeCompare(b.metadata.name)),
  )

/** What a write was answered: its code, and the reason of a refusal. */
export const told = ({ status, body }: Answer): unknown =>
  status < 300 ? status : { status, reason: Object(body).reason, message: Object(body).message }

/** Asks ten times a second, so many times, until there is an answer; a scenario that gets none says what it waited for. */
export const until = <A>(
  what: string,
  ask: Effect.Effect<A | undefined>,
  times = 600,
): Effect.Effect<A, string> =>
  Effect.gen(function* () {
    for (let asked = 0; asked < times; asked++) {
      const answer = yield* ask
      if (answer !== undefined) return answer
      yield* Effect.sleep("100 millis")
    }
    return yield* Effect.fail(`in vain: ${what}`)
  })

export const untilGone = (rest: Rest, path: string) =>
  until(
    `${path} is gone`,
    Effect.map(get(rest, path), (object) => (object === undefined ? "gone" : undefined)),
  )

export const untilSeen = (rest: Rest, path: string, holds: (object: Seen) => boolean = () => true) =>
  until(
    `${path} is as wanted`,
    Effect.map(get(rest, path), (object) => (object !== undefined && holds(object) ? object : undefined)),
  )

export const untilListed = (rest: Rest, path: string, holds: (objects: ReadonlyArray<Seen>) => boolean) =>
  until(
    `${path} is as wanted`,
    Effect.map(list(rest, path), (objects) => (holds(objects) ? objects : undefined)),
  )

/** The owners of an object, by kind and name. */
export const ownersOf = ({ metadata }: Seen): ReadonlyArray<string> =>
  (metadata.ownerReferences ?? []).map(
    ({ kind, name, controller, blockOwnerDeletion }) =>
      `${kind}/${name}${controller === true ? " controller" : ""}${blockOwnerDeletion === true ? " blocks" : ""}`,
  )
