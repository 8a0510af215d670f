// A resync as the two pure functions decide it, over a small model of a control plane: whatever was lost, wherever an
// operator left off. All that an operator knows is in the observation, so that a crash between two steps changes nothing.
import { assert, describe, it } from "@effect/vitest"
import { Arbitrary, Option, Schema } from "effect"
import { noRules } from "../../../../src/actors/instance/gate.ts"
import { type PlanInput, plan } from "../../../../src/actors/instance/plan.ts"
import {
  judgeTarget,
  type ResyncState,
  type TargetObservation,
} from "../../../../src/actors/instance/target/TargetState.ts"
import { healthy, missing, told } from "../../support/targets.ts"

interface Pod {
  readonly uid: string
  /** The Service its process found when it started: the owner of what it makes. */
  readonly owner: string
  readonly ending: boolean
  readonly ready: boolean
  readonly hasWritten: boolean
}
interface Model {
  readonly now: number
  /** Numbers the UIDs and versions to come. */
  readonly next: number
  readonly service: string | undefined
  /** Owner and version of `vc-vcluster`. */
  readonly secret: { readonly owner: string; readonly version: string } | undefined
  readonly pod: Pod | undefined
  readonly published: string | undefined
  readonly recorded: string | undefined
  readonly resync: ResyncState | undefined
}

const minute = 60_000
const observed = (model: Model): TargetObservation => {
  const { service, secret, pod, published, recorded, resync } = model
  return {
    ...healthy,
    now: model.now,
    lostObjects: service === undefined ? missing("service/vcluster") : [],
    releaseProblem: Option.none(),
    serviceUID: Option.fromUndefinedOr(service),
    recordedServiceUID: Option.fromUndefinedOr(recorded),
    everServed: recorded !== undefined || published !== undefined,
    podUID: Option.fromUndefinedOr(pod?.uid),
    podEnding: pod?.ending ?? false,
    resync: Option.fromUndefinedOr(resync),
    controlPlane: { ready: pod?.ready ?? false, message: "as seen" },
    kubeconfigOwner: Option.fromUndefinedOr(secret?.owner),
    kubeconfigPublished: secret !== undefined && published === secret.version,
    publishedSource: Option.fromUndefinedOr(published),
  }
}

const fresh = (model: Model): Model =>
  model.service === undefined
    ? model
    : {
        ...model,
        next: model.next + 1,
        pod: {
          uid: `pod-${model.next}`,
          owner: model.service,
          ending: false,
          ready: false,
          hasWritten: false,
        },
      }

/** What goes on by itself while an operator waits: one thing at a time. */
const elapse = (model: Model): Model => {
  const { pod } = model
  const later = { ...model, now: model.now + minute }
  if (pod === undefined || pod.ending) return fresh(later)
  if (!pod.ready) return { ...later, pod: { ...pod, ready: true } }
  if (pod.hasWritten) return later
  const secret = { owner: pod.owner, version: `version-${model.next}` }
  const written = { ...later, next: model.next + 1, pod: { ...pod, hasWritten: true } }
  // What is owned by a Service that is gone goes at once.
  return pod.owner === model.service ? { ...written, secret } : written
}

const loseService = (model: Model): Model => ({ ...model, service: undefined, secret: undefined })
const loseSecret = (model: Model): Model => ({ ...model, secret: undefined })

/** One decision and what it does. */
const step = (model: Model): { readonly word: string; readonly after: Model } => {
  const verdict = judgeTarget(observed(model))
  const word = told(verdict)
  if (verdict._tag !== "Act") return { word, after: elapse(model) }
  switch (verdict.step._tag) {
    case "ReapplyRelease":
      return { word, after: { ...model, next: model.next + 1, service: `service-${model.next}` } }
    case "BeginResync": {
      const { serviceUID, podUID } = verdict.step
      const source = Option.fromUndefinedOr(model.published)
      return { word, after: { ...model, resync: { serviceUID, podUID, source, startedAt: model.now } } }
    }
    case "RestartControlPlane":
      assert.strictEqual(model.pod?.uid, verdict.step.podUID)
      return { word, after: { ...model, pod: { ...(model.pod ?? assert.fail()), ending: true } } }
    case "PublishKubeconfig":
      return { word, after: { ...model, published: model.secret?.version } }
    default:
      return assert.fail(`nothing asked for ${verdict.step._tag}`)
  }
}

