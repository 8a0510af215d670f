// How many bytes packages, plugins and instances take, and how much space is left: measured on a timer, never by a scrape.
// A folder is measured only so far, and a package, which is never written to again, once.
import { Clock, Duration, Effect, Layer, Option } from "effect"
import { formatKey } from "../../schema/InstanceKey.ts"
import { Disk, type DiskError } from "../Disk/Disk.ts"
import { StateStore } from "../StateStore/StateStore.ts"
import { set, unset } from "./Metrics.ts"
import { ShownInstances } from "./ShownInstances.ts"

export interface DiskUsageOptions {
  /** Volumes beside that of the state directory. */
  readonly tmpDir: string
  readonly memoryDir: string
  /** Between two measurements. Default: 5 minutes. */
  readonly every?: Duration.Input
}

/** No folder is looked at any further: a package has fifteen thousand files. */
export const mostEntries = 50_000

/** Sizes of all files below a folder; a name that goes meanwhile counts for nothing, and links lead nowhere. */
export const bytesBelow = Effect.fnUntraced(function* (root: string, limit = mostEntries) {
  const disk = yield* Disk
  const folders = [root]
  let bytes = 0
  let entries = 0
  for (let folder = folders.pop(); folder !== undefined; folder = folders.pop()) {
    const found = yield* Effect.orElseSucceed(disk.readdir(folder), () => [])
    for (const { name, kind } of found) {
      entries += 1
      if (entries > limit) return bytes
      const path = `${folder}/${name}`
      if (kind === "directory") folders.push(path)
      if (kind !== "file") continue
      const stat = yield* Effect.option(disk.lstat(path))
      bytes += Option.match(stat, { onNone: () => 0, onSome: ({ size }) => size })
    }
  }
  return bytes
})

/** Of a store whose folders never change once they have their name: `<store>/<key>/`. */
const makeStoreSize = () => {
  const known = new Map<string, number>()
  return Effect.fnUntraced(function* (store: string) {
    const disk = yield* Disk
    const names = yield* Effect.orElseSucceed(disk.readdir(store), () => [])
    const there = new Map<string, number>()
    for (const { name } of names) {
      const path = `${store}/${name}`
      // One that is being written has a name that begins with a point.
      const bytes = known.get(path) ?? (yield* bytesBelow(path))
      there.set(path, bytes)
      if (!name.startsWith(".")) known.set(path, bytes)
    }
    for (const path of known.keys()) if (path.startsWith(`${store}/`) && !there.has(path)) known.delete(path)
    return [...there.values()].reduce((sum, bytes) => sum + bytes, 0)
  })
}

const measureVolume = Effect.fnUntraced(function* (volume: string, path: string) {
  const disk = yield* Disk
  yield* disk.space(path).pipe(
    Effect.flatMap(({ size, free }) =>
      Effect.andThen(
        set("platform_operator_volume_size_bytes", { volume }, size),
        set("platform_operator_volume_free_bytes", { volume }, free),
      ),
    ),
    // What is not there has no space; a value of before would be no measurement.
    Effect.catchTag("DiskError", (error: DiskError) =>
      Effect.all(
        [
          unset("platform_operator_volume_size_bytes", { volume }),
          unset("platform_operator_volume_free_bytes", { volume }),
          Effect.logDebug("space of a volume cannot be read").pipe(
            Effect.annotateLogs({ volume, code: error.code }),
          ),
        ],
        { discard: true },
      ),
    ),
  )
})

const measureInstances = Effect.gen(function* () {
  const store = yield* StateStore
  const shown = yield* ShownInstances
  for (const key of [...shown.values()]) {
    const bytes = yield* bytesBelow(store.paths(key).root)
    // It may have gone while it was measured.
    if (shown.has(formatKey(key))) yield* set("platforminstance_state_bytes", { ...key }, bytes)
  }
})

const run = Effect.fnUntraced(function* (options: DiskUsageOptions) {
  const store = yield* StateStore
  const stateDir = store.packagesDir.slice(0, store.packagesDir.lastIndexOf("/"))
  const sizeOf = makeStoreSize()
  const every = Duration.fromInputUnsafe(options.every ?? "5 minutes")
  while (true) {
    yield* measureVolume("state", stateDir)
    yield* measureVolume("tmp", options.tmpDir)
    yield* measureVolume("memory", options.memoryDir)
    yield* measureInstances
    yield* set("platform_operator_store_bytes", { store: "packages" }, yield* sizeOf(store.packagesDir))
    yield* set("platform_operator_store_bytes", { store: "plugins" }, yield* sizeOf(store.pluginsDir))
    const now = yield* Clock.currentTimeMillis
    yield* set("platform_operator_disk_measured_timestamp_seconds", {}, now / 1000)
    yield* Effect.sleep(every)
  }
})

export const diskUsageLayer = (options: DiskUsageOptions) =>
  Layer.effectDiscard(Effect.forkScoped(run(options)))
