import { assert, describe, it } from "@effect/vitest"
import { Arbitrary, Option, Schema } from "effect"
import {
  type CleanupJob,
  type DeletionObservation,
  type DeletionStep,
  deletionStep,
  leftBehind,
} from "../../../../src/actors/instance/deletion/deletionStep.ts"
import { ClusterRole } from "../../../../src/services/Kubernetes/Kinds.ts"

const base = "/base"
const path = "/base/team-a/one"

/** An instance as it stood, with everything an install leaves behind. */
const whole: DeletionObservation = {
  uid: "life",
  policy: "Delete",
  skipCleanup: false,
  storage: { _tag: "Default", base, path },
  releaseRecorded: true,
  namespace: { _tag: "Ours" },
  namespaceHeld: Option.none(),
  clusterObjects: [],
  hasState: true,
  kubeconfig: Option.none(),
  hasRecord: true,
  recordProblem: Option.none(),
  begun: false,
  cleanedFor: Option.none(),
  jobs: [],
  pods: [],
  storageSharedWith: Option.none(),
  now: 0,
  retryAt: Option.none(),
}
const job = (more: Partial<CleanupJob> = {}): CleanupJob => ({
  ours: true,
  name: "cleanup",
  uid: "job",
  outcome: "Running",
  deleting: false,
  problem: Option.none(),
  ...more,
})

/** The part of the world that answers a step: the namespace controller, the Job's pod, the garbage collector. */
interface World {
  readonly seen: DeletionObservation
  /** Outcomes of the cleanup Jobs to come. */
  readonly outcomes: ReadonlyArray<"Succeeded" | "Failed">
}

/** What the world makes of one step. Waiting is answered by what is waited for. */
const effectOf = ({ seen, outcomes }: World, step: DeletionStep): World => {
  const become = (more: Partial<DeletionObservation>): World => ({ seen: { ...seen, ...more }, outcomes })
  switch (step._tag) {
    case "MarkBegun":
      return become({ begun: true, hasRecord: true })
    case "UninstallRelease":
      return become({ releaseRecorded: false })
    case "DeleteNamespace":
      return become({ namespace: { _tag: "Terminating" } })
    case "WaitForNamespace":
      return become({ namespace: { _tag: "Missing" }, releaseRecorded: false })
    case "DropState":
      return become({ hasState: false })
    case "RemoveKubeconfig":
      return become({ kubeconfig: Option.none() })
    case "RemoveClusterObject":
      return become({ clusterObjects: seen.clusterObjects.filter((each) => each !== step.object) })
    case "StorageShared":
    case "RecordUnreadable":
      // A person decides to leave the directory.
      return become({ skipCleanup: true })
    case "StartCleanup":
      return become({ jobs: [...seen.jobs, job()], pods: ["pod"] })
    case "WaitForCleanup":
      return {
        seen: {
          ...seen,
          jobs: seen.jobs.map((each) =>
            each.name === step.job.name ? { ...each, outcome: outcomes[0] ?? "Succeeded" } : each,
          ),
        },
        outcomes: outcomes.slice(1),
      }
    case "CountFailure":
      return become({
        jobs: seen.jobs.map((each) => (each.uid === step.job.uid ? { ...each, deleting: true } : each)),
        retryAt: Option.some(seen.now + 10_000),
      })
    case "WaitForRetry":
      return become({ now: step.at })
    case "MarkCleaned":
      return become({ cleanedFor: Option.some(seen.uid) })
    case "RemoveJob":
      return become({
        jobs: seen.jobs.map((each) => (each.uid === step.job.uid ? { ...each, deleting: true } : each)),
      })
    case "WaitForPods":
      return become({ jobs: seen.jobs.filter(({ deleting }) => !deleting), pods: [] })
    case "ForgetRecord":
      return become({ begun: false, hasRecord: false, hasState: false })
    case "RemoveFinalizer":
      return become({})
  }
}

