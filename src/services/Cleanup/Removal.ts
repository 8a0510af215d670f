// Removes one directory and everything in it, and nothing else. Node's own recursive removal works on path names, so
// that a directory exchanged for a symbolic link in the meantime leads it out of the tree. Here every step is relative
// to a directory that is held open: `/proc/self/fd/<fd>/<entry>` names an entry of exactly that directory, whatever
// happens to its path. Names are bytes: tenants may have written what is no UTF-8.
import {
  closeSync,
  constants,
  fsyncSync,
  lstatSync,
  opendirSync,
  openSync,
  renameSync,
  rmdirSync,
  unlinkSync,
} from "node:fs"

/** In one line: what could not be removed and why. */
export class RemovalError extends Error {}

/** Each level holds a directory open. A deeper one is moved up first, so that no depth exhausts anything. */
const MAX_DEPTH = 100
/** One character a byte, and back without loss. */
const BYTES = "latin1"

/**
 * Removes the directory `name` in `parent`; false when there is none. Symbolic links inside it are removed as links.
 * Refuses a `parent` or a `name` that is a symbolic link or no directory. What it had removed when it failed is gone; a
 * second call goes on where the first one ended. Blocks.
 */
export const removeDirectory = (parent: string, name: string): boolean => {
  let top: number | undefined
  try {
    top = openDirectory(Buffer.from(parent))
    const entry = at(top, Buffer.from(name))
    const found = lstatSync(entry, { throwIfNoEntry: false })
    if (found === undefined) return false
    if (found.isSymbolicLink()) throw new RemovalError(`${name} is a symbolic link`)
    if (!found.isDirectory()) throw new RemovalError(`${name} is not a directory`)
    const root = openDirectory(entry)
    try {
      empty(root, root, 1)
    } finally {
      closeSync(root)
    }
    rmdirSync(entry)
    // Reported as gone only when a power cut cannot bring it back.
    fsyncSync(top)
    return true
  } catch (error) {
    throw asRemovalError(error, top === undefined ? parent : name)
  } finally {
    if (top !== undefined) closeSync(top)
  }
}

/** Removes all entries of an open directory. An entry that comes while others go is found by the next look. */
const empty = (root: number, directory: number, depth: number): void => {
  while (sweep(root, directory, depth) > 0);
}

/** One look through the directory; answers how many entries it found. */
const sweep = (root: number, directory: number, depth: number): number => {
  let count = 0
  const entries = opendirSync(at(directory, Buffer.from(".")), { encoding: BYTES, bufferSize: 256 })
  try {
    for (let entry = entries.readSync(); entry !== null; entry = entries.readSync()) {
      count++
      removeEntry(root, directory, Buffer.from(entry.name, BYTES), depth)
    }
  } finally {
    entries.closeSync()
  }
  return count
}

const removeEntry = (root: number, directory: number, name: Buffer, depth: number): void => {
  const path = at(directory, name)
  try {
    if (unlinked(path)) return
    if (depth >= MAX_DEPTH) {
      moveUp(root, path)
      return
    }
    const inner = openDirectory(path)
    try {
      empty(root, inner, depth + 1)
    } finally {
      closeSync(inner)
    }
    rmdirSync(path)
  } catch (error) {
    throw asRemovalError(error, name.toString())
  }
}

/** False when it is a directory. Never follows: a link goes, not what it names. */
const unlinked = (path: Buffer): boolean => {
  try {
    unlinkSync(path)
    return true
  } catch (error) {
    if (code(error) === "ENOENT") return true
    if (code(error) === "EISDIR") return false
    throw error
  }
}

/** Into the tree's own root, where a later look finds it at depth 1. */
const moveUp = (root: number, path: Buffer): void => {
  for (let n = 0; ; n++) {
    try {
      renameSync(path, at(root, Buffer.from(`.deep-${n}`)))
      return
    } catch (error) {
      if (code(error) !== "ENOTEMPTY" && code(error) !== "EEXIST" && code(error) !== "ENOTDIR") throw error
    }
  }
}

/** Fails with ELOOP or ENOTDIR on anything but a directory. */
const openDirectory = (path: Buffer): number =>
  openSync(path, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW)

const at = (directory: number, name: Buffer): Buffer =>
  Buffer.concat([Buffer.from(`/proc/self/fd/${directory}/`), name])

const code = (error: unknown): unknown => (error instanceof Error && "code" in error ? error.code : undefined)

const asRemovalError = (error: unknown, name: string): RemovalError => {
  if (error instanceof RemovalError) return error
  const printable = name.replace(/[^\x20-\x7e]/g, "?").slice(0, 100)
  return new RemovalError(`${printable}: ${code(error) ?? "failed"}`, { cause: error })
}
