// Events as objects of events.k8s.io/v1, written through the API of the host cluster.
import { Clock, DateTime, Duration, Effect, Layer, Option, Random, Semaphore } from "effect"
import { refusedInEnding } from "../../schema/EndingNamespace.ts"
import { truncateAtWord, utf8Bytes } from "../../schema/Text.ts"
import { Event } from "../Kubernetes/Kinds.ts"
import {
  KubeError,
  type KubeManifest,
  type KubeObject,
  Kubernetes,
  type ObjectRef,
} from "../Kubernetes/Kubernetes.ts"
import { Events, type OperatorEvent } from "./Events.ts"
import { makeSeriesMemory, type Series } from "./Series.ts"

export const REPORTING_CONTROLLER = "platform.di-framework.dev/platform-operator"

/** Longest note, in bytes (validation of events.k8s.io/v1). */
const MAX_NOTE = 1024
/** Longest name of an object. */
const MAX_NAME = 253
/** Where events about cluster-scoped objects belong. */
const CLUSTER_SCOPED = "default"
/** An event is worth no longer wait to whoever emits it. */
const TIMEOUT = Duration.seconds(5)

/** `metav1.MicroTime`: always six digits behind the point. */
const microTime = Effect.map(DateTime.now, (now) => DateTime.formatIso(now).replace(/Z$/, "000Z"))

const newName = Effect.map(Random.nextIntBetween(0, 2 ** 48, { halfOpen: true }), (chance) =>
  chance.toString(16).padStart(12, "0"),
)

const regardingOf = ({ apiVersion, kind, metadata }: KubeObject) => ({
  apiVersion,
  kind,
  name: metadata.name,
  uid: metadata.uid,
  resourceVersion: metadata.resourceVersion,
  ...(metadata.namespace !== undefined && { namespace: metadata.namespace }),
})

const makeEvents = Effect.fnUntraced(function* (options: { readonly reportingInstance: string }) {
  const kubernetes = yield* Kubernetes
  const memory = makeSeriesMemory()
  // One write at a time: what is emitted first is written first, and a series is not begun twice.
  const writing = yield* Semaphore.make(1)
  /** UIDs of objects in namespaces that end: nothing new can be written about them any more. */
  const unwritable = new Set<string>()

  const create = Effect.fnUntraced(function* (
    regarding: KubeObject,
    { paced: _, ...event }: OperatorEvent,
    namespace: string,
  ) {
    const suffix = `.${yield* newName}`
    const name = `${regarding.metadata.name.slice(0, MAX_NAME - suffix.length)}${suffix}`
    const manifest: KubeManifest = {
      apiVersion: "events.k8s.io/v1",
      kind: "Event",
      metadata: { name, namespace },
      eventTime: yield* microTime,
      reportingController: REPORTING_CONTROLLER,
      reportingInstance: options.reportingInstance,
      ...event,
      regarding: regardingOf(regarding),
    }
    yield* kubernetes.create(Event, manifest)
    return name
  })

  /** None when the first event of the series is gone: the API server keeps events for an hour. */
  const continueSeries = Effect.fnUntraced(function* (ref: ObjectRef, series: Series) {
    const lastObservedTime = yield* microTime
    return yield* kubernetes
      .patch(Event, ref, { type: "merge", patch: { series: { count: series.count, lastObservedTime } } })
      .pipe(
        Effect.asSome,
        Effect.catchIf(
          (error) => error.code === 404,
          () => Effect.succeedNone,
        ),
      )
  })

  const write = Effect.fnUntraced(function* (regarding: KubeObject, event: OperatorEvent) {
    const series = memory.occurred(regarding, event, yield* Clock.monotonicTimeNanos)
    const namespace = regarding.metadata.namespace ?? CLUSTER_SCOPED
    if (series.name !== undefined) {
      const continued = yield* continueSeries({ namespace, name: series.name }, series)
      if (Option.isSome(continued)) return
    }
    series.count = 1
    series.name = undefined
    if (event.note.includes(refusedInEnding(namespace))) unwritable.add(regarding.metadata.uid)
    if (unwritable.has(regarding.metadata.uid)) return
    series.name = yield* create(regarding, event, namespace).pipe(
      Effect.tapError((error) =>
        Effect.sync(() => {
          if (error.message.includes(refusedInEnding(namespace))) unwritable.add(regarding.metadata.uid)
        }),
      ),
    )
  })

  return Events.of({
    emit: Effect.fn("Events.emit")(function* (regarding, given) {
      // Whoever lists Events has a line for each.
      const note = given.note.trim().replaceAll(/\s*[\r\n]\s*/g, " ")
      const event = { ...given, note: truncateAtWord(note, MAX_NOTE, utf8Bytes) }
      yield* writing
        .withPermits(1)(write(regarding, event))
        .pipe(
          Effect.timeoutOrElse({
            duration: TIMEOUT,
            orElse: () =>
              Effect.fail(
                new KubeError({
                  code: 0,
                  reason: "Transport",
                  request: "POST events",
                  message: `not written within ${Duration.format(TIMEOUT)}`,
                }),
              ),
          }),
          Effect.catch((error) =>
            Effect.logWarning("event not written").pipe(
              Effect.annotateLogs({
                regarding: `${regarding.kind} ${regarding.metadata.namespace ?? ""}/${regarding.metadata.name}`,
                event: event.reason,
                code: error.code,
                reason: error.reason,
                error: error.message,
              }),
            ),
          ),
        )
    }),
  })
})

/** `reportingInstance` is the name of the operator's pod. */
export const layer = (options: {
  readonly reportingInstance: string
}): Layer.Layer<Events, never, Kubernetes> => Layer.effect(Events, makeEvents(options))
