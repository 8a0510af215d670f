// make bench-host: the operator beside a peer on controller-runtime (test/bench/peer), both on a real API server, with
// simulated tools. Prints tables, and writes .bench/host.json.
//
//   BENCH_ROUNDS  rounds of what is compared (default 3)
//   BENCH_CROWDS  numbers of Ready instances (default 100,1000,5000; the last takes half an hour)
//   BENCH_ONLY    install, burst, crowd or failing
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { loadavg, tmpdir } from "node:os"
import path from "node:path"
import { NodeRuntime, NodeServices } from "@effect/platform-node"
import { Effect } from "effect"
import { percentile, ratios, result, type Series, table } from "./figures.ts"
import { burst, crowd, failing, installCost } from "./host/measures.ts"
import { buildBoth, type SceneOptions, type Side } from "./host/scene.ts"

const rounds = Number(process.env.BENCH_ROUNDS ?? 3)
const crowds = (process.env.BENCH_CROWDS ?? "100,1000,5000").split(",").map(Number)
const only = process.env.BENCH_ONLY ?? ""
const wanted = (part: string) => only === "" || only.split(",").includes(part)
const sides: ReadonlyArray<Side> = ["ours", "peer"]
const atOnce = 100

/** Who begins changes with the round. */
const eachRound = Effect.fnUntraced(function* <A, E, R>(measure: (side: Side) => Effect.Effect<A, E, R>) {
  const figures: Record<Side, Array<A>> = { ours: [], peer: [] }
  for (let round = 0; round < rounds; round++) {
    for (const side of round % 2 === 0 ? sides : sides.toReversed()) {
      console.error(`round ${round + 1} of ${rounds}: ${side}`)
      figures[side].push(yield* measure(side))
    }
  }
  return figures
})

const both = <A>(
  figures: Readonly<Record<Side, ReadonlyArray<A>>>,
  name: string,
  unit: string,
  of: (one: A) => number,
): ReadonlyArray<Series> =>
  sides.map((side) => ({
    name: side === "ours" ? name : `${name}, the peer`,
    unit,
    figures: figures[side].map(of),
  }))

const beside = <A>(
  figures: Readonly<Record<Side, ReadonlyArray<A>>>,
  name: string,
  of: (one: A) => number,
  goal: number,
): Series => ({
  name,
  unit: "ratio",
  figures: ratios(figures.ours.map(of), figures.peer.map(of)),
  goal,
})

const program = Effect.gen(function* () {
  const programs = mkdtempSync(path.join(tmpdir(), "bench-host-"))
  yield* Effect.addFinalizer(() => Effect.sync(() => rmSync(programs, { recursive: true, force: true })))
  console.error("building the two operators (minutes, the first time)")
  buildBoth(programs)
  const on = (side: Side): SceneOptions => ({ programs, side })
  const series: Array<Series> = []

  if (wanted("install")) {
    const costs = yield* eachRound((side) => installCost(on(side)))
    series.push(
      {
        name: "install, requests",
        unit: "requests",
        figures: costs.ours.map((one) => one.requests),
        goal: 30,
      },
      { name: "install, writes", unit: "requests", figures: costs.ours.map((one) => one.writes), goal: 14 },
      ...both(costs, "install, requests", "requests", (one) => one.requests).slice(1),
      ...both(costs, "install, writes", "requests", (one) => one.writes).slice(1),
      ...both(costs, "install, Events written", "requests", (one) => one.events),
      ...both(costs, "install, bytes either way", "KiB", (one) => one.bytes / 1024),
    )
  }
  if (wanted("burst")) {
    const bursts = yield* eachRound((side) => burst(on(side), atOnce))
    const middle = (figures: ReadonlyArray<number>) => percentile(figures, 0.5)
    const last = (figures: ReadonlyArray<number>) => percentile(figures, 0.99)
    series.push(
      beside(bursts, "edit to first act, median", (one) => middle(one.quiet), 1.5),
      ...both(bursts, "edit to first act, median", "ms", (one) => middle(one.quiet)),
      {
        name: "edit to first act, p99",
        unit: "ms",
        figures: bursts.ours.map((one) => last(one.quiet)),
        goal: 50,
      },
      ...both(bursts, "edit to first act, p99", "ms", (one) => last(one.quiet)).slice(1),
      beside(bursts, `${atOnce} at once, until the last is Ready`, (one) => one.seconds, 1),
      ...both(bursts, `${atOnce} at once, until the last is Ready`, "s", (one) => one.seconds),
      {
        name: `edits beside ${atOnce} installs, p99, to undisturbed`,
        unit: "ratio",
        figures: bursts.ours.map((one) => last(one.busy) / last(one.quiet)),
        goal: 2,
      },
      ...both(bursts, `edits beside ${atOnce} installs, p99`, "ms", (one) => last(one.busy)),
      {
        name: "start to /readyz, empty",
        unit: "s",
        figures: bursts.ours.map((one) => one.secondsToReadyz),
        goal: 1.5,
      },
      ...both(bursts, "start to /readyz, empty", "s", (one) => one.secondsToReadyz).slice(1),
    )
  }
  if (wanted("crowd")) {
    const goals = new Map([
      [100, 100],
      [1000, 130],
      [5000, 250],
    ])
    const memory: Array<readonly [number, number]> = []
    for (const count of crowds) {
      for (const side of sides) {
        console.error(`${count} Ready instances: ${side}`)
        const one = yield* crowd(on(side), count)
        const of = `${count} Ready${side === "ours" ? "" : ", the peer"}`
        const goal = side === "ours" ? goals.get(count) : undefined
        const add = (name: string, unit: string, figure: number, limit?: number) =>
          series.push({
            name: `${of}: ${name}`,
            unit,
            figures: [figure],
            ...(limit === undefined || side === "peer" ? {} : { goal: limit }),
          })
        add("RSS after the installs", "MiB", one.rss)
        add("RSS after a start", "MiB", one.rssAfterStart, goal)
        add("start to /readyz", "s", one.readyz)
        if (side === "ours") {
          memory.push([count, one.rssAfterStart])
          add("start until each was looked at", "s", one.synced, count === 1000 ? 5 : undefined)
          add("event loop's delay, p99", "ms", one.loopDelayP99, 50)
        }
        add("requests in an idle minute", "requests", one.requests, 0)
        add("CPU time of an idle minute", "s", one.cpuSeconds)
        add("lists of a kind after an outage, at most", "requests", one.afterOutage, 1)
      }
    }
    const [least, most] = [memory.at(0), memory.at(-1)]
    if (least !== undefined && most !== undefined && least !== most) {
      series.push({
        name: `RSS, growth from ${least[0]} to ${most[0]}`,
        unit: "MiB an instance",
        figures: [(most[1] - least[1]) / (most[0] - least[0])],
        goal: 0.03,
      })
    }
  }
  if (wanted("failing")) {
    const one = yield* failing(on("ours"), 1000, 600)
    series.push(
      { name: "1000 failing: requests", unit: "a second", figures: [one.requestsASecond], goal: 5 },
      {
        name: "1000 failing: Event writes of one in 10 minutes",
        unit: "requests",
        figures: [one.eventWrites],
        goal: 1,
      },
    )
  }
  series.push({
    name: "load average of the machine",
    unit: "processes",
    figures: [loadavg()[0] ?? Number.NaN],
  })
  console.log(table(series))
  mkdirSync(".bench", { recursive: true })
  writeFileSync(".bench/host.json", `${JSON.stringify(series.map(result), null, 2)}\n`)
})

program.pipe(Effect.scoped, Effect.provide(NodeServices.layer), NodeRuntime.runMain())
