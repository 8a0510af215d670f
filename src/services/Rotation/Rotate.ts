// All instances of a state directory, from one passphrase to another. First everything is looked at: where a file opens with
// none of the passphrases, nothing is changed. Then each file is exchanged in one step. Salts stay what they are, so that whichever
// of an instance's files a rotation that was cut short has reached, the next one can open all of them. Runs while nobody else is
// at work in the directory.
import path from "node:path"
import { gzipSync } from "node:zlib"
import { Data, Effect, Option, type Redacted } from "effect"
import { formatKey } from "../../schema/InstanceKey.ts"
import { Disk, type DiskError, type DiskStat } from "../Disk/Disk.ts"
import { isPacked, LARGEST_STATE, unpackedText } from "../Disk/Packed.ts"
import { instanceFolder, instanceFolders } from "../StateStore/InstanceFolders.ts"
import { Derivation, type Key, parseSalt, proves, saltText } from "./Passphrase.ts"
import { exchanged, type Sealed, sealedIn } from "./Sealed.ts"

export interface RotationRequest {
  readonly stateDir: string
  /** Those that files may be encrypted under. */
  readonly from: ReadonlyArray<Redacted.Redacted>
  readonly to: Redacted.Redacted
}

export interface RotationResult {
  readonly instances: number
  /** Encrypted under the new one by this run. */
  readonly rotated: number
  /** They were already. */
  readonly had: number
  /** Cut off, or under a salt that is nowhere: left as they are. */
  readonly left: ReadonlyArray<string>
}

export class RotationError extends Data.TaggedError("RotationError")<{
  readonly message: string
  /** Each file is encrypted as it was before any rotation to this passphrase. */
  readonly untouched: boolean
}> {}

interface Folder {
  /** `<namespace>/<name>`, for people. */
  readonly instance: string
  readonly path: string
}

/** A file with something encrypted in it. */
interface Found {
  readonly path: string
  readonly isPacked: boolean
  readonly text: string
  readonly stat: DiskStat
  readonly sealed: Sealed
}

/** What a rotation writes before it takes a file's place; the backend's mending knows the name, too. */
const temporaryOf = (file: string) => `${file}.0.tmp`
const isTemporary = (name: string) => name.endsWith(".0.tmp")

/** Of instances, and of whatever else lies there: nothing may be left with the passphrase before. */
const foldersOf = Effect.fnUntraced(function* (stateDir: string) {
  const disk = yield* Disk
  const base = yield* disk.realpath(stateDir)
  return (yield* instanceFolders(base)).map(
    (key): Folder => ({ instance: formatKey(key), path: instanceFolder(base, key) }),
  )
})

/** Every file below a folder; what a rotation that was cut short has left of a write is removed. */
const filesBelow = (folder: string): Effect.Effect<ReadonlyArray<string>, DiskError, Disk> =>
  Effect.gen(function* () {
    const disk = yield* Disk
    const files: Array<string> = []
    for (const { name, kind } of yield* disk.readdir(folder)) {
      const each = path.join(folder, name)
      if (kind === "directory") files.push(...(yield* filesBelow(each)))
      else if (kind !== "file") continue
      else if (isTemporary(name)) yield* disk.unlink(each)
      else files.push(each)
    }
    return files
  })

/** Whoever still has the passphrase before fails at the settings, before anything is written; then the state follows. */
const rank = (file: string): number =>
  file.endsWith(".yaml") ? 0 : /\/backend\/\.pulumi\/stacks\/.*\.json(\.gz)?$/.test(file) ? 1 : 2

/** The bytes of a file as text; nothing where it is packed and was cut off. */
const unpacked = Option.liftThrowable(unpackedText)

const mayBeSealed = /\.(json|yaml)(\.gz)?(\.|$)|\/state-damaged/

/** `cut`: it cannot be understood as a whole. */
const readSealed = Effect.fnUntraced(function* (file: string) {
  if (!mayBeSealed.test(file) || file.endsWith(".attrs")) return undefined
  const disk = yield* Disk
  const stat = yield* disk.lstat(file)
  if (stat.size === 0) return undefined
  if (stat.size > LARGEST_STATE) return "cut"
  const bytes = yield* disk.readFile(file)
  const text = Option.getOrUndefined(unpacked(bytes))
  if (text === undefined) return "cut"
  if (!text.includes("v1:")) return undefined
  const sealed = Option.getOrUndefined(sealedIn(text, /\.yaml$/.test(file) ? "yaml" : "json"))
  if (sealed === undefined) return "cut"
  if (sealed.salts.size + sealed.values.size === 0) return undefined
  const found: Found = { path: file, isPacked: isPacked(bytes), text, stat, sealed }
  return found
})

