// Where the file of a backup goes and comes from, and the passphrase for it: never an argument, never the environment.
import { createReadStream } from "node:fs"
import path from "node:path"
import { Effect, FileSystem, Option, type PlatformError, Redacted, Stdio, Stream } from "effect"
import { Flag, Prompt } from "effect/cli"
import { newId } from "./BackupFile.ts"
import type { Source } from "./BackupReader.ts"
import { cannot, misused, type PiError } from "./Kubectl.ts"

/** Standard output or input. */
export const STREAM = "-"

export const passphraseFlag = Flag.String("passphrase-file").pipe(
  Flag.withMetavar("FILE"),
  Flag.withDescription(
    "The passphrase of the backup is what that file holds; asked for on the terminal when not set",
  ),
  Flag.optional,
)

export const fileFlag = (description: string) =>
  Flag.String("file").pipe(
    Flag.withAlias("f"),
    Flag.withMetavar("FILE"),
    Flag.withDescription(description),
    Flag.filter(
      (file) => file !== "",
      () => "Expected the name of a file, or -",
    ),
  )

const reasonOf = ({ reason }: PlatformError.PlatformError): string => reason._tag

const ask = (message: string) =>
  Prompt.run(Prompt.Hidden({ message })).pipe(Effect.mapError(() => misused("no passphrase was given")))

const asked = Effect.fnUntraced(function* (twice: boolean) {
  const first = yield* ask("Passphrase of the backup")
  if (!twice) return first
  const second = yield* ask("Once more")
  return Redacted.value(first) === Redacted.value(second)
    ? first
    : yield* misused("the two are not the same: nothing was done")
})

/** `file`: of the backup; where that is a stream, nobody can be asked. `isNew`: it is asked for twice. */
export const passphraseOf = Effect.fnUntraced(function* (
  from: Option.Option<string>,
  file: string,
  isNew: boolean,
) {
  const fs = yield* FileSystem.FileSystem
  const stdio = yield* Stdio.Stdio
  if (Option.isSome(from)) {
    const content = yield* fs
      .readFile(from.value)
      .pipe(
        Effect.mapError((error) =>
          cannot(`--passphrase-file ${from.value} cannot be read (${reasonOf(error)}): name another file`),
        ),
      )
    // Every byte that is none of a text would count as the same one.
    const text = yield* Effect.try({
      try: () => new TextDecoder("utf-8", { fatal: true }).decode(content),
      catch: () =>
        misused(
          `--passphrase-file ${from.value} is no text (UTF-8): openssl rand -base64 32 makes a passphrase that is`,
        ),
    })
    const word = text.replace(/\r?\n$/, "")
    return word === ""
      ? yield* misused(`--passphrase-file ${from.value} is empty: without a passphrase nothing is encrypted`)
      : Redacted.make(word)
  }
  const isTerminal = (yield* stdio.stdinIsTerminal) && (yield* stdio.stdoutIsTerminal)
  if (file === STREAM || !isTerminal) {
    return yield* misused(
      "there is no terminal to ask for the passphrase on: --passphrase-file FILE names the file that holds it",
    )
  }
  const word = yield* asked(isNew)
  return Redacted.value(word) === "" ? yield* misused("an empty passphrase encrypts nothing") : word
})

