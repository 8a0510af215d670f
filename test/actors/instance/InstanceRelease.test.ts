// The objects of a vCluster's release: whoever removes or edits one gets it back from the release as it is stored.
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { ANNOTATION_RECONCILE_REQUESTED, hostNamespace } from "../../../src/schema/Names.ts"
import * as Kinds from "../../../src/services/Kubernetes/Kinds.ts"
import type { KubeObject, ResourceKind } from "../../../src/services/Kubernetes/Kubernetes.ts"
import { key } from "../support/instances.ts"
import { condition, outcomes, phase, ready, reasons } from "../support/readings.ts"
import { objectsOf } from "../support/Vcluster.ts"
import { pass, type World } from "../support/World.ts"

const host = hostNamespace(key)
const nameOf = (kind: ResourceKind, name: string) => `${kind.kind.toLowerCase()}/${name}`
const isOwner = (kind: ResourceKind, name: string) => kind === Kinds.Service && name === "vcluster"

/** What somebody does to each kind of object, in a field that the manifest has. */
const edits: ReadonlyMap<ResourceKind, object> = new Map<ResourceKind, object>([
  [Kinds.Secret, { data: { "config.yaml": "eDogMQ==" } }],
  [Kinds.Role, { rules: [{ apiGroups: ["*"], resources: ["*"], verbs: ["*"] }] }],
  [Kinds.RoleBinding, { roleRef: { kind: "Role", name: "another" } }],
  [Kinds.ClusterRole, { rules: [] }],
  [Kinds.ClusterRoleBinding, { roleRef: { kind: "Role", name: "another" } }],
  [Kinds.Service, { spec: { selector: { app: "vcluster", release: "vcluster", never: "matches" } } }],
  [Kinds.StatefulSet, { spec: { replicas: 0 } }],
  [Kinds.ServiceAccount, { metadata: { labels: { release: null } } }],
])
const edit = (world: World, kind: ResourceKind, { metadata }: Pick<KubeObject, "metadata">) =>
  world.cluster.patch(kind, metadata, { type: "merge", patch: { ...edits.get(kind) } }, false)
const live = (world: World, kind: ResourceKind, name: string): KubeObject =>
  world.cluster.find(kind, { name, ...(kind.namespaced ? { namespace: world.host } : {}) }) ??
  assert.fail(`${kind.kind} ${name} is missing`)
/** What the release says of it, without what the server counts. */
const content = ({ metadata: { name, labels }, status: _, ...rest }: KubeObject) => ({
  name,
  labels,
  ...rest,
})

const targetMessages = (world: World) =>
  world.statuses.flatMap(({ conditions = [] }) =>
    conditions
      .filter(({ type }) => type === "TargetReady")
      .map(({ reason, message }) => `${reason}: ${message}`),
  )

describe("F58: an object of the release that is deleted", () => {
  for (const [kind, { metadata }] of objectsOf(host)) {
    const object = nameOf(kind, metadata.name)
    if (isOwner(kind, metadata.name)) continue
    it.effect(`${object} is put back from the stored release at once`, () =>
      Effect.gen(function* () {
        const world = yield* ready()
        const before = content(live(world, kind, metadata.name))
        world.cluster.end(kind, live(world, kind, metadata.name).metadata)
        yield* pass(3)
        assert.deepStrictEqual(content(live(world, kind, metadata.name)), before)
        yield* pass(60)
        assert.deepStrictEqual(world.helm.commands, ["install", "reapply"])
        assert.include(targetMessages(world), `Repairing: putting back ${object} from the stored release`)
        assert.strictEqual(phase(world), "Ready")
        assert.deepStrictEqual(reasons(world), ["FirstInstall"])
      }),
    )
  }

  it.effect("and owns what the vCluster synced is put back in a resync", () =>
    Effect.gen(function* () {
      const world = yield* ready()
      world.cluster.end(Kinds.Service, { namespace: world.host, name: "vcluster" })
      yield* pass(150)
      assert.include(
        targetMessages(world),
        "Resyncing: putting back service/vcluster from the stored release",
      )
      assert.deepStrictEqual(reasons(world), ["FirstInstall", "Resync"])
      assert.strictEqual(phase(world), "Ready")
    }),
  )
})