/** The keys of an instance by its salts. */
interface Keys {
  readonly from: ReadonlyArray<Key>
  readonly to: Key
}

/** `seed`: of a salt that one of the passphrases is proved by; undefined for any other text. */
const seedOf = (salt: string, keys: ReadonlyMap<string, Keys>): string | undefined => {
  const parsed = Option.getOrUndefined(parseSalt(salt))
  const own = parsed === undefined ? undefined : keys.get(parsed.seed)
  if (parsed === undefined || own === undefined) return undefined
  return [own.to, ...own.from].some((key) => proves(key, parsed)) ? parsed.seed : undefined
}

/** The new text of each that is not yet under the new passphrase; `unknown`: what opens with none. */
const exchangeFor = ({ sealed }: Found, keys: ReadonlyMap<string, Keys>) => {
  const by = new Map<string, string>()
  const unknown: Array<string> = []
  for (const salt of sealed.salts) {
    const seed = seedOf(salt, keys)
    const own = seed === undefined ? undefined : keys.get(seed)
    const parsed = Option.getOrUndefined(parseSalt(salt))
    if (seed === undefined || own === undefined || parsed === undefined) unknown.push(salt)
    else if (!proves(own.to, parsed)) by.set(salt, saltText(own.to, seed))
  }
  for (const value of sealed.values) {
    const all = [...keys.values()]
    if (all.some(({ to }) => Option.isSome(to.open(value)))) continue
    const opened = all.flatMap(({ from, to }) =>
      from.flatMap((key) => Option.toArray(Option.map(key.open(value), (plain) => to.seal(plain)))),
    )
    if (opened[0] === undefined) unknown.push(value)
    else by.set(value, opened[0])
  }
  return { by, unknown }
}

/** An entry of the history has no salt of its own: where that is nowhere, nobody could read it before either. */
const isLost = ({ path: file, sealed }: Found) => /\.history\.json/.test(file) && sealed.salts.size === 0

/** What was seen of an instance: no texts, for those of all instances together would take the memory. */
interface Looked {
  readonly folder: Folder
  readonly keys: ReadonlyMap<string, Keys>
  /** How many files there are with something encrypted that can be opened. */
  readonly files: number
  readonly left: ReadonlyArray<string>
  /** Not under the new passphrase, or not all of it. */
  readonly due: ReadonlyArray<string>
  /** Something is under the new passphrase already. */
  readonly begun: boolean
  /** Files that open with none. */
  readonly unknown: ReadonlyArray<string>
}

/** Salts first: which of them there are decides what opens everything else. */
const keysOf = Effect.fnUntraced(function* (files: ReadonlyArray<string>, { from, to }: RotationRequest) {
  const derive = yield* Derivation
  const keys = new Map<string, Keys>()
  for (const file of files) {
    const found = yield* readSealed(file)
    if (typeof found !== "object") continue
    for (const salt of found.sealed.salts) {
      const seed = Option.getOrUndefined(parseSalt(salt))?.seed
      if (seed === undefined || keys.has(seed)) continue
      keys.set(
        seed,
        yield* Effect.all(
          { to: derive(to, seed), from: Effect.forEach(from, (each) => derive(each, seed)) },
          { concurrency: 2 },
        ),
      )
    }
  }
  return keys
})

/** Everything that is encrypted of one instance. Changes nothing. */
const lookAt = Effect.fnUntraced(function* (folder: Folder, request: RotationRequest) {
  const files = (yield* filesBelow(folder.path)).toSorted(
    (a, b) => rank(a) - rank(b) || (a < b ? -1 : a > b ? 1 : 0),
  )
  const keys = yield* keysOf(files, request)
  const left: Array<string> = []
  const due: Array<string> = []
  const unknown: Array<string> = []
  let begun = false
  let count = 0
  for (const file of files) {
    const found = yield* readSealed(file)
    if (found === "cut") left.push(file)
    if (typeof found !== "object") continue
    const exchange = exchangeFor(found, keys)
    const all = found.sealed.salts.size + found.sealed.values.size
    if (exchange.by.size + exchange.unknown.length < all) begun = true
    if (exchange.unknown.length > 0) (isLost(found) ? left : unknown).push(file)
    else {
      count += 1
      if (exchange.by.size > 0) due.push(file)
    }
  }
  const looked: Looked = { folder, keys, files: count, left, due, begun, unknown }
  return looked
})

const isSame = (a: DiskStat, b: DiskStat): boolean =>
  a.ino === b.ino && a.size === b.size && a.mtimeMs === b.mtimeMs && a.ctimeMs === b.ctimeMs

