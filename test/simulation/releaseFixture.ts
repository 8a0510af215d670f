// What a release of the operator has written, as a text that outlives it: UIDs stand for what they name, times for
// themselves. Put into a world of today, it is what an upgrade finds.
import * as Kinds from "../../src/services/Kubernetes/Kinds.ts"
import type { KubeObject } from "../../src/services/Kubernetes/Kubernetes.ts"
import { key, type World } from "../twins/world/World.ts"

const root = `/var/lib/platform-operator/instances/${key.namespace}/${key.name}`
export const recordFile = `${root}/instance.json`
export const markerFile = `${root}/operation.json`

/** `uid of <kind> <namespace>/<name>`, and back; with its resourceVersion, by which the operator knows a Secret: `version of …`. */
const names = (world: World): ReadonlyMap<string, string> => {
  const found = new Map<string, string>()
  const add = (where: string, objects: ReadonlyArray<KubeObject>, kind: string) => {
    for (const { metadata } of objects) {
      if (metadata.uid === undefined) continue
      const name = `${where}${kind} ${metadata.namespace ?? ""}/${metadata.name}`
      // The longer one first: it holds the other.
      found.set(`${metadata.uid}.${metadata.resourceVersion}`, `version of ${name}`)
      found.set(metadata.uid, `uid of ${name}`)
    }
  }
  for (const kind of [Kinds.PlatformInstance, Kinds.Namespace, Kinds.Service, Kinds.Secret, Kinds.Pod]) {
    add("", world.admin.list(kind), kind.kind)
  }
  const inner = world.inner()
  if (inner !== undefined) add("inner ", inner.as("kubernetes-admin").list(Kinds.Namespace), "Namespace")
  return found
}

/** What stands in its place now. */
const now = "now"
const time = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/

type Json = null | boolean | number | string | ReadonlyArray<Json> | { readonly [name: string]: Json }

const mapStrings = (value: Json, change: (text: string, path: string) => Json, path = ""): Json => {
  if (typeof value === "string") return change(value, path)
  if (Array.isArray(value)) return value.map((item, index) => mapStrings(item, change, `${path}/${index}`))
  if (typeof value !== "object" || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, item]) => [name, mapStrings(item, change, `${path}/${name}`)]),
  )
}

const plain = (value: unknown): Json => JSON.parse(JSON.stringify(value))

const abstract = (world: World, value: unknown): Json => {
  const known = names(world)
  return mapStrings(plain(value), (text) => {
    if (time.test(text)) return now
    let named = text
    for (const [uid, name] of known) named = named.replaceAll(uid, `<${name}>`)
    return named
  })
}

const meta = (object: KubeObject | undefined) => ({
  labels: object?.metadata.labels ?? {},
  annotations: object?.metadata.annotations ?? {},
  finalizers: object?.metadata.finalizers ?? [],
})

/** What an instance at rest consists of, in the operator's own words. */
export const writtenAtRest = (world: World): Json => {
  const instance = world.instance()
  const host = world.hostNamespace()
  const record = JSON.parse(world.files.readText(recordFile))
  return abstract(world, {
    // Drawn anew by each install.
    record: { ...record, installed: { ...record.installed, repairEarly: 0 } },
    instance: { ...meta(instance), status: instance?.status },
    hostNamespace: meta(world.admin.get(Kinds.Namespace, { name: host })),
    kubeconfig: meta(
      world.admin.get(Kinds.Secret, { namespace: key.namespace, name: `${key.name}-kubeconfig` }),
    ),
    folder: world.files.list(root).toSorted(),
  })
}

/** What says that an operation runs. Of its holder, which is another each time, what is said of it. */
export const writtenInOperation = (world: World): Json => {
  const marker = JSON.parse(world.files.readText(markerFile))
  const holder = Object.fromEntries(Object.keys(marker.holder).map((name) => [name, now]))
  return abstract(world, { ...marker, holder })
}

/** A text of then with the UIDs of now; what is another each time is what stands in its place now. */
export const concrete = (world: World, then: Json, today: unknown): Json => {
  const uids = new Map([...names(world)].map(([uid, name]) => [`<${name}>`, uid]))
  const at = (path: string): Json =>
    path
      .split("/")
      .slice(1)
      .reduce<Json>(
        (value, name) => (value as { readonly [name: string]: Json } | null)?.[name] ?? null,
        plain(today),
      )
  return mapStrings(then, (text, path) => {
    if (text === now) return at(path)
    let named = text
    for (const [name, uid] of uids) named = named.replaceAll(name, uid)
    return named
  })
}