describe("an object of the release that is edited", () => {
  for (const [kind, { metadata }] of objectsOf(host)) {
    const object = nameOf(kind, metadata.name)
    it.effect(`${object} is put back from the stored release at once`, () =>
      Effect.gen(function* () {
        const world = yield* ready()
        const before = content(live(world, kind, metadata.name))
        assert.notDeepEqual(content(edit(world, kind, live(world, kind, metadata.name))), before)
        yield* pass(3)
        assert.deepStrictEqual(content(live(world, kind, metadata.name)), before)
        yield* pass(60)
        assert.deepStrictEqual(world.helm.commands, ["install", "reapply"])
        assert.strictEqual(condition(world, "TargetReady")?.reason, "Ready")
        assert.isTrue(
          targetMessages(world).some((each) => each.startsWith(`Repairing: putting back ${object}`)),
        )
      }),
    )
  }

  it.effect("where the release says nothing is left alone, and nobody is asked about it", () =>
    Effect.gen(function* () {
      const world = yield* ready()
      const { length } = world.cluster.requests
      for (const [kind, { metadata }] of objectsOf(world.host)) {
        if (kind === Kinds.Secret) continue
        const patch = { metadata: { annotations: { note: "mine" } }, spec: { beside: "it" } }
        assert.isDefined(
          world.cluster.patch(
            kind,
            live(world, kind, metadata.name).metadata,
            { type: "merge", patch },
            false,
          ),
        )
      }
      yield* pass(120)
      assert.deepStrictEqual(world.cluster.requests.slice(length), [])
      assert.deepStrictEqual(world.helm.commands, ["install"])
    }),
  )

  it.effect("while the operator is away is put back when it is there again", () =>
    Effect.gen(function* () {
      const world = yield* ready()
      yield* world.operator.stop
      assert.isDefined(edit(world, Kinds.Role, live(world, Kinds.Role, "vc-vcluster")))
      yield* world.startOperator()
      yield* pass(10)
      assert.deepStrictEqual(world.helm.commands, ["install", "reapply"])
    }),
  )

  it.effect("again and again is put back less and less often, which is told, until it is left alone", () =>
    Effect.gen(function* () {
      const world = yield* ready()
      const war = { on: true }
      world.cluster.listeners.push(({ kind, object, deleted }) => {
        if (kind !== Kinds.Role || deleted || !war.on) return
        if (JSON.stringify(object.rules).includes("*")) return
        assert.isDefined(edit(world, kind, object))
      })
      assert.isDefined(edit(world, Kinds.Role, live(world, Kinds.Role, "vc-vcluster")))
      yield* pass(600, 2)
      // Pauses of 1, 2, 4, … 256 s fit in; each repair takes 2 s.
      assert.isAtMost(world.helm.commands.length, 11)
      assert.isAtLeast(world.helm.commands.length, 8)
      assert.strictEqual(phase(world), "Failed")
      assert.match(
        condition(world, "Ready")?.message ?? "",
        /^repair vcluster: role\/vc-vcluster \(edited\): put back \d+ times in a row, and changed again each time/,
      )
      assert.lengthOf(
        world.events.filter(({ reason }) => reason === "TargetError"),
        1,
      )
      war.on = false
      yield* pass(600, 5)
      assert.strictEqual(phase(world), "Ready")
    }),
  )
})

describe("a lost object of the release whose repair pauses", () => {
  it.effect("is put back at once when somebody asks for it", () =>
    Effect.gen(function* () {
      const world = yield* ready()
      const editRole = () => assert.isDefined(edit(world, Kinds.Role, live(world, Kinds.Role, "vc-vcluster")))
      for (let repair = 1; repair <= 7; repair++) {
        editRole()
        // After pauses of 0, 1, 2, 4, … seconds.
        yield* pass(2 ** (repair - 2) + 6, 1)
        assert.lengthOf(world.helm.commands, 1 + repair)
      }
      editRole()
      yield* pass(10)
      assert.lengthOf(world.helm.commands, 8)
      yield* world.edit({ metadata: { annotations: { [ANNOTATION_RECONCILE_REQUESTED]: "now" } } })
      yield* pass(10)
      assert.lengthOf(world.helm.commands, 9)
      assert.strictEqual(phase(world), "Ready")
    }),
  )
})

describe("a lost object of the release during an install", () => {
  it.effect("that the vCluster answers without waits for the end of the install", () =>
    Effect.gen(function* () {
      const world = yield* ready()
      yield* world.edit({ spec: { platform: { tenants: [{ name: "acme" }] } } })
      yield* pass(10)
      assert.isDefined(edit(world, Kinds.Role, live(world, Kinds.Role, "vc-vcluster")))
      yield* pass(90)
      assert.deepStrictEqual(outcomes(world), ["succeeded", "succeeded"])
      assert.deepStrictEqual(world.helm.commands, ["install", "reapply"])
      assert.strictEqual(phase(world), "Ready")
    }),
  )

  it.effect("that it does not answer without cancels the install", () =>
    Effect.gen(function* () {
      const world = yield* ready()
      yield* world.edit({ spec: { platform: { tenants: [{ name: "acme" }] } } })
      yield* pass(10)
      assert.isDefined(edit(world, Kinds.StatefulSet, live(world, Kinds.StatefulSet, "vcluster")))
      yield* pass(120)
      assert.deepStrictEqual(outcomes(world), ["succeeded", "interrupted", "succeeded"])
      assert.strictEqual(phase(world), "Ready")
    }),
  )
})

describe("a Ready target", () => {
  it.effect("costs the host's API no request, whatever its pods do", () =>
    Effect.gen(function* () {
      const world = yield* ready()
      const { length } = world.cluster.requests
      for (let minute = 0; minute < 10; minute++) {
        const patch = { metadata: { annotations: { minute: String(minute) } } }
        const pod = { namespace: world.host, name: "vcluster-0" }
        assert.isDefined(world.cluster.patch(Kinds.Pod, pod, { type: "merge", patch }, false))
        yield* pass(60)
      }
      assert.deepStrictEqual(world.cluster.requests.slice(length), [])
    }),
  )

  it.effect("whose stored release cannot be read says so", () =>
    Effect.gen(function* () {
      const world = yield* ready()
      yield* world.operator.stop
      world.helm.unreadable.push("Secret x cannot be read: its payload is not a release")
      yield* world.startOperator()
      yield* pass(30)
      assert.deepInclude(condition(world, "TargetReady"), {
        reason: "TargetError",
        message: "read the stored release: Secret x cannot be read: its payload is not a release",
      })
    }),
  )
})
