import { assert, describe, it } from "@effect/vitest"
import { Arbitrary, Equal, Option, Result, Schema } from "effect"
import type { Decision } from "../../../src/actors/instance/Decision.ts"
import { type Closed, noRules, type Rules } from "../../../src/actors/instance/gate.ts"
import type { InstallOperation, Operation } from "../../../src/actors/instance/Operation.ts"
import { installDue, type PlanInput, plan } from "../../../src/actors/instance/plan.ts"
import { isInline, type TargetVerdict } from "../../../src/actors/instance/target/TargetState.ts"
import { parseWindows } from "../../../src/schema/Windows.ts"

const now = 1_000_000_000
const second = 1_000
const minute = 60 * second

const ready: TargetVerdict = { _tag: "Ready", serviceUID: "service", kubeSystemUID: "cluster" }
const waiting: TargetVerdict = {
  _tag: "Wait",
  condition: { reason: "ControlPlanePending", message: "not ready" },
}
const stuck: TargetVerdict = { _tag: "Stuck", condition: { reason: "TargetUnreachable", message: "silent" } }
const acting: TargetVerdict = {
  _tag: "Act",
  step: { _tag: "InstallRelease" },
  condition: { reason: "Creating", message: "installing" },
}
const mending: TargetVerdict = {
  _tag: "Act",
  step: { _tag: "ApplyNetworkPolicies" },
  condition: { reason: "Creating", message: "applying" },
}
const install: InstallOperation = {
  _tag: "Install",
  reason: "FirstInstall",
  generation: 1,
  version: "6.0.22",
  over: "nothing",
  config: new Map(),
  superseding: false,
  planned: false,
  urgency: { urgent: true, failing: false },
  progress: { stage: "running", movedAt: now, changed: new Set() },
}
const helm: Operation = {
  _tag: "Target",
  step: "InstallRelease",
  condition: { reason: "Creating", message: "installing" },
  changes: [],
}
const uninstall: Operation = { _tag: "Uninstall" }
const look: Operation = { _tag: "Plan", version: "1.0.0", generation: 1, slot: "spec" }

const driftLook: Operation = { _tag: "Plan", version: "6.0.22", generation: 1, slot: "drift" }
const isLook = (running: Option.Option<Operation>) => Option.exists(running, ({ _tag }) => _tag === "Plan")

/** A Ready instance at generation 1 whose last install ended ten minutes ago. */
const settled: PlanInput = {
  now,
  deleting: false,
  hasFinalizer: true,
  version: "6.0.22",
  generation: 1,
  target: ready,
  rules: noRules,
  running: Option.none(),
  installed: Option.some({ version: "6.0.22", generation: 1, finishedAt: now - 10 * minute, early: 0 }),
  config: new Map(),
  planning: Option.none(),
  detecting: Option.none(),
  editedAt: 0,
  superseded: false,
  resyncPending: false,
  lastInstallFailed: false,
  retryAt: Option.none(),
  retryOf: "Target",
  urgency: { urgent: true, failing: false },
  readySince: 0,
  targetPollMillis: 10 * second,
  repairIntervalMillis: 30 * minute,
}
const fresh: PlanInput = { ...settled, installed: Option.none() }
const due: PlanInput = {
  ...settled,
  installed: Option.some({ version: "6.0.22", generation: 1, finishedAt: now - 30 * minute, early: 0 }),
}

const waitsFor: Extract<Closed, { readonly _tag: "Waits" }> = {
  _tag: "Waits",
  change: { version: "6.0.23", generation: 2 },
  plan: Option.none(),
  again: true,
  approval: true,
  instead: Option.none(),
}
/** A change waits, and nobody knows what counts meanwhile. */
const undecided: Rules = { ...noRules, undecided: Option.some(waitsFor) }

/** Edited five seconds ago. */
const edited: PlanInput = {
  ...fresh,
  generation: 2,
  config: new Map([["tenants", "[]"]]),
  editedAt: now - 5 * second,
}
const movedLast = (movedAt: number): InstallOperation => ({
  ...install,
  progress: { stage: "running", movedAt, changed: new Set() },
})

