// The state directory on a disk. Changes of one instance are serialised; so is what is made and removed in the namespace
// folder that instances share, so that the removal of one never meets the making, or the removal, of another.
import { createHash } from "node:crypto"
import path from "node:path"
import { Effect, Layer, Option, Schema, Semaphore } from "effect"
import { formatKey, type InstanceKey } from "../../schema/InstanceKey.ts"
import { Disk } from "../Disk/Disk.ts"
import {
  attempt,
  hasEntries,
  makeFolders,
  moveAside,
  oldestFirst,
  readText,
  removeFile,
  removeIfEmpty,
  removeTemporaries,
  removeTree,
  syncFolder,
  writeText,
} from "./DurableFiles.ts"
import { instanceFolder, instanceFolders, instancesIn, isKey } from "./InstanceFolders.ts"
import { InstanceRecord, OperationMarker, STATE_FORMAT, StateStore, StateStoreError } from "./StateStore.ts"

const RecordText = Schema.fromJsonString(InstanceRecord)
const MarkerText = Schema.fromJsonString(OperationMarker)

/** What to do about a file that cannot be read, in the words an administrator sees. */
const wayOut = {
  record:
    "restore it from a backup of the state directory, or remove its folder if the instance has no data to keep",
  operation:
    "when no operation of this instance is running any more, remove the file: the next one starts from what is found",
}

/** The format of a file that this operator is too old for. */
const newerFormat = (json: string): Option.Option<number> =>
  Option.filter(
    Option.map(decodeFormat(json), ({ format }) => format),
    (format) => format > STATE_FORMAT,
  )
const decodeFormat = Schema.decodeOption(Schema.fromJsonString(Schema.Struct({ format: Schema.Finite })))

/** So many states of clusters that are gone are kept of an instance. */
const mostKept = 3

/** Live layer over `stateDir`, which must exist and be the operator's own. */
const layer = (options: { readonly stateDir: string }) => Layer.effect(StateStore, make(options.stateDir))

/**
 * An operator that was killed in a removal leaves folders aside, or an empty one of a namespace. The instance they were
 * of may be gone, so that nobody else would ever look for them. A backup's program dies with its operator's container, and leaves
 * its copy, which is under the passphrase of its time. What cannot be removed keeps no operator from starting.
 */
const finishRemovals = Effect.fnUntraced(function* (base: string, dropped: string, instances: string) {
  const disk = yield* Disk
  const below = (folder: string) =>
    disk.readdir(folder).pipe(Effect.map((entries) => entries.map(({ name }) => path.join(folder, name))))
  const remove = Effect.gen(function* () {
    yield* Effect.forEach(yield* below(dropped), removeTree, { discard: true })
    const staging = path.join(base, "staging")
    if ((yield* below(base)).includes(staging)) yield* removeTree(staging)
    yield* Effect.forEach(yield* below(instances), (folder) => removeIfEmpty(base, folder), { discard: true })
  })
  yield* remove.pipe(
    Effect.catch((error) =>
      Effect.logWarning("what a removal left behind stays in the state directory").pipe(
        Effect.annotateLogs({ path: error.path, message: error.message }),
      ),
    ),
  )
})

