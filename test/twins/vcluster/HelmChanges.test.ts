// The failure matrix of vCluster: the rows in which helm takes part.
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as Kinds from "../../../src/services/Kubernetes/Kinds.ts"
import { simulate, until } from "../simulation/Simulation.ts"
import { type Host, makeHostWith, valuesFor } from "./testing/Host.ts"
import {
  asks,
  caOf,
  deployInside,
  isUp,
  ownerOf,
  pod,
  podsInside,
  space,
  uidOf,
  up,
  upOn,
} from "./testing/Running.ts"

const revisionsOf = (host: Host) => {
  const { currentRevision, updateRevision } = Object(host.find(Kinds.StatefulSet, space, "vcluster")?.status)
  return [currentRevision, updateRevision]
}

describe("a vCluster that helm changes", () => {
  it("uninstalled and installed at once, answers by the Secret of before until that is collected", () =>
    simulate(
      Effect.gen(function* () {
        const host = yield* Effect.flatMap(makeHostWith({ collection: [4_000, 9_000] }), upOn)
        const [identity, before] = [asks(host), uidOf(host, Kinds.Service, "vcluster")]
        yield* host.uninstallVcluster(space)
        yield* host.installVcluster(space, valuesFor(space))
        yield* Effect.sleep("1 second")
        const service = uidOf(host, Kinds.Service, "vcluster")
        assert.notStrictEqual(service, before)
        // All looks well, and what answers is the pod of before: the owner of the Secret alone tells.
        assert.strictEqual(asks(host), identity)
        assert.deepStrictEqual(ownerOf(host, "vc-vcluster"), [["Service", before]])
        yield* until(() => host.kubeconfig(space) === undefined, "20 seconds", "the Secret is collected")
        yield* until(() => !isUp(host), "20 seconds", "it is down")
        yield* until(() => isUp(host), "3 minutes", "it is up")
        assert.deepStrictEqual(ownerOf(host, "vc-vcluster"), [["Service", service]])
        // On the volume that is still there.
        assert.strictEqual(asks(host), identity)
        yield* Effect.sleep("1 minute")
        const owners = host.admin
          .list(Kinds.Secret, { namespace: space })
          .flatMap(({ metadata }) => metadata.ownerReferences ?? [])
        assert.isNotEmpty(owners)
        assert.isTrue(owners.every(({ uid }) => uid === service))
      }),
      { seed: 19 },
    ))

  it("upgraded with the same values, runs on", () =>
    simulate(
      Effect.gen(function* () {
        const host = yield* up
        const [uid, revisions] = [uidOf(host, Kinds.Pod, pod), revisionsOf(host)]
        yield* host.upgradeVcluster(space, valuesFor(space))
        yield* Effect.sleep("5 minutes")
        assert.include(host.names(Kinds.Secret, space), "sh.helm.release.v1.vcluster.v2")
        assert.strictEqual(uidOf(host, Kinds.Pod, pod), uid)
        assert.deepStrictEqual(revisionsOf(host), revisions)
        assert.isTrue(isUp(host))
      }),
      { seed: 20 },
    ))

  it("upgraded with other values, restarts: a gap, then the same cluster, whose workloads ran on", () =>
    simulate(
      Effect.gen(function* () {
        const host = yield* up
        yield* deployInside(host)
        const [identity, ca, uid] = [asks(host), caOf(host), uidOf(host, Kinds.Pod, pod)]
        const [revision] = revisionsOf(host)
        const workloads = podsInside(host).map(({ metadata }) => metadata.uid)
        yield* host.upgradeVcluster(space, { ...valuesFor(space), telemetry: { enabled: true } })
        // Helm has ended well, and the pod that answers is the one of before.
        assert.isTrue(isUp(host))
        assert.strictEqual(uidOf(host, Kinds.Pod, pod), uid)
        yield* until(() => !isUp(host), "1 minute", "it is down")
        const [current, update] = revisionsOf(host)
        assert.strictEqual(current, revision)
        assert.notStrictEqual(update, revision)
        yield* until(() => isUp(host), "3 minutes", "it is up")
        yield* Effect.sleep("1 minute")
        assert.deepStrictEqual(revisionsOf(host), [update, update])
        assert.notStrictEqual(uidOf(host, Kinds.Pod, pod), uid)
        assert.strictEqual(asks(host), identity)
        assert.strictEqual(caOf(host), ca)
        assert.deepStrictEqual(
          podsInside(host).map(({ metadata }) => metadata.uid),
          workloads,
        )
      }),
      { seed: 21 },
    ))
})
