// The content of an installed package folder as one digest. A digest that differs means that what would be run
// is not what was installed.
import { createHash } from "node:crypto"
import { Data, Effect } from "effect"
import { Disk, type DiskError } from "../Disk/Disk.ts"

export class FolderError extends Data.TaggedError("FolderError")<{ readonly message: string }> {}

const folderError = (root: string) =>
  Effect.mapError((error: DiskError) => new FolderError({ message: `${root}: ${error.message}` }))

interface Found {
  readonly path: string
  readonly kind: "file" | "link" | "directory"
}

/** What is told of each of these files, in their order. */
type Marks = (
  disk: Disk["Service"],
  files: ReadonlyArray<string>,
) => Effect.Effect<ReadonlyArray<string>, DiskError>

/** Folders that are listed at a time. */
const together = 16

/** Everything in the folder, level by level: each folder before what is in it. */
const walk = Effect.fnUntraced(function* (root: string) {
  const disk = yield* Disk
  const list = (at: string) =>
    Effect.map(disk.readdir(`${root}/${at}`), (children) =>
      children.map(
        ({ name, kind }): Found => ({
          path: at === "" ? name : `${at}/${name}`,
          kind: kind === "directory" || kind === "link" ? kind : "file",
        }),
      ),
    )
  const found: Array<Found> = []
  let level = [""]
  while (level.length > 0) {
    const below = (yield* Effect.forEach(level, list, { concurrency: together })).flat()
    for (const one of below) found.push(one)
    level = below.flatMap(({ path, kind }) => (kind === "directory" ? [path] : []))
  }
  return found
})

/** So many files are asked about at once: in between, whoever waits for a digest may give up. */
const batch = 1_000

const batches = <A>(all: ReadonlyArray<A>): ReadonlyArray<ReadonlyArray<A>> =>
  Array.from({ length: Math.ceil(all.length / batch) }, (_, index) =>
    all.slice(index * batch, (index + 1) * batch),
  )

const line = ({ kind, path }: Found, mark: string): string => `${kind}\0${path}\0${mark}\n`

const digestOf = Effect.fnUntraced(
  function* (root: string, marks: Marks) {
    const disk = yield* Disk
    const found = yield* walk(root)
    const lines: Array<string> = []
    for (const one of found) {
      if (one.kind === "directory") lines.push(line(one, ""))
      if (one.kind === "link") lines.push(line(one, yield* disk.readlink(`${root}/${one.path}`)))
    }
    for (const files of batches(found.filter(({ kind }) => kind === "file"))) {
      const told = yield* marks(
        disk,
        files.map(({ path }) => `${root}/${path}`),
      )
      for (const [index, file] of files.entries()) lines.push(line(file, told[index] ?? ""))
    }
    const hash = createHash("sha256")
    for (const each of lines.sort()) hash.update(each)
    return `sha256:${hash.digest("hex")}`
  },
  (effect, root) => effect.pipe(folderError(root)),
)

/** SHA-256 over names, links and contents: reads every byte. Fails with the error of the file system. */
export const contentDigest = Effect.fn("Pulumi.contentDigest")((root: string) =>
  digestOf(root, (disk, files) => disk.sha256All(files)),
)

/** What changes when somebody writes into the folder: sizes, times, inodes. Reads no content. */
export const fingerprint = Effect.fn("Pulumi.fingerprint")((root: string) =>
  digestOf(root, (disk, files) =>
    Effect.map(disk.lstatAll(files), (stats) =>
      stats.map(({ size, mtimeMs, ctimeMs, ino }) => `${size} ${mtimeMs} ${ctimeMs} ${ino}`),
    ),
  ),
)

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
    for (const { path, kind } of entries) if (kind !== "link") yield* apply(`${root}/${path}`)
    yield* apply(root)
  },
  (effect, root) => effect.pipe(folderError(root)),
)

/** Takes every right to write, so that nothing changes an installed package by accident. */
export const makeReadOnly = (root: string) => setModes(root, false)

/** Gives it back, before the folder is removed. */
export const makeWritable = (root: string) => setModes(root, true)
