// The traces of one instance. A change of it is one trace: the first pass of a generation begins it, later passes and the
// operator's next process join it by an annotation, and its root is written with the first outcome. What happens after
// that is a trace of its own, linked to it. A pass that does nothing leaves none.
import { Clock, Effect, Option, Schema, Tracer } from "effect"
import { ANNOTATION_TRACE, FINALIZER } from "../../../schema/Names.ts"
import { PlatformInstanceStatus } from "../../../schema/PlatformStatus.ts"
import { PlatformInstance as Instances } from "../../../services/Kubernetes/Kinds.ts"
import { type KubeObject, Kubernetes } from "../../../services/Kubernetes/Kubernetes.ts"
import type { RootName, WaitName } from "../../../services/Telemetry/TraceTable.ts"
import {
  keepPass,
  type OpenTrace,
  type TraceParent,
  Tracing,
  type TracingService,
} from "../../../services/Telemetry/Tracing.ts"
import type { Decision } from "../Decision.ts"
import type { DeletionStep } from "../deletion/deletionStep.ts"
import type { TargetVerdict } from "../target/TargetState.ts"
import { Views } from "../Views.ts"
import { formatChange, parseChange } from "./annotation.ts"
import { type Ending, isDeed, isSettled, traceOf } from "./endings.ts"

type Same = <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>

export interface InstanceTrace {
  /** Runs a pass over this object in the trace it belongs to. */
  readonly pass: (
    object: KubeObject,
  ) => <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R | Kubernetes | Views>
  /** Runs something that outlives the pass: directly below the root of the open trace, or in none. */
  readonly join: Same
  /** What the pass is going to do. */
  readonly decides: (decision: Decision, verdict: TargetVerdict) => Effect.Effect<void>
  readonly deletes: (step: DeletionStep) => Effect.Effect<void>
  /** The step that was told last in this pass. */
  readonly deleted: () => DeletionStep["_tag"] | undefined
  readonly ends: (ending: Ending) => Effect.Effect<void>
  /** The instance is not there any more. */
  readonly gone: Effect.Effect<void>
  /** What is still to be written on the instance; whoever writes it says so with `saved`. */
  readonly annotations: () => Readonly<Record<string, string>>
  readonly saved: Effect.Effect<void>
}

const noTrace: InstanceTrace = {
  pass: () => (effect) => effect,
  join: (effect) => effect,
  decides: () => Effect.void,
  deletes: () => Effect.void,
  deleted: () => undefined,
  ends: () => Effect.void,
  gone: Effect.void,
  annotations: () => ({}),
  saved: Effect.void,
}

/** A parent below which nothing is traced. */
const nowhere = Tracer.externalSpan({ traceId: "0".repeat(32), spanId: "0".repeat(16), sampled: false })

const decodeStatus = Schema.decodeUnknownOption(
  Schema.Struct({ status: Schema.optionalKey(PlatformInstanceStatus) }),
)
const statusOf = (object: KubeObject): PlatformInstanceStatus =>
  Option.getOrUndefined(decodeStatus(object))?.status ?? {}

interface Begun {
  readonly trace: OpenTrace
  readonly name: RootName
  readonly since: number
  readonly links: ReadonlyArray<TraceParent>
}

/** Which life and generation is followed, and what is known of its change. */
interface Followed {
  readonly uid: string
  readonly generation: number
  readonly change: Option.Option<TraceParent>
}

