// Times on the way out, at a speed: in the simulated world it is later than here, and kubectl works out ages by the clock here.
// So each time that a server has set is told as long ago as it is in there. Ages are right and the order is kept; the same
// time, asked for later, is told anew. What somebody has written (a spec, an annotation, a message) stays as it is.

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

/** Maps in which the names are somebody's own. */
const others = new Set(["annotations", "binaryData", "data", "labels", "matchLabels", "stringData"])

const isTime = (text: string): boolean => /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/.test(text)

const earlier = (time: string, millis: number): string => {
  const then = new Date(Date.parse(time) - millis).toISOString()
  const fraction = /\.\d+/.exec(time)?.[0]
  // Micro seconds stay as they are, so that what happened within one is still in its order.
  return fraction === undefined
    ? then.replace(/\.\d+/, "")
    : then.replace(/(\.\d{3})/, (ms) => ms + fraction.slice(4))
}

/** A body with its times so many milliseconds earlier. */
export const toldEarlier = (body: unknown, millis: number): unknown => {
  if (millis === 0 || typeof body !== "object" || body === null || Buffer.isBuffer(body)) return body
  if (Array.isArray(body)) return body.map((each) => toldEarlier(each, millis))
  return Object.fromEntries(
    Object.entries(body).map(([name, value]: [string, unknown]) => {
      if (typeof value === "string")
        return [name, fields.has(name) && isTime(value) ? earlier(value, millis) : value]
      return [name, others.has(name) ? value : toldEarlier(value, millis)]
    }),
  )
}