/** The steps from here to the end; a world that never gets there fails. */
const steps = (seen: Partial<DeletionObservation> = {}, outcomes: World["outcomes"] = []) => {
  let world: World = { seen: { ...whole, ...seen }, outcomes }
  const taken: Array<DeletionStep> = []
  while (taken.at(-1)?._tag !== "RemoveFinalizer") {
    if (taken.length > 100) assert.fail(`it never ends: ${taken.slice(-5).map((each) => each._tag)}`)
    const step = deletionStep(world.seen)
    taken.push(step)
    world = effectOf(world, step)
  }
  // The mark comes first and has a test of its own.
  const tags = taken.map(({ _tag }) => _tag).filter((tag) => tag !== "MarkBegun")
  return { taken, tags, end: world.seen }
}

const target = ["UninstallRelease", "DeleteNamespace", "WaitForNamespace"] as const
const cleanup = ["StartCleanup", "WaitForCleanup", "MarkCleaned", "RemoveJob", "WaitForPods"] as const
const end = ["ForgetRecord", "RemoveFinalizer"] as const

describe("deleting an instance", () => {
  it("removes target, state, default storage root and record, in this order", () => {
    const { tags, taken } = steps()
    assert.deepStrictEqual(tags, [...target, "DropState", ...cleanup, ...end])
    assert.deepInclude(taken, { _tag: "StartCleanup", base, path })
  })

  it("leaves a custom storage root", () => {
    const { tags, end: left } = steps({ storage: { _tag: "Custom", path: Option.some("/mine") } })
    assert.deepStrictEqual(leftBehind(left), ["the custom storage root /mine"])
    assert.deepStrictEqual(leftBehind(left, true), [])
    assert.deepStrictEqual(tags, [...target, "DropState", ...end])
  })

  it("leaves the default storage root when a person asks for it", () => {
    assert.deepStrictEqual(steps({ skipCleanup: true }).tags, [...target, "DropState", ...end])
  })

  it("stops a running cleanup when a person asks to leave the storage root", () => {
    const seen = { releaseRecorded: false, namespace: { _tag: "Missing" }, hasState: false } as const
    const { tags } = steps({ ...seen, jobs: [job()], pods: ["pod"], skipCleanup: true })
    assert.deepStrictEqual(tags, ["RemoveJob", "WaitForPods", ...end])
  })

  it("keeps everything of a retained one, its record too", () => {
    const { tags, end: left } = steps({ policy: "Retain" })
    assert.deepStrictEqual(tags, ["RemoveFinalizer"])
    assert.deepStrictEqual(left, { ...whole, policy: "Retain" })
  })

  it("stops the cleanup of one that is switched to Retain", () => {
    const { tags } = steps({ policy: "Retain", jobs: [job({ outcome: "Failed" })], pods: ["pod"] })
    assert.deepStrictEqual(tags, ["RemoveJob", "WaitForPods", "RemoveFinalizer"])
  })

  it("tries a failed cleanup again, after a pause, once its Job and pods are gone", () => {
    const { tags } = steps({}, ["Failed", "Failed", "Succeeded"])
    const failing = ["StartCleanup", "WaitForCleanup", "CountFailure", "WaitForPods", "WaitForRetry"] as const
    assert.deepStrictEqual(tags, [...target, "DropState", ...failing, ...failing, ...cleanup, ...end])
  })

  it("leaves a namespace that is somebody else's, and the release in it", () => {
    const namespace = { _tag: "Foreign", owner: Option.some("team-b/two") } as const
    const { tags, end: left } = steps({ namespace })
    assert.deepStrictEqual(tags, ["DropState", ...cleanup, ...end])
    assert.deepStrictEqual(left.namespace, namespace)
    assert.isTrue(left.releaseRecorded)
  })

  it("takes no success of an earlier life for its own", () => {
    const stale = job({ ours: false, name: "earlier", uid: "earlier", outcome: "Succeeded" })
    const { tags, taken } = steps({ jobs: [stale] })
    assert.deepStrictEqual(tags, [...target, "DropState", "RemoveJob", "WaitForPods", ...cleanup, ...end])
    assert.deepInclude(taken, { _tag: "RemoveJob", job: stale })
  })

  it("takes no annotation of an earlier life for its own", () => {
    assert.deepStrictEqual(steps({ cleanedFor: Option.some("an earlier life") }).tags, [
      ...target,
      "DropState",
      ...cleanup,
      ...end,
    ])
  })

  it("goes on where it was: a finished cleanup is not done twice", () => {
    const done = { releaseRecorded: false, namespace: { _tag: "Missing" }, hasState: false } as const
    assert.deepStrictEqual(steps({ ...done, cleanedFor: Option.some("life") }).tags, [...end])
    assert.deepStrictEqual(steps({ ...done, jobs: [job({ outcome: "Succeeded" })] }).tags, [
      "MarkCleaned",
      "RemoveJob",
      "WaitForPods",
      ...end,
    ])
  })

  it("of one that never got anything looks for its storage root all the same", () => {
    const nothing = {
      releaseRecorded: false,
      namespace: { _tag: "Missing" },
      hasState: false,
      hasRecord: false,
    } as const
    assert.deepStrictEqual(steps(nothing).tags, [...cleanup, "RemoveFinalizer"])
  })

  it("looks for what the release has outside of its namespace, whatever its record says", () => {
    const role = { kind: ClusterRole, name: "vc-x", uid: "role", ours: true }
    const foreign = { kind: ClusterRole, name: "vc-y", uid: "other", ours: false }
    const { tags, end: left } = steps({ clusterObjects: [foreign, role] })
    assert.deepStrictEqual(tags, [...target, "RemoveClusterObject", "DropState", ...cleanup, ...end])
    assert.deepStrictEqual(left.clusterObjects, [foreign])
    assert.deepStrictEqual(leftBehind(left), ["clusterrole/vc-y, which is somebody else's"])
  })

  it("removes no storage root that another instance's overlaps with", () => {
    const { taken, end: left } = steps({ storageSharedWith: Option.some("team-b/two (/base/team-a/one)") })
    assert.deepInclude(taken, { _tag: "StorageShared", path, by: "team-b/two (/base/team-a/one)" })
    assert.isFalse(taken.some(({ _tag }) => _tag === "StartCleanup"))
    assert.deepStrictEqual(leftBehind(left), [`storage root ${path}`])
  })

  it("keeps what was retained, which is not left behind; once the removal has begun, it is", () => {
    const retained = { ...whole, policy: "Retain" } as const
    assert.deepStrictEqual(leftBehind(retained), [])
    assert.deepStrictEqual(leftBehind({ ...retained, begun: true }), [`storage root ${path}`])
  })

  it("names every Job and pod that it waits for", () => {
    const seen = {
      ...whole,
      policy: "Retain",
      jobs: [job({ deleting: true })],
      pods: ["pod-1", "pod-2"],
    } as const
    assert.deepStrictEqual(deletionStep(seen), { _tag: "WaitForPods", pods: ["cleanup", "pod-1", "pod-2"] })
  })
})

