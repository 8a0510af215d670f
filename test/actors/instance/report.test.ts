import { assert, describe, it } from "@effect/vitest"
import { Option } from "effect"
import type { Facts } from "../../../src/actors/instance/Facts.ts"
import { nextStatus } from "../../../src/actors/instance/report.ts"
import { findCondition, reasons } from "../../../src/schema/Conditions.ts"
import type { PlatformInstanceStatus } from "../../../src/schema/PlatformStatus.ts"
import type { InstanceRecord } from "../../../src/services/StateStore/StateStore.ts"
import {
  done,
  failed,
  installing,
  later,
  message,
  noon,
  notReady,
  readyStatus,
  record,
  repairedPart,
  row,
  rowAfter,
  seen,
} from "../support/facts.ts"

describe("the status of an instance", () => {
  it("that was seen, nothing begun: Pending", () => {
    assert.deepStrictEqual(rowAfter({}, seen), ["Pending", "-", "-", "-", "False TargetPending"])
  })

  it("whose target comes up: Provisioning, the target's reason, nothing of an install", () => {
    const facts = notReady("ControlPlanePending", "statefulset/vcluster has 0 of 1 replicas ready")
    const status = nextStatus({}, facts, later)
    assert.deepStrictEqual(row(status), [
      "Provisioning",
      "False ControlPlanePending",
      "-",
      "-",
      "False TargetPending",
    ])
    assert.strictEqual(message(status, "TargetReady"), "statefulset/vcluster has 0 of 1 replicas ready")
  })

  for (const reason of reasons.TargetReady.False) {
    const failing =
      reason === "TargetUnreachable" || reason === "TargetError" || reason === "TargetDeleteFailed"
    it(`installed, whose target is not ready (${reason}): the install's conditions stand`, () => {
      assert.deepStrictEqual(
        rowAfter(readyStatus, { ...done, ...notReady(reason, "why"), record: done.record }),
        [
          failing ? "Failed" : "Provisioning",
          `False ${reason}`,
          "True FirstInstall",
          "True Applied",
          failing ? `False ${reason}` : "False TargetPending",
        ],
      )
    })
  }

  it("whose target fails carries reason and message on Ready, too", () => {
    const status = nextStatus({}, notReady("TargetError", "install vcluster 0.37.3: no space"), later)
    assert.strictEqual(message(status, "Ready"), "install vcluster 0.37.3: no space")
    assert.strictEqual(message(status, "TargetReady"), "install vcluster 0.37.3: no space")
  })

  it("whose first install runs: Installing, the target ready", () => {
    const pending = nextStatus({}, notReady("KubeconfigPending", "x"), noon)
    const facts = { ...done, record: Option.none(), running: installing("FirstInstall", "nothing", 1) }
    assert.deepStrictEqual(rowAfter(pending, facts), [
      "Installing",
      "True Ready",
      "-",
      "-",
      "False Installing",
    ])
  })

  it("that is upgraded: Installing, what was applied unchanged, not ready", () => {
    const facts = { ...done, generation: 2, running: installing("VersionChanged", "otherVersion", 2) }
    const status = nextStatus(readyStatus, facts, later)
    assert.deepStrictEqual(row(status), [
      "Installing",
      "True Ready",
      "True FirstInstall",
      "True Applied",
      "False Installing",
    ])
    assert.strictEqual(message(status, "Ready"), "installing version 6.0.23")
    assert.strictEqual(status.installedVersion, "6.0.22")
    assert.strictEqual(status.observedGeneration, 1)
  })

  it("whose other settings are applied: Installing, and Ready all the while", () => {
    const facts = { ...done, generation: 2, running: installing("SpecChanged", "sameVersion", 2) }
    assert.deepStrictEqual(rowAfter(readyStatus, facts), [
      "Installing",
      "True Ready",
      "True FirstInstall",
      "True Applied",
      "True Ready",
    ])
  })

  it.each([
    ["otherVersion", "False Installing"],
    ["sameVersion", "True Ready"],
  ] as const)("whose spec waits to be installed (%s): Installing", (over, expected) => {
    const facts: Facts = {
      ...done,
      generation: 2,
      outstanding: Option.some({ version: "6.0.23", over }),
    }
    const installed = ["True Ready", "True FirstInstall", "True Applied"]
    const status = nextStatus(readyStatus, facts, later)
    assert.deepStrictEqual(row(status), ["Installing", ...installed, expected])
    if (over === "otherVersion")
      assert.strictEqual(message(status, "Ready"), "version 6.0.23 is to be installed")
    // A repair that is on its way when the spec changes is no reason to call that spec Ready.
    const repairing = { ...facts, running: installing("RepairDue", "sameVersion", 1) }
    assert.deepStrictEqual(rowAfter(readyStatus, repairing), ["Installing", ...installed, expected])
  })

  it("that is repaired: nothing changes at all", () => {
    const facts = { ...done, running: installing("RepairDue", "sameVersion", 1) }
    assert.deepStrictEqual(nextStatus(readyStatus, facts, later), readyStatus)
  })

  describe("during a resync", () => {
    const resync = { serviceUID: "another", podUID: "pod", startedAt: noon }
    const resyncing: Facts = { ...done, record: Option.some({ ...record, resync }) }
    const waiting = (reason: "KubeconfigMissing" | "Resyncing"): Facts => ({
      ...resyncing,
      ...notReady(reason, "waiting"),
      record: resyncing.record,
    })

    for (const reason of ["KubeconfigMissing", "Resyncing"] as const) {
      it(`whose target comes back (${reason}): Provisioning, what was installed unchanged`, () => {
        const status = nextStatus(readyStatus, waiting(reason), later)
        assert.deepStrictEqual(row(status), [
          "Provisioning",
          `False ${reason}`,
          "True FirstInstall",
          "True Applied",
          "False TargetPending",
        ])
        assert.deepStrictEqual(status.target, {
          serviceUID: "service",
          resyncServiceUID: "another",
          resyncStarted: noon,
        })
      })
    }

    const installingAgain = [
      "Installing",
      "True Ready",
      "True FirstInstall",
      "True Applied",
      "False Installing",
    ]
    it("that is about to be installed again, or is: Installing, not ready, what was installed unchanged", () => {
      const before = nextStatus(readyStatus, waiting("Resyncing"), noon)
      assert.deepStrictEqual(rowAfter(before, resyncing), installingAgain)
      const running = { ...resyncing, running: installing("Resync", "sameVersion", 1) }
      const status = nextStatus(before, running, later)
      assert.deepStrictEqual(row(status), installingAgain)
      assert.strictEqual(status.target?.resyncServiceUID, "another")
      assert.strictEqual(status.installedVersion, "6.0.22")
    })

    it("whose install fails: Failed with its words, and the resync still told", () => {
      const before = nextStatus(readyStatus, waiting("Resyncing"), noon)
      const failure = Option.some({ reason: "InstallFailed", message: "boom", generation: 1 } as const)
      const status = nextStatus(before, { ...resyncing, failure }, later)
      assert.deepStrictEqual(row(status), [
        "Failed",
        "True Ready",
        "False InstallFailed",
        "True Applied",
        "False InstallFailed",
      ])
      assert.strictEqual(status.target?.resyncServiceUID, "another")
      const again = nextStatus(
        status,
        { ...resyncing, failure, running: installing("Resync", "sameVersion", 1) },
        later,
      )
      assert.deepStrictEqual([again.phase, message(again, "Installed")], ["Installing", "boom"])
      assert.strictEqual(findCondition(again.conditions, "Ready")?.status, "False")
    })

    it("that is late: Failed, unreachable on TargetReady and Ready", () => {
      const facts = {
        ...waiting("Resyncing"),
        ...notReady("TargetUnreachable", "waits at"),
        record: resyncing.record,
      }
      assert.deepStrictEqual(rowAfter(readyStatus, facts), [
        "Failed",
        "False TargetUnreachable",
        "True FirstInstall",
        "True Applied",
        "False TargetUnreachable",
      ])
    })

    it("that is done: Ready, reason Resync, and nothing of it left", () => {
      const before = nextStatus(readyStatus, resyncing, noon)
      const { installed } = record
      const after: InstanceRecord = {
        ...record,
        serviceUID: "another",
        ...(installed === undefined ? {} : { installed: { ...installed, reason: "Resync" } }),
      }
      const status = nextStatus(before, { ...done, record: Option.some(after) }, later)
      assert.deepStrictEqual(row(status), [
        "Ready",
        "True Ready",
        "True Resync",
        "True Applied",
        "True Ready",
      ])
      assert.deepStrictEqual(status.target, { serviceUID: "another" })
    })
  })

  it("whose target is back and that is repaired at once: Ready, as it was before", () => {
    const lost = nextStatus(
      readyStatus,
      { ...notReady("TargetUnreachable", "silent"), record: done.record },
      later,
    )
    assert.deepStrictEqual(
      rowAfter(lost, { ...done, running: installing("RepairDue", "sameVersion", 1) }),
      row(readyStatus),
    )
  })

  it("whose operation failed: Failed, reason and message on Installed and Ready", () => {
    const status = nextStatus(readyStatus, failed, later)
    assert.deepStrictEqual(row(status), [
      "Failed",
      "True Ready",
      "False InstallFailed",
      "True Applied",
      "False InstallFailed",
    ])
    assert.strictEqual(message(status, "Ready"), "up (version 6.0.23): boom")
    assert.strictEqual(message(status, "Installed"), "up (version 6.0.23): boom")
    assert.strictEqual(status.installedVersion, "6.0.22")
  })

  for (const reason of reasons.ConfigApplied.False) {
    it(`that ${reason} stopped: the configuration is not applied either`, () => {
      const failure = Option.some({ reason, message: "why", generation: 1 })
      assert.deepStrictEqual(rowAfter(readyStatus, { ...done, failure }), [
        "Failed",
        "True Ready",
        `False ${reason}`,
        `False ${reason}`,
        `False ${reason}`,
      ])
    })
  }

  it("that a bad storage root stopped has no applied configuration to speak of", () => {
    const failure = Option.some({ reason: "InvalidStorageRoot", message: "why", generation: 1 } as const)
    assert.deepStrictEqual(rowAfter({}, { ...done, record: Option.none(), failure }), [
      "Failed",
      "True Ready",
      "False InvalidStorageRoot",
      "-",
      "False InvalidStorageRoot",
    ])
  })

  it("that is retried after a failure says what failed until it is mended", () => {
    const before = nextStatus(readyStatus, failed, noon)
    const status = nextStatus(before, { ...failed, running: installing("Retry", "sameVersion", 2) }, later)
    assert.deepStrictEqual(row(status), [
      "Installing",
      "True Ready",
      "False InstallFailed",
      "True Applied",
      "False InstallFailed",
    ])
  })

  it("that is done: Ready, why it ran, and what was applied", () => {
    assert.deepStrictEqual(rowAfter({}, done), [
      "Ready",
      "True Ready",
      "True FirstInstall",
      "True Applied",
      "True Ready",
    ])
    assert.strictEqual(
      message(readyStatus, "ConfigApplied"),
      "generation 1: 2 tenants, 3 users, issuer https://id.example",
    )
    const { conditions: _, ...rest } = readyStatus
    assert.deepStrictEqual(rest, {
      phase: "Ready",
      observedGeneration: 1,
      installedVersion: "6.0.22",
      endpoints: { http: "http://apps.example", kubernetes: "https://vcluster.x.svc:443" },
      applied: {
        generation: 1,
        tenants: 2,
        users: 3,
        tenantAuthIssuer: "https://id.example",
        tenantHostImage: "wash@sha256:0",
      },
      target: { serviceUID: "service" },
    })
  })

  it("counts one as one", () => {
    const { installed = repairedPart } = record
    const one = {
      ...done,
      record: Option.some({ ...record, installed: { ...installed, tenants: 1, users: 1 } }),
    }
    assert.match(message(nextStatus({}, one, later), "ConfigApplied") ?? "", /: 1 tenant, 1 user, /)
  })

  it("without tenant auth says so", () => {
    const { issuer: _, ...installed } = { ...record.installed, issuer: undefined }
    const quiet: InstanceRecord = JSON.parse(JSON.stringify({ ...record, installed }))
    const status = nextStatus({}, { ...done, record: Option.some(quiet) }, noon)
    assert.strictEqual(
      message(status, "ConfigApplied"),
      "generation 1: 2 tenants, 3 users, no tenant auth issuer",
    )
    assert.isUndefined(status.applied?.tenantAuthIssuer)
  })

  it("whose finalizer was taken away keeps what it says while it is put back", () => {
    assert.deepStrictEqual(nextStatus(readyStatus, { ...done, begun: false }, later), readyStatus)
    // Not even the generation of a failure that has just come in: Ready would still be that of another one.
    assert.deepStrictEqual(nextStatus(readyStatus, { ...failed, begun: false }, later), readyStatus)
  })

  it("of an operator that has just started keeps what it says until the target was asked", () => {
    const unknown: Facts = {
      ...done,
      ...notReady("KubeconfigPending", "waiting for the vCluster API"),
      record: done.record,
      targetUndetermined: true,
    }
    assert.deepStrictEqual(nextStatus(readyStatus, unknown, later), readyStatus)
    const pending = nextStatus({}, notReady("ControlPlanePending", "x"), noon)
    assert.strictEqual(rowAfter(pending, { ...unknown, record: Option.none() })[1], "False KubeconfigPending")
  })
})