const wait = (timer: "retry" | "poll" | "repair", at: number): Decision => ({
  _tag: "Wait",
  wakes: [{ timer, at }],
})
const run = (reason: Extract<Decision, { _tag: "Install" }>["reason"], refresh: boolean): Decision => ({
  _tag: "Install",
  reason,
  refresh,
})
const cancel = (because: string): Decision => ({ _tag: "CancelOperation", because })
const step: Decision = { _tag: "TargetStep", step: { _tag: "InstallRelease" } }
const later = Option.some(now + 5 * second)

const table: ReadonlyArray<readonly [when: string, input: PlanInput, then: Decision]> = [
  ["a deleted instance is deleted", { ...settled, deleting: true }, { _tag: "Delete" }],
  [
    "a deleted instance without our finalizer is not adopted again",
    { ...settled, deleting: true, hasFinalizer: false },
    { _tag: "Delete" },
  ],
  [
    "a deletion ends a running install first",
    { ...settled, deleting: true, running: Option.some(install) },
    cancel("the instance is being deleted"),
  ],
  [
    "a deletion ends a running target step first",
    { ...settled, deleting: true, running: Option.some(helm) },
    cancel("the instance is being deleted"),
  ],
  [
    "a deletion lets its own uninstall run",
    { ...settled, deleting: true, running: Option.some(uninstall) },
    { _tag: "Delete" },
  ],
  [
    "the finalizer goes before the target",
    { ...fresh, hasFinalizer: false, target: acting },
    { _tag: "AddFinalizer" },
  ],
  ["a target that needs a step gets it", { ...fresh, target: acting }, step],
  [
    "a target step waits out the backoff",
    { ...fresh, target: acting, retryAt: later },
    wait("retry", now + 5 * second),
  ],
  ["a backoff that is over holds up nothing", { ...fresh, target: acting, retryAt: Option.some(now) }, step],
  [
    "a target that comes up by itself is polled",
    { ...fresh, target: waiting },
    wait("poll", now + 10 * second),
  ],
  ["a target that is stuck is polled", { ...settled, target: stuck }, wait("poll", now + 10 * second)],
  [
    "nothing is installed into a target that is not ready, whatever is due",
    { ...due, target: waiting, lastInstallFailed: true, version: "6.0.23", generation: 2 },
    wait("poll", now + 10 * second),
  ],
  ["nothing installed is a first install, without a refresh", fresh, run("FirstInstall", false)],
  ["a failed install is retried, with a refresh", { ...fresh, lastInstallFailed: true }, run("Retry", true)],
  [
    "a retry takes precedence over a version change",
    { ...settled, lastInstallFailed: true, version: "6.0.23", generation: 2 },
    run("Retry", true),
  ],
  [
    "a retry waits out the backoff",
    { ...settled, lastInstallFailed: true, retryAt: later },
    wait("retry", now + 5 * second),
  ],
  [
    "another version is installed",
    { ...settled, version: "6.0.23", generation: 2 },
    run("VersionChanged", false),
  ],
  [
    "an older version is installed too",
    { ...settled, version: "6.0.9", generation: 2 },
    run("VersionChanged", false),
  ],
  ["another spec of the same version is installed", { ...settled, generation: 2 }, run("SpecChanged", false)],
  ["a spec change is told even when a repair is due", { ...due, generation: 2 }, run("SpecChanged", false)],
  ["a repair that is due runs, with a refresh", due, run("RepairDue", true)],
  ["a settled instance sleeps until its repair", settled, wait("repair", now + 20 * minute)],
  [
    "a repair comes early by the share that was drawn for it",
    {
      ...settled,
      installed: Option.some({
        version: "6.0.22",
        generation: 1,
        finishedAt: now - 10 * minute,
        early: 0.05,
      }),
    },
    wait("repair", now + 18.5 * minute),
  ],
  [
    "a repair that is overdue waits for its share once the target is there again",
    {
      ...settled,
      installed: Option.some({
        version: "6.0.22",
        generation: 1,
        finishedAt: now - 300 * minute,
        early: 0.02,
      }),
      readySince: now - second,
    },
    wait("repair", now - second + 0.6 * minute),
  ],
  [
    "a time in the future counts as due now",
    {
      ...settled,
      installed: Option.some({ version: "6.0.22", generation: 1, finishedAt: now + 1, early: 0 }),
    },
    run("RepairDue", true),
  ],
  [
    "a running install is left alone",
    { ...fresh, running: Option.some(install) },
    wait("poll", now + 10 * second),
  ],
  [
    "an edit waits for an install that goes on, as far as anybody can see",
    { ...edited, running: Option.some(install) },
    {
      _tag: "Wait",
      wakes: [
        { timer: "retry", at: now + 2 * minute },
        { timer: "poll", at: now + 10 * second },
      ],
    },
  ],
  [
    "an edit takes the place of an install that stands still",
    { ...edited, running: Option.some(movedLast(now - 2 * minute)) },
    cancel("a newer generation takes its place"),
  ],
  [
    "an edit that comes out the same waits for one that stands still",
    { ...edited, config: install.config, running: Option.some(movedLast(now - 2 * minute)) },
    wait("poll", now + 10 * second),
  ],
  [
    "an edit waits for one that took another's place, even when it stands still",
    { ...edited, running: Option.some({ ...movedLast(now - 2 * minute), superseding: true }) },
    wait("poll", now + 10 * second),
  ],
  ...(["6.0.22", "6.0.99"] as const).flatMap((version) =>
    ([1, 2] as const).map((minutes): readonly [string, PlanInput, Decision] => [
      `an edit ${version === "6.0.99" && minutes === 2 ? "takes the place of" : "waits for"} one that took another's place, whose package of ${version} has not come for ${minutes} minutes`,
      {
        ...edited,
        running: Option.some({
          ...install,
          version,
          superseding: true,
          progress: { stage: "preparing", movedAt: now - minutes * minute, changed: new Set() },
        }),
      },
      version === "6.0.22"
        ? wait("poll", now + 10 * second)
        : minutes === 2
          ? cancel("a newer generation takes its place")
          : {
              _tag: "Wait",
              wakes: [
                { timer: "retry", at: now + minute },
                { timer: "poll", at: now + 10 * second },
              ],
            },
    ]),
  ),
  [
    "an edit takes the place of any install that waits for its permit",
    {
      ...edited,
      running: Option.some({
        ...install,
        superseding: true,
        progress: { stage: "waiting", movedAt: now, changed: new Set() },
      }),
    },
    cancel("a newer generation takes its place"),
  ],
  [
    "an install that waits for its permit asks anew when it has become urgent",
    {
      ...due,
      running: Option.some({
        ...install,
        urgency: { urgent: false, failing: false },
        progress: { stage: "waiting", movedAt: now, changed: new Set() },
      }),
    },
    cancel("it is to wait in another place"),
  ],
  [
    "a running install is cancelled when its target is lost",
    { ...fresh, running: Option.some(install), target: stuck },
    cancel("the target was lost"),
  ],
  [
    "a running install is cancelled when its target needs Helm",
    { ...fresh, running: Option.some(install), target: acting },
    cancel("the target was lost"),
  ],
  [
    "what a pass mends by itself is mended while an install runs",
    { ...fresh, running: Option.some(install), target: mending },
    { _tag: "TargetStep", step: { _tag: "ApplyNetworkPolicies" } },
  ],
  ...(["BeginResync", "RestartControlPlane"] as const).map((tag): readonly [string, PlanInput, Decision] => [
    `a running install is cancelled before a resync takes its step ${tag}`,
    {
      ...fresh,
      running: Option.some(install),
      target: {
        _tag: "Act",
        step:
          tag === "BeginResync"
            ? { _tag: tag, serviceUID: "another", podUID: Option.none() }
            : { _tag: tag, podUID: "pod" },
        condition: { reason: "Resyncing", message: "" },
      },
    },
    cancel("the target was lost"),
  ]),
  [
    "a running target step is left alone while the target is not ready",
    { ...fresh, running: Option.some(helm), target: acting },
    wait("poll", now + 10 * second),
  ],
]

