// What is measured of one operator on one API server; see docs/performance.md.
import { Effect, Schedule } from "effect"
import * as Kinds from "../../../src/services/Kubernetes/Kinds.ts"
import { type Asked, isEvent, isWatch, isWrite } from "./audit.ts"
import { makeScene, type Scene, type SceneOptions } from "./scene.ts"

const settle = Effect.sleep("2 seconds")

const names = (prefix: string, count: number): ReadonlyArray<string> =>
  Array.from({ length: count }, (_, index) => `${prefix}-${index}`)

const createAll = (scene: Scene, all: ReadonlyArray<string>) =>
  Effect.forEach(all, scene.create, { concurrency: 16, discard: true })

/** An edit of each of these, one after another, `every` so many milliseconds. */
const editEach = (scene: Scene, all: ReadonlyArray<string>, version: string, every: number) =>
  Effect.forEach(
    all,
    (name) =>
      Effect.andThen(
        scene.bench.patch(
          Kinds.PlatformInstance,
          { namespace: "instances", name },
          { type: "merge", patch: { spec: { version } } },
        ),
        Effect.sleep(every),
      ),
    { discard: true },
  )

/** From the server's answer to an edit to the operator's first request about it, in milliseconds; one an edit. */
export const latencies = (asked: ReadonlyArray<Asked>, side: string): ReadonlyArray<number> => {
  const edits = asked.filter(({ user, verb, name }) => user === "bench" && verb === "patch" && name !== "")
  return edits.flatMap((edit) => {
    const acts = asked.filter(
      ({ user, name, came }) => user === side && name === edit.name && came >= edit.came,
    )
    return acts.length === 0 ? [] : [Math.max(0, Math.min(...acts.map(({ came }) => came)) - edit.answered)]
  })
}

export interface Cost {
  readonly requests: number
  readonly writes: number
  readonly events: number
  readonly bytes: number
}

/** One install beside another that has made what all instances share; tools excluded. */
export const installCost = Effect.fnUntraced(function* (options: SceneOptions) {
  const scene = yield* makeScene(options)
  yield* scene.startOperator({ counted: true })
  yield* scene.create("first")
  yield* scene.awaitReady(1)
  yield* settle
  scene.audit.skip()
  const before = scene.bytes()
  yield* scene.create("one")
  yield* scene.awaitReady(2)
  yield* settle
  const own = scene.audit.read().filter((each) => each.user === options.side && !isWatch(each))
  const plain = own.filter((each) => !isEvent(each))
  return {
    requests: plain.length,
    writes: plain.filter(isWrite).length,
    events: own.length - plain.length,
    bytes: scene.bytes() - before,
  } satisfies Cost
}, Effect.scoped)

export interface Burst {
  readonly secondsToReadyz: number
  readonly quiet: ReadonlyArray<number>
  readonly busy: ReadonlyArray<number>
  readonly seconds: number
  readonly peakRss: number
}

const ready = 20

/** `count` instances at once beside twenty Ready ones, which are edited before and meanwhile. */
export const burst = Effect.fnUntraced(function* (options: SceneOptions, count: number) {
  const scene = yield* makeScene(options)
  const operator = yield* scene.startOperator()
  const old = names("old", ready)
  yield* createAll(scene, old)
  yield* scene.awaitReady(ready)
  yield* settle
  scene.audit.skip()
  for (const version of ["6.0.21", "6.0.22"]) yield* editEach(scene, old, version, 100)
  yield* scene.awaitReady(ready)
  const quiet = latencies(scene.audit.read(), options.side)
  const began = performance.now()
  const finished = Effect.andThen(
    createAll(scene, names("new", count)),
    scene.awaitReady(ready + count),
  ).pipe(Effect.map(() => (performance.now() - began) / 1000))
  const [seconds] = yield* Effect.all([finished, editEach(scene, old, "6.0.20", 100)], { concurrency: 2 })
  const busy = latencies(scene.audit.read(), options.side)
  return {
    secondsToReadyz: operator.secondsToReady,
    quiet,
    busy,
    seconds,
    peakRss: operator.peakRss(),
  } satisfies Burst
}, Effect.scoped)

