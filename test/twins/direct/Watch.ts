// A list-watch of an API server in memory: what is there, then the server's changes as they are committed. No bookmarks
// and no ends as agreed; where the server cuts it, cannot be reached or refuses, it lists again.
import { Effect, Queue, Stream } from "effect"
import { isSecret } from "../../../src/services/Kubernetes/Kinds.ts"
import { makeKnownObjects } from "../../../src/services/Kubernetes/KnownObjects.ts"
import type { ListOptions, ResourceKind, WatchEvent } from "../../../src/services/Kubernetes/Kubernetes.ts"
import * as Requests from "../../../src/services/Kubernetes/Requests.ts"
import type { OpenWatch, WatchLine } from "../kubernetes/ApiServer.ts"
import { type Arrived, ask, readObject, readPage } from "./Client.ts"

/** Between two tries. */
const pause = "1 second"

const isOpen = (opened: object): opened is OpenWatch => "close" in opened

export const directListWatch = (
  arrive: () => Arrived | undefined,
  kind: ResourceKind,
  given: ListOptions = {},
): Stream.Stream<WatchEvent> => {
  const options = isSecret(kind) ? { ...given, metadataOnly: true } : given
  return Stream.callback<WatchEvent>((queue) => {
    const known = makeKnownObjects()
    const emit = (events: ReadonlyArray<WatchEvent>) => {
      for (const event of events) Queue.offerUnsafe(queue, event)
    }
    const take = ({ type, object }: WatchLine) => {
      if (type === "DELETED") emit(known.remove(readObject(kind, object)))
      else if (type === "ADDED" || type === "MODIFIED") emit(known.upsert(readObject(kind, object)))
    }
    /** Ends when the watch does. */
    const once = Effect.suspend(() => {
      const arrived = arrive()
      if (arrived === undefined) return Effect.void
      const { api, user } = arrived
      const listed = ask(
        arrived,
        Requests.listRequest(kind, options, { from: { _tag: "Newest" }, paged: false }),
      )
      if (listed.status >= 300) return Effect.void
      const { items, resourceVersion } = readPage(kind, listed.body)
      emit(known.replace(items))
      return Effect.callback<void>((resume) => {
        const closes: Array<() => void> = []
        const close = () => {
          for (const each of closes.splice(0)) each()
        }
        const end = () => {
          close()
          resume(Effect.void)
        }
        const { path, accept } = Requests.watchRequest(kind, options, {
          version: resourceVersion,
          timeoutSeconds: 3600,
        })
        const opened = api.watch(
          { user, method: "GET", path, ...(accept !== undefined && { accept }) },
          { onEvent: take, onEnd: end },
        )
        if (!isOpen(opened)) return end()
        closes.push(
          opened.close,
          api.faults.onChange(() => {
            if (api.faults.isDown() || api.faults.isHanging()) end()
          }),
        )
        return Effect.sync(close)
      })
    })
    return Effect.forever(Effect.andThen(once, Effect.sleep(pause)))
  })
}
