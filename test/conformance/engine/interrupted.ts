// An installation that is killed.
import { Effect } from "effect"
import { Deployment, Secret, Service } from "../../../src/services/Kubernetes/Kinds.ts"
import type { KubeObject } from "../../../src/services/Kubernetes/Kubernetes.ts"
import { Processes } from "../../../src/services/Process/Processes.ts"
import { at } from "../../twins/kubernetes/Json.ts"
import { makeNamer, type Scenario } from "../Scenario.ts"
import { type EngineSide, killAll, run, stateOf } from "./Side.ts"
import { after, awaited, cutOff, only, step, unlock, upgrading, withConfig } from "./steps.ts"
import { appears, fieldOf, namespace, objectsOf, remove, revisionsOf, uidOf } from "./Target.ts"

const gateway = "di-platform-gateway"
const controller = "kubernetes:apps/v1:Deployment di-platform-controller"
const portsOf = (service: KubeObject) => at(service, "spec", "ports")

/** A first install that is killed, and what it takes to go on from there. On a target of its own. */
export const interrupted = (): Scenario<EngineSide> => {
  const uid = makeNamer("uid")
  return {
    name: "an installation that is killed",
    steps: [
      step(
        "killed in its first install",
        Effect.fnUntraced(function* (side) {
          const awaiting = Effect.andThen(
            appears(side, Deployment, "wasmcloud-hosts"),
            appears(side, Deployment, "di-platform-controller"),
          )
          const found = yield* cutOff(side, awaited, awaiting, killAll)
          return {
            found,
            state: yield* stateOf(side),
            objects: yield* objectsOf(side),
            revisions: yield* revisionsOf(side),
            uid: uid(yield* uidOf(side, Deployment, "di-platform-controller")),
          }
        }),
      ),
      step("its lock is in the way", only()),
      step(
        "without its lock, but no refresh and no force",
        Effect.fnUntraced(function* (side) {
          yield* unlock(side)
          const again = run(side, { env: { PULUMI_K8S_ENABLE_PATCH_FORCE: undefined } })
          let found = yield* again
          // What fails first ends the run: whether the Deployment beside the release was begun by then is chance.
          for (let tries = 1; tries < 10 && !(yield* stateOf(side)).resources.includes(controller); tries++)
            found = yield* again
          return { found, state: yield* stateOf(side), revisions: yield* revisionsOf(side) }
        }),
      ),
      step(
        "with a refresh and force, the release still in the way",
        Effect.fnUntraced(function* (side) {
          const found = yield* run(side, { refresh: true })
          return {
            found,
            state: yield* stateOf(side),
            uid: uid(yield* uidOf(side, Deployment, "di-platform-controller")),
          }
        }),
      ),
      step(
        "with the record of the release removed",
        Effect.fnUntraced(function* (side) {
          yield* remove(side, Secret, "sh.helm.release.v1.wasmcloud.v1")
          return yield* after({ refresh: true })(side)
        }),
      ),
      step(
        "a field that is somebody else's by now, without force",
        Effect.fnUntraced(function* (side) {
          yield* side.client.patch(
            Service,
            { namespace, name: gateway },
            { type: "merge", patch: { spec: { ports: [{ name: "http", port: 80, targetPort: 9090 }] } } },
          )
          const found = yield* run(side, { refresh: true, env: { PULUMI_K8S_ENABLE_PATCH_FORCE: undefined } })
          return {
            found,
            state: yield* stateOf(side),
            ports: yield* fieldOf(side, Service, gateway, portsOf),
          }
        }),
      ),
      step(
        "and with it",
        Effect.fnUntraced(function* (side) {
          const found = yield* run(side, { refresh: true })
          return { found, ports: yield* fieldOf(side, Service, gateway, portsOf) }
        }),
      ),
      step(
        "killed in an upgrade of the release",
        Effect.fnUntraced(function* (side) {
          const options = withConfig({ fixtureSkipAwait: "false", values: '{"replicas":2}' })
          yield* cutOff(side, options, upgrading(side), killAll)
          yield* unlock(side)
          return { state: yield* stateOf(side), revisions: yield* revisionsOf(side) }
        }),
      ),
      step(
        "with the upgrade in the way",
        Effect.fnUntraced(function* (side) {
          const found = yield* run(side, { refresh: true, ...withConfig({ values: '{"replicas":2}' }) })
          return { found, state: yield* stateOf(side), revisions: yield* revisionsOf(side) }
        }),
      ),
      step(
        "another upgrade with the upgrade in the way",
        Effect.fnUntraced(function* (side) {
          const found = yield* run(side, { refresh: true, ...withConfig({ values: '{"replicas":3}' }) })
          return { found, state: yield* stateOf(side), revisions: yield* revisionsOf(side) }
        }),
      ),
      step(
        "with the record of the upgrade removed",
        Effect.fnUntraced(function* (side) {
          yield* remove(side, Secret, "sh.helm.release.v1.wasmcloud.v2")
          return yield* after({ refresh: true, ...withConfig({ values: '{"replicas":2}' }) })(side)
        }),
      ),
      step(
        "the runner alone killed: its provider lives on",
        Effect.fnUntraced(function* (side) {
          const kill = Effect.fnUntraced(function* (pid: number) {
            const { signal } = yield* Processes
            yield* signal(pid, "SIGKILL")
            yield* Effect.sleep("1 second")
          })
          const options = withConfig({ fixtureSkipAwait: "false", values: '{"replicas":3}' })
          return yield* cutOff(side, options, upgrading(side), kill)
        }),
      ),
    ],
  }
}
