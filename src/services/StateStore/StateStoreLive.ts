// The state directory on a real disk. Writes are serialised, so that the removal of an instance's folders and
// the making of another's never meet in the namespace folder they share.
import { createHash } from "node:crypto"
import { realpath } from "node:fs/promises"
import path from "node:path"
import { Effect, Layer, Option, Schema, Semaphore } from "effect"
import { formatKey, type InstanceKey } from "../../schema/InstanceKey.ts"
import {
  hasEntries,
  makeFolders,
  moveAside,
  readText,
  removeFile,
  removeIfEmpty,
  removeTemporaries,
  removeTree,
  writeText,
} from "./DurableFiles.ts"
import { InstanceRecord, OperationMarker, StateStore, StateStoreError } from "./StateStore.ts"

const RecordText = Schema.fromJsonString(InstanceRecord)
const MarkerText = Schema.fromJsonString(OperationMarker)

/** What a Kubernetes namespace and name can be, and so neither empty, nor `..`, nor anything with a `/`. */
const namespacePattern = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/
const namePattern = /^[a-z0-9]([-.a-z0-9]{0,251}[a-z0-9])?$/
const isKey = (key: InstanceKey) => namespacePattern.test(key.namespace) && namePattern.test(key.name)

/** What to do about a file that cannot be read, in the words an administrator sees. */
const wayOut = {
  record:
    "restore it from a backup of the state directory, or remove its folder if the instance has no data to keep",
  operation:
    "when no operation of this instance is running any more, remove the file: the next one starts from what is found",
}

/** Live layer over `stateDir`, which must exist and be the operator's own. */
const layer = (options: { readonly stateDir: string }) => Layer.effect(StateStore, make(options.stateDir))

const make = Effect.fn("StateStore.make")(function* (stateDir: string) {
  // The state directory may be reached through a link (a mount often is); nothing below it may be one.
  const base = yield* Effect.tryPromise({
    try: () => realpath(stateDir),
    catch: () =>
      new StateStoreError({
        path: stateDir,
        message: `${stateDir}: the state directory is not there; mount its volume, or make the folder`,
      }),
  })
  const instances = path.join(base, "instances")
  const dropped = path.join(base, "dropped")
  const packagesDir = path.join(base, "packages")
  const pluginsDir = path.join(base, "plugins")
  yield* Effect.forEach([instances, dropped, packagesDir, pluginsDir], (folder) => makeFolders(base, folder))
  const oneAtATime = (yield* Semaphore.make(1)).withPermits(1)

  const rootOf = (key: InstanceKey) => path.join(instances, key.namespace, key.name)
  const pathsOf = (key: InstanceKey) => ({
    root: rootOf(key),
    project: path.join(rootOf(key), "project"),
    backend: path.join(rootOf(key), "backend"),
  })
  const recordOf = (key: InstanceKey) => path.join(rootOf(key), "instance.json")
  const operationOf = (key: InstanceKey) => path.join(rootOf(key), "operation.json")

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
                  message: `${file} cannot be read (${error.message.replaceAll(/\s+/g, " ")}); ${advice}`,
                }),
            ),
          ),
      }),
    )

  const write = <A>(schema: Schema.Codec<A, string>, key: InstanceKey, file: string, value: A) =>
    Effect.andThen(
      checked(key),
      oneAtATime(
        Effect.gen(function* () {
          const json = yield* Effect.orDie(Schema.encodeEffect(schema)(value))
          yield* makeFolders(base, rootOf(key))
          yield* writeText(file, `${json}\n`)
        }),
      ),
    )

  /**
   * Removes a folder: first out of its place, in one step, so that no half of it is ever taken for the whole.
   * What a crash leaves aside has a name that the next attempt knows.
   */
  const discard = Effect.fnUntraced(function* (folder: string) {
    const aside = path.join(dropped, createHash("sha256").update(path.relative(base, folder)).digest("hex"))
    yield* removeTree(aside)
    yield* oneAtATime(moveAside(base, folder, aside))
    yield* removeTree(aside)
  })

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
    }),
    writeRecord: Effect.fn("StateStore.writeRecord")((key, record) =>
      write(RecordText, key, recordOf(key), record),
    ),
    readOperation: Effect.fn("StateStore.readOperation")(function* (key) {
      yield* checked(key)
      return yield* read(MarkerText, operationOf(key), wayOut.operation)
    }),
    writeOperation: Effect.fn("StateStore.writeOperation")((key, marker) =>
      write(MarkerText, key, operationOf(key), marker),
    ),
    removeOperation: Effect.fn("StateStore.removeOperation")(function* (key) {
      yield* checked(key)
      yield* oneAtATime(removeFile(base, operationOf(key)))
    }),
    prepare: Effect.fn("StateStore.prepare")(function* (key) {
      yield* checked(key)
      const paths = pathsOf(key)
      yield* oneAtATime(
        Effect.gen(function* () {
          yield* makeFolders(base, paths.project)
          yield* makeFolders(base, paths.backend)
          yield* removeTemporaries(paths.root)
        }),
      )
      return paths
    }),
    dropState: Effect.fn("StateStore.dropState")(function* (key) {
      yield* checked(key)
      const { backend, project } = pathsOf(key)
      yield* discard(backend)
      yield* discard(project)
      yield* oneAtATime(removeFile(base, operationOf(key)))
    }),
    drop: Effect.fn("StateStore.drop")(function* (key) {
      yield* checked(key)
      yield* discard(rootOf(key))
      yield* oneAtATime(removeIfEmpty(base, path.join(instances, key.namespace)))
    }),
    hasState: Effect.fn("StateStore.hasState")(function* (key) {
      yield* checked(key)
      const { backend, project } = pathsOf(key)
      return (yield* hasEntries(base, backend)) || (yield* hasEntries(base, project))
    }),
  })
})

export const StateStoreLive = { layer }
