// The last state of each object that a list-watch has told of, to say what was lost in between.
import type { KubeObject, WatchEvent } from "./Kubernetes.ts"

export const objectKey = (object: {
  readonly metadata: { readonly namespace?: string; readonly name: string }
}): string => `${object.metadata.namespace ?? ""}/${object.metadata.name}`

export interface KnownObjects {
  /** After a list: `Deleted` for what vanished or lives a second life under its name, then the `Snapshot`. */
  readonly replace: (objects: ReadonlyArray<KubeObject>) => ReadonlyArray<WatchEvent>
  readonly upsert: (object: KubeObject) => ReadonlyArray<WatchEvent>
  readonly remove: (object: KubeObject) => ReadonlyArray<WatchEvent>
}

export const makeKnownObjects = (): KnownObjects => {
  let known = new Map<string, KubeObject>()
  return {
    replace: (objects) => {
      const next = new Map(objects.map((object) => [objectKey(object), object]))
      const lost = [...known].filter(([key, object]) => next.get(key)?.metadata.uid !== object.metadata.uid)
      known = next
      return [
        ...lost.map(([, object]): WatchEvent => ({ _tag: "Deleted", object })),
        { _tag: "Snapshot", objects },
      ]
    },
    upsert: (object) => {
      const key = objectKey(object)
      const before = known.get(key)
      known.set(key, object)
      const upserted: WatchEvent = { _tag: "Upserted", object }
      return before === undefined || before.metadata.uid === object.metadata.uid
        ? [upserted]
        : [{ _tag: "Deleted", object: before }, upserted]
    },
    remove: (object) => {
      const key = objectKey(object)
      // What was never told of cannot be taken back.
      if (known.get(key)?.metadata.uid !== object.metadata.uid) return []
      known.delete(key)
      return [{ _tag: "Deleted", object }]
    },
  }
}
