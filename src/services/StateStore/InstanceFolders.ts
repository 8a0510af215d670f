// Where the instances' folders lie in a state directory, and whose they are. `base` is the directory's real path: it may be reached
// through a link, as a mount often is; nothing below it may be one.
import path from "node:path"
import { Effect } from "effect"
import type { InstanceKey } from "../../schema/InstanceKey.ts"
import { Disk, unless } from "../Disk/Disk.ts"

/** What a Kubernetes namespace and name can be, and so neither empty, nor `..`, nor anything with a `/`. */
const namespacePattern = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/
const namePattern = /^[a-z0-9]([-.a-z0-9]{0,251}[a-z0-9])?$/

export const isKey = (key: InstanceKey): boolean =>
  namespacePattern.test(key.namespace) && namePattern.test(key.name)

export const instancesIn = (base: string): string => path.join(base, "instances")

export const instanceFolder = (base: string, { namespace, name }: InstanceKey): string =>
  path.join(instancesIn(base), namespace, name)

/** By name; one that somebody has removed meanwhile has none. */
const folderNames = Effect.fnUntraced(function* (folder: string) {
  const disk = yield* Disk
  const entries = yield* disk.readdir(folder).pipe(unless(["ENOENT"], []))
  return entries.flatMap(({ name, kind }) => (kind === "directory" ? [name] : [])).toSorted()
})

/** Every one, also where its name can be no instance's (`isKey`). */
export const instanceFolders = Effect.fnUntraced(function* (base: string) {
  const keys: Array<InstanceKey> = []
  for (const namespace of yield* folderNames(instancesIn(base)))
    for (const name of yield* folderNames(path.join(instancesIn(base), namespace)))
      keys.push({ namespace, name })
  return keys
})
