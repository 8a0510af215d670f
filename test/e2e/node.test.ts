// A node that dies and comes back, with everything on it: the vClusters have their volumes, the platforms are in them, and
// the operator has nothing to install. And one that dies in the middle of the operator's work, 20 times: nothing is left to
// do by hand. `SEED` plays the moments of a run again.
import { existsSync, statSync } from "node:fs"
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { hostNamespace } from "../../src/schema/Names.ts"
import { Prng } from "../twins/simulation/Prng.ts"
import { installChart, rollBackChart } from "./support/Chart.ts"
import { inside } from "./support/Inside.ts"
import {
  conditionOf,
  deleteInstance,
  editInstance,
  findHostNamespace,
  getInstance,
  isReady,
  type Key,
  manifest,
  revisions,
  untilReady,
} from "./support/Instance.ts"
import { apply, createNamespace, exists, getJson, uidOf } from "./support/Kubectl.ts"
import { leavesNothing } from "./support/Leaks.ts"
import { killNode } from "./support/NodeDeath.ts"
import { type InstanceState, incarnation, instanceState, logOf, readRecord } from "./support/Operator.ts"
import { holdOperator } from "./support/OperatorLock.ts"
import { untilChecked } from "./support/Requests.ts"
import { until, untilTrue } from "./support/Until.ts"
import { assertWhole } from "./support/Whole.ts"

holdOperator("exclusive")
leavesNothing("node-death", "node-moments")

const namespace = "node-death"
const keys: ReadonlyArray<Key> = ["one", "two", "three"].map((name) => ({ namespace, name }))

const Pod = Schema.Struct({
  status: Schema.Struct({
    containerStatuses: Schema.Array(
      Schema.Struct({ ready: Schema.Boolean, containerID: Schema.optionalKey(Schema.String) }),
    ),
  }),
})
/** Its container, while it is ready. */
const controlPlane = async (key: Key): Promise<string | undefined> => {
  const { status } = await getJson(Pod, ["pod", "vcluster-0", "--namespace", hostNamespace(key)])
  return status.containerStatuses[0]?.ready ? status.containerStatuses[0].containerID : undefined
}
/** What an install or a resync would change. */
const proofs = async (key: Key) => ({
  record: readRecord(await instanceState(key.namespace, key.name)),
  revisions: await revisions("vcluster", hostNamespace(key)),
  pod: await uidOf("pod", "vcluster-0", "--namespace", hostNamespace(key)),
  installed: conditionOf(await getInstance(key), "Installed"),
})

const Deployments = Schema.Struct({
  items: Schema.Array(
    Schema.Struct({
      metadata: Schema.Struct({ name: Schema.String }),
      status: Schema.Struct({ readyReplicas: Schema.optionalKey(Schema.Finite) }),
    }),
  ),
})
const platformRuns = (key: Key): Promise<boolean> =>
  inside(key, async (context) => {
    const { items } = await getJson(Deployments, [...context, "deployments", "--namespace", "wasmcloud"])
    return items.length === 2 && items.every(({ status }) => status.readyReplicas === 1)
  })

describe("a node on which everything is killed at once", () => {
  beforeAll(async () => {
    await createNamespace(namespace)
    for (const key of keys) await apply(manifest(key))
    for (const key of keys) await untilReady(key)
  })
  afterAll(async () => {
    for (const key of keys) await deleteInstance(key)
  })

  it("has its three instances Ready again, without an install and without a resync", async () => {
    const operator = await until("the operator is ready", incarnation)
    const before = await Promise.all(keys.map(proofs))
    const containers = await Promise.all(keys.map(controlPlane))

    const died = Date.now()
    console.log(`killed: ${await killNode()} processes`)
    const next = await until("another operator is ready", async () => {
      const now = await incarnation()
      return now !== undefined && now.container !== operator.container ? now : undefined
    })
    for (const [index, key] of keys.entries()) {
      await untilTrue(`the control plane of ${key.name} runs again`, async () => {
        const now = await controlPlane(key)
        return now !== undefined && now !== containers[index]
      })
      await untilTrue(`the platform of ${key.name} runs again`, () => platformRuns(key))
    }
    await untilChecked(4 * keys.length)
    await untilTrue("all are Ready", async () => (await Promise.all(keys.map(getInstance))).every(isReady))
    console.log(`from the death to Ready: ${((Date.now() - died) / 1000).toFixed(1)} s`)

    assert.deepStrictEqual(await Promise.all(keys.map(proofs)), before)
    const log = await logOf(next)
    assert.notMatch(log, /"install step"/)
    assert.notMatch(log, /resync/i)
  })
})

const seed = Number(process.env.SEED ?? Date.now() % 1_000_000)
const chance = new Prng(seed)
const oneOf = <A>(these: readonly [A, ...ReadonlyArray<A>]): A =>
  these[chance.below(these.length)] ?? these[0]

const deeds = ["install", "upgrade", "repair"] as const
type Deed = (typeof deeds)[number]

/** A moment by what is to be seen of it; `written`: so many writes of the engine's state after the deed has begun. */
type Moment =
  | "the host namespace is there"
  | "the vCluster's release is recorded"
  | "the vCluster has written its kubeconfig"
  | "the operation is marked"
  | "the engine holds its lock"
  | { readonly written: number }

const momentsOf = (deed: Deed): readonly [Moment, ...ReadonlyArray<Moment>] => {
  const inEngine = [
    "the operation is marked",
    "the engine holds its lock",
    { written: 1 + chance.below(4) },
    { written: 2 + chance.below(deed === "install" ? 40 : 8) },
  ] as const
  return deed === "install"
    ? [
        "the host namespace is there",
        "the vCluster's release is recorded",
        "the vCluster has written its kubeconfig",
        ...inEngine,
      ]
    : inEngine
}
const told = (moment: Moment): string =>
  typeof moment === "string" ? `when ${moment}` : `${moment.written} writes of the state after it began`

