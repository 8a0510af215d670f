// A disk, or a piece of memory that is used as one: its inodes, its space, and what of it survives a power cut. What was
// not synced is lost when the power fails, unless the kernel has written it back by itself in the meantime.

/** How long the kernel keeps what nobody synced: `vm.dirty_expire_centisecs` of Linux. */
const writeBackMillis = 30_000
/** What a folder takes. */
const folderBytes = 4096
/** A folder with more names than this forgets those that are long written. */
const manyNames = 64

interface Attributes {
  readonly ino: number
  readonly volume: Volume
  mode: number
  readonly uid: number
  readonly gid: number
  links: number
  mtimeMs: number
  ctimeMs: number
}

export interface FileNode extends Attributes {
  readonly kind: "file"
  content: Uint8Array
  unsynced: Array<{ readonly before: Uint8Array; readonly at: number }>
}

export interface FolderNode extends Attributes {
  readonly kind: "directory"
  readonly entries: Map<string, Node>
  readonly unsynced: Map<string, Array<EntryChange>>
}

export interface LinkNode extends Attributes {
  readonly kind: "link"
  readonly target: string
}

export type Node = FileNode | FolderNode | LinkNode

interface EntryChange {
  readonly before: Node | undefined
  readonly at: number
  readonly sequence: number
  /** Of a rename: its other half. Both are on the disk, or none is: file systems keep a journal. */
  readonly other?: { readonly folder: FolderNode; readonly name: string }
}

export interface Owner {
  readonly uid: number
  readonly gid: number
}

export interface VolumeOptions {
  /** Milliseconds since the epoch. */
  readonly now: () => number
  /** Lies in memory: a power cut leaves nothing. */
  readonly memory?: boolean
  /** Of its top folder. Default: 0755 of root. */
  readonly mode?: number
  readonly uid?: number
}

const nothing = new Uint8Array()
/** 10 GiB, the default of `state.size`. */
const volumeBytes = 10 * 2 ** 30

export class Volume {
  /** Of all volumes: while it stays the same, so do all of them, and what of them is on the disk. */
  static changes = 0

  readonly root: FolderNode
  readonly memory: boolean
  private readonly now: () => number
  private left: number | undefined
  private inodes = 1
  private sequence = 0

  constructor(options: VolumeOptions) {
    this.now = options.now
    this.memory = options.memory ?? false
    const uid = options.uid ?? 0
    this.root = this.makeFolder({ uid, gid: uid }, options.mode ?? 0o755)
  }

  /** From now on so many bytes can be written; without a number there is no limit. */
  free(bytes: number | undefined): void {
    this.left = bytes
  }

  /** A volume without a limit is as big as the chart's claim, and empty. */
  get space(): { readonly size: number; readonly free: number } {
    return { size: volumeBytes, free: Math.min(volumeBytes, Math.max(0, this.left ?? volumeBytes)) }
  }

  /** How many of `bytes` there is space for; they are taken. */
  take(bytes: number): number {
    if (this.left === undefined) return bytes
    const taken = Math.min(bytes, Math.max(0, this.left))
    this.left -= taken
    return taken
  }

  makeFile(owner: Owner, mode: number): FileNode {
    return { ...this.attributes(owner, mode), kind: "file", content: nothing, unsynced: [] }
  }

  makeFolder(owner: Owner, mode: number): FolderNode {
    return {
      ...this.attributes(owner, mode),
      kind: "directory",
      entries: new Map(),
      unsynced: new Map(),
    }
  }

  makeLink(owner: Owner, target: string): LinkNode {
    return { ...this.attributes(owner, 0o777), kind: "link", target }
  }

  private attributes(owner: Owner, mode: number) {
    const at = this.now()
    const { uid, gid } = owner
    return { ino: this.inodes++, volume: this, mode, uid, gid, links: 0, mtimeMs: at, ctimeMs: at }
  }

  /** False when there is no space for a folder. */
  takeFolder(): boolean {
    const taken = this.take(folderBytes)
    if (taken < folderBytes) this.giveBack(taken)
    return taken === folderBytes
  }

  private giveBack(bytes: number): void {
    if (this.left !== undefined) this.left += bytes
  }

  /** Makes a name stand for a node, or for none. */
  setEntry(folder: FolderNode, name: string, node: Node | undefined): void {
    this.note(folder, name)
    this.place(folder, name, node)
  }

  move(from: FolderNode, name: string, to: FolderNode, newName: string, node: Node): void {
    this.note(from, name, { folder: to, name: newName })
    this.note(to, newName, { folder: from, name })
    this.place(to, newName, node)
    this.place(from, name, undefined)
    node.ctimeMs = this.now()
  }

