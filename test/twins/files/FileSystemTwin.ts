// Effect's `FileSystem` over the file system twin, as far as the operator uses it. What it does not use dies and says so.
import { ByteSize, Effect, FileSystem, Option, PlatformError, Random, Stream } from "effect"
import { nextStep } from "./DiskTwin.ts"
import { FileError, type FileErrorCode } from "./FileError.ts"
import { type FilesTwin, makeFolders, removal } from "./Files.ts"
import type { FileTree } from "./FileTree.ts"
import { right, type User } from "./Paths.ts"
import { type Node, sizeOf } from "./Volume.ts"

/** Of @effect/platform-node-shared 4.1.0, `handleErrnoException`. */
const tags: Partial<Record<FileErrorCode, PlatformError.SystemErrorTag>> = {
  ENOENT: "NotFound",
  EACCES: "PermissionDenied",
  EPERM: "PermissionDenied",
  EEXIST: "AlreadyExists",
  EISDIR: "BadResource",
  ENOTDIR: "BadResource",
  EBUSY: "Busy",
  ELOOP: "BadResource",
}

/** What a method of `FileSystem` makes of a system call that failed. */
export const platformError =
  (method: string, path: string) =>
  (error: unknown): PlatformError.PlatformError => {
    if (!(error instanceof FileError)) throw error
    return PlatformError.systemError({
      _tag: tags[error.code] ?? "Unknown",
      module: "FileSystem",
      method,
      pathOrDescriptor: path,
      syscall: error.syscall,
      cause: error,
    })
  }

const types = { file: "File", directory: "Directory", link: "SymbolicLink" } as const

const formats = { file: 0o100000, directory: 0o040000, link: 0o120000 } as const

const infoOf = (node: Node): FileSystem.File.Info => {
  const mtime = Option.some(new Date(node.mtimeMs))
  return {
    type: types[node.kind],
    mtime,
    atime: mtime,
    birthtime: Option.none(),
    dev: 1n,
    ino: Option.some(BigInt(node.ino)),
    mode: formats[node.kind] | node.mode,
    nlink: Option.some(BigInt(node.kind === "directory" ? 2 : node.links)),
    uid: Option.some(node.uid),
    gid: Option.some(node.gid),
    rdev: Option.some(0n),
    size: ByteSize.bytes(sizeOf(node)),
    blksize: Option.none(),
    blocks: Option.none(),
  }
}

const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"

/** Six characters, as `mkdtemp` adds. */
const randomSuffix = Effect.map(
  Effect.replicateEffect(Random.nextIntBetween(0, letters.length - 1), 6),
  (indices) => indices.map((index) => letters.charAt(index)).join(""),
)

const unused = (name: string) => () =>
  Effect.die(new Error(`the file system twin has no ${name}: nothing used it so far`))

/** For a service that runs as this user. */
/** Everything below a folder, by its path from there; what a link leads to is not looked into. */
const namesBelow = (tree: FileTree, user: User, folder: string): Array<string> =>
  tree
    .readdir(user, folder)
    .flatMap(([name, node]) => [
      name,
      ...(node.kind === "directory"
        ? namesBelow(tree, user, `${folder}/${name}`).map((below) => `${name}/${below}`)
        : []),
    ])

