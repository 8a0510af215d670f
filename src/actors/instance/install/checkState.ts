// Whether an install may go on with the state that is there, or without one. What is installed and has no state is never
// begun anew, unless somebody asks for it; and a state never meets a cluster that it was not made in.
import { Clock, DateTime, Effect, Option } from "effect"
import { instanceKey } from "../../../schema/PlatformInstance.ts"
import { formatTime } from "../../../schema/Time.ts"
import { Events } from "../../../services/Events/Events.ts"
import type { Kubernetes } from "../../../services/Kubernetes/Kubernetes.ts"
import type { OperationRequest } from "../../../services/Pulumi/Pulumi.ts"
import { type InstanceRecord, StateStore } from "../../../services/StateStore/StateStore.ts"
import type { OperationError } from "../Operation.ts"
import type { InstallRequest } from "./Install.ts"
import { freshStart, installFailed } from "./prepare.ts"
import { everInstalled, madeInside, wantsFreshStart } from "./stateEvidence.ts"

const lookInside = ({ instance, kubeconfig }: InstallRequest, step: string) =>
  Effect.flatMap(kubeconfig, ({ text }) => madeInside(text)).pipe(
    Effect.mapError((error) =>
      installFailed(step, instance.spec.version, `the target cannot be looked at: ${error.message}`),
    ),
  )

/**
 * The target is another cluster than the recorded one: its volume was lost, for one. The state of the old one is kept, and
 * the platform installed anew; that of the new one is put back where it was kept before. A cluster in which an engine has
 * made something that no state knows is left alone.
 */
const followCluster = Effect.fnUntraced(function* (
  request: InstallRequest,
  before: InstanceRecord,
  fresh: boolean,
) {
  const store = yield* StateStore
  const events = yield* Events
  const { instance, kubeSystemUID, server, object } = request
  const { version } = instance.spec
  const key = instanceKey(instance)
  const step = "compare cluster"
  const from = before.kubeSystemUID ?? ""
  const failed = (error: { readonly message: string }) => installFailed(step, version, error.message)
  const inside = yield* lookInside(request, step)
  const clusters = { from, to: kubeSystemUID }
  const known = yield* Effect.mapError(store.keepsState(key, clusters), failed)
  const what = `the target at ${server} is another cluster (kube-system ${kubeSystemUID}) than the one this instance was installed into (${from})`
  if (Option.isSome(inside) && !known && !fresh) {
    return yield* installFailed(
      step,
      version,
      `${what}, and holds what an engine has made (namespace ${inside.value}) but no state here knows; nothing was applied. Restore the vCluster's volume, or delete the instance and create it again. ${freshStart}`,
    )
  }
  yield* Effect.mapError(store.exchangeState(key, clusters), failed)
  const { anew: _, behind: __, ...rest } = before
  const since = formatTime(yield* DateTime.now)
  const record: InstanceRecord = {
    ...rest,
    kubeSystemUID,
    server,
    // Both are installed again, and until then not Ready.
    anew: { because: "cluster", since },
    ...(known ? { behind: true } : {}),
  }
  yield* Effect.mapError(store.writeRecord(key, record), failed)
  yield* events.emit(object, {
    type: "Warning",
    reason: "ClusterReplaced",
    action: "Install",
    note: known
      ? `${what}; its state, which was kept, is back in its place`
      : `${what}: the platform is installed in it anew. The state of the old one is kept in ${store.paths(key).root}/kept`,
  })
  return record
})

/** Fails when what is installed has no state. Gives the record to go on with. */
const requireState = Effect.fnUntraced(function* (request: InstallRequest, fresh: boolean) {
  const store = yield* StateStore
  const { instance, record } = request
  const { version } = instance.spec
  const key = instanceKey(instance)
  const step = "check state"
  const proved = Option.exists(record, ({ installed }) => installed !== undefined)
  if (Option.exists(record, ({ anew }) => anew !== undefined)) return record
  const failed = (message: string) => installFailed(step, version, message)
  const has = yield* Effect.mapError(store.hasState(key), ({ message }) => failed(message))
  if (has && proved) return record
  const told = everInstalled(instance, record)
  // The record is written before the first thing is made: where there is one, it knows.
  const inside = told || Option.isSome(record) ? Option.none() : yield* lookInside(request, step)
  if (!told && Option.isNone(inside)) return record
  const begun: InstanceRecord = { format: 1, uid: instance.metadata.uid, ...Option.getOrUndefined(record) }
  if (has) return Option.some<InstanceRecord>({ ...begun, behind: true })
  if (fresh) {
    const since = formatTime(yield* DateTime.now)
    return Option.some<InstanceRecord>({ ...begun, anew: { because: "asked", since } })
  }
  const { root, backend } = store.paths(key)
  const by = Option.match(inside, {
    onNone: () => (proved ? "its record proves" : "its status says"),
    onSome: (name) => `namespace ${name} in it, which an engine has made, shows`,
  })
  return yield* failed(
    `there is no Pulumi state in ${backend}, but ${by} that the platform is installed. Put back ${root} from a backup of the state claim; nothing was changed. ${freshStart}`,
  )
})

/** The request to go on with, whose record says what the install may do; and what the engine may begin with. */
export const checkState = Effect.fn("Install.checkState")(function* (
  given: InstallRequest,
): Effect.fn.Return<
  { readonly request: InstallRequest; readonly state: OperationRequest["state"] },
  OperationError,
  Kubernetes | StateStore | Events
> {
  const fresh = wantsFreshStart(given.instance.metadata, yield* Clock.currentTimeMillis)
  const before = Option.getOrUndefined(given.record)
  // The cluster is another one than the state's until its data is back.
  if (before?.restoring !== undefined) {
    return yield* installFailed(
      "check state",
      given.instance.spec.version,
      `backup ${before.restoring} is being restored, and its data is not back yet; nothing was changed. kubectl pi restore, run again, goes on with it`,
    )
  }
  const record =
    before?.kubeSystemUID !== undefined && before.kubeSystemUID !== given.kubeSystemUID
      ? Option.some(yield* followCluster(given, before, fresh))
      : yield* requireState(given, fresh)
  const now = Option.getOrUndefined(record)
  const request: InstallRequest = {
    ...given,
    record,
    refresh: given.refresh || now?.behind === true || now?.anew !== undefined,
  }
  if (now?.anew !== undefined || fresh) return { request, state: "lost" }
  if (now?.behind === true) return { request, state: "older" }
  return { request, state: everInstalled(given.instance, record) ? "expected" : undefined }
})
