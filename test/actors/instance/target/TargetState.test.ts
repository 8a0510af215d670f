import { assert, describe, it } from "@effect/vitest"
import { Arbitrary, Option, Schema } from "effect"
import {
  type ActVerdict,
  judgeTarget,
  type NamespaceState,
  type ProbeState,
  type TargetObservation,
} from "../../../../src/actors/instance/target/TargetState.ts"
import type { ReleaseStatus } from "../../../../src/services/Helm/Helm.ts"
import { deployed, healthy, missing, told } from "../../support/targets.ts"

/** Our namespace is there and nothing in it. */
const empty: TargetObservation = {
  ...healthy,
  release: Option.none(),
  everServed: false,
  lostObjects: missing("statefulset/vcluster", "service/vcluster", "service/vcluster-headless"),
  serviceUID: Option.none(),
  recordedServiceUID: Option.none(),
  podUID: Option.none(),
  controlPlane: { ready: false, message: "waiting for statefulset/vcluster" },
  kubeconfigOwner: Option.none(),
  kubeconfigPublished: false,
  probe: { _tag: "Unknown" },
}

const judged = (seen: Partial<TargetObservation>) => told(judgeTarget({ ...healthy, ...seen }))
const messageOf = (seen: TargetObservation) => {
  const verdict = judgeTarget(seen)
  return verdict._tag === "Ready" ? assert.fail("the target is ready") : verdict.condition.message
}

describe("a target that lacks nothing", () => {
  it("is ready, as the Service and the cluster it is", () => {
    assert.deepStrictEqual(judgeTarget(healthy), {
      _tag: "Ready",
      serviceUID: "service",
      kubeSystemUID: "cluster",
    })
  })
})

describe("a target that comes up", () => {
  it("gets namespace, its mark, protection, network policies, release and kubeconfig in this order", () => {
    const steps: Array<Partial<TargetObservation>> = [
      {
        namespace: { _tag: "Missing" },
        storageRootMarked: false,
        protectionApplied: false,
        networkPoliciesApplied: false,
      },
      { storageRootMarked: false, protectionApplied: false, networkPoliciesApplied: false },
      { protectionApplied: false, networkPoliciesApplied: false },
      { networkPoliciesApplied: false },
      { workloadsIsolated: false },
      {},
      { release: Option.some(deployed), lostObjects: [] },
      { release: Option.some(deployed), lostObjects: [], controlPlane: healthy.controlPlane },
      {
        release: Option.some(deployed),
        lostObjects: [],
        controlPlane: healthy.controlPlane,
        serviceUID: Option.some("service"),
      },
      {
        release: Option.some(deployed),
        lostObjects: [],
        controlPlane: healthy.controlPlane,
        serviceUID: Option.some("service"),
        kubeconfigOwner: Option.some("service"),
      },
      { ...healthy, probe: { _tag: "Unknown" } },
      healthy,
    ]
    assert.deepStrictEqual(
      steps.map((seen) => told(judgeTarget({ ...empty, ...seen }))),
      [
        "Act CreateNamespace: Creating",
        "Act MarkNamespace: Creating",
        "Act ApplyProtection: Creating",
        "Act ApplyNetworkPolicies: Creating",
        "Act IsolateWorkloads: Creating",
        "Act InstallRelease: Creating",
        "Wait: ControlPlanePending",
        "Wait: ControlPlanePending",
        "Wait: KubeconfigPending",
        "Act PublishKubeconfig: KubeconfigPending",
        "Wait: KubeconfigPending",
        "Ready",
      ],
    )
  })

  it("waits for a predecessor's namespace to be gone", () => {
    const seen: TargetObservation = { ...empty, namespace: { _tag: "Terminating" } }
    assert.strictEqual(told(judgeTarget(seen)), "Wait: Creating")
    assert.match(messageOf(seen), /pi-team-a-one-hash/)
  })

  it("says in the pod's words why the control plane is not ready", () => {
    const message =
      "statefulset/vcluster has 0 of 1 replicas ready; pod vcluster-0: ImagePullBackOff: no such tag"
    assert.strictEqual(messageOf({ ...healthy, controlPlane: { ready: false, message } }), message)
  })

  it("takes no kubeconfig of an earlier Service for its own", () => {
    const kubeconfigOwner = Option.some("an earlier one")
    assert.strictEqual(judged({ kubeconfigOwner, everServed: false }), "Wait: KubeconfigPending")
    assert.strictEqual(judged({ kubeconfigOwner }), "Act BeginResync: KubeconfigMissing")
  })

  it("publishes a kubeconfig that has rotated, though everything answers", () => {
    assert.strictEqual(judged({ kubeconfigPublished: false }), "Act PublishKubeconfig: KubeconfigPending")
  })
})

