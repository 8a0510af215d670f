// The garbage collector: goes by the UIDs of owners, on its own time. What it does for each object is that of
// kube-controller-manager 1.35 (pkg/controller/garbagecollector), over what is stored instead of a graph.
import type { KubeObject, OwnerReference, ResourceKind } from "../../../src/services/Kubernetes/Kubernetes.ts"
import { ApiStatus } from "../kubernetes/ApiServer.ts"
import type { Cluster } from "./Cluster.ts"
import { kindsOf } from "./Kinds.ts"
import { isTerminating, withOwners, withoutFinalizer } from "./Shapes.ts"
import type { Delay } from "./Tasks.ts"

const FOREGROUND = "foregroundDeletion"
const ORPHAN = "orphan"

interface Item {
  readonly kind: ResourceKind
  readonly object: KubeObject
}

const has = (object: KubeObject, finalizer: string) =>
  object.metadata.finalizers?.includes(finalizer) === true

const groupVersion = (apiVersion: string) => {
  const [first = "", second] = apiVersion.split("/")
  return second === undefined ? { group: "", version: first } : { group: first, version: second }
}

/** `delay`: how long it takes to look at what has lost its owner. */
export const runGarbageCollector = (cluster: Cluster, delay: Delay = [10, 400]) => {
  const { client } = cluster
  /** By UID: what there is, as it was last seen. */
  const items = new Map<string, Item>()
  /** By the UID of an owner: the UIDs of what it owns. */
  const dependents = new Map<string, Set<string>>()

  const dependentsOf = (uid: string): ReadonlyArray<Item> =>
    [...(dependents.get(uid) ?? [])].flatMap((each) => items.get(each) ?? [])

  const link = (object: KubeObject, present: boolean) => {
    for (const { uid } of object.metadata.ownerReferences ?? []) {
      const owned = dependents.get(uid) ?? new Set()
      if (present) owned.add(object.metadata.uid)
      else owned.delete(object.metadata.uid)
      if (owned.size === 0) dependents.delete(uid)
      else dependents.set(uid, owned)
    }
  }

  const removeFinalizer = ({ kind, object }: Item, finalizer: string) => {
    const live = client.get(kind, object.metadata)
    if (live === undefined || live.metadata.uid !== object.metadata.uid || !has(live, finalizer)) return
    client.update(kind, withoutFinalizer(live, finalizer))
  }

  const setOwners = (
    { kind, object }: Item,
    change: (owner: OwnerReference) => OwnerReference | undefined,
  ) => {
    const live = client.get(kind, object.metadata)
    if (live === undefined || live.metadata.uid !== object.metadata.uid) return
    const owners = (live.metadata.ownerReferences ?? []).flatMap((owner) => change(owner) ?? [])
    client.update(kind, withOwners(live, owners))
  }

  const ownerState = (object: KubeObject, owner: OwnerReference): "solid" | "dangling" | "waiting" => {
    const { group } = groupVersion(owner.apiVersion)
    const kind = kindsOf(client).find((each) => each.group === group && each.kind === owner.kind)
    if (kind === undefined)
      throw new ApiStatus(500, "NoKindMatch", `no matches for kind "${owner.kind}" in "${owner.apiVersion}"`)
    // An owner of a cluster-scoped object in a namespace cannot be found at all.
    const { namespace } = object.metadata
    if (kind.namespaced && namespace === undefined) return "dangling"
    const found = client.get(
      kind,
      kind.namespaced && namespace !== undefined ? { namespace, name: owner.name } : { name: owner.name },
    )
    if (found?.metadata.uid !== owner.uid) return "dangling"
    return isTerminating(found) && has(found, FOREGROUND) ? "waiting" : "solid"
  }

  const remove = ({ kind, object }: Item, propagation: "Background" | "Foreground" | "Orphan") =>
    client.delete(kind, object.metadata, { uid: object.metadata.uid, propagation })

  const collect = (item: Item) => {
    const owners = item.object.metadata.ownerReferences ?? []
    if (owners.length === 0) return
    const states = new Map(owners.map((owner) => [owner.uid, ownerState(item.object, owner)]))
    const of = (state: string) => owners.filter(({ uid }) => states.get(uid) === state)
    if (of("solid").length > 0) {
      if (of("solid").length < owners.length)
        setOwners(item, (owner) => (states.get(owner.uid) === "solid" ? owner : undefined))
      return
    }
    const own = dependentsOf(item.object.metadata.uid)
    if (of("waiting").length > 0 && own.length > 0) {
      // A circle of objects that wait for one another is broken here.
      if (own.some(({ object }) => isTerminating(object) && has(object, FOREGROUND)))
        setOwners(item, (owner) => ({ ...owner, blockOwnerDeletion: false }))
      remove(item, "Foreground")
      return
    }
    remove(
      item,
      has(item.object, ORPHAN) ? "Orphan" : has(item.object, FOREGROUND) ? "Foreground" : "Background",
    )
  }

  const waitForDependents = (item: Item) => {
    const blocking = dependentsOf(item.object.metadata.uid).filter(({ object }) =>
      object.metadata.ownerReferences?.some(
        ({ uid, blockOwnerDeletion }) => uid === item.object.metadata.uid && blockOwnerDeletion === true,
      ),
    )
    if (blocking.length === 0) removeFinalizer(item, FOREGROUND)
    for (const { object } of blocking) if (!has(object, FOREGROUND)) deletions.add(object.metadata.uid)
  }

  const deletions = cluster.controller(delay, (uid) => {
    const item = items.get(uid)
    if (item === undefined) return
    const live = client.get(item.kind, item.object.metadata)
    if (live?.metadata.uid !== uid) return
    const now: Item = { ...item, object: live }
    if (isTerminating(live)) {
      if (has(live, FOREGROUND)) waitForDependents(now)
      return
    }
    collect(now)
  })

  const orphans = cluster.controller([10, 400], (uid) => {
    const item = items.get(uid)
    if (item === undefined || !has(item.object, ORPHAN)) return
    for (const dependent of dependentsOf(uid))
      setOwners(dependent, (owner) => (owner.uid === uid ? undefined : owner))
    removeFinalizer(item, ORPHAN)
  })

  /** An owner that waits for its dependents looks again. */
  const wakeOwners = (object: KubeObject) => {
    for (const { uid } of object.metadata.ownerReferences ?? []) {
      const owner = items.get(uid)
      if (owner !== undefined && has(owner.object, FOREGROUND)) deletions.add(uid)
    }
  }

  const seen = (item: Item) => {
    const { uid } = item.object.metadata
    const before = items.get(uid)
    if (before !== undefined) link(before.object, false)
    items.set(uid, item)
    link(item.object, true)
    if (isTerminating(item.object) && has(item.object, ORPHAN)) orphans.add(uid)
    if (isTerminating(item.object) && has(item.object, FOREGROUND)) deletions.add(uid)
    const owners = JSON.stringify(item.object.metadata.ownerReferences ?? [])
    if (owners === JSON.stringify(before?.object.metadata.ownerReferences ?? [])) return
    deletions.add(uid)
    if (before !== undefined) wakeOwners(before.object)
  }

  const gone = ({ object }: Item) => {
    const { uid } = object.metadata
    const owned = dependentsOf(uid)
    const before = items.get(uid)
    link(before?.object ?? object, false)
    items.delete(uid)
    for (const dependent of owned) deletions.add(dependent.object.metadata.uid)
    wakeOwners(object)
  }

  cluster.watchAll(({ type, kind, object }) => (type === "DELETED" ? gone : seen)({ kind, object }))
  for (const kind of kindsOf(client)) for (const object of client.list(kind)) seen({ kind, object })
}