describe("the plan", () => {
  for (const [when, input, then] of table) {
    it(`${when}`, () => {
      assert.deepStrictEqual(plan(input), then)
    })
  }
})

/** Of maintenance. */
const closedNow = Result.getSuccess(parseWindows("02:00-04:00"))

describe("a plan that is to be made", () => {
  const planning = (at: number, generation = 1) =>
    Option.some({ version: "6.0.23", slot: "version" as const, generation, at })
  const toMake: Decision = { _tag: "Plan", slot: "version", version: "6.0.23", generation: 1 }
  const looking: Operation = { _tag: "Plan", version: "6.0.23", generation: 1, slot: "version" }
  const changed: PlanInput = { ...settled, version: "6.0.23", generation: 2 }

  it.each<readonly [string, PlanInput, Decision]>([
    ["is made", { ...settled, planning: planning(now) }, toMake],
    [
      "is waited for after one that has failed",
      { ...settled, planning: planning(now + minute) },
      {
        _tag: "Wait",
        wakes: [
          { timer: "repair", at: now + 20 * minute },
          { timer: "retry", at: now + minute },
        ],
      },
    ],
    [
      "keeps no install waiting",
      { ...changed, planning: planning(now) },
      { _tag: "Install", reason: "VersionChanged", refresh: false },
    ],
    ["is made of what may not begin", { ...changed, rules: undecided, planning: planning(now) }, toMake],
    [
      "does not hold up a repair",
      { ...due, planning: planning(now) },
      { _tag: "Install", reason: "RepairDue", refresh: true },
    ],
    [
      "waits for its target",
      { ...settled, target: waiting, planning: planning(now) },
      wait("poll", now + 10 * second),
    ],
    [
      "goes on while it is wanted",
      { ...settled, running: Option.some(looking), planning: planning(now) },
      wait("poll", now + 10 * second),
    ],
    [
      "is given up when it is not",
      { ...settled, running: Option.some(looking) },
      { _tag: "CancelOperation", because: "nobody waits for this plan any more" },
    ],
    [
      "is given up when the spec is another one",
      { ...changed, rules: undecided, running: Option.some(looking), planning: planning(now, 2) },
      { _tag: "CancelOperation", because: "nobody waits for this plan any more" },
    ],
    [
      "is let end before a repair, and before another try of what may never succeed",
      { ...due, lastInstallFailed: true, running: Option.some(looking), planning: planning(now) },
      wait("poll", now + 10 * second),
    ],
    [
      "is given up for a change that may begin",
      { ...changed, running: Option.some(looking), planning: planning(now) },
      { _tag: "CancelOperation", because: "an install goes before it" },
    ],
    [
      "is given up for a resync",
      { ...settled, resyncPending: true, running: Option.some(looking), planning: planning(now) },
      { _tag: "CancelOperation", because: "an install goes before it" },
    ],
    [
      "is given up with its target",
      { ...settled, target: acting, running: Option.some(looking), planning: planning(now) },
      { _tag: "CancelOperation", because: "the target was lost" },
    ],
  ])("%s", (_, input, then) => {
    assert.deepStrictEqual(plan(input), then)
  })

  it("that has come leaves a change waiting over what nobody knows, without a timer", () => {
    const decision = plan({ ...changed, rules: undecided })
    assert.deepStrictEqual(decision, { _tag: "Hold", closed: waitsFor, wakes: [] })
  })

  it("ends no install of what nobody has agreed to any more, once the engine is at it", () => {
    const running = (stage: "waiting" | "running") =>
      Option.some({ ...install, generation: 2, progress: { ...install.progress, stage } })
    assert.deepStrictEqual(
      plan({ ...settled, running: running("waiting") }),
      cancel("it may not begin any more"),
    )
    assert.deepStrictEqual(plan({ ...settled, running: running("running") }), wait("poll", now + 10 * second))
  })
})

