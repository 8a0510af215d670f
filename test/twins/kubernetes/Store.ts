// The objects, one counter of versions, and the history of changes that watches and lists of the past are served from.
import type { KubeObject, ResourceKind } from "../../../src/services/Kubernetes/Kubernetes.ts"
import type { Backup, Change } from "./ApiServer.ts"
import { freeze } from "./Json.ts"
import { keyOf } from "./Resources.ts"

/** A change with the version it made. */
export interface Recorded extends Change {
  readonly version: number
}

/** So many changes of a kind are kept; the real watch cache keeps between 100 and 102,400. */
const WINDOW = 2000

const NONE: ReadonlyMap<string, KubeObject> = new Map()

interface OfKind {
  readonly kind: ResourceKind
  readonly objects: Map<string, KubeObject>
  history: Array<Recorded>
  /** Changes up to this version are forgotten. */
  compacted: number
  /** The watch cache shows this version; undefined: the newest. */
  frozenAt: number | undefined
}

export const objectKey = (namespace: string | undefined, name: string): string => `${namespace ?? ""}/${name}`

const keyOfObject = (object: KubeObject) => objectKey(object.metadata.namespace, object.metadata.name)

const byKey = ([a]: readonly [string, unknown], [b]: readonly [string, unknown]) => (a < b ? -1 : 1)

export class Store {
  #version: number
  #revision = 0
  #compacted = 0
  readonly #kinds = new Map<string, OfKind>()
  readonly #listeners = new Set<(change: Change) => void>()
  readonly #caches = new Set<(kind: ResourceKind) => void>()
  /** Changes that are committed and not told yet: a listener's own write is told after the one it was told of. */
  readonly #untold: Array<Recorded> = []
  #telling = false

  constructor(version = 1) {
    this.#version = version
  }

  get version(): number {
    return this.#version
  }

  /** Goes up with each change, a restore too: what was read at a revision is so for as long as that is the revision. */
  get revision(): number {
    return this.#revision
  }