export interface Crowd {
  /** MiB: after the installs, and of a process that has found the instances Ready. */
  readonly rss: number
  readonly rssAfterStart: number
  /** Seconds of a start: to /readyz, and until each instance has been looked at. */
  readonly readyz: number
  readonly synced: number
  /** Of an idle minute. */
  readonly requests: number
  readonly cpuSeconds: number
  readonly loopDelayP99: number
  /** Each kind that was listed and watched once the API came back, and how often at most. */
  readonly afterOutage: number
}

const idle = 60
const outage = 45

/** Each instance has been asked for: a process that begins reads each of them once. */
const looked = (scene: Scene, count: number) => {
  const seen = new Set<string>()
  return Effect.sync(() => {
    for (const { user, resource, name } of scene.audit.read()) {
      if (user === scene.side && resource === "platforminstances" && name !== "") seen.add(name)
    }
    return seen.size >= count
  }).pipe(Effect.repeat({ until: (all) => all, schedule: Schedule.spaced("50 millis") }))
}

/** So many Ready instances. `ours`: the peer has no such delay to tell of, and reads nothing when it begins. */
export const crowd = Effect.fnUntraced(function* (options: SceneOptions, count: number) {
  const scene = yield* makeScene({ ...options, helm: 0, start: 0, up: 0 })
  const isOurs = options.side === "ours"
  const first = yield* scene.startOperator()
  yield* createAll(scene, names("one", count))
  yield* scene.awaitReady(count)
  yield* Effect.sleep("20 seconds")
  const rss = first.rss()
  yield* first.stop
  scene.audit.skip()
  const second = yield* scene.startOperator()
  if (isOurs) yield* looked(scene, count)
  const synced = (performance.now() - second.began) / 1000
  yield* Effect.sleep("20 seconds")
  scene.audit.skip()
  if (isOurs) yield* second.loopDelay
  const cpu = second.cpu()
  yield* Effect.sleep(`${idle} seconds`)
  const cpuSeconds = second.cpu() - cpu
  const loopDelayP99 = isOurs ? (yield* second.loopDelay).p99 : Number.NaN
  const requests = scene.audit.read().filter((each) => each.user === options.side && !isWatch(each)).length
  const rssAfterStart = second.rss()
  yield* scene.fallSilent
  yield* Effect.sleep(`${outage} seconds`)
  yield* scene.speak
  yield* Effect.sleep("20 seconds")
  const lists = scene.audit
    .read()
    .filter(({ user, verb, code }) => user === options.side && verb === "list" && code === 200)
  const kinds = Map.groupBy(lists, ({ uri }) =>
    uri.replace(/[?&](limit|continue|resourceVersion[^=]*)=[^&]*/g, ""),
  )
  const afterOutage = Math.max(0, ...[...kinds.values()].map(({ length }) => length))
  return {
    rss,
    rssAfterStart,
    readyz: second.secondsToReady,
    synced,
    requests,
    cpuSeconds,
    loopDelayP99,
    afterOutage,
  } satisfies Crowd
}, Effect.scoped)

/** So many instances whose engine fails, for a time: requests a second, and the most writes of Events that one had. */
export const failing = Effect.fnUntraced(function* (options: SceneOptions, count: number, seconds: number) {
  const scene = yield* makeScene({ ...options, helm: 0, start: 0, up: 0 })
  yield* scene.startOperator()
  yield* scene.fail(true)
  yield* createAll(scene, names("one", count))
  // Each has failed once.
  yield* scene.bench.list(Kinds.PlatformInstance).pipe(
    Effect.map((all) => all.filter(({ status }) => JSON.stringify(status ?? {}).includes('"Failed"')).length),
    Effect.repeat({ until: (failed) => failed >= count, schedule: Schedule.spaced("1 second") }),
  )
  yield* settle
  scene.audit.skip()
  yield* Effect.sleep(`${seconds} seconds`)
  const own = scene.audit.read().filter((each) => each.user === options.side && !isWatch(each))
  const events = Map.groupBy(own.filter(isEvent), ({ name }) => name)
  return {
    requestsASecond: own.length / seconds,
    eventWrites: Math.max(0, ...[...events.values()].map(({ length }) => length)),
  }
}, Effect.scoped)
