// Keeps the series of instances: shown after each pass that has changed something, gone with the instance. Also from
// here: how long it took until one was Ready, and until one was gone.
import { Clock, Context, Duration, Effect, Equal, Option, Redacted } from "effect"
import { formatKey, type InstanceKey } from "../../../schema/InstanceKey.ts"
import type { Plans } from "../../../schema/Plan.ts"
import { Phase } from "../../../schema/PlatformStatus.ts"
import { opensAt } from "../../../schema/Windows.ts"
import type { KubeObject } from "../../../services/Kubernetes/Kubernetes.ts"
import { Collectors } from "../../../services/Metrics/Collectors.ts"
import { readyReasons } from "../../../services/Metrics/instanceRows.ts"
import {
  forgetInstance,
  increment,
  observe,
  set,
  unset,
  unsetAll,
} from "../../../services/Metrics/Metrics.ts"
import { ShownInstances } from "../../../services/Metrics/ShownInstances.ts"
import type { InstanceRecord } from "../../../services/StateStore/StateStore.ts"
import { InstallPermits } from "../install/InstallPermits.ts"
import type { Memory } from "../Memory.ts"
import { Settings } from "../Settings.ts"
import type { StoredRelease } from "../target/releaseObjects.ts"
import { expiriesOf } from "./certificates.ts"
import { type InstanceValues, instanceValues, isReady } from "./instanceValues.ts"

export interface InstanceMetrics {
  /** After a pass. */
  readonly show: (key: InstanceKey, object: KubeObject, memory: Memory | undefined) => Effect.Effect<void>
  /** It is gone: so are its series. */
  readonly gone: (key: InstanceKey) => Effect.Effect<void>
}

interface Shown {
  /** What it was shown of: while these stay the same, so does what is shown. */
  readonly object: KubeObject
  readonly record: InstanceRecord | undefined
  readonly failures: number
  readonly plans: Plans | undefined
  /** The version of the kubeconfig. */
  readonly kubeconfig: string | undefined
  readonly release: StoredRelease | undefined
  readonly values: InstanceValues
  /** When its next repair has to have begun: milliseconds since the epoch. */
  readonly due: number | undefined
  /** Since when it is to become Ready with what was asked for: milliseconds; none once it was, or when nobody knows. */
  readonly pending: { readonly after: "creation" | "change"; readonly since: number } | undefined
}

const seconds = (millis: number) => millis / 1000

/** What of the values differs is written. */
const write = Effect.fnUntraced(function* (
  of: InstanceKey,
  next: InstanceValues,
  before: InstanceValues | undefined,
  due: number | undefined,
) {
  const key = { namespace: of.namespace, name: of.name }
  const info = ({ uid, version, installedVersion, chartVersion }: InstanceValues) => ({
    ...{ ...key, uid, version },
    ...{ installed_version: installedVersion, chart_version: chartVersion },
  })
  if (before === undefined || !Equal.equals(info(before), info(next))) {
    yield* unsetAll("platforminstance_info", key)
    yield* set("platforminstance_info", info(next), 1)
  }
  if (before?.phase !== next.phase)
    for (const phase of Phase.literals)
      yield* set("platforminstance_status_phase", { ...key, phase }, phase === next.phase ? 1 : 0)
  if (before?.reason !== next.reason)
    for (const reason of readyReasons)
      yield* set("platforminstance_status_ready_reason", { ...key, reason }, reason === next.reason ? 1 : 0)
  yield* set("platforminstance_created_timestamp_seconds", key, seconds(next.createdAt))
  yield* set("platforminstance_metadata_generation", key, next.generation)
  yield* set("platforminstance_status_observed_generation", key, next.observedGeneration)
  yield* set("platforminstance_owner_service_protected", key, next.isProtected ? 1 : 0)
  yield* set("platforminstance_consecutive_failures", key, next.failures)
  if (next.deletionAt !== undefined)
    yield* set("platforminstance_deletion_timestamp_seconds", key, seconds(next.deletionAt))
  yield* next.succeededAt === undefined
    ? unset("platforminstance_last_success_timestamp_seconds", key)
    : set("platforminstance_last_success_timestamp_seconds", key, seconds(next.succeededAt))
  yield* set("platforminstance_approval_pending", key, next.awaitsApproval ? 1 : 0)
  yield* set("platforminstance_paused", key, next.pausedAt === undefined ? 0 : 1)
  yield* next.pausedAt === undefined
    ? unset("platforminstance_paused_timestamp_seconds", key)
    : set("platforminstance_paused_timestamp_seconds", key, seconds(next.pausedAt))
  yield* set("platforminstance_asleep", key, next.asleep === undefined ? 0 : 1)
  yield* next.asleep === undefined
    ? unset("platforminstance_asleep_timestamp_seconds", key)
    : set("platforminstance_asleep_timestamp_seconds", key, seconds(next.asleep.since))
  yield* next.asleep === undefined
    ? unset("platforminstance_asleep_memory_bytes", key)
    : set("platforminstance_asleep_memory_bytes", key, next.asleep.memory)
  yield* next.drifted === undefined
    ? unset("platforminstance_drifted", key)
    : set("platforminstance_drifted", key, next.drifted)
  yield* due === undefined
    ? unset("platforminstance_repair_due_timestamp_seconds", key)
    : set("platforminstance_repair_due_timestamp_seconds", key, seconds(due))
})

/**
 * Nothing is repaired before it was installed, nor while it is paused, asleep or being deleted, nor over what nobody knows.
 * Where repairs look and do nothing a look is due, whatever the window. Milliseconds since the epoch.
 */