/** Read more than once: what comes as a stream lies in a file of this machine for as long, encrypted as it came, 0600. */
export const readBackup = Effect.fnUntraced(function* (file: string) {
  const fs = yield* FileSystem.FileSystem
  const read = (from: string): Source["bytes"] =>
    fs
      .stream(from, { chunkSize: 256 * 1024 })
      .pipe(
        Stream.mapError((error) =>
          cannot(
            `--file ${file} cannot be read (${reasonOf(error)}): name another file, or - for standard input`,
          ),
        ),
      )
  const found = file === STREAM ? undefined : yield* Effect.option(fs.stat(file))
  // A folder, and what is not there, say so when they are read.
  const isPipe = found?._tag === "Some" && found.value.type !== "File" && found.value.type !== "Directory"
  if (file !== STREAM && !isPipe) return { name: file, bytes: read(file) } satisfies Source
  const name = isPipe ? file : "standard input"
  const cannotRead = () => cannot(`${isPipe ? `--file ${file}` : name} cannot be read`)
  // Not by Effect's own: it reads at offsets, which a pipe does not have.
  const once = isPipe
    ? Stream.suspend(() => Stream.fromAsyncIterable<Uint8Array, PiError>(createReadStream(file), cannotRead))
    : Stream.mapError((yield* Stdio.Stdio).stdin, cannotRead)
  const cannotKeep = (error: PlatformError.PlatformError) =>
    cannot(
      `what comes from ${name} cannot be kept in the folder for temporary files (${reasonOf(error)}): TMPDIR in the environment names another one, with room for it`,
    )
  const folder = yield* Effect.mapError(fs.makeTempDirectoryScoped({ prefix: "kubectl-pi-" }), cannotKeep)
  const kept = path.join(folder, "backup.age")
  yield* Effect.scoped(
    Effect.gen(function* () {
      const opened = yield* Effect.mapError(fs.open(kept, { flag: "wx", mode: 0o600 }), cannotKeep)
      yield* Stream.runForEach(once, (chunk) => Effect.mapError(opened.writeAll(chunk), cannotKeep))
    }),
  )
  return { name, bytes: read(kept) } satisfies Source
})

/** Before anything is done: what there is stays as it is. */
export const requireNew = Effect.fnUntraced(function* (file: string) {
  if (file === STREAM) {
    const { stdoutIsTerminal } = yield* Stdio.Stdio
    if (yield* stdoutIsTerminal) {
      return yield* misused(
        "--file - is standard output, and that is a terminal: pipe it to another program, or name a file",
      )
    }
    return
  }
  const fs = yield* FileSystem.FileSystem
  if (yield* Effect.orElseSucceed(fs.exists(file), () => false)) {
    return yield* misused(`--file ${file} is there already, and no backup is overwritten: name another file`)
  }
  const folder = path.dirname(file)
  const found = yield* Effect.option(fs.stat(folder))
  if (Option.isNone(found)) {
    return yield* misused(`--file ${file}: the folder ${folder} is not there: make it, or name another file`)
  }
  if (found.value.type !== "Directory") {
    return yield* misused(`--file ${file}: ${folder} is no folder: name another file`)
  }
})

/** 0600, and whole or not at all. Gives how many bytes it is. */
export const writeBackup = Effect.fnUntraced(function* (
  file: string,
  content: Stream.Stream<Uint8Array, PiError>,
) {
  let size = 0
  const counted = Stream.tap(content, (chunk) =>
    Effect.sync(() => {
      size += chunk.length
    }),
  )
  if (file === STREAM) {
    const stdio = yield* Stdio.Stdio
    yield* Stream.run(counted, stdio.stdout({ endOnDone: false })).pipe(
      Effect.mapError((error) =>
        error._tag === "PiError"
          ? error
          : cannot("standard output cannot be written: the backup is not whole"),
      ),
    )
    return size
  }
  const fs = yield* FileSystem.FileSystem
  const temporary = `${file}.${newId()}`
  const cannotWrite = (error: PlatformError.PlatformError) =>
    cannot(`--file ${file} cannot be written (${reasonOf(error)}): name another file`)
  const written = Effect.scoped(
    Effect.gen(function* () {
      const opened = yield* Effect.mapError(fs.open(temporary, { flag: "wx", mode: 0o600 }), cannotWrite)
      yield* Stream.runForEach(counted, (chunk) => Effect.mapError(opened.writeAll(chunk), cannotWrite))
      // By its name it is whole, even if the machine ends now.
      yield* Effect.mapError(opened.sync, cannotWrite)
    }),
  )
  yield* written.pipe(
    Effect.andThen(Effect.mapError(fs.rename(temporary, file), cannotWrite)),
    Effect.onError(() => Effect.ignore(fs.remove(temporary, { force: true }))),
  )
  return size
})
