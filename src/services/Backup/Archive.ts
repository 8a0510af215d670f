// A tar of a few files that are held in memory, written and read as a whole.
import { Buffer } from "node:buffer"
import { Data, Effect } from "effect"
import { extract, pack } from "tar-stream"

export class ArchiveError extends Data.TaggedError("ArchiveError")<{ readonly message: string }> {}

/** By their paths, in the order in which they are written. */
export type Files = ReadonlyMap<string, Uint8Array>

/** Relative, and without a step up: what is unpacked stays below the folder that it is unpacked in. */
const isPlain = (path: string): boolean =>
  path !== "" && !path.split("/").some((step) => step === "" || step === "." || step === "..")

/** The tar of them, to be read. The same files give the same bytes. What is in them is not copied: it may be large. */
export const tarOf = (files: Files) => {
  const tar = pack()
  for (const [name, content] of files) {
    const header = { name, mode: 0o600, mtime: new Date(0) }
    tar.entry(header, Buffer.from(content.buffer, content.byteOffset, content.byteLength))
  }
  tar.finalize()
  return tar
}

export const packed = (files: Files): Effect.Effect<Uint8Array, ArchiveError> =>
  Effect.tryPromise({
    try: async () => {
      const tar = tarOf(files)
      const chunks: Array<Uint8Array> = []
      for await (const chunk of tar) if (chunk instanceof Uint8Array) chunks.push(chunk)
      return Buffer.concat(chunks)
    },
    catch: (cause) => new ArchiveError({ message: String(cause) }),
  })

/** Fails where it is cut off, has anything but files in it, or one twice or with a path that leads elsewhere. */
export const unpacked = (tar: Uint8Array): Effect.Effect<Files, ArchiveError> =>
  Effect.tryPromise({
    try: async () => {
      const files = new Map<string, Uint8Array>()
      const entries = extract()
      entries.end(Buffer.from(tar))
      for await (const entry of entries) {
        const { name, type, size = 0 } = entry.header
        if (type !== "file" || !isPlain(name) || files.has(name))
          throw new Error(`${name} is no file that belongs in it`)
        const chunks: Array<Uint8Array> = []
        for await (const chunk of entry) if (chunk instanceof Uint8Array) chunks.push(chunk)
        const content = Buffer.concat(chunks)
        if (content.length !== size) throw new Error(`${name} is cut off`)
        files.set(name, content)
      }
      return files
    },
    catch: (cause) => new ArchiveError({ message: cause instanceof Error ? cause.message : String(cause) }),
  })