describe("a deletion's status", () => {
  const deleting = (deletion: Option.Option.Value<Facts["deletion"]>): Facts => ({
    ...seen,
    generation: 2,
    begun: true,
    targetNotReady: Option.none(),
    deletion: Option.some(deletion),
  })

  it("is Deleting and not ready, and leaves the rest as it was found", () => {
    const status = nextStatus(
      readyStatus,
      deleting({ _tag: "Working", message: "uninstalling the vCluster" }),
      later,
    )
    assert.deepStrictEqual(row(status), [
      "Deleting",
      "True Ready",
      "True FirstInstall",
      "True Applied",
      "False TargetPending",
    ])
    assert.strictEqual(status.installedVersion, "6.0.22")
    assert.strictEqual(status.observedGeneration, 1)
  })

  it("says no longer of what is taken away that it is there, but why an install had failed", () => {
    const working = {
      ...deleting({ _tag: "Working", message: "uninstalling the vCluster" }),
      dismantled: true,
    }
    assert.deepStrictEqual(rowAfter(readyStatus, working), ["Deleting", "-", "-", "-", "False TargetPending"])
    assert.deepStrictEqual(rowAfter(nextStatus(readyStatus, failed, noon), working), [
      "Deleting",
      "-",
      "False InstallFailed",
      "-",
      "False TargetPending",
    ])
    const held = {
      ...working,
      deletion: Option.some({ _tag: "Failed", reason: "StorageCleanupFailed", message: "why" } as const),
    }
    assert.deepStrictEqual(rowAfter(readyStatus, held), [
      "Deleting",
      "-",
      "False StorageCleanupFailed",
      "-",
      "False StorageCleanupFailed",
    ])
  })

  it("names what it waits for before the finalizer goes", () => {
    const report = {
      _tag: "WaitingForCleanup",
      message: "waiting for pod-1 in namespace ops to be gone",
    } as const
    const status = nextStatus(readyStatus, deleting(report), later)
    assert.strictEqual(row(status)[4], "False WaitingForStorageCleanup")
    assert.strictEqual(message(status, "Ready"), report.message)
  })

  for (const [reason, expected] of [
    ["TargetDeleteFailed", ["Deleting", "False TargetDeleteFailed", "True FirstInstall", "True Applied"]],
    ["UninstallFailed", ["Deleting", "True Ready", "False UninstallFailed", "True Applied"]],
    ["StorageCleanupFailed", ["Deleting", "True Ready", "False StorageCleanupFailed", "True Applied"]],
  ] as const) {
    it(`that failed (${reason}) stays Deleting, with reason and message on Ready`, () => {
      const status = nextStatus(readyStatus, deleting({ _tag: "Failed", reason, message: "why" }), later)
      assert.deepStrictEqual(row(status), [...expected, `False ${reason}`])
      assert.strictEqual(message(status, "Ready"), "why")
      // Once its step has succeeded nobody is told of it any more.
      const worked = nextStatus(status, deleting({ _tag: "Working", message: "the next step" }), later)
      assert.notInclude(JSON.stringify(worked.conditions), reason)
      assert.strictEqual(message(worked, "Ready"), "the next step")
    })
  }
})

