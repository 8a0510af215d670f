// The content of an installed package folder as one digest. A digest that differs means that what would be run
// is not what was installed.
import { createHash } from "node:crypto"
import { chmod, lstat, readdir, readFile, readlink } from "node:fs/promises"
import { join } from "node:path"
import { Data, Effect } from "effect"

export class FolderError extends Data.TaggedError("FolderError")<{ readonly message: string }> {}

const folderError =
  (root: string) =>
  (cause: unknown): FolderError =>
    new FolderError({ message: `${root}: ${cause instanceof Error ? cause.message : String(cause)}` })

interface Entry {
  readonly path: string
  readonly kind: "file" | "link" | "directory"
  readonly mark: string
}

const walk = async (
  root: string,
  mark: (path: string) => Promise<string>,
  at = "",
): Promise<Array<Entry>> => {
  const children = await readdir(join(root, at), { withFileTypes: true })
  const found: Array<Entry> = []
  for (const child of children) {
    const path = join(at, child.name)
    if (child.isDirectory()) {
      found.push({ path, kind: "directory", mark: "" }, ...(await walk(root, mark, path)))
    } else if (child.isSymbolicLink()) {
      found.push({ path, kind: "link", mark: await readlink(join(root, path)) })
    } else found.push({ path, kind: "file", mark: await mark(path) })
  }
  return found
}

const digestOf = (entries: ReadonlyArray<Entry>): string => {
  const hash = createHash("sha256")
  const lines = entries.map((entry) => `${entry.kind}\0${entry.path}\0${entry.mark}\n`)
  for (const line of lines.sort()) hash.update(line)
  return `sha256:${hash.digest("hex")}`
}

/** SHA-256 over names, links and contents: reads every byte. Fails with the error of the file system. */
export const contentDigest = (root: string): Effect.Effect<string, FolderError> =>
  Effect.tryPromise({
    try: async () =>
      digestOf(
        await walk(root, async (path) =>
          createHash("sha256")
            .update(await readFile(join(root, path)))
            .digest("hex"),
        ),
      ),
    catch: folderError(root),
  })

/** What changes when somebody writes into the folder: sizes, times, inodes. Reads no content. */
export const fingerprint = (root: string): Effect.Effect<string, FolderError> =>
  Effect.tryPromise({
    try: async () =>
      digestOf(
        await walk(root, async (path) => {
          const stat = await lstat(join(root, path))
          return `${stat.size} ${stat.mtimeMs} ${stat.ctimeMs} ${stat.ino}`
        }),
      ),
    catch: folderError(root),
  })

const setModes = async (root: string, writable: boolean): Promise<void> => {
  const entries = await walk(root, async () => "")
  const bit = writable ? 0o200 : 0
  const apply = async (path: string) => {
    const { mode } = await lstat(path)
    await chmod(path, (mode & 0o555) | bit)
  }
  // Folders must be writable before what is in them can be removed, and read-only only after it.
  for (const { path, kind } of entries) if (kind !== "link") await apply(join(root, path))
  await apply(root)
}

/** Takes every right to write, so that nothing changes an installed package by accident. */
export const makeReadOnly = (root: string): Effect.Effect<void, FolderError> =>
  Effect.tryPromise({ try: () => setModes(root, false), catch: folderError(root) })

/** Gives it back, before the folder is removed. */
export const makeWritable = (root: string): Effect.Effect<void, FolderError> =>
  Effect.tryPromise({ try: () => setModes(root, true), catch: folderError(root) })
