// Kills the operator at calls of a workload, and has the world come to the same end as without.
import { assert } from "@effect/vitest"
import { note } from "../support/figures.ts"
import type { Told } from "../twins/crash/Copies.ts"
import {
  compare,
  describePoint,
  type Played,
  play,
  playEach,
  type Reached,
  type Workload,
} from "../twins/crash/Crash.ts"
import { type CrashPoint, deaths, formatPoint, parsePoint, spread } from "../twins/crash/Point.ts"
import { replayCommand, seeds } from "../twins/simulation/seeds.ts"
import type { Death } from "../twins/world/Operators.ts"
import { isTime, nameOf, playInCopies } from "./playing.ts"

/** Every moment with every way to die, every fault, every view; else a part of them, spread over all. */
export const full = process.env.FULL === "1"

/** Against what never ends. */
export const crashTimeout = 24 * 3_600_000

/** At this moment; of a power cut there are two, for the disk may have written nothing by itself, or a part. */
const at = ({ call, moment }: Reached, death: Death): ReadonlyArray<CrashPoint> =>
  death === "power"
    ? [
        { call, moment, death, lost: "all" },
        { call, moment, death, lost: "some" },
      ]
    : [{ call, moment, death }]

/** Each of the moments, with each of the ways to die. */
export const dying = (
  moments: ReadonlyArray<Reached>,
  ways: ReadonlyArray<Death>,
): ReadonlyArray<CrashPoint> => ways.flatMap((death) => moments.flatMap((moment) => at(moment, death)))

/** Each of the moments, with the next way to die; which it begins with, the seed says. */
export const once = (moments: ReadonlyArray<Reached>, seed: number): ReadonlyArray<CrashPoint> =>
  moments.map(({ call, moment }, index) => {
    const death = deaths[(index + seed) % deaths.length] ?? "container"
    if (death !== "power") return { call, moment, death }
    return { call, moment, death, lost: Math.floor(index / deaths.length) % 2 === 0 ? "all" : "some" }
  })

/** A sample of the calls that write, each with the next way to die. */
export const sampled = (moments: ReadonlyArray<Reached>, count: number): ReadonlyArray<CrashPoint> =>
  spread(
    moments.filter(({ writes }) => writes),
    count,
  ).flatMap((moment, index) => at(moment, deaths[index % deaths.length] ?? "container"))

/**
 * Of each of these deaths the recovery is played, and the operator dies in it once more: so often, before its calls and after
 * those that write.
 */
export const pairs = (
  workload: Workload,
  seed: number,
  firsts: ReadonlyArray<CrashPoint>,
  each: number,
): ReadonlyArray<CrashPoint> =>
  firsts.flatMap((first, index) => {
    const { recovery } = play(workload, seed, first)
    const seconds = recovery.flatMap(({ number, writes }) =>
      (writes ? (["before", "after"] as const) : (["before"] as const)).map((moment) => ({
        call: number,
        moment,
      })),
    )
    return spread(seconds, each).map((second, number) => ({
      ...first,
      again: { ...second, death: deaths[(index + number) % deaths.length] ?? "container" },
    }))
  })

/**
 * The calls from the engine's first to the last: in between, and half a minute longer, a power cut can tear what the
 * engine has written, because it syncs nothing (read in the source of 3.274.1).
 */
export const engineMoments = ({ calls, moments }: Played): ReadonlyArray<Reached> => {
  const engine = calls.find(({ what }) => what.endsWith("runner.mjs operation"))?.number ?? 0
  return moments.filter(({ call, writes }) => writes && call >= engine)
}

/**
 * All that is done for the target, and beside it: until it is ready again; or until the end, when what was mended has
 * never made it unready.
 */
export const targetMoments = ({ moments }: Played): ReadonlyArray<Reached> => {
  const unready = moments.findLastIndex(({ targetReady }) => !targetReady)
  return unready < 0 ? moments.filter(({ aftermath }) => !aftermath) : moments.slice(0, unready + 1)
}

/** What a vCluster without its Service may have made more often, for the longer it is without one. */
export const syncedAgain: readonly [RegExp, string] = [
  /^made (host|vcluster in \S+) (ConfigMap \S+\/kube-root-ca\.crt|(Service|EndpointSlice) \S+\/vcluster-node-|Pod pi-\S+-x-\S+: 3 times instead of 2$)/,
  "without its Service a vCluster makes what it syncs again and again, and longer where nobody is there to see or mend it",
]

