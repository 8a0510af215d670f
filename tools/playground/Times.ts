// Times on the way out, at a speed: in the simulated world it is later than here, and kubectl works out ages by the clock here.
// So each time that a server has set is told as long ago as it is in there. Ages are right and the order is kept; the same
// time, asked for later, is told anew. What somebody has written (a spec, an annotation, a message) stays as it is, but for the
// annotation in which the operator remembers since when an instance is paused or asleep, and its files of what it has done and
// looked at.
import { ANNOTATION_DAY_TWO, HISTORY_KEY, PLAN_KEY } from "../../src/schema/Names.ts"

/** Fields of the API that say when something was: those of Kubernetes' kinds, and those of a PlatformInstance's status. */
const fields = new Set([
  "acquireTime",
  "completionTime",
  "creationTimestamp",
  "deletionTimestamp",
  "eventTime",
  "finishedAt",
  "firstTimestamp",
  "lastHeartbeatTime",
  "lastObservedTime",
  "lastProbeTime",
  "lastRepair",
  "lastTimestamp",
  "lastTransitionTime",
  "lastUpdateTime",
  "renewTime",
  "resyncStarted",
  "startTime",
  "startedAt",
  "time",
])

/** The same in what the operator remembers of pauses and sleep. */
const remembered = new Set(["askedAt", "pausedSince", "since", "sinceBefore"])

/** The same in the operator's own files, by their names in its ConfigMaps. */
const ownFiles: ReadonlyMap<string, ReadonlySet<string>> = new Map([
  [HISTORY_KEY, new Set(["startedAt", "endedAt"])],
  [PLAN_KEY, new Set(["madeAt"])],
])

/** Maps in which the names are somebody's own. */
const others = new Set(["binaryData", "data", "kept", "labels", "matchLabels", "stringData", "told"])

const isTime = (text: string): boolean => /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/.test(text)

const earlier = (time: string, millis: number): string => {
  const then = new Date(Date.parse(time) - millis).toISOString()
  const fraction = /\.\d+/.exec(time)?.[0]
  // Micro seconds stay as they are, so that what happened within one is still in its order.
  return fraction === undefined
    ? then.replace(/\.\d+/, "")
    : then.replace(/(\.\d{3})/, (ms) => ms + fraction.slice(4))
}

const isObject = (value: unknown): value is object =>
  typeof value === "object" && value !== null && !Buffer.isBuffer(value)

const jsonEarlier = (text: string, millis: number, times: ReadonlySet<string>): string => {
  try {
    return JSON.stringify(timesEarlier(JSON.parse(text), millis, times))
  } catch {
    return text
  }
}

const annotationsEarlier = (annotations: unknown, millis: number): unknown => {
  if (!isObject(annotations)) return annotations
  const memo: unknown = Reflect.get(annotations, ANNOTATION_DAY_TWO)
  return typeof memo === "string"
    ? { ...annotations, [ANNOTATION_DAY_TWO]: jsonEarlier(memo, millis, remembered) }
    : annotations
}

const filesEarlier = (data: object, millis: number): unknown =>
  Object.fromEntries(
    Object.entries(data).map(([name, value]: [string, unknown]) => {
      const times = ownFiles.get(name)
      return [
        name,
        times === undefined || typeof value !== "string" ? value : jsonEarlier(value, millis, times),
      ]
    }),
  )

const timesEarlier = (body: unknown, millis: number, times: ReadonlySet<string>): unknown => {
  if (!isObject(body)) return body
  if (Array.isArray(body)) return body.map((each) => timesEarlier(each, millis, times))
  return Object.fromEntries(
    Object.entries(body).map(([name, value]: [string, unknown]) => {
      if (typeof value === "string")
        return [name, times.has(name) && isTime(value) ? earlier(value, millis) : value]
      if (name === "annotations") return [name, annotationsEarlier(value, millis)]
      // A list of that name is none of files: a plan has one.
      if (name === "data" && isObject(value) && !Array.isArray(value))
        return [name, filesEarlier(value, millis)]
      return [name, others.has(name) ? value : timesEarlier(value, millis, times)]
    }),
  )
}

/** A body with its times so many milliseconds earlier. */
export const toldEarlier = (body: unknown, millis: number): unknown =>
  millis === 0 ? body : timesEarlier(body, millis, fields)
