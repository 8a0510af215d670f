// All scripts of the controllers, the twin's side of them, and what a real kube-controller-manager has shown.
import { readFileSync } from "node:fs"
import path from "node:path"
import { Effect } from "effect"
import { runControllerManager } from "../../twins/controllers/ControllerManager.ts"
import { makeApiServer } from "../../twins/kubernetes/Server.ts"
import { simulate } from "../../twins/simulation/Simulation.ts"
import { type Observation, observe, type Scenario } from "../Scenario.ts"
import { collector } from "./collector.ts"
import { deployments } from "./deployments.ts"
import { jobScenario } from "./jobs.ts"
import { namespaces } from "./namespaces.ts"
import type { Rest } from "./Rest.ts"
import { statefulSets } from "./statefulSets.ts"

/** Made anew for each side and run: some count what they see. */
export const scenarios: ReadonlyArray<() => Scenario<Rest>> = [
  () => namespaces,
  () => collector,
  statefulSets,
  () => jobScenario,
  deployments,
]

const twin = Effect.gen(function* () {
  const api = yield* makeApiServer({ name: "host" })
  yield* runControllerManager(api)
  const rest: Rest = {
    request: (method, path, body) =>
      Effect.sync(() => {
        const contentType = method === "PATCH" ? "application/merge-patch+json" : "application/json"
        return api.handle({
          user: "admin",
          method,
          path,
          contentType,
          ...(body === undefined ? {} : { body }),
        })
      }),
  }
  // The controllers have been at work before anybody asks.
  yield* Effect.sleep("5 seconds")
  return rest
})

/** What is left of it in a file. */
export const asJson = (observed: Observation): Observation => JSON.parse(JSON.stringify(observed))

/** What `check` throws, the simulation tells with its seed. */
export const observeTwin = (
  scenario: Scenario<Rest>,
  seed: number,
  check: (observed: Observation) => void = () => {},
): Observation =>
  simulate(
    Effect.gen(function* () {
      const observed = asJson(yield* observe(scenario, yield* twin))
      check(observed)
      return observed
    }),
    { seed },
  )

/** Of kube-apiserver and kube-controller-manager 1.35.4, by scenario; `controllers.real.test.ts` compares it with today's. */
export const recordFile = path.join(import.meta.dirname, "observed-1.35.4.json")
export const recorded = (scenario: Scenario<Rest>): Observation =>
  JSON.parse(readFileSync(recordFile, "utf8"))[scenario.name]