/** What a death may leave otherwise, and why that is right. */
const tolerated: ReadonlyArray<readonly [RegExp, string]> = [
  [
    /^object host Namespace \S+: \+ "platform\.di-framework\.dev\/helm-writer": "\{[^{}]*\}",$/,
    "the mark of a helm whose end the operator has not lived to see stays until the next run of helm",
  ],
  [/^file \S*\/meta\.yaml\.attrs: is missing/, "it was torn, and the file is read without it"],
  [/^file \S*\/state-damaged(-recovered)?: is there/, "a state that was torn is kept to look at"],
  [
    /^file \S*\/\.pulumi\/locks\/organization(\/platform-instance(\/instance)?)?: is missing$/,
    "an empty folder that the engine makes for its lock, and makes again",
  ],
  syncedAgain,
  [
    /^made (host|vcluster in \S+) (Deployment|Secret|Pod|ReplicaSet) \S+\/(wasmcloud-hosts|sh\.helm\.release\.v1\.wasmcloud)/,
    "a Helm release that the engine was killed in and does not know is made anew",
  ],
  [
    /^object vcluster in \S+ Secret \S+\/sh\.helm\.release\.v1\.wasmcloud\.v\d+: (is there, and should not be|- "status": "deployed", \+ "status": "superseded",)$/,
    "a Helm release whose upgrade the state has lost is upgraded to the same once more",
  ],
  [
    /^made vcluster in \S+ EndpointSlice kube-system\/kube-dns-<random>: 2 times instead of 1$/,
    "the vCluster's own controller makes it, of a Service that no operator touches, and may begin before its cache is there",
  ],
]

const record = String.raw`host Secret \S+\/sh\.helm\.release\.v1\.vcluster\.v\d+`

/** What a death in the middle of a run of helm leaves otherwise: the only thing it may, and once. */
const toleratedOfHelm: ReadonlyArray<readonly [RegExp, string]> = [
  [
    new RegExp(`^object ${record}: (is there|.*\\+ "status": "(pending-\\w+|failed)",$)`),
    "what helm was killed in stays in the history, under the one more revision that mends it",
  ],
  [new RegExp(`^made ${record}: 1 times instead of 0$`), "that revision"],
  [
    /^made host (Secret|Service|ServiceAccount|Role|RoleBinding|StatefulSet|PersistentVolumeClaim|Pod|EndpointSlice|ControllerRevision|Endpoints) pi-\S+: 2 times instead of 1$/,
    "a first install that helm was killed in is removed, and made again",
  ],
]

/** Two deaths may both be in the middle of a run of helm. */
const toleratedOfPairs: ReadonlyArray<readonly [RegExp, string]> = [
  ...toleratedOfHelm,
  [new RegExp(`^made ${record}: 2 times instead of 1$`), "the revision that mends it, made once more"],
  [/^made host \w+ pi-\S+: 3 times instead of 1$/, "removed, and made again, twice"],
]

const isTolerated = (difference: string, more: ReadonlyArray<readonly [RegExp, string]>) =>
  [...tolerated, ...more].some(([pattern]) => pattern.test(difference))

/**
 * A package of the store is made again when it is needed: a power cut may take it, or what it is known by; of that no
 * more is used, and the rest goes when the store is tidied.
 */
const isLostPackage = (difference: string, all: ReadonlyArray<string>): boolean => {
  const folder = /^(file \S*\/platform-operator\/packages\/[^\s/]+)(\/\S+)?: is missing$/.exec(
    difference,
  )?.[1]
  return ["", "/store.json", "/node_modules"].some((name) => all.includes(`${folder}${name}: is missing`))
}

const isToleratedBy = ({ tolerates = [] }: Workload, difference: string, death: Death) =>
  tolerates.some(([way, pattern]) => way === death && pattern.test(difference))

/** More of its revisions than one are not one more. */
const revisionsMore = (differences: ReadonlyArray<string>) =>
  differences.filter((each) => new RegExp(`^made ${record}: 1 times`).test(each)).length

/** Whether a helm of the operator is at work at a call: from its start to the last thing it changes. */
const isInHelm = (calls: Played["calls"], number: number): boolean => {
  const isStart = ({ what }: Played["calls"][number]) => /^spawn \S*helm (upgrade|rollback)/.test(what)
  const started = calls.slice(0, number).findLastIndex(isStart)
  if (started < 0) return false
  const next = calls.slice(number).findIndex(isStart)
  const own = calls.slice(number - 1, next < 0 ? calls.length : number + next)
  return own.some(({ what }) => what.startsWith("helm: "))
}

/** What this death, or these two, may leave otherwise of a release for which helm was at work. */
const ofHelm = ({ calls }: Played, { call, again }: CrashPoint, revisions: number) => {
  if (again !== undefined) return revisions <= 2 ? toleratedOfPairs : []
  return isInHelm(calls, call) && revisions <= 1 ? toleratedOfHelm : []
}

/** The `POINT` of the environment: the one to play again. */
const replayed = (): CrashPoint | undefined =>
  process.env.POINT === undefined || process.env.POINT === "" ? undefined : parsePoint(process.env.POINT)

