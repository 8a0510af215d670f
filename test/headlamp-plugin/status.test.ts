// Whatever the status says, something sensible is shown.
import { assert, describe, it } from "@effect/vitest"
import { Arbitrary, Schema } from "effect"
import { crd } from "../../headlamp-plugin/src/generated/crd.ts"
import { dayTwoOf } from "../../headlamp-plugin/src/logic/dayTwo.ts"
import { deletionPlan, holdupOf } from "../../headlamp-plugin/src/logic/deletion.ts"
import { kubeconfigOf } from "../../headlamp-plugin/src/logic/kubeconfig.ts"
import {
  conditionsOf,
  phaseOf,
  readyOf,
  statusOf,
  versionOf,
} from "../../headlamp-plugin/src/logic/status.ts"
import { inEnglish } from "../../headlamp-plugin/src/logic/words.ts"
import { reasons } from "../../src/schema/Conditions.ts"

const instance = (status?: unknown, spec: object = {}, metadata: object = {}) => ({
  metadata: { name: "one", namespace: "team-a", generation: 2, ...metadata },
  spec: { version: "6.0.22", target: { type: "vcluster" }, ...spec },
  ...(status === undefined ? {} : { status }),
})
const condition = (type: string, status: string, reason: string, message = "") => ({
  type,
  status,
  reason,
  message,
  lastTransitionTime: "2026-11-03T10:00:00Z",
})
const everything = (object: unknown) => [
  phaseOf(object),
  readyOf(object),
  conditionsOf(object),
  versionOf(object),
  statusOf(object),
  deletionPlan(object),
  holdupOf(object),
]

describe("a status", () => {
  it.each<[string, unknown]>([
    ["is not there", instance()],
    ["is empty", instance({})],
    ["is null", instance(null)],
    ["has no conditions but null", instance({ conditions: null })],
    ["has conditions that are none", instance({ conditions: [null, "x", {}, { type: 1 }] })],
    ["belongs to an object that is none", null],
  ])("that %s is shown as one that is not there yet", (_, object) => {
    everything(object)
    assert.deepStrictEqual(phaseOf(object), { phase: "", known: true, tone: "" })
    assert.isUndefined(readyOf(object))
    assert.deepStrictEqual(conditionsOf(object), [])
  })

  it.prop(
    "of any JSON at all throws nothing",
    { status: Arbitrary.schema(Schema.Json), spec: Arbitrary.schema(Schema.Json) },
    ({ status, spec }) => {
      everything({ metadata: { deletionTimestamp: "x" }, spec, status })
      everything({ status: { conditions: status, applied: spec, target: spec } })
    },
    { arbitrary: { runs: 300, seed: 5 } },
  )

  it("tells phases and reasons that a later operator has from failures", () => {
    const later = instance({
      phase: "Hibernating",
      conditions: [condition("Warm", "True", "Sunny"), condition("Ready", "Unknown", "Asking")],
    })
    assert.deepStrictEqual(phaseOf(later), { phase: "Hibernating", known: false, tone: "" })
    assert.deepStrictEqual(
      conditionsOf(later).map(({ type, tone, meaning, link }) => [type, tone, meaning, link !== undefined]),
      [
        ["Ready", "", undefined, true],
        ["Warm", "success", undefined, false],
      ],
    )
  })

  it("tells waiting from failing, and unknown from both", () => {
    const tone = (status: string, reason: string) =>
      readyOf(instance({ conditions: [condition("Ready", status, reason)] }))?.tone
    assert.deepStrictEqual(
      [
        tone("True", "Ready"),
        tone("False", "TargetPending"),
        tone("False", "InstallFailed"),
        tone("Unknown", "Ready"),
      ],
      ["success", "warning", "error", ""],
    )
  })

  it("shows both versions while they differ", () => {
    assert.strictEqual(versionOf(instance({ installedVersion: "6.0.21" })).text, "6.0.21 → 6.0.22")
    assert.strictEqual(versionOf(instance({ installedVersion: "6.0.22" })).text, "6.0.22")
    assert.strictEqual(versionOf(instance()).text, "6.0.22")
  })

  it("is about the generation that it has observed", () => {
    assert.isTrue(statusOf(instance({ observedGeneration: 2 })).current)
    assert.isFalse(statusOf(instance({ observedGeneration: 1 })).current)
  })
})