const disturbed = "was written by somebody else meanwhile: an operator is at work"

/** In one step: the file has the old text or the new one, whenever this is cut short. Gives why it was not done. */
const exchange = Effect.fnUntraced(function* (file: string, keys: ReadonlyMap<string, Keys>) {
  const disk = yield* Disk
  const found = yield* readSealed(file)
  if (typeof found !== "object") return disturbed
  const { by, unknown } = exchangeFor(found, keys)
  if (unknown.length > 0) return disturbed
  const next = Option.getOrUndefined(exchanged(found.text, by))
  if (next === undefined) return "is written in a way that is not known here"
  const temporary = temporaryOf(file)
  const content = found.isPacked ? gzipSync(next) : Buffer.from(next)
  const written = yield* disk.writeNew(temporary, content, 0o600).pipe(
    Effect.andThen(disk.lstat(file)),
    Effect.flatMap((now) =>
      isSame(found.stat, now) ? Effect.as(disk.rename(temporary, file), true) : Effect.succeed(false),
    ),
    Effect.tapError(() => Effect.ignore(disk.unlink(temporary))),
  )
  if (!written) {
    yield* disk.unlink(temporary)
    return disturbed
  }
  yield* disk.syncFolder(path.dirname(file))
  return undefined
})

const told = (folder: Folder, files: ReadonlyArray<string>): string =>
  `${folder.instance}: ${files.map((file) => path.relative(folder.path, file)).join(", ")}`

/** Whatever it fails with, all that is encrypted opens with one of the passphrases, and the next run goes on. */
export const rotate = Effect.fn("Rotation.rotate")(function* (request: RotationRequest) {
  const problem = (message: string, untouched: boolean) => new RotationError({ message, untouched })
  const onDisk = Effect.mapError((error: DiskError) => problem(`${error.path}: ${error.message}`, false))
  const folders = yield* onDisk(foldersOf(request.stateDir))
  const looks = yield* onDisk(Effect.forEach(folders, (folder) => lookAt(folder, request)))
  const isBegun = looks.some(({ begun }) => begun)
  const strange = looks.filter(({ unknown }) => unknown.length > 0)
  if (strange.length > 0) {
    const files = strange.map(({ folder, unknown }) => told(folder, unknown)).join("; ")
    return yield* problem(
      `nothing was changed: neither the passphrase nor the next one opens ${files}`,
      !isBegun,
    )
  }
  // Copies that a backup's program has left where it was killed; no such program is at work now.
  const base = yield* onDisk(Effect.flatMap(Disk, (disk) => disk.realpath(request.stateDir)))
  yield* onDisk(Effect.flatMap(Disk, (disk) => disk.removeTree(path.join(base, "staging"))))
  let rotated = 0
  for (const { folder, due, keys } of looks) {
    for (const file of due) {
      const refused = yield* onDisk(exchange(file, keys))
      if (refused !== undefined) {
        return yield* problem(`${told(folder, [file])} ${refused}`, !isBegun && rotated === 0)
      }
      rotated += 1
    }
  }
  // What is on the disk now, read once more.
  for (const { folder, keys, left } of looks) {
    const after = yield* onDisk(stillDue(folder, keys, left))
    if (after.length > 0) return yield* problem(`not under the new passphrase: ${told(folder, after)}`, false)
  }
  const result: RotationResult = {
    instances: folders.length,
    rotated,
    had: looks.reduce((sum, { files }) => sum + files, 0) - rotated,
    left: looks.flatMap(({ folder, left }) => left.map((file) => told(folder, [file]))),
  }
  return result
})

/** The files of an instance that are not under the new passphrase alone. */
const stillDue = Effect.fnUntraced(function* (
  folder: Folder,
  keys: ReadonlyMap<string, Keys>,
  left: ReadonlyArray<string>,
) {
  const after: Array<string> = []
  for (const file of yield* filesBelow(folder.path)) {
    const sealed = left.includes(file) ? undefined : yield* readSealed(file)
    if (sealed === undefined) continue
    const open = sealed === "cut" ? undefined : exchangeFor(sealed, keys)
    if (open === undefined || open.by.size + open.unknown.length > 0) after.push(file)
  }
  return after
})

/** One line. */
export const summary = ({ instances, rotated, had, left }: RotationResult): string =>
  [
    `${instances === 1 ? "1 instance" : `${instances} instances`}: ${rotated} files have the new passphrase now, ${had} had it already`,
    ...(left.length === 0 ? [] : [`left as they are, for they can be read by nobody: ${left.join("; ")}`]),
  ].join("; ")