/** Runs until the target is ready; gives what was decided, in order. */
const untilReady = (start: Model) => {
  const words: Array<string> = []
  let model = start
  for (let steps = 0; steps < 40; steps++) {
    const { word, after } = step(model)
    if (word === "Ready") return { words, end: model }
    words.push(word)
    model = after
  }
  return assert.fail(`not ready after ${words.join(", ")}`)
}
const restarts = (words: ReadonlyArray<string>) =>
  words.filter((word) => word.startsWith("Act RestartControlPlane")).length

const settled: Model = {
  now: 0,
  next: 1,
  service: "service-0",
  secret: { owner: "service-0", version: "version-0" },
  pod: { uid: "pod-0", owner: "service-0", ending: false, ready: true, hasWritten: true },
  published: "version-0",
  recorded: "service-0",
  resync: undefined,
}

/** What an install that ends a resync proves. */
const installed = (model: Model): Model => ({ ...model, recorded: model.service, resync: undefined })

/** One that nobody has seen is missed by nobody: see the deadline. */
const loseSeenSecret = (model: Model): Model =>
  model.secret === undefined || model.secret.version === model.published ? loseSecret(model) : model
const verbs = { loseService, loseSecret: loseSeenSecret, elapse, step: (model: Model) => step(model).after }
const lives = Arbitrary.array(
  Arbitrary.schema(Schema.Literals(["loseService", "loseSecret", "elapse", "step", "step", "step"])),
  { minLength: 1, maxLength: 14 },
)
const many = { arbitrary: { runs: 1_000 } }

const planned: PlanInput = {
  now: 0,
  deleting: false,
  hasFinalizer: true,
  version: "6.0.22",
  generation: 1,
  target: { _tag: "Ready", serviceUID: "service-0", kubeSystemUID: "cluster" },
  rules: noRules,
  planning: Option.none(),
  detecting: Option.none(),
  running: Option.none(),
  installed: Option.some({ version: "6.0.22", generation: 1, finishedAt: 0, early: 0 }),
  config: new Map(),
  editedAt: 0,
  superseded: false,
  resyncPending: false,
  lastInstallFailed: false,
  retryAt: Option.none(),
  retryOf: "Target",
  urgency: { urgent: true, failing: false },
  readySince: 0,
  targetPollMillis: 10_000,
  repairIntervalMillis: 30 * minute,
}

describe("a Secret or Service that is lost", () => {
  it("is answered by a resync at once, never by a wait", () => {
    assert.strictEqual(step(loseSecret(settled)).word, "Act BeginResync: KubeconfigMissing")
    const put = step(loseService(settled))
    assert.strictEqual(put.word, "Act ReapplyRelease: Resyncing")
    assert.strictEqual(step(put.after).word, "Act BeginResync: Resyncing")
  })

  it("has the control plane restarted once, in this order", () => {
    const { words } = untilReady(loseService(settled))
    assert.deepStrictEqual(words, [
      "Act ReapplyRelease: Resyncing",
      "Act BeginResync: Resyncing",
      "Act RestartControlPlane: Resyncing",
      "Wait: Resyncing",
      "Wait: Resyncing",
      "Wait: Resyncing",
      "Act PublishKubeconfig: Resyncing",
    ])
  })

  it.prop(
    "ends in a target whose control plane makes what it makes in the name of the Service that is there",
    { life: lives },
    ({ life }) => {
      const model = life.reduce((current, verb) => verbs[verb](current), settled)
      const { end } = untilReady(model)
      assert.strictEqual(end.secret?.owner, end.service)
      assert.strictEqual(end.pod?.owner, end.service)
      // Whatever was replaced, an install follows that records it.
      if (end.recorded !== end.service) assert.isDefined(end.resync)
      // And that is all: nothing is begun over a settled target.
      assert.deepStrictEqual(untilReady(installed(end)).words, [])
    },
    many,
  )

  it.prop(
    "costs at most one restart each",
    { life: lives },
    ({ life }) => {
      let model = settled
      let done = 0
      let losses = 0
      for (const verb of life) {
        if (verb.startsWith("lose")) losses += 1
        if (verb === "step") done += restarts([step(model).word])
        model = verbs[verb](model)
      }
      assert.isAtMost(done + restarts(untilReady(model).words), losses)
    },
    many,
  )
})