describe("every reason the operator has", () => {
  const all = Object.entries(reasons).flatMap(([type, of]) =>
    (["True", "False"] as const).flatMap((status) =>
      of[status].map((reason) => [type, status, reason] as const),
    ),
  )
  it.each(all)("%s=%s %s is explained", (type, status, reason) => {
    const [view] = conditionsOf(instance({ conditions: [condition(type, status, reason)] }))
    assert.isDefined(view?.meaning)
    assert.notMatch(view?.meaning ?? "", /^As on/)
  })

  it.each(all)("%s=%s %s leads to its section", (type, status, reason) => {
    const [view] = conditionsOf(instance({ conditions: [condition(type, status, reason)] }))
    assert.isTrue(view?.link?.endsWith(`/docs/reasons.md#${reason.toLowerCase()}`), view?.link)
  })

  it("and one of a later release to the page", () => {
    const [view] = conditionsOf(instance({ conditions: [condition("Ready", "False", "Asleep")] }))
    assert.isTrue(view?.link?.endsWith("/docs/reasons.md"), view?.link)
  })
})

describe("a pause", () => {
  const memo = (uid: string) => JSON.stringify({ uid, pausedSince: "2026-11-03T10:00:00Z" })
  const annotated = (annotations: Readonly<Record<string, string>>) =>
    dayTwoOf(instance(undefined, {}, { uid: "life", annotations }))

  it("is since when the operator has seen it", () => {
    assert.deepStrictEqual(annotated({ [crd.paused]: "true", [crd.dayTwo]: memo("life") }), {
      pausedSince: "2026-11-03T10:00:00Z",
      pauseUnseen: false,
      sleep: undefined,
      window: undefined,
      awaitsApproval: undefined,
      drift: undefined,
      upgrade: undefined,
      restores: undefined,
    })
    assert.isUndefined(annotated({}).pausedSince)
  })

  it("stands beside the backup that is being put back", () => {
    const restoring = JSON.stringify({ uid: "life", kept: { [crd.restore]: "0123456789abcdef" } })
    assert.strictEqual(annotated({ [crd.dayTwo]: restoring }).restores, "0123456789abcdef")
  })

  it("that the operator has not seen, or that is of another life, is asked for", () => {
    for (const text of [memo("another"), "{", "7", "null"]) {
      const view = annotated({ [crd.paused]: "true", [crd.dayTwo]: text })
      const nothing = {
        pausedSince: undefined,
        sleep: undefined,
        window: undefined,
        awaitsApproval: undefined,
        drift: undefined,
        upgrade: undefined,
        restores: undefined,
      }
      assert.deepStrictEqual(view, { ...nothing, pauseUnseen: true }, text)
    }
  })
})

describe("sleep", () => {
  const seen = (memo: unknown) => {
    const annotations = { [crd.sleep]: "true", [crd.dayTwo]: JSON.stringify(memo) }
    return dayTwoOf(instance(undefined, {}, { uid: "life", annotations })).sleep
  }

  it("is since when nothing runs, with what that saves", () => {
    const since = "2026-11-03T10:00:00Z"
    const sleep = { askedAt: since, pods: 3, memory: 1280 * 2 ** 20, since }
    assert.deepStrictEqual(seen({ uid: "life", sleep }), { since, pods: 3, mebibytes: 1280, unseen: false })
  })

  it("that is not there yet has no time, and one that nobody has seen is asked for", () => {
    const falling = seen({ uid: "life", sleep: { askedAt: "2026-11-03T10:00:00Z" } })
    assert.deepStrictEqual(falling, { since: undefined, pods: 0, mebibytes: 0, unseen: false })
    assert.isTrue(seen({ uid: "another", sleep: { askedAt: "2026-11-03T10:00:00Z" } })?.unseen)
  })
})

describe("a change", () => {
  it("that waits for approval is told by its generation", () => {
    const view = (memo: object) => {
      const annotations = { [crd.dayTwo]: JSON.stringify({ uid: "life", ...memo }) }
      return dayTwoOf(instance(undefined, {}, { uid: "life", annotations }))
    }
    assert.strictEqual(view({ awaits: 3 }).awaitsApproval, 3)
    assert.isUndefined(view({ awaits: "3" }).awaitsApproval)
  })
})

describe("drift", () => {
  const view = (memo: object) => {
    const annotations = { [crd.dayTwo]: JSON.stringify({ uid: "life", ...memo }) }
    return dayTwoOf(instance(undefined, {}, { uid: "life", annotations })).drift
  }
  const kept = { [crd.drift]: "detect" }
  const since = "2026-11-03T12:00:00Z"

  it("is what was told of it last, while repairs look and do nothing", () => {
    const drift = { found: "0", objects: 2, since }
    assert.deepStrictEqual(view({ kept, drift }), { objects: 2, since })
    assert.isUndefined(view({ drift }))
    const unknown = { objects: undefined, since: undefined }
    assert.deepStrictEqual(view({ kept }), unknown)
    assert.deepStrictEqual(view({ kept, drift: { ...drift, outdated: true } }), unknown)
    assert.deepStrictEqual(view({ kept, drift: { objects: "2" } }), unknown)
  })
})