describe("where repairs look and do nothing", () => {
  const never = Number.NEGATIVE_INFINITY
  const detecting = (lookedAt = never, at = 0) => Option.some({ lookedAt, at })
  const detected: PlanInput = { ...due, detecting: detecting() }
  const toLook: Decision = { _tag: "Plan", slot: "drift", version: "6.0.22", generation: 1 }
  const repairing = (stage: "preparing" | "waiting" | "running"): InstallOperation => ({
    ...install,
    reason: "RepairDue",
    progress: { ...install.progress, stage },
  })
  const looking: PlanInput = { ...detected, running: Option.some(driftLook) }
  const asked = Option.some({ slot: "version", version: "6.0.23", generation: 1, at: now } as const)
  const over: Decision = { _tag: "CancelOperation", because: "nobody waits for this plan any more" }
  const goesOn = wait("poll", now + 10 * second)

  it.each<readonly [string, PlanInput, Decision]>([
    ["a look is taken when a repair is due", detected, toLook],
    [
      "the next is an interval after the last repair",
      { ...settled, detecting: detecting() },
      wait("repair", now + 20 * minute),
    ],
    [
      "or after the last look, whichever was later",
      { ...due, detecting: detecting(now - 5 * minute) },
      wait("repair", now + 25 * minute),
    ],
    [
      "by the same share early",
      {
        ...due,
        installed: Option.some({ version: "6.0.22", generation: 1, finishedAt: never, early: 0.05 }),
        detecting: detecting(now - 28.5 * minute),
      },
      toLook,
    ],
    [
      "a look that is said to be in the future is due now",
      { ...settled, detecting: detecting(now + 60 * minute) },
      toLook,
    ],
    [
      "after an outage each waits for its own share",
      {
        ...due,
        installed: Option.some({ version: "6.0.22", generation: 1, finishedAt: never, early: 0.05 }),
        detecting: detecting(),
        readySince: now,
      },
      wait("repair", now + 1.5 * minute),
    ],
    [
      "one that has failed is tried again after its pause",
      { ...due, detecting: detecting(never, now + minute) },
      wait("repair", now + minute),
    ],
    [
      "a look waits for no window and no pause",
      { ...detected, rules: { ...noRules, pausedSince: Option.some("x"), windows: closedNow } },
      toLook,
    ],
    [
      "one that falls asleep is not looked at",
      { ...detected, rules: { ...noRules, sleep: Option.some({ askedAt: "x" }) } },
      { _tag: "Hold", closed: { _tag: "Asleep", sleep: { askedAt: "x" } }, wakes: [] },
    ],
    [
      "nor one of which nobody knows what counts",
      { ...detected, rules: undecided },
      { _tag: "Hold", closed: waitsFor, wakes: [] },
    ],
    ["a retry is an install as ever", { ...detected, lastInstallFailed: true }, run("Retry", true)],
    ["a resync, too", { ...detected, resyncPending: true }, run("Resync", true)],
    ["a change of the spec, too", { ...detected, generation: 2 }, run("SpecChanged", false)],
    ["another version, too", { ...detected, version: "6.0.23" }, run("VersionChanged", false)],
    ["a target step, too", { ...detected, target: acting }, step],
    [
      "what somebody asks for goes first",
      { ...detected, planning: asked },
      { _tag: "Plan", slot: "version", version: "6.0.23", generation: 1 },
    ],
    ["a look that is wanted goes on", looking, goesOn],
    ["for what somebody asks for it is given up", { ...looking, planning: asked }, over],
    ["it is given up when repairs repair again", { ...looking, detecting: Option.none() }, over],
    ["it is given up when another spec counts", { ...looking, generation: 2 }, over],
    ["it is given up for a resync", { ...looking, resyncPending: true }, cancel("an install goes before it")],
    ["a repair that runs is let end", { ...detected, running: Option.some(repairing("running")) }, goesOn],
    [
      "one that waits for its turn gives it up",
      { ...detected, running: Option.some(repairing("waiting")) },
      cancel("it may not begin any more"),
    ],
    [
      "and so does one that is being prepared",
      { ...detected, running: Option.some(repairing("preparing")) },
      cancel("it may not begin any more"),
    ],
    [
      "a repair is due at once when they repair again",
      { ...due, detecting: Option.none() },
      run("RepairDue", true),
    ],
  ])("%s", (_, input, then) => {
    assert.deepStrictEqual(plan(input), then)
  })
})

