// Jobs without a node: their pods end when the scenario says so in their status.
import { Effect } from "effect"
import type { Scenario } from "../Scenario.ts"
import {
  conditionsOf,
  get,
  ownersOf,
  type Rest,
  type Seen,
  untilGone,
  untilListed,
  untilSeen,
} from "./Rest.ts"

const core = "/api/v1/namespaces/default"
const jobs = "/apis/batch/v1/namespaces/default/jobs"

const manifest = (name: string, spec: object = {}) => ({
  apiVersion: "batch/v1",
  kind: "Job",
  metadata: { name },
  spec: {
    backoffLimit: 0,
    ...spec,
    template: {
      metadata: { labels: { mark: name } },
      spec: { restartPolicy: "Never", containers: [{ name: "c", image: "none:1" }] },
    },
  },
})

const podOf = (rest: Rest, name: string) =>
  Effect.map(
    untilListed(rest, `${core}/pods?labelSelector=mark=${name}`, (pods) => pods.length === 1),
    ([pod]) => pod ?? { metadata: { name: "" } },
  )

/** Without times. */
const statusOf = ({ status = {} }: Seen) => {
  const { startTime, completionTime, conditions: _, ...rest } = status
  return { ...rest, started: startTime !== undefined, completed: completionTime !== undefined }
}

const finish = (rest: Rest, name: string, phase: "Succeeded" | "Failed") =>
  Effect.gen(function* () {
    yield* rest.request("POST", jobs, manifest(name))
    const pod = yield* podOf(rest, name)
    yield* rest.request("PATCH", `${core}/pods/${pod.metadata.name}/status`, { status: { phase } })
    const type = phase === "Succeeded" ? "Complete=True" : "Failed=True"
    const job = yield* untilSeen(rest, `${jobs}/${name}`, (object) =>
      conditionsOf(object).some((each) => each.startsWith(type)),
    )
    const after = yield* untilSeen(
      rest,
      `${core}/pods/${pod.metadata.name}`,
      ({ metadata }) => metadata.finalizers === undefined,
    )
    return [statusOf(job), conditionsOf(job), ownersOf(after)]
  })

export const jobScenario: Scenario<Rest> = {
  name: "Jobs",
  steps: [
    {
      name: "a Job makes its pod, and holds it until it has counted it",
      run: (rest) =>
        Effect.gen(function* () {
          yield* rest.request("POST", jobs, manifest("runs"))
          const pod = yield* podOf(rest, "runs")
          const job = yield* untilSeen(rest, `${jobs}/runs`, ({ status }) => status?.active === 1)
          const uid = job.metadata.uid
          const labels = Object.entries(pod.metadata.labels ?? {}).map(([key, value]) => [
            key,
            value === uid ? "uid" : value,
          ])
          return [
            labels.toSorted(),
            pod.metadata.finalizers,
            ownersOf(pod),
            pod.metadata.name.length,
            statusOf(job),
          ]
        }),
    },
    {
      name: "deleted without a word, its pod lives on and belongs to nobody",
      run: (rest) =>
        Effect.gen(function* () {
          const pod = yield* podOf(rest, "runs")
          yield* rest.request("DELETE", `${jobs}/runs`)
          yield* untilGone(rest, `${jobs}/runs`)
          const left = yield* untilSeen(
            rest,
            `${core}/pods/${pod.metadata.name}`,
            ({ metadata }) => metadata.finalizers === undefined,
          )
          yield* rest.request("DELETE", `${core}/pods/${pod.metadata.name}`)
          return [ownersOf(left), left.metadata.deletionTimestamp ?? "lives"]
        }),
    },
    {
      name: "deleted in the background, its pod goes",
      run: (rest) =>
        Effect.gen(function* () {
          yield* rest.request("POST", jobs, manifest("goes"))
          const pod = yield* podOf(rest, "goes")
          yield* rest.request("DELETE", `${jobs}/goes?propagationPolicy=Background`)
          return yield* untilGone(rest, `${core}/pods/${pod.metadata.name}`)
        }),
    },
    { name: "a pod that succeeds completes it", run: (rest) => finish(rest, "good", "Succeeded") },
    { name: "a pod that fails once too often fails it", run: (rest) => finish(rest, "bad", "Failed") },
    {
      name: "its deadline ends it and its pod",
      run: (rest) =>
        Effect.gen(function* () {
          yield* rest.request("POST", jobs, manifest("late", { activeDeadlineSeconds: 2 }))
          const pod = yield* podOf(rest, "late")
          const job = yield* untilSeen(rest, `${jobs}/late`, (object) =>
            conditionsOf(object).some((each) => each.startsWith("Failed=True")),
          )
          return [
            statusOf(job),
            conditionsOf(job),
            yield* untilGone(rest, `${core}/pods/${pod.metadata.name}`),
          ]
        }),
    },
    {
      name: "a pod that is deleted is replaced while failures are left",
      run: (rest) =>
        Effect.gen(function* () {
          yield* rest.request("POST", jobs, manifest("again", { backoffLimit: 3 }))
          const first = yield* podOf(rest, "again")
          yield* rest.request("DELETE", `${core}/pods/${first.metadata.name}`)
          const pods = yield* untilListed(rest, `${core}/pods?labelSelector=mark=again`, (all) =>
            all.some(({ metadata }) => metadata.uid !== first.metadata.uid),
          )
          yield* rest.request("DELETE", `${jobs}/again?propagationPolicy=Background`)
          return pods.filter(({ metadata }) => metadata.deletionTimestamp === undefined).length
        }),
    },
    {
      name: "one with a time to live goes by itself",
      run: (rest) =>
        Effect.gen(function* () {
          yield* rest.request("POST", jobs, manifest("short", { ttlSecondsAfterFinished: 0 }))
          const pod = yield* podOf(rest, "short")
          yield* rest.request("PATCH", `${core}/pods/${pod.metadata.name}/status`, {
            status: { phase: "Succeeded" },
          })
          yield* untilGone(rest, `${jobs}/short`)
          yield* untilGone(rest, `${core}/pods/${pod.metadata.name}`)
          return yield* get(rest, `${jobs}/short`)
        }),
    },
  ],
}
