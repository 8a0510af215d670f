// How a path leads to an inode: folder by folder, each of which must let the user pass, through links and mounts.
import { FileError } from "./FileError.ts"
import type { FolderNode, Node, Owner, Volume } from "./Volume.ts"

export interface User extends Owner {
  readonly umask: number
}

/** Where a path leads: a name in a folder, and what stands there. */
export interface Place {
  readonly folder: FolderNode
  readonly name: string
  readonly node: Node | undefined
  /** Without links. */
  readonly path: string
}

export const right = { read: 4, write: 2, search: 1 } as const

export const may = (user: Owner, node: Node, wanted: number): boolean => {
  if (user.uid === 0) return true
  const shift = node.uid === user.uid ? 6 : node.gid === user.gid ? 3 : 0
  return ((node.mode >> shift) & wanted) === wanted
}

/** As many links as Linux follows in one path. */
const maxLinks = 40
const maxName = 255

const most = 4096
const known = new Map<string, ReadonlyArray<string>>()

/** The names of a path, without those that lead nowhere. The same paths are asked for over and over. */
const partsOf = (path: string): ReadonlyArray<string> => {
  const before = known.get(path)
  if (before !== undefined) return before
  if (known.size >= most) known.clear()
  const parts = path.split("/").filter((name) => name !== "" && name !== ".")
  known.set(path, parts)
  return parts
}

/** A character is at most three bytes of UTF-8 for each of its units. */
const isTooLong = (name: string): boolean => name.length * 3 > maxName && Buffer.byteLength(name) > maxName

export class Paths {
  readonly root: FolderNode
  private readonly mounts = new Map<Node, FolderNode>()
  private readonly volumes: Array<Volume>

  constructor(root: Volume) {
    this.root = root.root
    this.volumes = [root]
  }

  get mounted(): ReadonlyArray<Volume> {
    return this.volumes
  }

  mount(at: FolderNode, volume: Volume): void {
    this.mounts.set(at, volume.root)
    this.volumes.push(volume)
  }

  /** What is seen there: the top folder of a volume that is mounted over it, or itself. */
  seen(node: Node): Node {
    return this.mounts.get(node) ?? node
  }

  isMount(node: Node): boolean {
    return [...this.mounts.values()].some((root) => root === node)
  }

  /** `follow`: a link in the last place is followed, too. */
  find(user: User, path: string, syscall: string, follow: boolean): Place {
    const fail = (code: "ENOENT" | "ENOTDIR" | "EACCES" | "ELOOP" | "ENAMETOOLONG") =>
      new FileError(code, syscall, path)
    if (!path.startsWith("/")) throw fail("ENOENT")
    const parts = partsOf(path)
    const straight = this.straight(user, parts, path, follow)
    if (straight !== undefined) return straight
    const pending = parts.toReversed()
    const isPlain =
      !path.endsWith("/") && parts.length === path.split("/").length - 1 && !parts.includes("..")
    let trail: Array<{ readonly folder: FolderNode; readonly name: string }> = []
    let links = 0
    while (true) {
      const name = pending.pop()
      if (name === undefined) break
      const folder = trail.at(-1)?.folder ?? this.root
      if (!may(user, folder, right.search)) throw fail("EACCES")
      if (name === "..") {
        trail.pop()
        continue
      }
      if (isTooLong(name)) throw fail("ENAMETOOLONG")
      const last = pending.length === 0
      const entry = folder.entries.get(name)
      const node = entry === undefined ? undefined : this.seen(entry)
      if (node?.kind === "link" && (!last || follow)) {
        links += 1
        if (links > maxLinks) throw fail("ELOOP")
        if (node.target.startsWith("/")) trail = []
        pending.push(...partsOf(node.target).toReversed())
        continue
      }
      if (last) {
        const real = isPlain && links === 0 ? path : this.pathOf([...trail.map((it) => it.name), name])
        return { folder, name, node, path: real }
      }
      if (node === undefined) throw fail("ENOENT")
      if (node.kind !== "directory") throw fail("ENOTDIR")
      trail.push({ folder: node, name })
    }
    const end = trail.pop()
    const folder = trail.at(-1)?.folder ?? this.root
    const names = [...trail.map((it) => it.name), ...(end === undefined ? [] : [end.name])]
    return { folder, name: end?.name ?? "/", node: end?.folder ?? this.root, path: this.pathOf(names) }
  }

  /** The way without links and other turns, as most are; undefined for any other, and for one that is shut. */
  private straight(
    user: User,
    parts: ReadonlyArray<string>,
    path: string,
    follow: boolean,
  ): Place | undefined {
    let folder = this.root
    let length = 0
    for (const [index, name] of parts.entries()) {
      length += name.length + 1
      if (name === ".." || isTooLong(name) || !may(user, folder, right.search)) return undefined
      const entry = folder.entries.get(name)
      const node = entry === undefined ? undefined : this.seen(entry)
      if (index === parts.length - 1) {
        const isPlain = length === path.length && !(node?.kind === "link" && follow)
        return isPlain ? { folder, name, node, path } : undefined
      }
      if (node?.kind !== "directory") return undefined
      folder = node
    }
    return undefined
  }

  private pathOf(names: ReadonlyArray<string>): string {
    return `/${names.join("/")}`
  }

  /** Where a path leads when something is there. */
  need(user: User, path: string, syscall: string, follow: boolean): Place & { readonly node: Node } {
    const { node, ...place } = this.find(user, path, syscall, follow)
    if (node === undefined) throw new FileError("ENOENT", syscall, path)
    return { ...place, node }
  }
}
