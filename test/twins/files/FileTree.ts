// The system calls of the file system, as far as the operator and the programs use them. Each is one step: it has all of
// its effect or none, and throws a `FileError`.
import { FileError, type FileErrorCode } from "./FileError.ts"
import { may, Paths, type Place, right, type User } from "./Paths.ts"
import { type FileNode, type FolderNode, type Node, Volume } from "./Volume.ts"

const sticky = 0o1000

/** A new entry there; not for something that is there already. */
interface Fresh {
  readonly folder: FolderNode
  readonly name: string
}

export class FileTree {
  readonly paths: Paths
  readonly now: () => number

  constructor(root: Volume, now: () => number) {
    this.paths = new Paths(root)
    this.now = now
  }

  // Folders

  mkdir(user: User, path: string, mode: number): void {
    const place = this.fresh(user, path, "mkdir")
    const { volume } = place.folder
    if (!volume.takeFolder()) throw new FileError("ENOSPC", "mkdir", path)
    volume.setEntry(place.folder, place.name, volume.makeFolder(user, mode & ~user.umask & 0o7777))
  }

  readdir(user: User, path: string, syscall = "scandir"): ReadonlyArray<readonly [string, Node]> {
    const { node } = this.paths.need(user, path, syscall, true)
    if (node.kind !== "directory") throw new FileError("ENOTDIR", syscall, path)
    if (!may(user, node, right.read)) throw new FileError("EACCES", syscall, path)
    return [...node.entries].map(([name, entry]) => [name, this.paths.seen(entry)])
  }

  rmdir(user: User, path: string): void {
    const place = this.paths.need(user, path, "rmdir", false)
    this.mayRemove(user, place, "rmdir", path)
    if (place.node.kind !== "directory") throw new FileError("ENOTDIR", "rmdir", path)
    if (this.paths.isMount(place.node)) throw new FileError("EBUSY", "rmdir", path)
    if (place.node.entries.size > 0) throw new FileError("ENOTEMPTY", "rmdir", path)
    place.folder.volume.setEntry(place.folder, place.name, undefined)
  }

  // Files

  /** `open` with O_CREAT, and O_TRUNC for what is there. */
  create(
    user: User,
    path: string,
    options: { readonly exclusive: boolean; readonly keep?: boolean; readonly mode: number },
  ): FileNode {
    const place = this.paths.find(user, path, "open", !options.exclusive)
    const { node } = place
    if (node === undefined) {
      this.mayAdd(user, place.folder, "open", path)
      const file = place.folder.volume.makeFile(user, options.mode & ~user.umask & 0o7777)
      place.folder.volume.setEntry(place.folder, place.name, file)
      return file
    }
    if (options.exclusive) throw new FileError("EEXIST", "open", path)
    if (node.kind !== "file") throw new FileError("EISDIR", "open", path)
    if (!may(user, node, right.write)) throw new FileError("EACCES", "open", path)
    if (options.keep !== true && node.content.length > 0) node.volume.setContent(node, new Uint8Array())
    return node
  }

  /** To an open file, at its end. What there is no space for is not written. */
  append(file: FileNode, content: Uint8Array): void {
    const taken = file.volume.take(content.length)
    const whole = new Uint8Array(file.content.length + taken)
    whole.set(file.content)
    whole.set(content.subarray(0, taken), file.content.length)
    if (taken > 0) file.volume.setContent(file, whole)
    if (taken < content.length) throw new FileError("ENOSPC", "write", "")
  }

  /** The whole of a file. Its bytes are not to be changed. */
  read(user: User, path: string, options: { readonly follow: boolean }): Uint8Array {
    const { node } = this.paths.need(user, path, "open", options.follow)
    if (node.kind === "link") throw new FileError("ELOOP", "open", path)
    if (!may(user, node, right.read)) throw new FileError("EACCES", "open", path)
    if (node.kind === "directory") throw new FileError("EISDIR", "read", path)
    return node.content
  }

  copy(user: User, from: string, to: string): void {
    naming("copyfile", from, to, () => {
      const content = this.read(user, from, { follow: true })
      const { mode } = this.stat(user, from, { follow: true })
      this.append(this.create(user, to, { exclusive: false, mode }), content)
    })
  }

  /** node opens it for reading, too. */
  truncate(user: User, path: string, length: number): void {
    const { node } = this.paths.need(user, path, "open", true)
    if (node.kind !== "file") throw new FileError("EISDIR", "open", path)
    if (!may(user, node, right.read | right.write)) throw new FileError("EACCES", "open", path)
    const content = new Uint8Array(length)
    content.set(node.content.subarray(0, length))
    node.volume.setContent(node, content)
  }

  unlink(user: User, path: string): void {
    const place = this.paths.need(user, path, "unlink", false)
    this.mayRemove(user, place, "unlink", path)
    if (place.node.kind === "directory") throw new FileError("EISDIR", "unlink", path)
    place.folder.volume.setEntry(place.folder, place.name, undefined)
  }

  // Either

  stat(user: User, path: string, options: { readonly follow: boolean; readonly syscall?: string }): Node {
    const syscall = options.syscall ?? (options.follow ? "stat" : "lstat")
    return this.paths.need(user, path, syscall, options.follow).node
  }

  access(user: User, path: string, wanted: number): void {
    const { node } = this.paths.need(user, path, "access", true)
    if (!may(user, node, wanted)) throw new FileError("EACCES", "access", path)
  }

  chmod(user: User, path: string, mode: number): void {
    this.setMode(user, this.paths.need(user, path, "chmod", true).node, mode, "chmod", path)
  }

  /** Of a folder that was opened without following a link. */
  chmodFolder(user: User, path: string, mode: number): void {
    this.setMode(user, this.openFolder(user, path), mode, "fchmod", path)
  }