describe("a namespace that is somebody else's", () => {
  const foreign = (owner: Option.Option<string>): TargetObservation => ({
    ...healthy,
    namespace: { _tag: "Foreign", owner },
  })

  it("is never taken over, and the message names its owner and the way out", () => {
    const verdict = judgeTarget(foreign(Option.some("team-b/two")))
    assert.strictEqual(told(verdict), "Stuck: TargetError")
    const message = messageOf(foreign(Option.some("team-b/two")))
    assert.match(message, /^host namespace: pi-team-a-one-hash belongs to team-b\/two/)
    assert.match(message, /remove it, or give this instance another name/)
  })

  it("may have no owner at all", () => {
    assert.match(messageOf(foreign(Option.none())), /belongs to nobody this operator knows/)
  })

  for (const release of [Option.none(), healthy.release]) {
    it(`is left alone ${Option.isSome(release) ? "with" : "without"} a release in it`, () => {
      const seen = {
        ...empty,
        namespace: foreign(Option.none()).namespace,
        release,
        protectionApplied: false,
      }
      assert.strictEqual(judgeTarget(seen)._tag, "Stuck")
    })
  }
})

/** contracts: the recovery table of a release, by its newest record. */
describe("a release left", () => {
  const rows: ReadonlyArray<
    readonly [
      ReleaseStatus,
      revision: number,
      lastDeployed: number | undefined,
      everServed: boolean,
      string,
      oldest?: number,
      lastSuperseded?: number,
    ]
  > = [
    ["deployed", 1, 1, true, "Ready"],
    ["deployed", 7, 7, true, "Ready"],
    ["failed", 1, undefined, false, "Act UninstallRelease: TargetError"],
    ["pending-install", 1, undefined, false, "Act UninstallRelease: TargetError"],
    ["failed", 1, undefined, true, "Act RollbackRelease 1: RolledBack"],
    ["pending-install", 1, undefined, true, "Act RollbackRelease 1: RolledBack"],
    // Each try to roll back has failed, so that the first revision is in the history no more.
    ["failed", 9, undefined, true, "Act RollbackRelease 5: RolledBack", 5],
    ["pending-rollback", 9, undefined, true, "Act RollbackRelease 5: RolledBack", 5],
    // What was deployed before an upgrade is in the history, too.
    ["failed", 3, undefined, true, "Act RollbackRelease 2: RolledBack", 1, 2],
    ["failed", 2, 1, true, "Act RollbackRelease 1: RolledBack"],
    ["pending-upgrade", 5, 3, true, "Act RollbackRelease 3: RolledBack"],
    ["pending-rollback", 5, 3, true, "Act RollbackRelease 3: RolledBack"],
    ["pending-upgrade", 2, 1, false, "Act RollbackRelease 1: RolledBack"],
    ["uninstalling", 1, undefined, true, "Act UninstallRelease: TargetError"],
    ["uninstalling", 3, 2, true, "Act UninstallRelease: TargetError"],
    ["uninstalled", 1, undefined, true, "Act InstallRelease: Creating"],
    ["superseded", 2, 1, true, "Act RollbackRelease 1: RolledBack"],
    ["unknown", 1, undefined, false, "Act UninstallRelease: TargetError"],
  ]
  for (const [status, revision, lastDeployed, everServed, expected, oldest = 1, lastSuperseded] of rows) {
    const use = everServed ? "in use before" : "never in use"
    it(`${status} at revision ${revision}, ${use}: ${expected}`, () => {
      const verdict = judgeTarget({
        ...healthy,
        everServed,
        release: Option.some({
          revision,
          status,
          lastDeployed: Option.fromNullishOr(lastDeployed),
          lastSuperseded: Option.fromNullishOr(lastSuperseded),
          oldest,
        }),
      })
      const to =
        verdict._tag === "Act" && verdict.step._tag === "RollbackRelease" ? verdict.step.revision : undefined
      assert.strictEqual(to === undefined ? told(verdict) : told(verdict).replace(":", ` ${to}:`), expected)
    })
  }

  for (const [status, held] of [
    ["pending-install", true],
    ["pending-upgrade", true],
    ["pending-rollback", true],
    ["failed", false],
    ["uninstalling", false],
  ] as const) {
    it(`${status} is ${held ? "looked at for a writer that lives" : "nobody's any more"}`, () => {
      const release = Option.some({ ...deployed, revision: 3, status, lastDeployed: Option.some(2) })
      const [checked, known] = [false, true].map((writerGone) =>
        judgeTarget({ ...healthy, release, writerGone }),
      )
      assert.strictEqual(checked?._tag === "Act" && checked.step._tag === "CheckWriter", held)
      // What is said meanwhile is what follows.
      assert.deepStrictEqual(
        checked?._tag === "Act" && checked.condition,
        known?._tag === "Act" && known.condition,
      )
    })
  }

  it("pending-install at revision 1 says that it was removed to install again", () => {
    const release = Option.some({
      revision: 1,
      status: "pending-install",
      lastDeployed: Option.none(),
      lastSuperseded: Option.none(),
      oldest: 1,
    } as const)
    const message = messageOf({ ...empty, release })
    assert.match(message, /^install vcluster 0\.37\.3: /)
    assert.match(message, /pending-install at revision 1; removed it to install again$/)
  })

  it("none says which chart is installed", () => {
    assert.strictEqual(messageOf(empty), "installing vcluster 0.37.3")
  })
})