const namespaces: ReadonlyArray<DeletionObservation["namespace"]> = [
  { _tag: "Missing" },
  { _tag: "Ours" },
  { _tag: "Terminating" },
  { _tag: "Foreign", owner: Option.none() },
]
const observations = Arbitrary.schema(
  Schema.Struct({
    policy: Schema.Literals(["Delete", "Delete", "Delete", "Retain"]),
    skipCleanup: Schema.Boolean,
    custom: Schema.Boolean,
    releaseRecorded: Schema.Boolean,
    namespace: Schema.Literals([0, 1, 2, 3]),
    hasState: Schema.Boolean,
    hasRecord: Schema.Boolean,
    unreadable: Schema.Boolean,
    begun: Schema.Boolean,
    cleanedFor: Schema.Literals(["nobody", "life", "another"]),
    jobs: Schema.Array(
      Schema.Struct({
        ours: Schema.Boolean,
        outcome: Schema.Literals(["Running", "Succeeded", "Failed"]),
        deleting: Schema.Boolean,
      }),
    ).check(Schema.isMaxLength(3)),
    pods: Schema.Literals([0, 1]),
    retryAt: Schema.Literals([0, 5]),
    outcomes: Schema.Array(Schema.Literals(["Succeeded", "Failed"])).check(Schema.isMaxLength(3)),
  }),
).pipe(
  Arbitrary.map((raw) => {
    // One Job of a name: at most one is ours.
    const ours = raw.jobs.findIndex((each) => each.ours)
    const seen: DeletionObservation = {
      ...whole,
      policy: raw.policy,
      skipCleanup: raw.skipCleanup,
      storage: raw.custom ? { _tag: "Custom", path: Option.none() } : whole.storage,
      namespace: namespaces[raw.namespace] ?? { _tag: "Missing" },
      releaseRecorded: raw.releaseRecorded,
      hasState: raw.hasState,
      hasRecord: raw.hasRecord || raw.unreadable,
      begun: raw.hasRecord && !raw.unreadable && raw.begun,
      recordProblem: raw.unreadable ? Option.some("instance.json is cut off") : Option.none(),
      cleanedFor: raw.cleanedFor === "nobody" ? Option.none() : Option.some(raw.cleanedFor),
      jobs: raw.jobs.map((each, index) =>
        job({
          ...each,
          ours: index === ours,
          name: index === ours ? "cleanup" : `earlier-${index}`,
          uid: `job-${index}`,
        }),
      ),
      pods: raw.pods === 0 ? [] : ["pod"],
      retryAt: raw.retryAt === 0 ? Option.none() : Option.some(raw.retryAt),
    }
    return { seen, outcomes: raw.outcomes }
  }),
)
const many = { arbitrary: { runs: 3_000 } }

