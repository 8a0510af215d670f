// Who writes a release. A record that is pending says that a helm is at work, or was: an interrupted one leaves it so for
// good. Whoever is alive is not pushed aside. This operator's own runs are marked on the host namespace, because Helm drops
// what is written on its records; of anybody else's nothing is known but when it began.
import { Clock, Context, DateTime, Effect, Option, Schema } from "effect"
import type { InstanceKey } from "../../../schema/InstanceKey.ts"
import { ANNOTATION_HELM_WRITER, hostNamespace } from "../../../schema/Names.ts"
import { formatTime, parseTime } from "../../../schema/Time.ts"
import { recordName, releaseRevisions } from "../../../services/Helm/ReleaseRecord.ts"
import { Namespace, Secret } from "../../../services/Kubernetes/Kinds.ts"
import { type KubeError, Kubernetes } from "../../../services/Kubernetes/Kubernetes.ts"
import { mayBeAtWork, podIsAlive } from "../../../services/Kubernetes/PodLiveness.ts"
import { Settings } from "../Settings.ts"
import { RELEASE_SELECTOR, releaseRef } from "./observeTarget.ts"

/** The pod this operator runs in. */
export class OwnPod extends Context.Service<OwnPod, { readonly podName: string; readonly podUID: string }>()(
  "platform-operator/OwnPod",
) {}

const Mark = Schema.fromJsonString(
  Schema.Struct({
    pod: Schema.String,
    uid: Schema.String,
    since: Schema.String,
    /** The newest revision when the run began: it writes none after the next one. */
    after: Schema.optionalKey(Schema.Finite),
  }),
)
const decodeMark = Schema.decodeUnknownOption(Mark)

const annotate = Effect.fnUntraced(function* (key: InstanceKey, value: string | null) {
  const kubernetes = yield* Kubernetes
  yield* kubernetes.patch(
    Namespace,
    { name: hostNamespace(key) },
    { type: "merge", patch: { metadata: { annotations: { [ANNOTATION_HELM_WRITER]: value } } } },
  )
})

const newestRevision = Effect.fnUntraced(function* (key: InstanceKey) {
  const kubernetes = yield* Kubernetes
  const records = yield* kubernetes.list(Secret, {
    namespace: hostNamespace(key),
    labelSelector: RELEASE_SELECTOR,
    metadataOnly: true,
  })
  return releaseRevisions(records)[0]?.revision ?? 0
})

/**
 * Runs helm with this operator marked as its release's writer. The mark goes when helm has succeeded; after any other
 * end it says whose the record is that may be left. A mark that is left behind although helm had succeeded says nothing
 * of what others write later.
 */
export const asWriter =
  (key: InstanceKey) =>
  <E, R>(run: Effect.Effect<void, E, R>): Effect.Effect<void, E | KubeError, R | Kubernetes | OwnPod> =>
    Effect.gen(function* () {
      const { podName, podUID } = yield* OwnPod
      const since = formatTime(yield* DateTime.now)
      const after = yield* newestRevision(key)
      yield* annotate(key, JSON.stringify({ pod: podName, uid: podUID, since, after }))
      yield* run
      yield* annotate(key, null)
    })

/** Helm gives up after 5 minutes unless it is told otherwise: milliseconds. */
const helmTimeout = 5 * 60_000

export interface Writer {
  readonly who: string
  /** RFC 3339. */
  readonly since: string
}

/** Who may still be at work on this revision; nobody, when its writer is proven gone. `recordUID` is the record's. */
export const findWriter = Effect.fn("Target.findWriter")(function* (
  key: InstanceKey,
  revision: number,
): Effect.fn.Return<
  { readonly writer: Option.Option<Writer>; readonly recordUID: Option.Option<string> },
  KubeError,
  Kubernetes | OwnPod | Settings
> {
  const kubernetes = yield* Kubernetes
  const own = yield* OwnPod
  const { operatorNamespace } = yield* Settings
  const release = releaseRef(key)
  const ref = { namespace: release.namespace, name: recordName(release, revision) }
  const record = Option.getOrUndefined(yield* kubernetes.get(Secret, ref, { metadataOnly: true }))
  if (record === undefined) return { writer: Option.none(), recordUID: Option.none() }
  const recordUID = Option.some(record.metadata.uid)
  const namespace = yield* kubernetes.get(Namespace, { name: release.namespace })
  const mark = Option.flatMap(namespace, ({ metadata }) =>
    decodeMark(metadata.annotations?.[ANNOTATION_HELM_WRITER]),
  ).pipe(Option.filter(({ after }) => after === undefined || revision <= after + 1))
  if (Option.isSome(mark)) {
    const { pod, uid, since } = mark.value
    const isPodAlive = yield* podIsAlive(operatorNamespace)
    const alive = yield* mayBeAtWork({ podName: pod, podUID: uid, since }, own, isPodAlive)
    const writer = alive ? Option.some({ who: `operator pod ${pod}`, since }) : Option.none()
    return { writer, recordUID }
  }
  const since = record.metadata.creationTimestamp ?? ""
  const now = yield* Clock.currentTimeMillis
  const recent = Option.exists(parseTime(since), (begun) => now - DateTime.toEpochMillis(begun) < helmTimeout)
  const writer = recent ? Option.some({ who: "a helm that is not this operator's", since }) : Option.none()
  return { writer, recordUID }
})
