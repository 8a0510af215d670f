// What a cleanup may touch. The operator has derived and checked the path; the Job checks again, because the last
// look before a removal as root is the only one that counts. Every check answers with the problem in words, or nothing.

/** `<base>/<namespace>/<name>` on the node, of which the Job sees `<base>/<namespace>` as `mount`. */
export interface CleanupTarget {
  /** The operator's `--storage-root-base`. */
  readonly base: string
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

/**
 * What the container's mounts say against the removal. The kubelet follows symbolic links when it mounts
 * `<base>/<namespace>`: only the mounted folder's own name tells that it is another one. A mount inside the target
 * would make the removal empty another file system.
 */
export const mountProblem = (mountinfo: string, target: CleanupTarget): string | undefined => {
  const mounts = parseMounts(mountinfo)
  const mounted = mounts.findLast(({ point }) => point === target.mount)
  if (mounted === undefined) return `nothing is mounted at ${target.mount}`
  const folder = mounted.root.slice(mounted.root.lastIndexOf("/") + 1)
  // Empty: the whole of a file system is mounted, so that the folder is itself a mount point of the node.
  if (folder !== "" && folder !== target.namespace)
    return `${target.base}/${target.namespace} leads to ${mounted.root} on the node`
  const inside = `${target.mount}/${target.name}`
  const nested = mounts.find(({ point }) => point === inside || point.startsWith(`${inside}/`))
  if (nested !== undefined)
    return `${nodePath(target)}${nested.point.slice(inside.length)} is a mount point on the node: unmount it first`
  return undefined
}