describe("the vCluster's chart", () => {
  const view = (memo: object, annotations = {}) => {
    const all = { ...annotations, [crd.dayTwo]: JSON.stringify({ uid: "life", ...memo }) }
    return dayTwoOf(instance(undefined, {}, { uid: "life", annotations: all })).upgrade
  }
  const vcluster = { from: "0.36.1", to: "0.37.3", startedAt: "2026-11-03T12:00:00Z" }

  it("is what has come of its upgrade", () => {
    assert.isUndefined(view({}))
    assert.strictEqual(view({}, { [crd.upgradeVcluster]: "true" })?.state, "asked")
    const { startedAt: since, from, to } = vcluster
    assert.deepStrictEqual(view({ vcluster }), { state: "upgrading", from, to, since, why: undefined })
    for (const [outcome, state] of [
      ["failing", "rolling back"],
      ["failed", "failed"],
      ["refused", "refused"],
      ["done", "done"],
    ] as const)
      assert.deepStrictEqual(view({ vcluster: { ...vcluster, outcome, why: "so" } }), {
        ...{ state, from, to, since, why: "so" },
      })
  })
})

describe("maintenance windows", () => {
  it("are those that count", () => {
    const memo = { uid: "life", kept: { [crd.window]: "Sat 02:00-04:00" } }
    const annotations = { [crd.window]: "nonsense", [crd.dayTwo]: JSON.stringify(memo) }
    assert.strictEqual(
      dayTwoOf(instance(undefined, {}, { uid: "life", annotations })).window,
      "Sat 02:00-04:00",
    )
  })
})

describe("a deletion", () => {
  const said = (object: unknown) => {
    const { policy, goes, stays } = deletionPlan(object)
    return { policy, goes: goes.map(inEnglish).join("; "), stays: stays.map(inEnglish).join("; ") }
  }

  it("says what goes and what stays", () => {
    const plain = said(instance())
    assert.strictEqual(plain.policy, "Delete")
    assert.match(plain.goes, /one-kubeconfig.*vCluster.*state.*storage root/)
    assert.strictEqual(plain.stays, "")
    const custom = said(instance(undefined, { platform: { storageRoot: "/data/one" } }))
    assert.match(custom.stays, /\/data\/one/)
    assert.notMatch(custom.goes, /storage/)
    const retained = said(instance(undefined, { deletionPolicy: "Retain" }))
    assert.match(retained.stays, /vCluster.*state.*data/)
    assert.strictEqual(retained.goes, "the Secret one-kubeconfig with its kubeconfig")
    assert.strictEqual(said(instance(undefined, { deletionPolicy: "Later" })).policy, "Retain")
    const skipped = said(instance(undefined, {}, { annotations: { [crd.skipStorageCleanup]: "true" } }))
    assert.match(skipped.stays, /skip-storage-cleanup/)
  })

  it("that waits says for what, and the way out", () => {
    assert.isUndefined(holdupOf(instance({ phase: "Ready" })))
    const waits = (reason: string) =>
      holdupOf(
        instance(
          { conditions: [condition("Ready", "False", reason, "waiting for job x")] },
          {},
          {
            deletionTimestamp: "2026-11-03T10:00:00Z",
          },
        ),
      )
    for (const reason of ["WaitingForStorageCleanup", "StorageCleanupFailed"]) {
      assert.strictEqual(waits(reason)?.message, "waiting for job x")
      assert.deepStrictEqual(waits(reason)?.commands, [
        "kubectl -n team-a annotate pi one platform.di-framework.dev/skip-storage-cleanup=true",
      ])
    }
    for (const reason of ["TargetDeleteFailed", "UninstallFailed", "TargetPending"])
      assert.deepStrictEqual(waits(reason)?.commands, [])
  })
})

describe("a kubeconfig", () => {
  it("is read as text, whatever its letters", () => {
    const data = { kubeconfig: Buffer.from("kind: Config # größe 😀\n").toString("base64") }
    assert.strictEqual(kubeconfigOf({ data }), "kind: Config # größe 😀\n")
  })
  it("is none where the Secret has none", () => {
    for (const secret of [
      undefined,
      {},
      { data: {} },
      { data: { kubeconfig: "§" } },
      { data: { other: "eA==" } },
    ])
      assert.isUndefined(kubeconfigOf(secret))
  })
})