const plan = Array.from({ length: 20 }, (_, round) => {
  const deed = deeds[round % deeds.length] ?? "install"
  const moment = oneOf(momentsOf(deed))
  return { round: round + 1, deed, moment, when: told(moment) }
})

/** The node, everything on it and the platforms in it need their time to come back. */
const patience = 30 * 60_000

const tested: Key = { namespace: "node-moments", name: "one" }
const versions = ["6.0.21", "6.0.22"] as const

const stateWritten = ({ backend }: InstanceState): number => {
  const file = `${backend}/.pulumi/stacks/platform-instance/instance.json.gz`
  return existsSync(file) ? statSync(file).mtimeMs : 0
}

const isReadyAt = async (version: string): Promise<boolean> => {
  const instance = await getInstance(tested)
  return isReady(instance) && instance.status?.installedVersion === version
}

const Uids = Schema.Struct({
  items: Schema.Array(
    Schema.Struct({
      kind: Schema.String,
      metadata: Schema.Struct({ name: Schema.String, uid: Schema.String }),
    }),
  ),
})
/** What must be the same after an upgrade or a repair, by UID. */
const uidsInside = (): Promise<ReadonlyArray<string>> =>
  inside(tested, async (context) => {
    const kinds = "namespaces,deployments.apps,services,crds"
    const { items } = await getJson(Uids, [...context, kinds, "--all-namespaces"])
    return items.map(({ kind, metadata }) => `${kind} ${metadata.name} ${metadata.uid}`).sort()
  })

/** Is it to be seen, or is the deed over already: then the node dies right after it. */
const watchFor = (moment: Moment, state: InstanceState, over: () => Promise<boolean>) => {
  let last = stateWritten(state)
  let written = 0
  const there = async (): Promise<boolean> => {
    switch (moment) {
      case "the host namespace is there":
        return (await findHostNamespace(tested)) !== undefined
      case "the vCluster's release is recorded":
        return (await revisions("vcluster", hostNamespace(tested))).length > 0
      case "the vCluster has written its kubeconfig":
        return await exists("secret", "vc-vcluster", "--namespace", hostNamespace(tested))
      case "the operation is marked":
        return existsSync(state.marker)
      case "the engine holds its lock":
        return state.locks().length > 0
      default: {
        const now = stateWritten(state)
        if (now !== last) written += 1
        last = now
        return written >= moment.written
      }
    }
  }
  return async () => (await there()) || (await over())
}

describe("a node that dies at random moments of installs, upgrades and repairs", () => {
  beforeAll(async () => {
    console.log(`seed ${seed}: SEED=${seed} plays these moments again`)
    await createNamespace(tested.namespace)
    // Repairs are waited for.
    await installChart("--set", "repairInterval=2m")
  }, 3_600_000)
  afterAll(async () => {
    await deleteInstance(tested)
    await rollBackChart()
  }, 3_600_000)

  /** There, Ready, and of which version. */
  const existing = async (): Promise<string> => {
    if (!(await exists("pi", tested.name, "--namespace", tested.namespace))) await apply(manifest(tested))
    await untilTrue("it is Ready", async () => isReady(await getInstance(tested)))
    return (await getInstance(tested)).status?.installedVersion ?? assert.fail("a version is installed")
  }

  it.each(plan)(
    "$round: $deed, $when",
    async ({ deed, moment }) => {
      const state = await instanceState(tested.namespace, tested.name)
      let version: string = "6.0.22"
      let before: ReadonlyArray<string> | undefined
      if (deed === "install") {
        await deleteInstance(tested)
      } else {
        version = await existing()
        before = await uidsInside()
        await untilTrue("nothing is at work", () => !existsSync(state.marker))
      }
      const finished = existsSync(state.record) ? readRecord(state).installed.finishedAt : ""
      const isOver = async () =>
        existsSync(state.record) &&
        readRecord(state).installed.finishedAt !== finished &&
        (await isReadyAt(version))
      const operator = await until("the operator is ready", incarnation)

      if (deed === "upgrade") version = versions.find((other) => other !== version) ?? versions[0]
      const isNow = watchFor(moment, state, isOver)
      if (deed === "install") await apply(manifest(tested))
      if (deed === "upgrade") {
        await editInstance(tested, { version })
      }
      await until("the moment", async () => ((await isNow()) ? true : undefined), patience)
      const died = Date.now()
      console.log(`killed: ${await killNode()} processes; marked: ${existsSync(state.marker)}`)

      const patiently = (what: string, ask: () => Promise<boolean>) =>
        until(what, async () => ((await ask()) ? true : undefined), patience)
      await patiently("another operator is ready", async () => {
        const now = await incarnation()
        return now !== undefined && now.container !== operator.container
      })
      await patiently("it has come to its end", isOver)
      await patiently("the platform runs", () => platformRuns(tested))
      console.log(`from the death to Ready: ${((Date.now() - died) / 1000).toFixed(1)} s`)

      // The next repair may have begun already; between two of them nothing is under way.
      await patiently("it is whole", async () => {
        await assertWhole(tested)
        return true
      })
      if (before !== undefined) assert.includeMembers([...(await uidsInside())], [...before])
      const { conditions = [] } = (await getInstance(tested)).status ?? {}
      assert.deepStrictEqual(
        conditions.filter(({ status }) => status !== "True").map(({ type, reason }) => `${type} ${reason}`),
        [],
      )
    },
    // All of it may have to be waited for.
    4 * patience,
  )
})