const make = Effect.fn("StateStore.make")(function* (stateDir: string) {
  const disk = yield* Disk
  const onDisk = Effect.provideService(Disk, disk)
  // The state directory may be reached through a link (a mount often is); nothing below it may be one.
  const base = yield* disk.realpath(stateDir).pipe(
    Effect.mapError(
      () =>
        new StateStoreError({
          path: stateDir,
          message: `${stateDir}: the state directory is not there; mount its volume, or make the folder`,
        }),
    ),
  )
  const instances = instancesIn(base)
  const dropped = path.join(base, "dropped")
  const packagesDir = path.join(base, "packages")
  const pluginsDir = path.join(base, "plugins")
  yield* Effect.forEach([instances, dropped, packagesDir, pluginsDir], (folder) => makeFolders(base, folder))
  yield* finishRemovals(base, dropped, instances)
  /** For folders that instances share: a namespace's goes with its last instance. */
  const oneAtATime = (yield* Semaphore.make(1)).withPermits(1)
  const locks = new Map<string, Semaphore.Semaphore>()
  /** One change of an instance's folder at a time; those of others wait for no disk of its. */
  const alone =
    (key: InstanceKey) =>
    <A, E, R>(change: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
      Effect.suspend(() => {
        const name = formatKey(key)
        const lock = locks.get(name) ?? Semaphore.makeUnsafe(1)
        locks.set(name, lock)
        return lock.withPermits(1)(change)
      })

  const rootOf = (key: InstanceKey) => instanceFolder(base, key)
  const pathsOf = (key: InstanceKey) => ({
    root: rootOf(key),
    project: path.join(rootOf(key), "project"),
    backend: path.join(rootOf(key), "backend"),
  })
  const recordOf = (key: InstanceKey) => path.join(rootOf(key), "instance.json")
  const operationOf = (key: InstanceKey) => path.join(rootOf(key), "operation.json")
  const historyOf = (key: InstanceKey) => path.join(rootOf(key), "history.json")
  const planOf = (key: InstanceKey) => path.join(rootOf(key), "plan.json")

  const checked = (key: InstanceKey) =>
    isKey(key)
      ? Effect.void
      : Effect.fail(
          new StateStoreError({
            path: instances,
            message: `${JSON.stringify(formatKey(key))} is not a namespace and name of Kubernetes`,
          }),
        )

  /** `None` only when there is no file: one that cannot be read is a failure, for absent means "install afresh". */
  const read = <A>(schema: Schema.Codec<A, string>, file: string, advice: string) =>
    Effect.flatMap(readText(base, file), (text) =>
      Option.match(text, {
        onNone: () => Effect.succeedNone,
        onSome: (json) =>
          Schema.decodeEffect(schema)(json).pipe(
            Effect.asSome,
            Effect.mapError(
              (error) =>
                new StateStoreError({
                  path: file,
                  message: Option.match(newerFormat(json), {
                    onSome: (format) =>
                      `${file} has format ${format}, and this operator reads ${STATE_FORMAT}: a newer operator wrote it. Install that one again; nothing was changed`,
                    onNone: () =>
                      `${file} cannot be read (${error.message.replaceAll(/\s+/g, " ")}); ${advice}`,
                  }),
                }),
            ),
          ),
      }),
    )

  const write = <A>(schema: Schema.Codec<A, string>, key: InstanceKey, file: string, value: A) =>
    Effect.andThen(
      checked(key),
      alone(key)(
        Effect.gen(function* () {
          const json = yield* Effect.orDie(Schema.encodeEffect(schema)(value))
          yield* oneAtATime(makeFolders(base, rootOf(key)))
          yield* writeText(file, `${json}\n`)
        }),
      ),
    )

  /**
   * Removes a folder: first out of its place, in one step, so that no half of it is ever taken for the whole.
   * What a crash leaves aside has a name that the next attempt knows.
   */
  const discard = Effect.fnUntraced(function* (key: InstanceKey, folder: string) {
    const aside = path.join(dropped, createHash("sha256").update(path.relative(base, folder)).digest("hex"))
    yield* removeTree(aside)
    const moved = moveAside(base, folder, aside)
    // Nobody removes the namespace's folder before it is on the disk what has gone from it.
    yield* alone(key)(folder === rootOf(key) ? oneAtATime(moved) : moved)
    yield* removeTree(aside)
  })

  const keptOf = (key: InstanceKey, cluster: string) =>
    path.join(rootOf(key), "kept", createHash("sha256").update(cluster).digest("hex").slice(0, 16))

  /** A state that is kept is in no backend: of an exchange that a crash cut short the first half is done, or both. */
  const isExchanged = (key: InstanceKey, from: string) => hasEntries(base, keptOf(key, from))

  const keep = Effect.fnUntraced(function* (key: InstanceKey, cluster: string) {
    const aside = keptOf(key, cluster)
    yield* makeFolders(base, path.dirname(aside))
    yield* removeIfEmpty(base, aside)
    yield* moveAside(base, pathsOf(key).backend, aside)
    yield* syncFolder(base, path.dirname(aside))
    const others = (yield* oldestFirst(base, path.dirname(aside))).filter((folder) => folder !== aside)
    yield* Effect.forEach(others.slice(0, Math.max(0, others.length + 1 - mostKept)), removeTree, {
      discard: true,
    })
  })

  /** Of every instance that has a folder. */
  const keys = Effect.map(
    attempt(instances, () => instanceFolders(base)),
    (found) => found.filter(isKey),
  )

  return StateStore.of({
    paths: (key) => {
      if (!isKey(key)) throw new Error(`not a namespace and name of Kubernetes: ${formatKey(key)}`)
      return pathsOf(key)
    },
    packagesDir,
    pluginsDir,
    readRecord: Effect.fn("StateStore.readRecord")(function* (key) {
      yield* checked(key)
      return yield* read(RecordText, recordOf(key), wayOut.record)
    }, onDisk),
    records: Effect.gen(function* () {
      const records = yield* Effect.forEach(yield* keys, (key) =>
        read(RecordText, recordOf(key), wayOut.record).pipe(
          Effect.orElseSucceed(() => Option.none<InstanceRecord>()),
          Effect.map(Option.map((record) => ({ key, record }))),
        ),
      )
      return records.flatMap(Option.toArray)
    }).pipe(Effect.withSpan("StateStore.records"), onDisk),
    installedVersions: Effect.gen(function* () {
      const records = yield* Effect.forEach(yield* keys, (key) =>
        read(RecordText, recordOf(key), wayOut.record),
      )
      return new Set(records.flatMap(Option.toArray).flatMap(({ installed }) => installed?.version ?? []))
    }).pipe(Effect.withSpan("StateStore.installedVersions"), onDisk),
    writeRecord: Effect.fn("StateStore.writeRecord")(
      (key, record) => write(RecordText, key, recordOf(key), record),
      onDisk,
    ),
    readOperation: Effect.fn("StateStore.readOperation")(function* (key) {
      yield* checked(key)
      return yield* read(MarkerText, operationOf(key), wayOut.operation)
    }, onDisk),
    writeOperation: Effect.fn("StateStore.writeOperation")(
      (key, marker) => write(MarkerText, key, operationOf(key), marker),
      onDisk,
    ),
    readHistory: Effect.fn("StateStore.readHistory")(function* (key) {
      yield* checked(key)
      return yield* readText(base, historyOf(key))
    }, onDisk),
    writeHistory: Effect.fn("StateStore.writeHistory")(
      // Nothing else may be written for half an hour: what a crash has left half written goes with the next history.
      (key, text) =>
        Effect.andThen(
          write(Schema.String, key, historyOf(key), text),
          alone(key)(removeTemporaries(rootOf(key))),
        ),
      onDisk,
    ),
    readPlan: Effect.fn("StateStore.readPlan")(function* (key) {
      yield* checked(key)
      return yield* readText(base, planOf(key))
    }, onDisk),
    writePlan: Effect.fn("StateStore.writePlan")(
      (key, text) => write(Schema.String, key, planOf(key), text),
      onDisk,
    ),
    removeOperation: Effect.fn("StateStore.removeOperation")(function* (key) {
      yield* checked(key)
      yield* alone(key)(removeFile(base, operationOf(key)))
    }, onDisk),
    prepare: Effect.fn("StateStore.prepare")(function* (key) {
      yield* checked(key)
      const paths = pathsOf(key)
      yield* alone(key)(
        Effect.gen(function* () {
          yield* oneAtATime(makeFolders(base, paths.project))
          yield* makeFolders(base, paths.backend)
          yield* removeTemporaries(paths.root)
        }),
      )
      return paths
    }, onDisk),
    exchangeState: Effect.fn("StateStore.exchangeState")(function* (key, { from, to }) {
      yield* checked(key)
      const { backend } = pathsOf(key)
      yield* alone(key)(
        Effect.gen(function* () {
          if (!(yield* isExchanged(key, from)) && (yield* hasEntries(base, backend))) yield* keep(key, from)
          const before = keptOf(key, to)
          if (!(yield* hasEntries(base, before))) return
          yield* removeIfEmpty(base, backend)
          yield* moveAside(base, before, backend)
          yield* syncFolder(base, rootOf(key))
        }),
      )
    }, onDisk),
    keepsState: Effect.fn("StateStore.keepsState")(function* (key, { from, to }) {
      yield* checked(key)
      if (yield* hasEntries(base, keptOf(key, to))) return true
      return (yield* isExchanged(key, from)) && (yield* hasEntries(base, pathsOf(key).backend))
    }, onDisk),
    dropState: Effect.fn("StateStore.dropState")(function* (key) {
      yield* checked(key)
      const { backend, project } = pathsOf(key)
      yield* discard(key, path.join(rootOf(key), "kept"))
      yield* discard(key, backend)
      yield* discard(key, project)
      yield* alone(key)(removeFile(base, operationOf(key)))
    }, onDisk),
    drop: Effect.fn("StateStore.drop")(function* (key) {
      yield* checked(key)
      yield* discard(key, rootOf(key))
      yield* oneAtATime(removeIfEmpty(base, path.join(instances, key.namespace)))
    }, onDisk),
    hasState: Effect.fn("StateStore.hasState")(function* (key) {
      yield* checked(key)
      const { backend, project } = pathsOf(key)
      return (yield* hasEntries(base, backend)) || (yield* hasEntries(base, project))
    }, onDisk),
  })
})

export const StateStoreLive = { layer }