describe("a deployed release", () => {
  it("is applied again, as it is stored, when an object of it is missing; the message names it", () => {
    const seen = { ...healthy, lostObjects: missing("service/vcluster-headless") }
    assert.deepStrictEqual(judgeTarget(seen), {
      _tag: "Act",
      step: { _tag: "ReapplyRelease", lost: missing("service/vcluster-headless") },
      condition: { reason: "Repairing", message: messageOf(seen) },
    })
    assert.match(messageOf(seen), /service\/vcluster-headless/)
  })

  it("is applied again when an object of it is edited, and the message says that", () => {
    const role = { object: "role/vc-vcluster", how: "edited", vital: false } as const
    const seen = { ...healthy, lostObjects: [role, ...missing("service/vcluster-headless")] }
    assert.strictEqual(judged(seen), "Act ReapplyRelease: Repairing")
    assert.match(messageOf(seen), / role\/vc-vcluster \(edited\), service\/vcluster-headless from /)
  })

  it("whose record cannot be read says so, and is left to a person", () => {
    const seen = { ...healthy, releaseProblem: Option.some("its payload is not a release") }
    assert.strictEqual(judged(seen), "Stuck: TargetError")
    assert.match(messageOf(seen), /^read the stored release: its payload/)
  })

  it("is not touched because a newer chart came with the operator", () => {
    assert.strictEqual(judged({ chartVersion: "0.99.0" }), "Ready")
  })
})

describe("an API that does not answer", () => {
  const silent = (failures: number, lastKnown: Option.Option<string>): ProbeState => ({
    _tag: "Silent",
    failures,
    message: "connection refused",
    lastKnown,
  })
  const known = Option.some("cluster")

  it("is still ready after one missed check and after two, and lost after three", () => {
    assert.deepStrictEqual(
      [0, 1, 2, 3, 4].map((failures) => judged({ probe: silent(failures, known) })),
      ["Ready", "Ready", "Ready", "Stuck: TargetUnreachable", "Stuck: TargetUnreachable"],
    )
  })

  it("was never ready as long as it has never answered", () => {
    assert.deepStrictEqual(
      [0, 1, 2, 3].map((failures) => judged({ probe: silent(failures, Option.none()) })),
      [
        "Wait: KubeconfigPending",
        "Wait: KubeconfigPending",
        "Wait: KubeconfigPending",
        "Stuck: TargetUnreachable",
      ],
    )
  })

  it("is named in the message, with what was answered", () => {
    const message = messageOf({ ...healthy, probe: silent(3, known) })
    assert.match(message, /https:\/\/vcluster\.pi-team-a-one-hash\.svc:443/)
    assert.match(message, /connection refused/)
  })
})

