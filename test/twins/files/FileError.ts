// What a system call of the file system fails with, in the words of libuv.

const words = {
  ENOENT: "no such file or directory",
  EEXIST: "file already exists",
  ENOTDIR: "not a directory",
  EISDIR: "illegal operation on a directory",
  ENOTEMPTY: "directory not empty",
  ELOOP: "too many symbolic links encountered",
  EACCES: "permission denied",
  EPERM: "operation not permitted",
  ENOSPC: "no space left on device",
  EIO: "i/o error",
  EINVAL: "invalid argument",
  EXDEV: "cross-device link not permitted",
  EBUSY: "resource busy or locked",
  ENAMETOOLONG: "name too long",
  // What node itself says when it is asked to remove a folder as if it were a file.
  ERR_FS_EISDIR: "Path is a directory: rm returned EISDIR (is a directory)",
} as const

export type FileErrorCode = keyof typeof words

export class FileError extends Error {
  readonly code: FileErrorCode
  readonly syscall: string
  readonly path: string

  constructor(code: FileErrorCode, syscall: string, path: string, destination?: string) {
    // What fails on an open file has no path to name.
    const where = syscall === "read" || syscall === "write" ? "" : ` '${path}'`
    super(
      code === "ERR_FS_EISDIR"
        ? `${words[code]} ${path}`
        : `${code}: ${words[code]}, ${syscall}${where}${destination === undefined ? "" : ` -> '${destination}'`}`,
    )
    this.code = code
    this.syscall = syscall
    this.path = path
  }
}
