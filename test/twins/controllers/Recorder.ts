// Events, as client-go's recorder writes them: the same one again only counts up.
import { Event } from "../../../src/services/Kubernetes/Kinds.ts"
import type { KubeObject } from "../../../src/services/Kubernetes/Kubernetes.ts"
import { type ApiClient, ApiStatus } from "../kubernetes/ApiServer.ts"
import type { Tasks } from "./Tasks.ts"

export interface Recorder {
  readonly event: (about: KubeObject, type: "Normal" | "Warning", reason: string, message: string) => void
}

interface Counted {
  readonly name: string
  readonly namespace: string
  count: number
}

const micro = (millis: number): string => new Date(millis).toISOString().replace("Z", "000Z")

export const makeRecorder = (client: ApiClient, { now }: Tasks): Recorder => {
  const known = new Map<string, Counted>()
  let serial = 0
  const write = (about: KubeObject, type: string, reason: string, note: string) => {
    const { name, namespace = "default", uid } = about.metadata
    const key = `${uid}/${type}/${reason}/${note}`
    const before = known.get(key)
    const deprecatedLastTimestamp = new Date(now()).toISOString()
    if (before !== undefined && client.get(Event, before) !== undefined) {
      before.count += 1
      const patch = { deprecatedCount: before.count, deprecatedLastTimestamp }
      client.patch(Event, before, { type: "merge", patch })
      return
    }
    serial += 1
    const metadata = { name: `${name}.${(now() * 1000 + serial).toString(16)}`, namespace }
    client.create(Event, {
      apiVersion: "events.k8s.io/v1",
      kind: "Event",
      metadata,
      type,
      reason,
      note,
      action: reason,
      eventTime: micro(now()),
      reportingController: client.user,
      reportingInstance: client.user,
      regarding: {
        apiVersion: about.apiVersion,
        kind: about.kind,
        name,
        namespace: about.metadata.namespace,
        uid,
        resourceVersion: about.metadata.resourceVersion,
      },
      deprecatedCount: 1,
      deprecatedFirstTimestamp: deprecatedLastTimestamp,
      deprecatedLastTimestamp,
    })
    known.set(key, { ...metadata, count: 1 })
  }
  return {
    // An Event that cannot be written, in a namespace that is going away for one, is dropped.
    event: (about, type, reason, message) => {
      try {
        write(about, type, reason, message)
      } catch (error) {
        if (!(error instanceof ApiStatus)) throw error
      }
    },
  }
}