export const repairDue = (
  {
    succeededAt,
    deletionAt,
    pausedAt,
    sleeps,
    undecided,
    detects,
    lookedAt = Number.NEGATIVE_INFINITY,
    windows,
  }: InstanceValues,
  interval: Duration.Duration,
): number | undefined => {
  if (succeededAt === undefined || deletionAt !== undefined || pausedAt !== undefined || sleeps || undecided)
    return undefined
  if (detects) return Math.max(succeededAt, lookedAt) + Duration.toMillis(interval)
  const due = succeededAt + Duration.toMillis(interval)
  return windows === undefined ? due : opensAt(windows, due)
}

const showCertificates = Effect.fnUntraced(function* (of: InstanceKey, text: string) {
  const key = { namespace: of.namespace, name: of.name }
  const { authority, client } = expiriesOf(text)
  for (const [certificate, expiry] of [
    ["authority", authority],
    ["client", client],
  ] as const) {
    yield* Option.match(expiry, {
      onNone: () => unset("platforminstance_certificate_expiry_timestamp_seconds", { ...key, certificate }),
      onSome: (at) =>
        set("platforminstance_certificate_expiry_timestamp_seconds", { ...key, certificate }, seconds(at)),
    })
  }
})

/** Since when it is to become Ready: of what was there before this process, nobody knows when it was changed. */
const pendingOf = (next: InstanceValues, before: Shown | undefined, now: number): Shown["pending"] => {
  // How long somebody thinks about a plan is nobody's fault.
  if (next.deletionAt !== undefined || isReady(next) || next.awaitsApproval) return undefined
  if (before?.values.uid === next.uid) {
    if (before.values.generation === next.generation) return before.pending
    return before.pending ?? { after: "change", since: now }
  }
  return next.installedVersion === "" && next.observedGeneration === 0
    ? { after: "creation", since: next.createdAt }
    : undefined
}

export const makeInstanceMetrics = Effect.gen(function* () {
  const { repairInterval } = yield* Settings
  const permits = yield* InstallPermits
  const listed = yield* ShownInstances
  const all = new Map<string, Shown>()

  yield* (yield* Collectors).add(
    Effect.gen(function* () {
      const now = yield* Clock.currentTimeMillis
      const { holding, waiting } = permits.state()
      yield* set("platform_operator_install_permits", { state: "holding" }, holding)
      yield* set("platform_operator_install_permits", { state: "waiting" }, waiting)
      const overdue = [...all.values()].filter(({ due }) => due !== undefined && due < now)
      yield* set("platform_operator_overdue_repairs", {}, overdue.length)
    }),
  )

  const begin = Effect.fnUntraced(function* ({ namespace, name }: InstanceKey) {
    listed.set(formatKey({ namespace, name }), { namespace, name })
    yield* increment("platforminstance_restored_objects_total", { namespace, name }, 0)
    yield* increment("platforminstance_locks_removed_total", { namespace, name }, 0)
  })

  const gone = Effect.fnUntraced(function* (key: InstanceKey) {
    const last = all.get(formatKey(key))
    all.delete(formatKey(key))
    listed.delete(formatKey(key))
    yield* forgetInstance(key)
    if (last?.values.deletionAt === undefined) return
    const { deletionAt, policy } = last.values
    const took = Math.max(0, (yield* Clock.currentTimeMillis) - deletionAt)
    yield* observe("platform_operator_deletion_duration_seconds", { policy }, seconds(took))
  })

  const seen = (object: KubeObject, memory: Memory | undefined) => ({
    object,
    record: memory === undefined ? undefined : Option.getOrUndefined(memory.record),
    failures: memory?.failures ?? 0,
    plans: memory === undefined ? undefined : Option.getOrUndefined(memory.plans),
    release: memory === undefined ? undefined : Option.getOrUndefined(memory.release),
    kubeconfig:
      memory === undefined
        ? undefined
        : Option.getOrUndefined(Option.map(memory.kubeconfig, (it) => it.version)),
  })

  const show = Effect.fnUntraced(function* (
    key: InstanceKey,
    object: KubeObject,
    memory: Memory | undefined,
  ) {
    const now = yield* Clock.currentTimeMillis
    const next = instanceValues(object, memory)
    const known = all.get(formatKey(key))
    if (known !== undefined && known.values.uid !== next.uid) yield* gone(key)
    const before = all.get(formatKey(key))
    if (before === undefined) yield* begin(key)
    if (before?.pending !== undefined && isReady(next)) {
      const { after, since } = before.pending
      yield* observe("platform_operator_time_to_ready_seconds", { after }, seconds(Math.max(0, now - since)))
    }
    const due = repairDue(next, repairInterval)
    yield* write(key, next, before?.values, due)
    const held = memory === undefined ? undefined : Option.getOrUndefined(memory.kubeconfig)
    if (held !== undefined && held.version !== before?.kubeconfig)
      yield* showCertificates(key, Redacted.value(held.text))
    all.set(formatKey(key), {
      ...seen(object, memory),
      values: next,
      due,
      pending: pendingOf(next, before, now),
    })
  })

  return {
    show: (key, object, memory) =>
      Effect.suspend(() => {
        const before = all.get(formatKey(key))
        const now = seen(object, memory)
        const same =
          before !== undefined &&
          before.object === now.object &&
          before.record === now.record &&
          before.failures === now.failures &&
          before.plans === now.plans &&
          before.release === now.release &&
          before.kubeconfig === now.kubeconfig
        return same ? Effect.void : show(key, object, memory)
      }),
    gone,
  } satisfies InstanceMetrics
})

const unmeasured: InstanceMetrics = { show: () => Effect.void, gone: () => Effect.void }

/** What the actors tell; nobody's where nobody measures. */
export const InstanceMeter = Context.Reference<InstanceMetrics>("platform-operator/InstanceMeter", {
  defaultValue: () => unmeasured,
})