/** How many points there are of those that a test is about, for the report. */
type CountOf = (undisturbed: Played) => number

type PointsOf = (undisturbed: Played, seed: number) => ReadonlyArray<CrashPoint>

const playedBefore = new Map<string, Played>()

/** As it goes without a death: played once a process, however many tests compare with it. */
const playUndisturbed = (workload: Workload, seed: number): Played => {
  const name = `${seed} ${workload.name}`
  const found = playedBefore.get(name) ?? play(workload, seed)
  playedBefore.set(name, found)
  return found
}

/** Of what a death at this point has left otherwise, what it may not. */
const intolerable = (
  workload: Workload,
  undisturbed: Played,
  point: CrashPoint,
  all: ReadonlyArray<string>,
): ReadonlyArray<string> => {
  const ways = [point.death, ...(point.again === undefined ? [] : [point.again.death])]
  const more = ofHelm(undisturbed, point, revisionsMore(all))
  return all.filter(
    (each) =>
      !isTolerated(each, more) &&
      !(ways.includes("power") && isLostPackage(each, all)) &&
      !ways.some((way) => isToleratedBy(workload, each, way)),
  )
}

/** Fewer than this are as soon played in this process. */
const many = 4

/** Many of a workload that can be named in a process that can be copied; else, and whoever looks into one, in this one. */
const playAll = async (
  workload: Workload,
  seed: number,
  undisturbed: Played,
  points: ReadonlyArray<CrashPoint>,
  tell: (point: string, answer: Told<ReadonlyArray<string>>) => void,
): Promise<void> => {
  const name = nameOf(workload)
  if (name !== undefined && points.length >= many && replayed() === undefined)
    for (const { point, answer } of await playInCopies({
      workload: name,
      seed,
      points,
      end: undisturbed.end,
    }))
      tell(point, answer)
  else
    playEach(workload, seed, points, (disturbed, point) => compare(undisturbed, disturbed, point), {
      isTime,
      tell,
    })
}

/** The points at which a world of one seed has come to another end, each with the command that plays it again. */
const failuresOf = async (
  workload: Workload,
  seed: number,
  pointsOf: PointsOf,
  of: CountOf | undefined,
): Promise<ReadonlyArray<string>> => {
  const undisturbed = playUndisturbed(workload, seed)
  assert.deepStrictEqual(undisturbed.broken, [])
  const points = pointsOf(undisturbed, seed)
  assert.isAbove(points.length, 0)
  const began = performance.now()
  const failures: Array<string> = []
  const failed = (point: CrashPoint, found: ReadonlyArray<string>) => {
    const command = replayCommand(seed, { POINT: formatPoint(point), FULL: full ? "1" : undefined })
    const text = [describePoint(undisturbed.calls, point), `to replay it: ${command}`, ...found].join("\n  ")
    // A run takes long: what it finds is said before its end.
    console.info(text)
    failures.push(text)
  }
  const told = new Set<string>()
  const tell = (text: string, answer: Told<ReadonlyArray<string>>) => {
    if (full && told.size % 50 === 0) console.info(`${workload.name}: ${told.size} of ${points.length}`)
    told.add(text)
    const point = parsePoint(text)
    const found =
      answer.is === "thrown" ? [answer.message] : intolerable(workload, undisturbed, point, answer.found)
    if (found.length > 0) failed(point, found)
  }
  await playAll(workload, seed, undisturbed, points, tell)
  const played = points.filter((point) => told.has(formatPoint(point)))
  const left = points.length - played.length
  assert.isTrue(left === 0 || !isTime(), `${left} points were not played`)
  const twice = played.filter(({ again }) => again !== undefined).length
  note({
    suite: "crash points",
    plans: played.length,
    ...(twice > 0 ? { pairs: twice } : {}),
    ...(of === undefined ? {} : { points: { done: played.length, of: of(undisturbed) } }),
  })
  const seconds = ((performance.now() - began) / 1000).toFixed(1)
  console.info(
    `${workload.name}: seed ${seed}, ${undisturbed.calls.length} calls, ${played.length} deaths${left === 0 ? "" : `, ${left} left out: no time`}, ${seconds} s`,
  )
  return failures
}

/**
 * Fails with each point at which the world has come to another end; with `SEED` and `POINT`, looks at that one alone. `of`:
 * for what is counted in the report.
 */
export const assertSameEnd = async (workload: Workload, pointsOf: PointsOf, of?: CountOf): Promise<void> => {
  const point = replayed()
  const failures: Array<string> = []
  for (const seed of seeds(1)) {
    const points = (undisturbed: Played) => (point === undefined ? pointsOf(undisturbed, seed) : [point])
    failures.push(...(await failuresOf(workload, seed, points, of)))
  }
  assert.deepStrictEqual(failures, [])
}
