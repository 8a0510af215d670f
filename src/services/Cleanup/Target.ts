// What a cleanup may touch. The operator has derived and checked the path; the Job checks again, because the last
// look before a removal as root is the only one that counts. Every check answers with the problem in words, or nothing.

/** `<base>/<namespace>/<name>` on the node, of which the Job sees `<base>/<namespace>` as `mount`. */
export interface CleanupTarget {
  /** As the instance's record has it, else the operator's `--storage-root-base`. */
  readonly base: string
  /** The operator's `--storage-root-base` of now: the same, or the folder itself where the recorded one is a link. */
  readonly currentBase: string
  readonly namespace: string
  readonly name: string
  /** Where `<base>/<namespace>` is mounted in the container. */
  readonly mount: string
}

const label = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
const dnsLabel = new RegExp(`^${label}$`)
const dnsSubdomain = new RegExp(`^${label}(\\.${label})*$`)
/** Absolute, at least one component, none of them `.` or `..`, nothing that is not printable ASCII. */
const plainPath = /^(\/(?!\.{1,2}(\/|$))[!-.0-~]+)+$/

/** The path on the node, for messages. */
export const nodePath = (target: CleanupTarget): string => `${target.base}/${target.namespace}/${target.name}`

/** Names as Kubernetes allows them: no separator, `..`, escape or control character gets through. */
export const targetProblem = (target: CleanupTarget): string | undefined => {
  for (const [what, path] of [
    ["base", target.base],
    ["current-base", target.currentBase],
    ["mount", target.mount],
  ] as const) {
    if (path.length > 1024 || !plainPath.test(path))
      return `--${what} ${shown(path)} is not an absolute, plain path`
  }
  if (target.namespace.length > 63 || !dnsLabel.test(target.namespace))
    return `--namespace ${shown(target.namespace)} is not the name of a namespace`
  if (target.name.length > 253 || !dnsSubdomain.test(target.name))
    return `--name ${shown(target.name)} is not the name of an instance`
  return undefined
}

const shown = (text: string): string => JSON.stringify(text.length > 80 ? `${text.slice(0, 80)}…` : text)

interface Mount {
  /** The folder of its own file system that is mounted. */
  readonly root: string
  readonly point: string
}

/**
 * The lines of `/proc/<pid>/mountinfo` (proc_pid_mountinfo(5)): the fourth and fifth field, blanks written as
 * octal escapes.
 */
export const parseMounts = (mountinfo: string): ReadonlyArray<Mount> =>
  mountinfo.split("\n").flatMap((line) => {
    const fields = line.split(" ").map(unescapeOctal)
    const [, , , root, point] = fields
    return root === undefined || point === undefined ? [] : [{ root, point }]
  })

const unescapeOctal = (field: string): string =>
  field.replace(/\\([0-7]{3})/g, (_, digits: string) => String.fromCharCode(Number.parseInt(digits, 8)))

const partsOf = (path: string): ReadonlyArray<string> => path.split("/").filter((part) => part !== "")

/** How many names both paths have in common at their ends. */
const commonEnd = (one: ReadonlyArray<string>, other: ReadonlyArray<string>): number => {
  const differs = one.toReversed().findIndex((part, index) => part !== other[other.length - 1 - index])
  return differs === -1 ? one.length : differs
}

/**
 * Whether a folder of some file system can be `<base>/<namespace>`. The container does not see where on the node that
 * file system is mounted: at any folder above, so that the folder's path is an end of the node's. Or a part of a file
 * system is (a subvolume, the disk of a node that is a container, a bind mount), so that something stands before an end
 * of it: then the base's own name has to be in it, for `<namespace>` alone is the name of a folder anywhere.
 */
const canBe = (root: string, base: string, namespace: string): boolean => {
  const found = partsOf(root)
  const common = commonEnd(found, [...partsOf(base), namespace])
  return common > 0 && (common === found.length || common > 1)
}

/**
 * What the container's mounts say against the removal. The kubelet follows symbolic links when it mounts
 * `<base>/<namespace>`: only the mounted folder's own path tells that it is another one. A mount inside the target
 * would make the removal empty another file system.
 */
export const mountProblem = (mountinfo: string, target: CleanupTarget): string | undefined => {
  const { base, currentBase, namespace } = target
  const mounts = parseMounts(mountinfo)
  const mounted = mounts.findLast(({ point }) => point === target.mount)
  if (mounted === undefined) return `nothing is mounted at ${target.mount}`
  const { root } = mounted
  if (root === "/") return `${base}/${namespace} is a mount point on the node, or leads to one`
  if (!canBe(root, base, namespace) && !canBe(root, currentBase, namespace))
    return `${base}/${namespace} leads to ${root} on the node`
  const inside = `${target.mount}/${target.name}`
  const nested = mounts.find(({ point }) => point === inside || point.startsWith(`${inside}/`))
  if (nested !== undefined)
    return `${nodePath(target)}${nested.point.slice(inside.length)} is a mount point on the node: unmount it first`
  return undefined
}
