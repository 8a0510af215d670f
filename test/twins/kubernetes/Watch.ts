// Watches: the changes of a kind after a version, out of the watch cache.
import type { KubeObject, ResourceKind } from "../../../src/services/Kubernetes/Kubernetes.ts"
import { apiVersion } from "../../../src/services/Kubernetes/Paths.ts"
import type { OpenWatch, WatchHandlers, WatchLine } from "./ApiServer.ts"
import { shownAs, storedAs } from "./CoreEvents.ts"
import type { Json } from "./Json.ts"
import type { Call, Machine } from "./Machine.ts"
import { type Form, formed, objectsAt, selectorsOf, versionOf } from "./Read.ts"
import { keyOf } from "./Resources.ts"
import { matcher } from "./Selectors.ts"
import { tooOldVersion } from "./Status.ts"
import type { Recorded } from "./Store.ts"

interface Running {
  readonly kind: ResourceKind
  readonly look: () => void
  readonly end: () => void
  stalled: boolean
  /** What is held back is to be told now. */
  due: boolean
}

const sameKind = (left: ResourceKind, right: ResourceKind | undefined): boolean =>
  right === undefined || keyOf(left) === keyOf(right)

const INITIAL_EVENTS_END = { "k8s.io/initial-events-end": "true" }

const identity = ({ object: { metadata } }: Recorded) =>
  `${metadata.namespace ?? ""}/${metadata.name}/${metadata.uid}`

/** Of several changes of one object the last alone, as somebody sees it who has missed those before. */
const merged = (changes: ReadonlyArray<Recorded>): ReadonlyArray<Recorded> => {
  const last = new Map(changes.map((change) => [identity(change), change]))
  return changes.flatMap((change): ReadonlyArray<Recorded> => {
    if (last.get(identity(change)) !== change) return []
    const first = changes.find((each) => identity(each) === identity(change)) ?? change
    const { previous } = first
    if (previous !== undefined) return [{ ...change, previous }]
    if (change.type === "DELETED") return []
    const { previous: _, ...added } = change
    return [{ ...added, type: "ADDED" }]
  })
}

const NOTHING: OpenWatch = { bookmark: () => undefined, close: () => undefined }

export class Watches {
  readonly #machine: Machine
  readonly #running = new Set<Running>()
  #merging = false

  constructor(machine: Machine) {
    this.#machine = machine
    machine.store.onCache((kind) => {
      for (const watch of [...this.#running]) if (sameKind(watch.kind, kind)) watch.look()
    })
  }

  open(call: Call, form: Form, handlers: WatchHandlers): OpenWatch {
    const { resource, query, namespace } = call
    const { store } = this.#machine
    const kind = storedAs(resource)
    const matches = matcher(resource, selectorsOf(query))
    const asked = versionOf(query.get("resourceVersion"))
    const shown = (object: KubeObject): Json => formed(this.#machine, resource, object, form)
    const send = (type: WatchLine["type"], object: unknown) => handlers.onEvent({ type, object })
    let version = asked ?? 0

    const events = (change: Recorded): void => {
      const object = shownAs(resource, change.object)
      const previous = change.previous === undefined ? undefined : shownAs(resource, change.previous)
      if (namespace !== undefined && object.metadata.namespace !== namespace) return
      const [before, after] = [
        previous !== undefined && matches(previous),
        change.type !== "DELETED" && matches(object),
      ]
      if (after) send(before ? "MODIFIED" : "ADDED", shown(object))
      // Of what leaves the selection the state before is told, under the version of the change.
      else if (before)
        send("DELETED", shown(change.type === "DELETED" ? object : withVersion(previous ?? object, object)))
    }

    // A list that comes as a watch: all there is, and a bookmark behind it.
    const isList = query.get("sendInitialEvents") === "true"
    const bookmark = (annotations?: Json) => {
      const identity =
        form === "Partial"
          ? { kind: "PartialObjectMetadata", apiVersion: "meta.k8s.io/v1" }
          : { kind: resource.kind.kind, apiVersion: apiVersion(resource.kind) }
      const resourceVersion = String(version)
      send("BOOKMARK", {
        ...identity,
        metadata: annotations === undefined ? { resourceVersion } : { resourceVersion, annotations },
      })
    }

    if (asked === undefined || asked === 0 || isList) {
      version = store.cacheVersion(kind)
      for (const object of objectsAt(store, resource, namespace, version))
        if (matches(object)) send("ADDED", shown(object))
      if (isList) bookmark(INITIAL_EVENTS_END)
    } else if (asked < store.oldest(kind)) {
      send("ERROR", tooOldVersion(asked, store.oldest(kind)).body)
      handlers.onEnd()
      return NOTHING
    }

    const running: Running = {
      kind,
      stalled: false,
      due: false,
      look: () => {
        if (running.stalled) return
        const news = store.changesAfter(kind, version) ?? []
        // A change by itself is told with the next one, or with a bookmark.
        if (this.#merging && news.length === 1 && !running.due) return
        for (const change of this.#merging ? merged(news) : news) {
          version = change.version
          events(change)
        }
        version = Math.max(version, news.at(-1)?.version ?? version)
      },
      end: () => {
        this.#running.delete(running)
        handlers.onEnd()
      },
    }
    this.#running.add(running)
    running.look()
    return {
      bookmark: () => {
        const now = store.cacheVersion(kind)
        // A watch from a version that is not reached yet stays silent.
        if (running.stalled || query.get("allowWatchBookmarks") !== "true" || now < version) return
        running.due = true
        running.look()
        running.due = false
        version = now
        bookmark()
      },
      close: () => {
        this.#running.delete(running)
      },
    }
  }

  stall(kind: ResourceKind | undefined): void {
    for (const watch of this.#running) if (sameKind(watch.kind, kind)) watch.stalled = true
  }

  /** From now on watches tell changes in pairs, and of two of one object the later alone. */
  merge(on: boolean): void {
    this.#merging = on
    if (!on) for (const watch of [...this.#running]) watch.look()
  }

  cut(kind: ResourceKind | undefined): void {
    for (const watch of [...this.#running]) if (sameKind(watch.kind, kind)) watch.end()
  }
}

const withVersion = (before: KubeObject, after: KubeObject): KubeObject => ({
  ...before,
  metadata: { ...before.metadata, resourceVersion: after.metadata.resourceVersion },
})