  #of(kind: ResourceKind): OfKind {
    const key = keyOf(kind)
    const known = this.#kinds.get(key)
    if (known !== undefined) return known
    const made: OfKind = {
      kind,
      objects: new Map(),
      history: [],
      compacted: this.#compacted,
      frozenAt: undefined,
    }
    this.#kinds.set(key, made)
    return made
  }

  get(kind: ResourceKind, namespace: string | undefined, name: string): KubeObject | undefined {
    return this.#kinds.get(keyOf(kind))?.objects.get(objectKey(namespace, name))
  }

  /** In the order of their names. */
  list(kind: ResourceKind, namespace?: string): ReadonlyArray<KubeObject> {
    return sortedIn(this.#kinds.get(keyOf(kind))?.objects ?? NONE, namespace)
  }

  /** As it was at a version: later changes are taken back. */
  listAt(kind: ResourceKind, namespace: string | undefined, version: number): ReadonlyArray<KubeObject> {
    if (version >= this.#version) return this.list(kind, namespace)
    const { objects, history } = this.#of(kind)
    const then = new Map(objects)
    for (const change of history.toReversed()) {
      if (change.version <= version) break
      if (change.previous === undefined) then.delete(keyOfObject(change.object))
      else then.set(keyOfObject(change.previous), change.previous)
    }
    return sortedIn(then, namespace)
  }

  /** The next version, for whoever commits with it. */
  nextVersion(): string {
    this.#version += 1
    return String(this.#version)
  }

  /** Writes an object that carries a version from `nextVersion`, and tells the listeners. */
  put(kind: ResourceKind, object: KubeObject): void {
    const of = this.#of(kind)
    const key = keyOfObject(object)
    const previous = of.objects.get(key)
    of.objects.set(key, freeze(object))
    this.#commit(
      of,
      previous === undefined
        ? { type: "ADDED", kind, object, version: this.#version }
        : { type: "MODIFIED", kind, object, previous, version: this.#version },
    )
  }

  /** Removes an object; `last` is its last state, under the version of the deletion. */
  remove(kind: ResourceKind, last: KubeObject): void {
    const of = this.#of(kind)
    const previous = of.objects.get(keyOfObject(last))
    if (previous === undefined) return
    of.objects.delete(keyOfObject(last))
    this.#commit(of, { type: "DELETED", kind, object: freeze(last), previous, version: this.#version })
  }

  #commit(of: OfKind, change: Recorded): void {
    this.#revision += 1
    of.history.push(change)
    if (of.history.length > 2 * WINDOW) {
      const gone = of.history.splice(0, WINDOW)
      of.compacted = gone.at(-1)?.version ?? of.compacted
    }
    this.#untold.push(change)
    if (this.#telling) return
    this.#telling = true
    for (let next = this.#untold.shift(); next !== undefined; next = this.#untold.shift()) {
      for (const listener of this.#listeners) listener(next)
      for (const look of this.#caches) look(next.kind)
    }
    this.#telling = false
  }

  subscribe(listener: (change: Change) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** Told when the watch cache of a kind may have news. */
  onCache(look: (kind: ResourceKind) => void): () => void {
    this.#caches.add(look)
    return () => this.#caches.delete(look)
  }

  /** The version that the watch cache of a kind shows. */
  cacheVersion(kind: ResourceKind): number {
    return this.#kinds.get(keyOf(kind))?.frozenAt ?? this.#version
  }

  /** The changes after a version, as far as the watch cache has come; undefined when history does not reach back. */
  changesAfter(kind: ResourceKind, version: number): ReadonlyArray<Recorded> | undefined {
    const { history, compacted, frozenAt } = this.#of(kind)
    if (version < compacted) return undefined
    // Most watches look for the newest few of many.
    let from = history.length
    while (from > 0 && (history[from - 1]?.version ?? 0) > version) from -= 1
    const news = history.slice(from)
    return frozenAt === undefined ? news : news.filter((change) => change.version <= frozenAt)
  }

  /** From which version on history of a kind is kept. */
  oldest(kind: ResourceKind): number {
    return this.#of(kind).compacted
  }

  compact(version: number): void {
    this.#compacted = Math.max(this.#compacted, Math.min(version, this.#version))
    for (const of of this.#kinds.values()) {
      of.compacted = Math.max(of.compacted, this.#compacted)
      of.history = of.history.filter((change) => change.version > of.compacted)
    }
  }

  get compacted(): number {
    return this.#compacted
  }

  freeze(kind: ResourceKind, version: number | undefined): void {
    this.#of(kind).frozenAt = version ?? this.#version
  }

  thaw(kind: ResourceKind): void {
    this.#of(kind).frozenAt = undefined
    for (const look of this.#caches) look(kind)
  }

  kinds(): ReadonlyArray<ResourceKind> {
    return [...this.#kinds.values()].map((of) => of.kind)
  }

  backup(): Backup {
    const objects = new Map([...this.#kinds].map(([key, of]) => [key, new Map(of.objects)]))
    return { version: this.#version, objects }
  }

  /** Back to a backup: versions go back, too, and there is no history. */
  restore(backup: Backup): void {
    this.#revision += 1
    this.#version = backup.version
    this.#compacted = backup.version
    for (const [key, of] of this.#kinds) {
      of.objects.clear()
      for (const [name, object] of backup.objects.get(key) ?? []) of.objects.set(name, object)
      of.history = []
      of.compacted = backup.version
      of.frozenAt = undefined
    }
  }
}

const sortedIn = (
  objects: ReadonlyMap<string, KubeObject>,
  namespace: string | undefined,
): ReadonlyArray<KubeObject> => {
  const all =
    namespace === undefined ? [...objects] : [...objects].filter(([key]) => key.startsWith(`${namespace}/`))
  return all.sort(byKey).map(([, object]) => object)
}
