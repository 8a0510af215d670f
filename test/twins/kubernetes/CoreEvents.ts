// Events under the older of their two APIs: the same objects, stored as events.k8s.io has them.
import * as Kinds from "../../../src/services/Kubernetes/Kinds.ts"
import type { KubeObject, ResourceKind } from "../../../src/services/Kubernetes/Kubernetes.ts"
import type { Json } from "./Json.ts"
import { stored } from "./Machine.ts"
import { CoreEvent, keyOf, type Resource } from "./Resources.ts"

/** What a field is called in either API: older, newer. */
const NAMES: ReadonlyArray<readonly [string, string]> = [
  ["involvedObject", "regarding"],
  ["message", "note"],
  ["source", "deprecatedSource"],
  ["firstTimestamp", "deprecatedFirstTimestamp"],
  ["lastTimestamp", "deprecatedLastTimestamp"],
  ["count", "deprecatedCount"],
  ["reportingComponent", "reportingController"],
]
const toNewer = new Map(NAMES)
const toOlder = new Map(NAMES.map(([older, newer]) => [newer, older]))

const renamed = (object: Json, names: ReadonlyMap<string, string>): Json =>
  Object.fromEntries(Object.entries(object).map(([field, value]) => [names.get(field) ?? field, value]))

const views = new WeakMap<KubeObject, KubeObject>()

const coreEvent = (event: KubeObject): KubeObject => {
  const known = views.get(event)
  if (known !== undefined) return known
  const made = Object.freeze(stored({ eventTime: null, ...renamed(event, toOlder), apiVersion: "v1" }))
  views.set(event, made)
  return made
}

const isCore = ({ kind }: Resource): boolean => keyOf(kind) === keyOf(CoreEvent)

/** Where the objects of a resource are stored. */
export const storedAs = (resource: Resource): ResourceKind => (isCore(resource) ? Kinds.Event : resource.kind)

/** A stored object as the resource shows it. */
export const shownAs = (resource: Resource, object: KubeObject): KubeObject =>
  isCore(resource) ? coreEvent(object) : object

/** Whether the resource is another's under an older name. */
export const isView = isCore

/** A body of the older API as the newer one has it. */
export const newerEvent = (body: Json): Json => ({
  ...renamed(body, toNewer),
  apiVersion: "events.k8s.io/v1",
})
