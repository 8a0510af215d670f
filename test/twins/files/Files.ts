// One machine's (or container's) files in memory, and the view that simulated programs and tests have of them: every call
// is synchronous and throws a `FileError`.
import { Clock, Effect } from "effect"
import { FileError, type FileErrorCode } from "./FileError.ts"
import { FileTree } from "./FileTree.ts"
import type { User } from "./Paths.ts"
import type { Node } from "./Volume.ts"
import { Volume, type VolumeOptions } from "./Volume.ts"

export type FileKind = Node["kind"]

/** Paths are absolute, or relative to the view's folder. */
export interface Files {
  readonly user: User
  /** The same files as another user, or from another folder. */
  readonly as: (user: Partial<User>, folder?: string) => Files
  readonly readFile: (path: string) => Uint8Array
  readonly readText: (path: string) => string
  /** Makes or replaces the content, unsynced. Mode of a new one (default 0644) less the umask. */
  readonly writeFile: (path: string, content: string | Uint8Array, mode?: number) => void
  readonly writeText: (path: string, text: string, mode?: number) => void
  readonly append: (path: string, text: string) => void
  /** Of what a link leads to. */
  readonly exists: (path: string) => boolean
  readonly isFile: (path: string) => boolean
  readonly isFolder: (path: string) => boolean
  /** Of the entry itself; undefined when nothing is there. Not to be changed. */
  readonly lstat: (path: string) => Readonly<Node> | undefined
  /** Names, sorted; none when there is no such folder. */
  readonly list: (path: string) => ReadonlyArray<string>
  /** With its parents; one that is there stays as it is. */
  readonly mkdir: (path: string, mode?: number) => void
  readonly mkdirs: (path: string, mode?: number) => void
  /** A file, a link, or a folder with all in it; nothing there is no failure. */
  readonly remove: (path: string) => void
  readonly rename: (from: string, to: string) => void
  readonly symlink: (target: string, path: string) => void
  readonly readlink: (path: string) => string
  readonly link: (path: string, newPath: string) => void
  readonly chmod: (path: string, mode: number) => void
  readonly realpath: (path: string) => string
  /** `fsync` of a file, or of a folder's names. */
  readonly sync: (path: string) => void
}

export interface FilesTwin {
  readonly tree: FileTree
  /** The view of root; `files.as({ uid: 1000, gid: 1000 })` is another's. */
  readonly files: Files
  /** What lies at `/`. */
  readonly volume: Volume
  /** Another disk, or memory, to be mounted here and elsewhere. */
  readonly makeVolume: (options?: Omit<VolumeOptions, "now">) => Volume
  /** Over a folder, which is made with its parents. */
  readonly mount: (path: string, volume: Volume) => void
  /** The power of the machine fails: each mounted volume loses what was not synced, or all if it is memory. */
  readonly powerCut: (lost?: number) => void
}

const texts = new WeakMap<Uint8Array, string>()

/** A content is never changed in place, and programs read the same ones over and over. */
const textOf = (content: Uint8Array): string => {
  const known = texts.get(content)
  if (known !== undefined) return known
  const text = new TextDecoder().decode(content)
  texts.set(content, text)
  return text
}