describe("an install whose success nobody was told of before the next one began", () => {
  const { installed = assert.fail("the record of an install") } = record
  const unsaid: Facts = {
    ...done,
    record: Option.some({ ...record, installed: { ...installed, generation: 7 } }),
  }
  const applied = (status: PlatformInstanceStatus) =>
    status.conditions?.find(({ type }) => type === "ConfigApplied")?.observedGeneration

  it("is told while the next one runs, and when that has failed", () => {
    const running = nextStatus(
      readyStatus,
      { ...unsaid, running: installing("VersionChanged", "otherVersion", 8) },
      later,
    )
    assert.strictEqual(applied(running), 7)
    assert.strictEqual(running.applied?.generation, 7)
    const failure = Option.some({ reason: "InstallFailed" as const, message: "why", generation: 8 })
    assert.strictEqual(applied(nextStatus(readyStatus, { ...unsaid, failure }, later)), 7)
  })
})

describe("what stands beside the conditions", () => {
  it("a record wins over a status that says otherwise, or nothing", () => {
    const stale: PlatformInstanceStatus = {
      ...readyStatus,
      installedVersion: "6.0.1",
      applied: { generation: 0, tenants: 9, users: 9 },
      target: { serviceUID: "another" },
    }
    const rebuilt = nextStatus(stale, done, later)
    assert.strictEqual(rebuilt.installedVersion, "6.0.22")
    assert.deepStrictEqual(rebuilt.applied, readyStatus.applied)
    assert.deepStrictEqual(rebuilt.target, { serviceUID: "service" })
    // A lost target is no reason to forget what is installed.
    const lost = nextStatus({}, { ...notReady("TargetUnreachable", "silent"), record: done.record }, later)
    assert.strictEqual(lost.installedVersion, "6.0.22")
  })

  it("a status without a record keeps what an earlier operator has written", () => {
    const { conditions: _, phase: __, ...kept } = readyStatus
    const status = nextStatus(kept, notReady("ControlPlanePending", "x"), later)
    assert.deepInclude(status, kept)
  })

  it("the kubeconfig's Secret is named as long as it exists", () => {
    const named = nextStatus(readyStatus, { ...done, kubeconfigSecret: Option.some("one-kubeconfig") }, later)
    assert.deepStrictEqual(named.kubeconfigSecretRef, { name: "one-kubeconfig" })
    assert.isFalse("kubeconfigSecretRef" in nextStatus(named, done, later))
  })

  it("the protection of the Service is told in either case", () => {
    const told = (installed: boolean) =>
      findCondition(
        nextStatus({}, { ...done, protection: Option.some({ installed, message: "m" }) }, noon).conditions,
        "OwnerServiceProtected",
      )
    assert.deepInclude(told(true), { status: "True", reason: "AdmissionPolicyInstalled", message: "m" })
    assert.deepInclude(told(false), { status: "False", reason: "AdmissionPolicyUnavailable", message: "m" })
  })

  it("a repair moves lastRepair and Installed's reason, and no transition time", () => {
    const repaired: InstanceRecord = {
      ...record,
      installed: { ...record.installed, ...repairedPart, reason: "RepairDue", lastRepair: later },
    }
    const status = nextStatus(readyStatus, { ...done, record: Option.some(repaired) }, later)
    assert.strictEqual(status.lastRepair, later)
    assert.deepStrictEqual(row(status), [
      "Ready",
      "True Ready",
      "True RepairDue",
      "True Applied",
      "True Ready",
    ])
    assert.isTrue(status.conditions?.every(({ lastTransitionTime }) => lastTransitionTime === noon))
    const again = {
      ...repaired,
      installed: { ...repaired.installed, ...repairedPart, lastRepair: "2026-11-03T14:00:00Z" },
    }
    const next = nextStatus(status, { ...done, record: Option.some(again) }, "2026-11-03T14:00:00Z")
    assert.deepStrictEqual(next, { ...status, lastRepair: "2026-11-03T14:00:00Z" })
  })
})