const namespaces: ReadonlyArray<NamespaceState> = [
  { _tag: "Missing" },
  { _tag: "Ours" },
  { _tag: "Terminating" },
  { _tag: "Foreign", owner: Option.some("team-b/two") },
]
const probes: ReadonlyArray<ProbeState> = [
  { _tag: "Unknown" },
  { _tag: "Answers", kubeSystemUID: "cluster" },
  { _tag: "Silent", failures: 1, message: "refused", lastKnown: Option.some("cluster") },
  { _tag: "Silent", failures: 3, message: "refused", lastKnown: Option.some("cluster") },
]
const index = (length: number) => Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: length - 1 }))
const observations = Arbitrary.schema(
  Schema.Struct({
    namespace: index(namespaces.length),
    probe: index(probes.length),
    protectionApplied: Schema.Boolean,
    networkPoliciesApplied: Schema.Boolean,
    everServed: Schema.Boolean,
    status: Schema.NullOr(
      Schema.Literals([
        "unknown",
        "deployed",
        "uninstalled",
        "superseded",
        "failed",
        "uninstalling",
        "pending-install",
        "pending-upgrade",
        "pending-rollback",
      ]),
    ),
    revision: Schema.Literals([1, 2, 3]),
    lastDeployed: Schema.NullOr(Schema.Literals([1, 2])),
    missing: Schema.Boolean,
    serviceUID: Schema.NullOr(Schema.Literals(["service", "other"])),
    ready: Schema.Boolean,
    owner: Schema.NullOr(Schema.Literals(["service", "other"])),
    kubeconfigPublished: Schema.Boolean,
    sleep: Schema.NullOr(Schema.Struct({ noted: Schema.Boolean, asleep: Schema.Boolean })),
    replicas: Schema.NullOr(Schema.Literals([0, 1])),
    controlPlanePods: Schema.Boolean,
  }),
).pipe(
  Arbitrary.map(
    (raw): TargetObservation => ({
      ...healthy,
      namespace: namespaces[raw.namespace] ?? { _tag: "Missing" },
      probe: probes[raw.probe] ?? { _tag: "Unknown" },
      protectionApplied: raw.protectionApplied,
      networkPoliciesApplied: raw.networkPoliciesApplied,
      everServed: raw.everServed,
      release: Option.map(Option.fromNullishOr(raw.status), (status) => ({
        status,
        revision: raw.revision,
        lastDeployed: Option.fromNullishOr(raw.lastDeployed),
        lastSuperseded: Option.none(),
        oldest: 1,
      })),
      releaseProblem: Option.none(),
      lostObjects: raw.missing ? missing("statefulset/vcluster") : [],
      serviceUID: Option.fromNullishOr(raw.serviceUID),
      controlPlane: { ready: raw.ready, message: "as seen" },
      kubeconfigOwner: Option.fromNullishOr(raw.owner),
      kubeconfigPublished: raw.kubeconfigPublished,
      sleep: Option.map(Option.fromNullishOr(raw.sleep), (sleep) => ({ ...sleep, workloads: Option.none() })),
      scale: Option.map(Option.fromNullishOr(raw.replicas), (replicas) => ({
        uid: "set",
        replicas,
        scaledDown: replicas === 0,
        wakesWith: Option.none(),
      })),
      controlPlanePods: raw.controlPlanePods ? healthy.controlPlanePods : [],
    }),
  ),
)

/** That nothing of it can be taken down is remembered on the instance alone. */
const isWrittenDown = ({ step }: ActVerdict): boolean => step._tag === "BeginSleep" && !step.ours

describe("a target, whatever is seen of it", () => {
  it.prop(
    "changes nothing in a namespace that is not ours",
    { seen: observations },
    ({ seen }) => {
      const verdict = judgeTarget(seen)
      if (seen.namespace._tag === "Foreign" && Option.isNone(seen.sleep))
        assert.strictEqual(verdict._tag, "Stuck")
      if (verdict._tag === "Act" && verdict.step._tag !== "CreateNamespace" && !isWrittenDown(verdict))
        assert.strictEqual(seen.namespace._tag, "Ours")
    },
    { arbitrary: { runs: 2_000 } },
  )

  it.prop(
    "rolls back to a revision there has been",
    { seen: observations },
    ({ seen }) => {
      const verdict = judgeTarget(seen)
      if (verdict._tag !== "Act" || verdict.step._tag !== "RollbackRelease") return
      assert.isAtLeast(verdict.step.revision, 1)
      assert.isAtMost(verdict.step.revision, Option.getOrThrow(seen.release).revision)
    },
    { arbitrary: { runs: 2_000 } },
  )
})

/** What each of these takes away, no target can be without. */
const lacks: Readonly<Record<string, Partial<TargetObservation>>> = {
  namespace: { namespace: { _tag: "Missing" } },
  terminating: { namespace: { _tag: "Terminating" } },
  mark: { storageRootMarked: false },
  protection: { protectionApplied: false },
  networkPolicies: { networkPoliciesApplied: false },
  workloadPolicies: { workloadsIsolated: false },
  release: { release: Option.none() },
  objects: { lostObjects: missing("service/vcluster") },
  controlPlane: { controlPlane: { ready: false, message: "not ready" } },
  service: { serviceUID: Option.none() },
  kubeconfig: { kubeconfigOwner: Option.none() },
  ownKubeconfig: { kubeconfigOwner: Option.some("an earlier Service") },
  published: { kubeconfigPublished: false },
  answer: { probe: { _tag: "Unknown" } },
}

describe("a target that lacks", () => {
  for (const [what, lack] of Object.entries(lacks)) {
    it(`${what} is not ready`, () => {
      assert.notStrictEqual(judged(lack), "Ready")
    })
  }
})