const viewOf = (tree: FileTree, user: User, folder: string): Files => {
  const at = (path: string) => (path.startsWith("/") ? path : `${folder}/${path}`)
  const found = (path: string, follow: boolean): Node | undefined => {
    try {
      return tree.stat(user, at(path), { follow })
    } catch (error) {
      if (error instanceof FileError) return undefined
      throw error
    }
  }
  const write = (path: string, content: string | Uint8Array, mode = 0o644) =>
    tree.append(
      tree.create(user, at(path), { exclusive: false, mode }),
      typeof content === "string" ? new TextEncoder().encode(content) : content,
    )
  const readFile = (path: string) => tree.read(user, at(path), { follow: true })
  const mkdir = (path: string, mode = 0o755) => makeFolders(tree, user, at(path), mode)
  return {
    user,
    as: (other, own) => viewOf(tree, { ...user, ...other }, own ?? folder),
    readFile,
    readText: (path) => textOf(readFile(path)),
    writeFile: write,
    writeText: write,
    append: (path, text) =>
      tree.append(
        tree.create(user, at(path), { exclusive: false, keep: true, mode: 0o644 }),
        new TextEncoder().encode(text),
      ),
    exists: (path) => found(path, true) !== undefined,
    isFile: (path) => found(path, true)?.kind === "file",
    isFolder: (path) => found(path, true)?.kind === "directory",
    lstat: (path) => found(path, false),
    list: (path) =>
      found(path, true)?.kind === "directory"
        ? tree
            .readdir(user, at(path))
            .map(([name]) => name)
            .sort()
        : [],
    mkdir,
    mkdirs: mkdir,
    remove: (path) => {
      for (const step of removal(tree, user, at(path))) step()
    },
    rename: (from, to) => tree.rename(user, at(from), at(to)),
    symlink: (target, path) => tree.symlink(user, target, at(path)),
    readlink: (path) => tree.readlink(user, at(path)),
    link: (path, newPath) => tree.link(user, at(path), at(newPath)),
    chmod: (path, mode) => tree.chmod(user, at(path), mode),
    realpath: (path) => tree.realpath(user, at(path)),
    sync: (path) => tree.sync(user, at(path)),
  }
}

/** Makes a folder and its parents, in node's order: the folder first, then what it lacks. Those that are there stay. */
export const makeFolders = (tree: FileTree, user: User, path: string, mode: number): void => {
  const pending = [path]
  for (let folder = pending.pop(); folder !== undefined; folder = pending.pop()) {
    const code = codeOf(() => tree.mkdir(user, folder, mode))
    if (code === "ENOENT") {
      pending.push(folder, folder.slice(0, folder.lastIndexOf("/")) || "/")
    } else if (code === "EEXIST") {
      const there = codeOf(() => {
        if (tree.stat(user, folder, { follow: true }).kind !== "directory") throw notAFolder(folder)
      })
      // Of the last one it is said that something is there, of one before it that it is no folder.
      const isLast = pending.length === 0
      if (there !== undefined)
        throw mkdirError(there === "ENOTDIR" && isLast ? "EEXIST" : there, folder, path)
    } else if (code !== undefined) throw mkdirError(code, folder, path)
  }
}

const notAFolder = (path: string) => new FileError("ENOTDIR", "mkdir", path)

/** node names the folder that is in the way, but for other troubles the one that was asked for. */
const mkdirError = (code: FileErrorCode, folder: string, path: string) =>
  new FileError(code, "mkdir", code === "ENOTDIR" || code === "EEXIST" ? folder : path)

const codeOf = (run: () => void): FileErrorCode | undefined => {
  try {
    run()
    return undefined
  } catch (error) {
    if (error instanceof FileError) return error.code
    throw error
  }
}

/** The removal of an entry and all below it, one system call a step: something may come between two of them. */
export function* removal(tree: FileTree, user: User, path: string): Generator<() => void> {
  let node: Node
  try {
    node = tree.stat(user, path, { follow: false })
  } catch (error) {
    if (error instanceof FileError && error.code === "ENOENT") return
    throw error
  }
  if (node.kind === "directory") {
    for (const [name] of tree.readdir(user, path)) yield* removal(tree, user, `${path}/${name}`)
    yield () => tree.rmdir(user, path)
  } else yield () => tree.unlink(user, path)
}

/** An empty file system. Times are the clock's of the fiber that makes it. */
export const makeFiles = Effect.map(Clock.Clock, (clock): FilesTwin => {
  const now = () => clock.currentTimeMillisUnsafe()
  const makeVolume = (options: Omit<VolumeOptions, "now"> = {}) => new Volume({ ...options, now })
  const volume = makeVolume()
  const tree = new FileTree(volume, now)
  const root: User = { uid: 0, gid: 0, umask: 0o022 }
  const files = viewOf(tree, root, "/")
  return {
    tree,
    files,
    volume,
    makeVolume,
    mount: (path, mounted) => {
      files.mkdirs(path)
      const folder = tree.stat(root, path, { follow: true })
      if (folder.kind !== "directory") return
      folder.volume.settle()
      tree.paths.mount(folder, mounted)
    },
    powerCut: (lost) => {
      for (const each of tree.paths.mounted) each.powerCut(lost)
    },
  }
})