const millis = Schema.Finite.check(Schema.isInt(), Schema.isBetween({ minimum: 0, maximum: 2 * now }))
const maybe = <S extends Schema.Constraint>(schema: S) => Schema.OptionFromNullOr(schema)

const inputs = Arbitrary.schema(
  Schema.Struct({
    now: Schema.Literal(now),
    deleting: Schema.Boolean,
    hasFinalizer: Schema.Boolean,
    version: Schema.Literals(["1.0.0", "2.0.0"]),
    generation: Schema.Literals([1, 2]),
    target: Schema.Literals(["ready", "waiting", "stuck", "acting", "mending"]),
    running: Schema.Literals(["nothing", "install", "helm", "uninstall", "look", "drift"]),
    detecting: Schema.toType(maybe(Schema.Struct({ lookedAt: millis, at: millis }))),
    planning: Schema.toType(
      maybe(
        Schema.Struct({
          slot: Schema.Literals(["spec", "version"]),
          version: Schema.Literals(["1.0.0", "2.0.0"]),
          generation: Schema.Literals([1, 2]),
          at: millis,
        }),
      ),
    ),
    installed: Schema.toType(
      maybe(
        Schema.Struct({
          version: Schema.Literals(["1.0.0", "2.0.0"]),
          generation: Schema.Literals([0, 1, 2]),
          finishedAt: millis,
          early: Schema.Literals([0, 0.03, 0.05]),
        }),
      ),
    ),
    editedAt: millis,
    superseded: Schema.Boolean,
    resyncPending: Schema.Boolean,
    lastInstallFailed: Schema.Boolean,
    retryAt: Schema.toType(maybe(millis)),
    retryOf: Schema.Literals(["Target", "Install", "Uninstall"]),
    paused: Schema.Boolean,
    windowed: Schema.Boolean,
    urgency: Schema.Struct({ urgent: Schema.Boolean, failing: Schema.Boolean }),
    readySince: Schema.Literals([0, now - second]),
    targetPollMillis: Schema.Literals([10 * second, minute]),
    repairIntervalMillis: Schema.Literals([minute, 30 * minute]),
  }),
).pipe(
  Arbitrary.map(
    (raw): PlanInput => ({
      ...raw,
      config: new Map(),
      rules: {
        ...noRules,
        windows: raw.windowed ? closedNow : Option.none(),
        pausedSince: raw.paused ? Option.some("2026-11-03T12:00:00Z") : Option.none(),
      },
      target: { ready, waiting, stuck, acting, mending }[raw.target],
      running: Option.fromNullishOr(
        { nothing: undefined, install, helm, uninstall, look, drift: driftLook }[raw.running],
      ),
    }),
  ),
)
const many = { arbitrary: { runs: 2_000 } }