  private setMode(user: User, node: Node, mode: number, syscall: string, path: string): void {
    if (user.uid !== 0 && user.uid !== node.uid) throw new FileError("EPERM", syscall, path)
    if (node.mode !== (mode & 0o7777)) Volume.changes += 1
    node.mode = mode & 0o7777
    node.ctimeMs = this.now()
  }

  utimes(user: User, path: string, mtimeMs: number): void {
    const { node } = this.paths.need(user, path, "utime", true)
    if (user.uid !== 0 && user.uid !== node.uid) throw new FileError("EPERM", "utime", path)
    node.mtimeMs = mtimeMs
    node.ctimeMs = this.now()
  }

  rename(user: User, from: string, to: string): void {
    const fail = (code: FileErrorCode) => new FileError(code, "rename", from, to)
    const named = <A>(run: () => A) => naming("rename", from, to, run)
    // Both ways are gone before it is looked what stands at their ends.
    const place = named(() => this.paths.find(user, from, "rename", false))
    const target = named(() => this.paths.find(user, to, "rename", false))
    if (place.node === undefined) throw fail("ENOENT")
    const source = { ...place, node: place.node }
    if (source.folder.volume !== target.folder.volume) throw fail("EXDEV")
    if (isWithin(target.path, source.path)) throw fail("EINVAL")
    if (isWithin(source.path, target.path)) throw fail("ENOTEMPTY")
    if (source.node === target.node) return
    named(() => this.mayRemove(user, source, "rename", from))
    named(() =>
      target.node === undefined
        ? this.mayAdd(user, target.folder, "rename", to)
        : this.mayRemove(user, target, "rename", to),
    )
    const { kind } = source.node
    if (target.node !== undefined && (kind === "directory") !== (target.node.kind === "directory")) {
      throw fail(kind === "directory" ? "ENOTDIR" : "EISDIR")
    }
    // The `..` of a folder that is moved changes: that takes the right to write to the folder itself.
    const isMoved = kind === "directory" && source.folder !== target.folder
    if (isMoved && !may(user, source.node, right.write)) throw fail("EACCES")
    if (target.node?.kind === "directory") {
      if (this.paths.isMount(target.node)) throw fail("EBUSY")
      if (target.node.entries.size > 0) throw fail("ENOTEMPTY")
    }
    source.folder.volume.move(source.folder, source.name, target.folder, target.name, source.node)
  }

  // Links

  symlink(user: User, target: string, path: string): void {
    const place = this.fresh(user, path, "symlink", target)
    const { volume } = place.folder
    volume.setEntry(place.folder, place.name, volume.makeLink(user, target))
  }

  /** A second name of a file. */
  link(user: User, path: string, newPath: string): void {
    const { node } = naming("link", path, newPath, () => this.paths.need(user, path, "link", false))
    const place = this.fresh(user, newPath, "link", path)
    if (node.volume !== place.folder.volume) throw new FileError("EXDEV", "link", path, newPath)
    if (node.kind === "directory") throw new FileError("EPERM", "link", path, newPath)
    place.folder.volume.setEntry(place.folder, place.name, node)
    node.ctimeMs = this.now()
  }

  readlink(user: User, path: string): string {
    const { node } = this.paths.need(user, path, "readlink", false)
    if (node.kind !== "link") throw new FileError("EINVAL", "readlink", path)
    return node.target
  }

  realpath(user: User, path: string): string {
    return this.paths.need(user, path, "realpath", true).path
  }

  // To the disk

  /** Opens a file or folder without following a link, and syncs it. */
  sync(user: User, path: string): void {
    const node = this.stat(user, path, { follow: false, syscall: "open" })
    node.volume.sync(node)
  }

  syncFile(user: User, path: string): void {
    // Reading it checks the rights, and that it is no link.
    this.read(user, path, { follow: false })
    this.sync(user, path)
  }

  syncFolder(user: User, path: string): void {
    const folder = this.openFolder(user, path)
    folder.volume.sync(folder)
  }

  private openFolder(user: User, path: string): FolderNode {
    const { node } = this.paths.need(user, path, "open", false)
    if (node.kind !== "directory") throw new FileError("ENOTDIR", "open", path)
    if (!may(user, node, right.read)) throw new FileError("EACCES", "open", path)
    return node
  }

  private fresh(user: User, path: string, syscall: string, from?: string): Fresh {
    const fail = (code: FileErrorCode) =>
      from === undefined ? new FileError(code, syscall, path) : new FileError(code, syscall, from, path)
    const find = () => this.paths.find(user, path, syscall, false)
    const place = from === undefined ? find() : naming(syscall, from, path, find)
    if (place.node !== undefined) throw fail("EEXIST")
    if (!may(user, place.folder, right.write)) throw fail("EACCES")
    return place
  }

  private mayAdd(user: User, folder: FolderNode, syscall: string, path: string): void {
    if (!may(user, folder, right.write | right.search)) throw new FileError("EACCES", syscall, path)
  }

  private mayRemove(user: User, place: Place, syscall: string, path: string): void {
    const { folder, node } = place
    if (!may(user, folder, right.write | right.search)) throw new FileError("EACCES", syscall, path)
    const owns = user.uid === 0 || user.uid === folder.uid || user.uid === node?.uid
    if ((folder.mode & sticky) !== 0 && !owns) throw new FileError("EPERM", syscall, path)
  }
}

const isWithin = (path: string, folder: string): boolean => path.startsWith(`${folder}/`)

/** The errors of what has two paths name both. */
const naming = <A>(syscall: string, from: string, to: string, run: () => A): A => {
  try {
    return run()
  } catch (error) {
    throw error instanceof FileError ? new FileError(error.code, syscall, from, to) : error
  }
}