describe("deleting, wherever it starts", () => {
  it.prop(
    "ends, and leaves nothing that is to be deleted",
    { start: observations },
    ({ start }) => {
      const { end: left } = steps(start.seen, start.outcomes)
      assert.isEmpty(left.jobs)
      assert.isEmpty(left.pods)
      if (left.policy === "Retain") return
      assert.isTrue(left.namespace._tag === "Missing" || left.namespace._tag === "Foreign")
      assert.isFalse(left.hasState || left.hasRecord)
      const kept = left.storage._tag === "Custom" || left.skipCleanup
      assert.isTrue(kept || Option.contains(left.cleanedFor, "life"))
    },
    many,
  )

  it.prop(
    "never lets the finalizer go while something is left",
    { start: observations },
    ({ start: { seen } }) => {
      if (deletionStep(seen)._tag !== "RemoveFinalizer") return
      assert.isEmpty(seen.jobs)
      assert.isEmpty(seen.pods)
      assert.isTrue(seen.policy === "Retain" || !(seen.hasState || seen.hasRecord))
    },
    many,
  )

  it.prop(
    "starts no cleanup while the target may still write to it, nor of a custom root",
    { start: observations },
    ({ start: { seen } }) => {
      if (deletionStep(seen)._tag !== "StartCleanup") return
      assert.include(["Missing", "Foreign"], seen.namespace._tag)
      assert.isFalse(seen.hasState || seen.skipCleanup)
      assert.strictEqual(seen.storage._tag, "Default")
      assert.isEmpty(seen.jobs)
      assert.isEmpty(seen.pods)
    },
    many,
  )

  it.prop(
    "removes nothing at all of a retained one",
    { start: observations },
    ({ start: { seen } }) => {
      const { tags } = steps({ ...seen, policy: "Retain", begun: false })
      for (const tag of tags) assert.include(["RemoveJob", "WaitForPods", "RemoveFinalizer"], tag)
    },
    many,
  )
})

describe("a record that cannot be read", () => {
  it("holds the storage cleanup alone, until a person leaves the directory", () => {
    const { tags } = steps({ recordProblem: Option.some("instance.json is cut off") })
    assert.deepStrictEqual(
      tags.filter((tag) => tag === "RecordUnreadable" || tag === "StartCleanup"),
      ["RecordUnreadable"],
    )
    assert.isBelow(tags.indexOf("DropState"), tags.indexOf("RecordUnreadable"))
    assert.strictEqual(tags.at(-1), "RemoveFinalizer")
  })
})

describe("the mark of a deletion that has begun", () => {
  it("is written before anything is removed, and not for what never was there", () => {
    assert.strictEqual(steps().taken[0]?._tag, "MarkBegun")
    const nothing = { namespace: { _tag: "Missing" }, releaseRecorded: false, hasState: false } as const
    const { taken } = steps({ ...nothing, hasRecord: false })
    assert.isFalse(taken.some(({ _tag }) => _tag === "MarkBegun"))
  })

  it("lets a switch to Retain keep the data on the node alone: no successor builds on half a platform", () => {
    const { tags } = steps({ policy: "Retain", begun: true })
    assert.deepStrictEqual(tags, [...target, "DropState", "ForgetRecord", "RemoveFinalizer"])
  })
})
