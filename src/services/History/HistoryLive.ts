// The history in the state directory, and its copy in the ConfigMap `<name>-history`.
import { Duration, Effect, Layer, Option, Schema } from "effect"
import {
  emptyHistory,
  HistoryText,
  interrupted,
  isRunning,
  type History as Past,
  withBegun,
  withEnded,
} from "../../schema/History.ts"
import { formatKey, type InstanceKey } from "../../schema/InstanceKey.ts"
import { HISTORY_KEY, historyConfigMapName, PLAN_KEY } from "../../schema/Names.ts"
import { ConfigMap } from "../Kubernetes/Kinds.ts"
import {
  KubeError,
  type KubeManifest,
  type KubeObject,
  Kubernetes,
  type OwnerReference,
} from "../Kubernetes/Kubernetes.ts"
import { StateStore } from "../StateStore/StateStore.ts"
import { History } from "./History.ts"

/** Showing it is worth no longer wait to whoever has something to do. */
const TIMEOUT = Duration.seconds(5)

const encode = Schema.encodeSync(HistoryText)
const decode = Schema.decodeOption(HistoryText)

const LABEL = "app.kubernetes.io/managed-by"
const LABELS = { [LABEL]: "platform-operator" }

/** Whoever owns it now: one of an earlier life of the instance, or an orphan, is taken over. */
const isOurs = ({ metadata }: KubeObject): boolean => metadata.labels?.[LABEL] === LABELS[LABEL]

const ownerReferences = (owner: KubeObject): ReadonlyArray<OwnerReference> => [
  {
    apiVersion: owner.apiVersion,
    kind: owner.kind,
    name: owner.metadata.name,
    uid: owner.metadata.uid,
    controller: true,
    blockOwnerDeletion: false,
  },
]

const manifestOf = (
  owner: KubeObject,
  name: string,
  data: Readonly<Record<string, string>>,
): KubeManifest => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: {
    name,
    namespace: owner.metadata.namespace ?? "",
    labels: LABELS,
    ownerReferences: ownerReferences(owner),
  },
  data,
})

const foreign = (name: string) =>
  new KubeError({
    code: 409,
    reason: "Conflict",
    request: `PATCH configmaps/${name}`,
    message: "somebody else's ConfigMap has the name of the history; remove or rename it",
  })

const make = Effect.gen(function* () {
  const store = yield* StateStore
  const kubernetes = yield* Kubernetes
  /** UIDs of the copies, by the UIDs of their owners. */
  const shown = new Map<string, string>()

  /** One that cannot be read is begun anew: nothing but this page depends on it. */
  const read = (key: InstanceKey) =>
    Effect.map(store.readHistory(key), (text) =>
      Option.getOrElse(Option.flatMap(text, decode), () => emptyHistory),
    )
  const write = (key: InstanceKey, past: Past) => store.writeHistory(key, encode(past))

  const quietly =
    (key: InstanceKey, doing: string) =>
    <A, E extends { readonly message: string }>(effect: Effect.Effect<A, E>) =>
      Effect.as(effect, true).pipe(
        Effect.catch((error) =>
          Effect.logWarning("history not written").pipe(
            Effect.annotateLogs({ instance: formatKey(key), doing, error: error.message }),
            Effect.as(false),
          ),
        ),
      )

  const replace = Effect.fnUntraced(function* (
    owner: KubeObject,
    uid: string,
    name: string,
    data: Readonly<Record<string, string>>,
  ) {
    const { namespace = "" } = owner.metadata
    yield* kubernetes.patch(
      ConfigMap,
      { namespace, name },
      {
        type: "merge",
        patch: { metadata: { uid, ownerReferences: ownerReferences(owner) }, data },
      },
    )
    shown.set(owner.metadata.uid, uid)
  })

  const show = Effect.fnUntraced(function* (owner: KubeObject) {
    const { namespace = "", name: instance, uid: ownerUid } = owner.metadata
    const text = yield* store.readHistory({ namespace, name: instance })
    if (Option.isNone(text)) return
    const plan = yield* store.readPlan({ namespace, name: instance })
    const data = {
      [HISTORY_KEY]: text.value,
      ...(Option.isNone(plan) ? {} : { [PLAN_KEY]: plan.value }),
    }
    const name = historyConfigMapName({ namespace, name: instance })
    const known = shown.get(ownerUid)
    if (known !== undefined) {
      const replaced = yield* Effect.result(replace(owner, known, name, data))
      if (replaced._tag === "Success") return
      if (replaced.failure.code !== 404 && replaced.failure.code !== 409) return yield* replaced.failure
      shown.delete(ownerUid)
    }
    const found = yield* kubernetes.get(ConfigMap, { namespace, name })
    if (Option.isSome(found)) {
      if (!isOurs(found.value)) return yield* foreign(name)
      return yield* replace(owner, found.value.metadata.uid, name, data)
    }
    // Its namespace may be going, too, and then takes nothing new.
    if (owner.metadata.deletionTimestamp !== undefined) return
    const made = yield* kubernetes.create(ConfigMap, manifestOf(owner, name, data))
    shown.set(ownerUid, made.metadata.uid)
  })

  return History.of({
    began: Effect.fn("History.began")(function* (key, begun) {
      yield* Effect.flatMap(read(key), (past) => write(key, withBegun(past, begun))).pipe(
        quietly(key, "begin"),
      )
    }),
    ended: Effect.fn("History.ended")(function* (key, ending) {
      yield* Effect.flatMap(read(key), (past) =>
        isRunning(past) ? write(key, withEnded(past, ending)) : Effect.void,
      ).pipe(quietly(key, "end"))
    }),
    recover: Effect.fn("History.recover")(function* (key) {
      const past = yield* Effect.orElseSucceed(read(key), () => emptyHistory)
      if (!isRunning(past)) return false
      yield* write(key, interrupted(past)).pipe(quietly(key, "recover"))
      return true
    }),
    show: Effect.fn("History.show")(function* (owner) {
      const { namespace = "", name } = owner.metadata
      return yield* show(owner).pipe(
        Effect.timeoutOrElse({
          duration: TIMEOUT,
          orElse: () =>
            Effect.fail(
              new KubeError({
                code: 0,
                reason: "Transport",
                request: "PATCH configmaps",
                message: `not written within ${Duration.format(TIMEOUT)}`,
              }),
            ),
        }),
        quietly({ namespace, name }, "show"),
      )
    }),
    forget: Effect.fn("History.forget")(function* (key) {
      yield* Effect.flatMap(store.readHistory(key), (text) =>
        Option.isSome(text) ? store.drop(key) : Effect.void,
      ).pipe(quietly(key, "forget"))
    }),
  })
})

export const layer: Layer.Layer<History, never, StateStore | Kubernetes> = Layer.effect(History, make)