  private note(folder: FolderNode, name: string, other?: EntryChange["other"]): void {
    Volume.changes += 1
    const at = this.now()
    if (folder.unsynced.size > manyNames) this.forgetWritten(folder, at)
    const change = { before: folder.entries.get(name), at, sequence: this.sequence++ }
    const earlier = (folder.unsynced.get(name) ?? []).filter((it) => at - it.at < writeBackMillis)
    folder.unsynced.set(name, [...earlier, other === undefined ? change : { ...change, other }])
    folder.mtimeMs = at
    folder.ctimeMs = at
  }

  private forgetWritten(folder: FolderNode, at: number): void {
    for (const [name, changes] of folder.unsynced) {
      const last = changes.at(-1)
      if (last === undefined || at - last.at >= writeBackMillis) folder.unsynced.delete(name)
    }
  }

  private place(folder: FolderNode, name: string, node: Node | undefined): void {
    const before = folder.entries.get(name)
    if (before === node) return
    if (node === undefined) folder.entries.delete(name)
    else {
      folder.entries.set(name, node)
      node.links += 1
    }
    if (before === undefined) return
    before.links -= 1
    before.ctimeMs = this.now()
    if (before.links > 0) return
    if (before.kind === "file") this.giveBack(before.content.length)
    if (before.kind === "directory") this.giveBack(folderBytes)
  }

  /** Replaces a file's content. */
  setContent(file: FileNode, content: Uint8Array): void {
    Volume.changes += 1
    const at = this.now()
    const earlier = file.unsynced.filter((it) => at - it.at < writeBackMillis)
    file.unsynced = [...earlier, { before: file.content, at }]
    if (content.length < file.content.length) this.giveBack(file.content.length - content.length)
    file.content = content
    file.mtimeMs = at
    file.ctimeMs = at
  }

  /** `fsync`: of a folder, that is its names. */
  sync(node: Node): void {
    if (node.kind === "file" ? node.unsynced.length > 0 : node.kind === "directory" && node.unsynced.size > 0)
      Volume.changes += 1
    if (node.kind === "file") node.unsynced = []
    if (node.kind !== "directory") return
    const changes = [...node.unsynced.values()].flat()
    node.unsynced.clear()
    for (const { other } of changes) if (other !== undefined) other.folder.unsynced.delete(other.name)
  }

  /** `sync`: everything is on the disk. */
  settle(folder = this.root): void {
    folder.unsynced.clear()
    for (const node of folder.entries.values()) {
      if (node.kind === "directory") this.settle(node)
      if (node.kind === "file") node.unsynced = []
    }
  }

  /** Everything that was made, renamed or removed in folders and is not on the disk yet. */
  get unsyncedChanges(): number {
    let count = 0
    const visit = (folder: FolderNode) => {
      for (const changes of folder.unsynced.values()) count += changes.filter((it) => this.isOpen(it)).length
      for (const node of folder.entries.values()) if (node.kind === "directory") visit(node)
    }
    visit(this.root)
    return count
  }

  private isOpen(change: { readonly at: number }): boolean {
    return this.now() - change.at < writeBackMillis
  }

  /**
   * The power fails. Contents that were not synced are lost, and so are the last `lost` changes of names that were not
   * (default: all of them; a journal loses from its end).
   */
  powerCut(lost = Number.POSITIVE_INFINITY): void {
    if (this.memory) {
      this.wipe()
      return
    }
    this.revert(this.root, this.sequence - lost)
  }

  private revert(folder: FolderNode, kept: number): void {
    for (const [name, changes] of folder.unsynced) {
      const first = changes.find((change) => this.isOpen(change) && change.sequence >= kept)
      if (first !== undefined) this.place(folder, name, first.before)
    }
    folder.unsynced.clear()
    for (const node of folder.entries.values()) {
      if (node.kind === "directory") this.revert(node, kept)
      if (node.kind === "file") {
        const first = node.unsynced.find((change) => this.isOpen(change))
        if (first !== undefined) node.content = first.before
        node.unsynced = []
      }
    }
  }

  /** Empties it: what a container's end does to its own layer, and a pod's to its `emptyDir`. */
  wipe(): void {
    for (const name of [...this.root.entries.keys()]) this.place(this.root, name, undefined)
    this.root.unsynced.clear()
  }
}

/** As `stat` says it; of a folder it is no measure of anything. */
export const sizeOf = (node: Node): number => {
  if (node.kind === "file") return node.content.length
  return node.kind === "link" ? Buffer.byteLength(node.target) : folderBytes
}