describe("a resync", () => {
  const begun = step(loseSecret(settled)).after
  const restarted = step(begun).after
  const up = untilReady(restarted).end

  it("goes on where it was left: after the evidence was written, while the pod ends, and when it is another", () => {
    assert.strictEqual(step(begun).word, "Act RestartControlPlane: Resyncing")
    assert.strictEqual(step(restarted).word, "Wait: Resyncing")
    assert.strictEqual(restarts(untilReady(restarted).words), 0)
    assert.strictEqual(restarts(untilReady(elapse(restarted)).words), 0)
  })

  it("restarts nothing when there was no pod to restart", () => {
    const without = { ...loseSecret(settled), pod: { ...(settled.pod ?? assert.fail()), ready: true } }
    const resync = {
      serviceUID: "service-0",
      podUID: Option.none(),
      source: Option.some("version-0"),
      startedAt: 0,
    }
    const { words } = untilReady({ ...without, pod: undefined, resync })
    assert.strictEqual(restarts(words), 0)
  })

  for (const [stage, model] of [
    ["waiting for the old control plane pod to end", restarted],
    ["as seen", elapse(restarted)],
    ["waiting for the vCluster to write its kubeconfig Secret", elapse(elapse(restarted))],
    // Written by the new process, and lost before it was seen.
    [
      "waiting for the vCluster to write its kubeconfig Secret vc",
      loseSecret(elapse(elapse(elapse(restarted)))),
    ],
  ] as const) {
    it(`that waits (${stage}) for more than three repair intervals is unreachable, and says where it waits`, () => {
      const deadline = healthy.resyncDeadlineMillis
      const startedAt = model.resync?.startedAt ?? assert.fail()
      const at = (now: number) => judgeTarget(observed({ ...model, now }))
      assert.strictEqual(told(at(startedAt + deadline)), "Wait: Resyncing")
      const late = at(startedAt + deadline + 1)
      assert.strictEqual(told(late), "Stuck: TargetUnreachable")
      assert.include(late._tag === "Stuck" ? late.condition.message : "", stage)
    })
  }

  it("that is late goes on all the same when it can", () => {
    assert.strictEqual(told(judgeTarget(observed({ ...up, now: 1_000 * minute }))), "Ready")
  })

  it("is followed by an install, before anything else that is due, and refreshes", () => {
    const pending = { ...planned, resyncPending: true }
    const resync = { _tag: "Install", reason: "Resync", refresh: true } as const
    assert.deepStrictEqual(plan(pending), resync)
    for (const also of [
      { version: "6.0.23", generation: 2 },
      { generation: 2 },
      { lastInstallFailed: true },
      { installed: Option.none() },
      { now: 40 * minute },
    ]) {
      assert.deepStrictEqual(plan({ ...pending, ...also }), resync)
    }
  })

  it("whose install has failed is installed again as Resync when its pause is over", () => {
    const failed = {
      ...planned,
      resyncPending: true,
      lastInstallFailed: true,
      retryAt: Option.some(5_000),
      retryOf: "Install",
    } as const
    assert.deepStrictEqual(plan(failed), { _tag: "Wait", wakes: [{ timer: "retry", at: 5_000 }] })
    assert.deepStrictEqual(plan({ ...failed, now: 5_000 }), {
      _tag: "Install",
      reason: "Resync",
      refresh: true,
    })
    // Its pause holds up no step of another loss.
    const target = judgeTarget(observed(loseSecret(up)))
    assert.strictEqual(plan({ ...failed, target })._tag, "TargetStep")
  })
})
