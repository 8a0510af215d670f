// Where an instance's tenant data lies on the node, and which custom roots a cleanup could reach.
import type { InstanceKey } from "./InstanceKey.ts"

/** An absolute path without `.`, `..`, doubled and trailing slashes; `..` above the root stays at the root. */
export const normalisePath = (path: string): string => {
  const parts: Array<string> = []
  for (const part of path.split("/")) {
    if (part === "..") parts.pop()
    else if (part !== "" && part !== ".") parts.push(part)
  }
  return `/${parts.join("/")}`
}

/** Of an operator that is given no other base. */
export const STORAGE_ROOT_BASE = "/var/lib/kubesolo/instances"

/** `<base>/<namespace>/<name>`: what `deletionPolicy: Delete` removes. */
export const defaultStorageRoot = (base: string, key: InstanceKey): string =>
  normalisePath(`${base}/${key.namespace}/${key.name}`)

/** Whether a normalised path is another one or lies inside it. */
export const isWithin = (path: string, ancestor: string): boolean =>
  ancestor === "/" || path === ancestor || path.startsWith(`${ancestor}/`)

/** The trees the platform makes under its storage root (`@di-framework/platform`), and may remove again. */
const platformTrees = ["di-tenants", "di-framework"]

/**
 * Why a custom storage root is refused before the first install (reason `InvalidStorageRoot`), or nothing when it is
 * allowed. A plain parent of the base is allowed: the platform touches only its own trees below it.
 */
export const storageRootProblem = (customRoot: string, storageRootBase: string): string | undefined => {
  const root = normalisePath(customRoot)
  const base = normalisePath(storageRootBase)
  const remedy = "storageRoot is immutable: recreate the instance with another storageRoot, or with none."
  const named = root === customRoot ? customRoot : `${customRoot} (${root})`
  if (root === "/")
    return `spec.platform.storageRoot ${named} is the root of the node's file system; ${remedy}`
  if (isWithin(root, base))
    return `spec.platform.storageRoot ${named} lies inside the operator's --storage-root-base ${base}; ${remedy}`
  const tree = platformTrees.find((name) => isWithin(base, `${root}/${name}`))
  if (tree !== undefined)
    return `spec.platform.storageRoot ${named} contains the operator's --storage-root-base ${base} in its own ${tree} tree; ${remedy}`
  return undefined
}

/** Whether two instances' roots are equal or one lies inside the other, which neither may. */
export const storageRootsOverlap = (one: string, other: string): boolean => {
  const a = normalisePath(one)
  const b = normalisePath(other)
  return isWithin(a, b) || isWithin(b, a)
}
