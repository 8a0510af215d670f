// `helm install`, and `upgrade --install` where there is no release: request by request.
import { Effect } from "effect"
import { renderManifest } from "./Chart.ts"
import { adopted, createAll, updateAll } from "./Objects.ts"
import {
  build,
  type Deployment,
  isReachable,
  isServerSide,
  methodOf,
  type Options,
  ownedBy,
  rendering,
  untilCancelled,
  type Work,
  waited,
} from "./Operation.ts"
import { chartRecord, type Release, withInfo } from "./Release.ts"
import { compute, HelmError, type Session, timestamp, wrap } from "./Session.ts"
import { createRecord, history, tryUpdateRecord, updateRecord } from "./Storage.ts"
import { uninstall } from "./Uninstall.ts"

/** What goes before an install's first write. */
export const prepareInstall = Effect.fnUntraced(function* (
  session: Session,
  { name, chart, values }: Deployment,
  options: Options,
) {
  yield* isReachable(session)
  const before = yield* Effect.orElseSucceed(history(session, name), () => [])
  const [newest] = before
  if (newest !== undefined && newest.info.status !== "uninstalled") {
    const message =
      session.major === 3
        ? "cannot re-use a name that is still in use"
        : "release name check failed: cannot reuse a name that is still in use"
    if (session.major === 4) {
      session.log("ERROR", "release name check failed", { error: "cannot reuse a name that is still in use" })
    }
    return yield* new HelmError({ message })
  }
  const { namespace } = session
  yield* rendering
  const manifest = yield* compute(() => renderManifest(chart, { name, namespace }, values))
  const now = yield* timestamp
  const serverSide = isServerSide(session, { ...options, serverSide: options.serverSide !== false }, "ssa")
  const release: Release = {
    name,
    namespace,
    version: (newest?.version ?? 0) + 1,
    info: {
      first_deployed: now,
      last_deployed: now,
      ...(session.major === 3 ? { deleted: "" } : {}),
      description: "Initial install underway",
      status: "pending-install",
    },
    chart: chartRecord(chart),
    config: values,
    manifest,
    ...methodOf(session, serverSide),
    labels: {},
  }
  const built = yield* build(release, "unable to build kubernetes objects from release manifest")
  const objects = ownedBy(release, built)
  const there = yield* Effect.mapError(
    adopted(session, objects, release),
    wrap(session.major === 3 ? "Unable to continue with install" : "unable to continue with install"),
  )
  if (newest !== undefined) {
    yield* updateRecord(
      session,
      withInfo(newest, { status: "superseded", description: "superseded by new release" }),
    )
  }
  return {
    work: { release } satisfies Work,
    objects,
    there,
    apply: { serverSide, force: options.forceConflicts },
  }
})

const failInstall = Effect.fnUntraced(function* (
  session: Session,
  work: Work,
  error: HelmError,
  options: Options,
) {
  const { name } = work.release
  work.release = withInfo(work.release, {
    status: "failed",
    description: `Release "${name}" failed: ${error.message}`,
  })
  if (!options.atomic) {
    yield* Effect.ignore(updateRecord(session, work.release))
    return yield* error
  }
  const undone = session.major === 3 ? "atomic" : "rollback-on-failure"
  yield* Effect.mapError(
    uninstall(session, name, { wait: true, timeoutMillis: options.timeoutMillis, ignoreNotFound: false }),
    wrap(`an error occurred while uninstalling the release. original install error: ${error.message}`),
  )
  return yield* new HelmError({
    message: `release ${name} failed, and has been uninstalled due to ${undone} being set: ${error.message}`,
  })
})

/** From the record's creation on. `finish` is what a failure, or a signal, makes of the release. */
export const install = Effect.fnUntraced(function* (
  session: Session,
  prepared: Effect.Success<ReturnType<typeof prepareInstall>>,
  options: Options,
  cancelled: Effect.Effect<never, HelmError> = Effect.never,
) {
  const { work, objects, there, apply } = prepared
  yield* createRecord(session, work.release)
  const perform = Effect.gen(function* () {
    if (there.length === 0) yield* createAll(session, objects, { ...apply, force: false })
    else yield* updateAll(session, there, objects, apply)
    yield* waited(session, objects, options)
    work.release = withInfo(work.release, { status: "deployed", description: "Install complete" })
    yield* tryUpdateRecord(session, work.release)
  })
  yield* untilCancelled(perform, cancelled, (error) => failInstall(session, work, error, options))
  return work.release
})
