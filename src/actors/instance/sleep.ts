// Puts an instance to sleep and wakes it, a step at a time. Each step is decided by what is there, so that a crash goes on from
// it; what ran is written down before anything of it is taken down.
import { Clock, DateTime, Effect, Option } from "effect"
import type { Sleep } from "../../schema/DayTwo.ts"
import { ANNOTATION_ASLEEP, hostNamespace } from "../../schema/Names.ts"
import { instanceKey } from "../../schema/PlatformInstance.ts"
import { mebibytes } from "../../schema/Quota.ts"
import { formatTime } from "../../schema/Time.ts"
import { Events } from "../../services/Events/Events.ts"
import { Pod, StatefulSet } from "../../services/Kubernetes/Kinds.ts"
import { type KubeError, Kubernetes } from "../../services/Kubernetes/Kubernetes.ts"
import { mostNames, named, writeMemo } from "./dayTwo.ts"
import { OperationError } from "./Operation.ts"
import type { Pass } from "./Pass.ts"
import { RELEASE_NAME } from "./target/observeTarget.ts"
import { bareName, hasEnded, isControlPlane, isSynced, memoryRequest, placeOf } from "./target/pods.ts"
import type { SleepStep } from "./target/TargetState.ts"
import { Views } from "./Views.ts"

type Needs = Kubernetes | Views | Events

/** Its control plane's, and those that the control plane has made for pods inside: nobody else's. */
const podsIn = Effect.fnUntraced(function* ({ instance }: Pass) {
  const kubernetes = yield* Kubernetes
  const found = yield* kubernetes.list(Pod, { namespace: hostNamespace(instanceKey(instance)) })
  return found.filter((pod) => !hasEnded(pod) && (isSynced(pod) || isControlPlane(pod)))
})

/** Nobody's who has been woken since. */
const remember = Effect.fnUntraced(function* (pass: Pass, more: Omit<Sleep, "askedAt">) {
  const memo = Option.getOrUndefined(pass.memory.dayTwo)
  if (memo?.sleep === undefined) return
  const next = { ...memo, sleep: { askedAt: memo.sleep.askedAt, ...more } }
  yield* writeMemo(pass, next)
  pass.memory.dayTwo = Option.some(next)
})

const now = Effect.map(Clock.currentTimeMillis, (millis) => formatTime(DateTime.makeUnsafe(millis)))

const counted = (count: number): string => (count === 1 ? "1 pod" : `${count} pods`)

/** What the Event says. */
const told = ({ pods = 0, memory = 0, bare = [], sinceBefore }: Omit<Sleep, "askedAt">): string => {
  if (pods === 0 && sinceBefore === undefined) return "asleep: nothing of it ran"
  const gone =
    sinceBefore === undefined
      ? `asleep: ${counted(pods)} that had asked for ${mebibytes(memory)} of memory ended`
      : `asleep again: somebody had scaled statefulset/${RELEASE_NAME} up, and what ran of it has ended`
  if (bare.length === 0) return gone
  return `${gone}; nothing inside makes these anew when it is woken: ${named(bare)}`
}

const fallAsleep = Effect.fnUntraced(function* (pass: Pass, what: Omit<Sleep, "askedAt">) {
  const events = yield* Events
  yield* events.emit(pass.object, { type: "Normal", reason: "Asleep", action: "Sleep", note: told(what) })
  const { sinceBefore, ...rest } = what
  yield* remember(pass, { ...rest, since: sinceBefore ?? (yield* now) })
})

const beginSleep = Effect.fn("Sleep.begin")(function* (
  pass: Pass,
  ours: boolean,
): Effect.fn.Return<void, KubeError, Needs> {
  pass.memory.workloads = Option.none()
  if (!ours) return yield* fallAsleep(pass, { pods: 0, memory: 0 })
  const pods = yield* podsIn(pass)
  const before = Option.getOrUndefined(pass.memory.dayTwo)?.sleep
  const running = pods.filter(isSynced).flatMap((pod) => Option.toArray(bareName(pod)))
  const bare = [...new Set([...(before?.bare ?? []), ...running])]
  // One that is put back had been asleep: what it saves, and since when, was written down then.
  const what =
    before?.since === undefined
      ? { pods: pods.length, memory: pods.reduce((sum, pod) => sum + memoryRequest(pod), 0) }
      : { pods: before.pods ?? 0, memory: before.memory ?? 0, sinceBefore: before.since }
  yield* remember(pass, {
    ...what,
    ...(bare.length === 0 ? {} : { bare: bare.slice(0, mostNames + 1) }),
  })
})

/** Of one that is another by now, or gone, the next look says so. */
const scale = Effect.fn("Sleep.scale")(function* (
  { instance }: Pass,
  uid: string,
  replicas: number,
  asleep: string | null,
): Effect.fn.Return<void, KubeError, Needs> {
  const kubernetes = yield* Kubernetes
  const ref = { namespace: hostNamespace(instanceKey(instance)), name: RELEASE_NAME }
  const patch = { metadata: { uid, annotations: { [ANNOTATION_ASLEEP]: asleep } }, spec: { replicas } }
  const written = yield* kubernetes.patch(StatefulSet, ref, { type: "merge", patch }).pipe(
    Effect.asSome,
    Effect.catchIf(
      ({ reason }) => reason === "Conflict" || reason === "NotFound",
      () => Effect.succeedNone,
    ),
  )
  if (Option.isSome(written)) yield* (yield* Views).awaitWrite(StatefulSet, written.value)
})

/** Looked at live: what a cache does not show yet would lose what runs inside for good. */
const endWorkloads = Effect.fn("Sleep.endWorkloads")(function* (
  pass: Pass,
): Effect.fn.Return<void, KubeError, Needs> {
  const kubernetes = yield* Kubernetes
  const { memory } = pass
  const pods = yield* podsIn(pass)
  const lookedAt = yield* Clock.currentTimeMillis
  if (pods.length === 0) {
    const sleep = Option.getOrUndefined(memory.dayTwo)?.sleep
    if (sleep !== undefined) {
      const { askedAt: _, ...what } = sleep
      yield* fallAsleep(pass, what)
    }
    return
  }
  memory.workloads = Option.some({ left: pods.map(placeOf), lookedAt })
  if (!pods.every(isSynced)) return
  for (const { metadata } of pods) {
    if (metadata.deletionTimestamp !== undefined) continue
    yield* kubernetes.delete(Pod, metadata, { uid: metadata.uid }).pipe(
      Effect.catchIf(
        ({ reason }) => reason === "Conflict",
        () => Effect.succeed(false),
      ),
    )
  }
})

const run = (pass: Pass, step: SleepStep): Effect.Effect<void, KubeError, Needs> => {
  switch (step._tag) {
    case "BeginSleep":
      return beginSleep(pass, step.ours)
    case "ScaleDown":
      return scale(pass, step.uid, 0, String(step.replicas))
    case "EndWorkloads":
      return endWorkloads(pass)
    case "WakeUp":
      return scale(pass, step.uid, step.replicas, null)
  }
}

/** Takes one step; fails with `TargetError`. */
export const runSleepStep = (pass: Pass, step: SleepStep): Effect.Effect<void, OperationError, Needs> =>
  Effect.mapError(
    run(pass, step),
    ({ message }) =>
      new OperationError({
        reason: "TargetError",
        message: `${step._tag === "WakeUp" ? "wake" : "fall asleep"}: ${message}`,
        cancelled: false,
      }),
  )