describe("the plan, whatever is known", () => {
  it.prop(
    "is total and decides the same of the same",
    { input: inputs },
    ({ input }) => {
      const copy: PlanInput = { ...input, target: { ...input.target } }
      assert.isTrue(Equal.equals(plan(input), plan(copy)))
    },
    many,
  )

  it.prop(
    "does nothing but delete, once it is deleted",
    { input: inputs },
    ({ input }) => {
      const decision = plan({ ...input, deleting: true })
      const foreign = Option.exists(input.running, (operation) => operation._tag !== "Uninstall")
      assert.strictEqual(decision._tag, foreign ? "CancelOperation" : "Delete")
    },
    many,
  )

  it.prop(
    "begins nothing of the instance while it is paused, and ends nothing that the engine has begun",
    { input: inputs },
    ({ input }) => {
      const rules = { ...noRules, pausedSince: Option.some("2026-11-03T12:00:00Z") }
      const decision = plan({ ...input, deleting: false, rules })
      assert.notStrictEqual(decision._tag, "Install")
      if (decision._tag === "TargetStep") assert.strictEqual(decision.step._tag, "ApplyProtection")
      // As ever, one whose target is lost is ended.
      if (decision._tag === "CancelOperation" && !isLook(input.running))
        assert.notStrictEqual(input.target._tag, "Ready")
      // A timer that is over already would wake the actor again at once, for ever.
      if (decision._tag === "Hold") assert.isTrue(decision.wakes.every(({ at }) => at > now))
    },
    many,
  )

  it.prop(
    "begins nothing but sleep while it is to be asleep, and ends nothing that the engine has begun",
    { input: inputs },
    ({ input }) => {
      const sleep = Option.some({ askedAt: "2026-11-03T12:00:00Z", pods: 2, since: "2026-11-03T12:01:00Z" })
      const decision = plan({ ...input, deleting: false, rules: { ...noRules, sleep } })
      assert.notStrictEqual(decision._tag, "Install")
      if (decision._tag === "TargetStep") assert.strictEqual(decision.step._tag, "ApplyProtection")
      if (decision._tag === "CancelOperation" && !isLook(input.running))
        assert.notStrictEqual(input.target._tag, "Ready")
      if (decision._tag === "Hold") assert.isTrue(decision.wakes.every(({ at }) => at > now))
    },
    many,
  )

  it.prop(
    "begins no repair and no upgrade outside of a maintenance window, and holds up nothing else",
    { input: inputs },
    ({ input }) => {
      const open = { ...input, rules: noRules, planning: Option.none() }
      const windowed = plan({ ...open, rules: { ...noRules, windows: closedNow } })
      const decided = plan(open)
      const waits = Option.exists(installDue(open), (due) => due === "RepairDue" || due === "VersionChanged")
      if (windowed._tag === "Hold") assert.isTrue(waits && windowed.wakes.length === 1)
      else if (decided._tag === "Install") assert.isFalse(waits)
      if (!waits && Option.isNone(input.running)) assert.deepStrictEqual(windowed, decided)
    },
    many,
  )

  it.prop(
    "does nothing but add the finalizer, while there is none",
    { input: inputs },
    ({ input }) => {
      assert.deepStrictEqual(plan({ ...input, deleting: false, hasFinalizer: false }), {
        _tag: "AddFinalizer",
      })
    },
    many,
  )

  it.prop(
    "starts one operation at a time, and nothing before the backoff is over",
    { input: inputs },
    ({ input }) => {
      const decision = plan(input)
      if (decision._tag !== "Install" && decision._tag !== "TargetStep") return
      const quick = decision._tag === "TargetStep" && isInline(decision.step)
      assert.isTrue(quick || Option.isNone(input.running))
      const waits = decision._tag === "Install" || input.retryOf === "Target"
      assert.isTrue(!waits || Option.isNone(input.retryAt) || input.retryAt.value <= now)
    },
    many,
  )

  it.prop(
    "installs into a ready target alone",
    { input: inputs },
    ({ input }) => {
      if (plan(input)._tag === "Install") assert.strictEqual(input.target._tag, "Ready")
    },
    many,
  )

  it.prop(
    "never waits without a wake-up, and never for one that has passed",
    { input: inputs },
    ({ input }) => {
      const decision = plan(input)
      if (decision._tag !== "Wait") return
      assert.isNotEmpty(decision.wakes)
      for (const { at } of decision.wakes) assert.isAbove(at, now)
    },
    many,
  )

  it.prop(
    "refreshes before a retry, a repair, a resync and what was interrupted, and only then",
    { input: inputs },
    ({ input }) => {
      const decision = plan(input)
      if (decision._tag !== "Install") return
      const looksFirst = ["Retry", "RepairDue", "Resync"].includes(decision.reason) || input.superseded
      assert.strictEqual(decision.refresh, looksFirst)
    },
    many,
  )

  it.prop(
    "repairs nothing where repairs look, and looks where they would repair",
    { input: inputs },
    ({ input }) => {
      const repairs = plan({ ...input, detecting: Option.none() })
      const looks = plan({ ...input, detecting: Option.some({ lookedAt: 0, at: 0 }) })
      if (looks._tag === "Install") assert.notStrictEqual(looks.reason, "RepairDue")
      if (repairs._tag === "Install" && repairs.reason === "RepairDue") {
        const { version, generation } = input
        assert.deepStrictEqual(looks, { _tag: "Plan", slot: "drift", version, generation })
      }
    },
    many,
  )

  it.prop(
    "rests once an install has ended well: it repeats nothing on an unchanged world",
    { input: inputs },
    ({ input }) => {
      const decision = plan(input)
      if (decision._tag !== "Install") return
      const { version, generation } = input
      const after = plan({
        ...input,
        installed: Option.some({ version, generation, finishedAt: now, early: 0.05 }),
        lastInstallFailed: false,
        resyncPending: false,
        retryAt: Option.none(),
        planning: Option.none(),
        detecting: Option.map(input.detecting, () => ({ lookedAt: 0, at: 0 })),
      })
      assert.deepStrictEqual(after, wait("repair", now + 0.95 * input.repairIntervalMillis))
    },
    many,
  )
})