export const fileSystemOf = ({ tree }: FilesTwin, user: User): FileSystem.FileSystem => {
  const attempt = <A>(method: string, path: string, run: () => A) =>
    Effect.try({ try: run, catch: platformError(method, path) })

  const writeFile: FileSystem.FileSystem["writeFile"] = (path, data, options) =>
    Effect.gen(function* () {
      const flag = options?.flag ?? "w"
      const file = yield* attempt("writeFile", path, () =>
        tree.create(user, path, {
          exclusive: flag.includes("x"),
          keep: flag.startsWith("a"),
          mode: options?.mode ?? 0o666,
        }),
      )
      // The file is there and empty, for a moment.
      yield* Effect.yieldNow
      yield* attempt("writeFile", path, () => tree.append(file, data))
    }).pipe(Effect.uninterruptible)

  const remove: FileSystem.FileSystem["remove"] = (path, options) =>
    Effect.gen(function* () {
      const steps = yield* attempt("remove", path, () => {
        const node =
          options?.force === true ? present(tree, user, path) : tree.stat(user, path, { follow: false })
        if (node?.kind === "directory" && options?.recursive !== true)
          throw new FileError("ERR_FS_EISDIR", "rm", path)
        return removal(tree, user, path)
      })
      while (yield* attempt("remove", path, () => nextStep(steps))) yield* Effect.yieldNow
    }).pipe(Effect.uninterruptible)

  const makeTemp = Effect.fnUntraced(function* (
    method: string,
    options: { readonly directory?: string | undefined; readonly prefix?: string | undefined } | undefined,
  ) {
    const path = `${options?.directory ?? "/tmp"}/${options?.prefix ?? ""}${yield* randomSuffix}`
    yield* attempt(method, path, () => tree.mkdir(user, path, 0o700))
    return path
  })

  return FileSystem.make({
    access: (path, options) =>
      attempt("access", path, () =>
        tree.access(
          user,
          path,
          (options?.readable === true ? right.read : 0) | (options?.writable === true ? right.write : 0),
        ),
      ),
    chmod: (path, mode) => attempt("chmod", path, () => tree.chmod(user, path, mode)),
    chown: unused("chown"),
    copy: unused("copy"),
    copyFile: (from, to) => attempt("copyFile", from, () => tree.copy(user, from, to)),
    link: (path, newPath) => attempt("link", path, () => tree.link(user, path, newPath)),
    lstat: (path) => attempt("lstat", path, () => infoOf(tree.stat(user, path, { follow: false }))),
    makeDirectory: (path, options) =>
      attempt("makeDirectory", path, () =>
        options?.recursive === true
          ? makeFolders(tree, user, path, options.mode ?? 0o777)
          : tree.mkdir(user, path, options?.mode ?? 0o777),
      ),
    makeTempDirectory: (options) => makeTemp("makeTempDirectory", options),
    makeTempDirectoryScoped: (options) =>
      Effect.acquireRelease(makeTemp("makeTempDirectoryScoped", options), (directory) =>
        Effect.orDie(remove(directory, { recursive: true, force: true })),
      ),
    makeTempFile: unused("makeTempFile"),
    makeTempFileScoped: unused("makeTempFileScoped"),
    open: unused("open"),
    readDirectory: (path, options) =>
      attempt("readDirectory", path, () =>
        options?.recursive === true
          ? namesBelow(tree, user, path)
          : tree.readdir(user, path).map(([name]) => name),
      ),
    readDirectoryEntries: (path) =>
      attempt("readDirectoryEntries", path, () =>
        tree.readdir(user, path).map(([name, node]) => ({ name, type: types[node.kind] })),
      ),
    readFile: (path) => attempt("readFile", path, () => tree.read(user, path, { follow: true }).slice()),
    readLink: (path) => attempt("readLink", path, () => tree.readlink(user, path)),
    realPath: (path) => attempt("realPath", path, () => tree.realpath(user, path)),
    remove,
    rename: (from, to) => attempt("rename", from, () => tree.rename(user, from, to)),
    stat: (path) => attempt("stat", path, () => infoOf(tree.stat(user, path, { follow: true }))),
    symlink: (target, path) => attempt("symlink", target, () => tree.symlink(user, target, path)),
    truncate: (path, length) =>
      attempt("truncate", path, () =>
        tree.truncate(user, path, length === undefined ? 0 : Number(ByteSize.fromInputUnsafe(length))),
      ),
    utimes: (path, _atime, mtime) =>
      attempt("utimes", path, () =>
        tree.utimes(user, path, typeof mtime === "number" ? mtime * 1000 : mtime.getTime()),
      ),
    watch: () => Stream.fromEffect(unused("watch")()),
    writeFile,
  })
}

/** Undefined when nothing is there. */
const present = (tree: FilesTwin["tree"], user: User, path: string): Node | undefined => {
  try {
    return tree.stat(user, path, { follow: false })
  } catch (error) {
    if (error instanceof FileError && error.code === "ENOENT") return undefined
    throw error
  }
}