const traced = (tracing: TracingService): InstanceTrace => {
  let followed: Followed | undefined
  let open: Begun | undefined
  /** Of the pass that runs: the trace that it is in, or will be in if it turns out to begin one. */
  let current: Begun | undefined
  let waiting: { readonly name: WaitName; readonly since: number; readonly message: string } | undefined
  let failed = false
  let unsaved: string | undefined
  let ending: Ending = { _tag: "Busy" }
  let deletedBy: DeletionStep["_tag"] | undefined
  let subject: KubeObject["metadata"] | undefined

  const begin = (name: RootName, since: number, links: ReadonlyArray<TraceParent>): Begun => ({
    trace: tracing.open(tracing.newTrace()),
    name,
    since,
    links,
  })
  const stopWaiting = (now: number) => {
    if (waiting === undefined) return
    const { name, since, message } = waiting
    open?.trace.waited(name, {
      from: since,
      to: now,
      attributes: { "platforminstance.waiting_for": message },
    })
    waiting = undefined
  }
  const close = (now: number, settled: Extract<Ending, { readonly _tag: "Settled" }>) => {
    stopWaiting(now)
    if (open === undefined) return
    const { trace, name, since, links } = open
    trace.end(name, {
      from: since,
      to: now,
      links,
      ...(settled.failure === undefined ? {} : { failure: settled.failure }),
      attributes: {
        "platforminstance.namespace": subject?.namespace ?? "",
        "platforminstance.name": subject?.name ?? "",
        "platforminstance.uid": followed?.uid ?? "",
        "platforminstance.generation": followed?.generation ?? 0,
        "platforminstance.outcome": settled.outcome,
      },
    })
    open = undefined
    if (settled.outcome !== "Superseded") failed = settled.outcome === "Failed"
  }

  /** Another generation is another change; a process that has just begun goes on with the one it finds. */
  const follow = (object: KubeObject, now: number) => {
    const { uid, generation = 0, annotations } = object.metadata
    if (followed?.uid === uid && followed.generation === generation) return
    if (followed?.uid === uid) close(now, { _tag: "Settled", outcome: "Superseded" })
    const first = followed?.uid !== uid
    if (first) {
      open = undefined
      waiting = undefined
      failed = statusOf(object).phase === "Failed"
    }
    subject = object.metadata
    unsaved = undefined
    const found = parseChange(annotations?.[ANNOTATION_TRACE], uid)
    const before = Option.map(found, ({ parent }) => parent)
    const known = Option.filter(found, (change) => change.generation === generation)
    const settled = first && isSettled(statusOf(object), generation)
    const going = Option.getOrUndefined(known)
    if (settled || going !== undefined) {
      followed = { uid, generation, change: before }
      if (settled || going === undefined) return
      const { parent, since } = going
      open = { trace: tracing.open(parent), name: "Instance.change", since, links: [] }
      return
    }
    open = begin("Instance.change", now, Option.toArray(before))
    const { parent } = open.trace
    followed = { uid, generation, change: Option.some(parent) }
    if (parent.sampled) unsaved = formatChange({ parent, generation, since: now }, uid)
  }

  const annotations = (): Readonly<Record<string, string>> =>
    unsaved === undefined ? {} : { [ANNOTATION_TRACE]: unsaved }

  /** One write a generation. A new instance gets it with its finalizer. What goes wrong here is nobody's failure. */
  const save = Effect.fnUntraced(function* ({ metadata }: KubeObject) {
    if (unsaved === undefined || metadata.finalizers?.includes(FINALIZER) !== true) return
    const patch = { metadata: { uid: metadata.uid, annotations: annotations() } }
    unsaved = undefined
    const kubernetes = yield* Kubernetes
    const ref = { namespace: metadata.namespace ?? "", name: metadata.name }
    const written = yield* kubernetes.patch(Instances, ref, { type: "merge", patch }).pipe(
      Effect.tapError((error) =>
        Effect.logDebug("trace was not written on the instance").pipe(
          Effect.annotateLogs({ reason: error.reason }),
        ),
      ),
      Effect.option,
    )
    if (Option.isSome(written)) yield* (yield* Views).awaitWrite(Instances, written.value)
  })

  const begins = (name: RootName) =>
    Effect.suspend(() => {
      if (open === undefined && current !== undefined) {
        const links = followed === undefined ? [] : Option.toArray(followed.change)
        open = { ...current, name, links }
        current = open
      } else if (open?.name === "Instance.repair" && name === "Instance.resync") {
        // What looked like one lost object has turned out to be more.
        open = { ...open, name }
      }
      open?.trace.beBrief(open.name === "Instance.repair")
      return keepPass
    })

  const afterPass = (now: number) => {
    const how = ending
    if (open === undefined) return
    if (how._tag === "Settled") return close(now, how)
    if (how._tag === "Busy") return stopWaiting(now)
    if (waiting?.name === how.name) return
    stopWaiting(now)
    waiting = { name: how.name, since: now, message: how.message }
  }

  return {
    pass: (object) => (effect) =>
      Effect.gen(function* () {
        const now = yield* Clock.currentTimeMillis
        follow(object, now)
        ending = { _tag: "Busy" }
        deletedBy = undefined
        current = open ?? begin("Instance.repair", now, [])
        const { anchor } = current.trace
        const name =
          object.metadata.deletionTimestamp === undefined ? "Instance.pass" : "Instance.deletionPass"
        return yield* Effect.andThen(save(object), effect).pipe(
          Effect.withSpan(name),
          Effect.withParentSpan(anchor),
          Effect.tap(Effect.map(Clock.currentTimeMillis, afterPass)),
        )
      }),
    join: (effect) => Effect.suspend(() => Effect.withParentSpan(effect, open?.trace.anchor ?? nowhere)),
    decides: Effect.fnUntraced(function* (decision, verdict) {
      const step = decision._tag === "TargetStep" ? decision.step._tag : undefined
      yield* Effect.annotateCurrentSpan({
        "platforminstance.decision": decision._tag,
        "platforminstance.verdict": verdict._tag === "Ready" ? "Ready" : verdict.condition.reason,
        ...(step === undefined ? {} : { "platforminstance.step": step }),
      })
      const name = traceOf(decision, verdict, failed)
      if (name !== undefined) yield* begins(name)
      else if (open !== undefined && decision._tag !== "Wait" && decision._tag !== "Hold") yield* keepPass
    }),
    deletes: (step) => {
      deletedBy = step._tag
      return isDeed(step) ? begins(failed ? "Instance.retry" : "Instance.repair") : Effect.void
    },
    deleted: () => deletedBy,
    ends: (next) =>
      Effect.suspend(() => {
        ending = next
        const news = next._tag === "Settled" || (next._tag === "Waits" && waiting?.name !== next.name)
        return open !== undefined && news ? keepPass : Effect.void
      }),
    gone: Effect.map(Clock.currentTimeMillis, (now) => close(now, { _tag: "Settled", outcome: "Deleted" })),
    annotations,
    saved: Effect.sync(() => {
      unsaved = undefined
    }),
  }
}

/** For one actor. */
export const makeInstanceTrace: Effect.Effect<InstanceTrace> = Effect.map(
  Tracing,
  Option.match({ onNone: () => noTrace, onSome: traced }),
)
