// An API server as the conformance scenarios use it: raw requests, and watches that are read to their end.
import { Effect, Schedule } from "effect"
import { isJson, isList, type Json, objectOf, textOf } from "../../twins/kubernetes/Json.ts"
import { makeNamer, type Step } from "../Scenario.ts"

export interface Raw {
  /** Default: an administrator. */
  readonly user?: string
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE"
  readonly path: string
  readonly accept?: string
  /** Default `application/json`. */
  readonly contentType?: string
  readonly body?: unknown
}

export interface Answer {
  readonly status: number
  /** Parsed; a text that is no JSON as it is. */
  readonly body: unknown
  /** The texts of its `Warning` headers. */
  readonly warnings: ReadonlyArray<string>
}

export interface Server {
  readonly send: (request: Raw) => Effect.Effect<Answer, unknown>
  /** The lines of a watch until the server ends it after a second. */
  readonly watch: (request: Raw) => Effect.Effect<ReadonlyArray<unknown>, unknown>
}

/** A server with what a run remembers of it. */
export interface Target extends Server {
  readonly memory: Map<string, Json>
  readonly normalise: (value: unknown) => unknown
}

const UID = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g
/** Times that the server chooses; those a manifest has are in another form of the scenario. */
const TIMES = new Set(["creationTimestamp", "deletionTimestamp", "time"])

/** The server sorts owners by seconds, of which a run may take more or fewer. */
const byManager = (left: unknown, right: unknown): number => {
  const key = (entry: unknown) => {
    const { manager, operation, subresource } = objectOf(entry)
    return `${manager} ${operation} ${subresource}`
  }
  return key(left) < key(right) ? -1 : 1
}

/** Writes what differs from run to run as names, by the order of first sight. */
const makeNormaliser = (): ((value: unknown) => unknown) => {
  const uid = makeNamer("uid")
  const version = makeNamer("version")
  const named = (text: string) =>
    text.replace(UID, (it) => uid(it) ?? it).replace(/(in record|current:) \(?\d+\)?/, "$1 a version")
  const field = (name: string, value: unknown, inList: boolean): unknown => {
    if (TIMES.has(name) && typeof value === "string") return "time"
    if (name === "resourceVersion") return inList ? "of the list" : version(textOf(value))
    if (name === "continue") return value === "" ? undefined : "token"
    if (name === "clusterIP" && value !== "None") return "address"
    if (name === "managedFields" && isList(value)) return normalise(value.toSorted(byManager), false)
    if (name === "clusterIPs" && isList(value)) return value.map((it) => (it === "None" ? it : "address"))
    return normalise(value, false)
  }
  const normalise = (value: unknown, inList: boolean): unknown => {
    if (typeof value === "string") return named(value)
    if (isList(value)) return value.map((item) => normalise(item, false))
    if (!isJson(value)) return value
    const list = textOf(value.kind)?.endsWith("List") === true
    const entries = Object.entries(value).map(([name, item]) => [
      name,
      name === "metadata" && list ? normalise(item, true) : field(name, item, inList),
    ])
    return Object.fromEntries(entries.filter(([, item]) => item !== undefined))
  }
  return (value) => normalise(value, false)
}

export const targetOf = (server: Server): Target => ({
  ...server,
  memory: new Map(),
  normalise: makeNormaliser(),
})

/** A request that may speak of what earlier answers said. */
export type Asking = Raw | ((memory: ReadonlyMap<string, Json>) => Raw)

const rawOf = (asking: Asking, { memory }: Target): Raw =>
  typeof asking === "function" ? asking(memory) : asking

/** Asks, and observes status and body. `as`: the answered object's metadata is remembered under this name. */
export const ask = (name: string, asking: Asking, as?: string): Step<Target> => ({
  name,
  run: (target) =>
    Effect.map(target.send(rawOf(asking, target)), ({ status, body }) => {
      if (as !== undefined) target.memory.set(as, objectOf(objectOf(body).metadata))
      return target.normalise({ status, body })
    }),
})

/** Asks until the answer has a status: what a policy needs a moment for. Observes the status alone. */
export const until = (name: string, asking: Asking, status: number): Step<Target> => ({
  name,
  run: (target) =>
    Effect.suspend(() => target.send(rawOf(asking, target))).pipe(
      Effect.repeat({
        until: (answer) => answer.status === status,
        schedule: Schedule.spaced("200 millis").pipe(Schedule.upTo({ times: 50 })),
      }),
      Effect.map((answer) => answer.status),
    ),
})

/** Watches from a remembered version, after the fact: what the server has kept of its history. */
export const watched = (name: string, asking: Asking): Step<Target> => ({
  name,
  run: (target) => Effect.map(target.watch(rawOf(asking, target)), (lines) => target.normalise(lines)),
})

/** The remembered version or UID of an object, or what continues a list. */
export const said = (
  memory: ReadonlyMap<string, Json>,
  as: string,
  field: "uid" | "resourceVersion" | "continue",
): string => textOf(memory.get(as)?.[field]) ?? `no ${field} of ${as}`
