// The content of an installed package folder as one digest. A digest that differs means that what would be run
// is not what was installed.
import { createHash } from "node:crypto"
import { join } from "node:path"
import { Data, Effect } from "effect"
import { Disk, type DiskError } from "../Disk/Disk.ts"

export class FolderError extends Data.TaggedError("FolderError")<{ readonly message: string }> {}

const folderError = (root: string) =>
  Effect.mapError((error: DiskError) => new FolderError({ message: `${root}: ${error.message}` }))

interface Found {
  readonly path: string
  readonly kind: "file" | "link" | "directory"
}

interface Entry extends Found {
  readonly mark: string
}

type Mark = (path: string) => Effect.Effect<string, DiskError>

/** Calls of the file system at a time: each waits for a thread and the disk, and a package has fifteen thousand files. */
const together = 16

const walk = (root: string, at = ""): Effect.Effect<Array<Found>, DiskError, Disk> =>
  Effect.gen(function* () {
    const disk = yield* Disk
    const found: Array<Found> = []
    for (const child of yield* disk.readdir(join(root, at))) {
      const path = join(at, child.name)
      if (child.kind === "directory") {
        found.push({ path, kind: "directory" }, ...(yield* walk(root, path)))
      } else found.push({ path, kind: child.kind === "link" ? "link" : "file" })
    }
    return found
  })

const marked = Effect.fnUntraced(function* (root: string, mark: Mark) {
  const disk = yield* Disk
  const markOf = ({ path, kind }: Found) => {
    if (kind === "directory") return Effect.succeed("")
    return kind === "link" ? disk.readlink(join(root, path)) : mark(path)
  }
  return yield* Effect.forEach(
    yield* walk(root),
    (found): Effect.Effect<Entry, DiskError> => Effect.map(markOf(found), (own) => ({ ...found, mark: own })),
    { concurrency: together },
  )
})

const digestOf = (entries: ReadonlyArray<Entry>): string => {
  const hash = createHash("sha256")
  const lines = entries.map((entry) => `${entry.kind}\0${entry.path}\0${entry.mark}\n`)
  for (const line of lines.sort()) hash.update(line)
  return `sha256:${hash.digest("hex")}`
}

/** SHA-256 over names, links and contents: reads every byte. Fails with the error of the file system. */
export const contentDigest = Effect.fn("Pulumi.contentDigest")(function* (root: string) {
  const disk = yield* Disk
  const content: Mark = (path) =>
    Effect.map(disk.readFile(join(root, path)), (bytes) => createHash("sha256").update(bytes).digest("hex"))
  return digestOf(yield* marked(root, content).pipe(folderError(root)))
})

/** What changes when somebody writes into the folder: sizes, times, inodes. Reads no content. */
export const fingerprint = Effect.fn("Pulumi.fingerprint")(function* (root: string) {
  const disk = yield* Disk
  const times: Mark = (path) =>
    Effect.map(
      disk.lstat(join(root, path)),
      (stat) => `${stat.size} ${stat.mtimeMs} ${stat.ctimeMs} ${stat.ino}`,
    )
  return digestOf(yield* marked(root, times).pipe(folderError(root)))
})

const setModes = Effect.fnUntraced(
  function* (root: string, writable: boolean) {
    const disk = yield* Disk
    const entries = yield* walk(root)
    const bit = writable ? 0o200 : 0
    const apply = Effect.fnUntraced(function* (path: string) {
      const { mode } = yield* disk.lstat(path)
      yield* disk.chmod(path, (mode & 0o555) | bit)
    })
    // Folders must be writable before what is in them can be removed, and read-only only after it.
    for (const { path, kind } of entries) if (kind !== "link") yield* apply(join(root, path))
    yield* apply(root)
  },
  (effect, root) => effect.pipe(folderError(root)),
)

/** Takes every right to write, so that nothing changes an installed package by accident. */
export const makeReadOnly = (root: string) => setModes(root, false)

/** Gives it back, before the folder is removed. */
export const makeWritable = (root: string) => setModes(root, true)
