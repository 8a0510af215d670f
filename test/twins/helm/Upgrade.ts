// `helm upgrade` of a release that there is: request by request.
import { Effect } from "effect"
import { renderManifest } from "./Chart.ts"
import { type Apply, adopted, type Resource, updateAll } from "./Objects.ts"
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
import { chartRecord, isPending, newestFirst, type Release, withInfo } from "./Release.ts"
import { rollback } from "./Rollback.ts"
import { compute, HelmError, type Session, timestamp, wrap } from "./Session.ts"
import { createRecord, deployedAll, history, notFound, tryUpdateRecord, updateRecord } from "./Storage.ts"

/** The revision that an upgrade starts from. */
const upgradeBase = Effect.fnUntraced(function* (session: Session, name: string) {
  const noneDeployed = new HelmError({ message: `"${name}" has no deployed releases` })
  const revisions = yield* Effect.mapError(history(session, name), (error) =>
    error === notFound ? noneDeployed : error,
  )
  const newest = revisions[0]
  if (newest === undefined) return yield* noneDeployed
  if (isPending(newest)) {
    return yield* new HelmError({ message: "another operation (install/upgrade/rollback) is in progress" })
  }
  if (newest.info.status === "deployed") return { newest, current: newest }
  const [deployed] = yield* deployedAll(session, name)
  if (deployed !== undefined) return { newest, current: deployed }
  if (newest.info.status === "failed" || newest.info.status === "superseded") {
    return { newest, current: newest }
  }
  return yield* noneDeployed
})

/** What goes before an upgrade's first write. No values at all mean those of the release before. */
export const prepareUpgrade = Effect.fnUntraced(function* (
  session: Session,
  { name, chart, values: given }: Deployment,
  options: Options,
) {
  yield* isReachable(session)
  const { newest, current } = yield* upgradeBase(session, name)
  const values = Object.keys(given).length === 0 ? current.config : given
  const { namespace } = current
  yield* rendering
  const manifest = yield* compute(() => renderManifest(chart, { name, namespace }, values))
  const serverSide = isServerSide(session, options, newest.apply_method)
  const release: Release = {
    name,
    namespace,
    version: newest.version + 1,
    info: {
      first_deployed: current.info.first_deployed,
      last_deployed: yield* timestamp,
      ...(session.major === 3 ? { deleted: "" } : {}),
      description: "Preparing upgrade",
      status: "pending-upgrade",
    },
    chart: chartRecord(chart),
    config: values,
    manifest,
    ...methodOf(session, serverSide),
    labels: newest.labels,
  }
  const originals = yield* build(current, "unable to build kubernetes objects from current release manifest")
  const built = yield* build(release, "unable to build kubernetes objects from new release manifest")
  const objects = ownedBy(release, built)
  const isKnown = ({ kind, ref }: Resource) =>
    originals.some(
      (each) => each.kind === kind && each.ref.name === ref.name && each.ref.namespace === ref.namespace,
    )
  const there = yield* Effect.mapError(
    adopted(
      session,
      objects.filter((object) => !isKnown(object)),
      release,
    ),
    wrap(session.major === 3 ? "Unable to continue with update" : "unable to continue with update"),
  )
  return {
    work: { release } satisfies Work,
    current,
    originals: [...originals, ...there],
    objects,
    apply: { serverSide, force: options.forceConflicts } satisfies Apply,
  }
})

const failUpgrade = Effect.fnUntraced(function* (
  session: Session,
  work: Work,
  error: HelmError,
  options: Options,
) {
  const { name } = work.release
  if (session.major === 4) session.log("WARN", "upgrade failed", { name, error: error.message })
  work.release = withInfo(work.release, {
    status: "failed",
    description: `Upgrade "${name}" failed: ${error.message}`,
  })
  yield* tryUpdateRecord(session, work.release)
  if (!options.atomic) return yield* error
  const original = `original upgrade error: ${error.message}`
  const revisions = yield* Effect.mapError(
    history(session, name),
    wrap(`an error occurred while finding last successful release. ${original}`),
  )
  const good = newestFirst(revisions).find(
    ({ info }) => info.status === "superseded" || info.status === "deployed",
  )
  if (good === undefined) {
    return yield* new HelmError({
      message: `unable to find a previously successful release when attempting to rollback. ${original}`,
    })
  }
  yield* Effect.mapError(
    rollback(session, name, good.version, { ...options, historyMax: 0 }),
    wrap(`an error occurred while rolling back the release. ${original}`),
  )
  const undone = session.major === 3 ? "atomic" : "rollback-on-failure"
  return yield* new HelmError({
    message: `release ${name} failed, and has been rolled back due to ${undone} being set: ${error.message}`,
  })
})

export const upgrade = Effect.fnUntraced(function* (
  session: Session,
  prepared: Effect.Success<ReturnType<typeof prepareUpgrade>>,
  options: Options,
  cancelled: Effect.Effect<never, HelmError> = Effect.never,
) {
  const { work, current, originals, objects, apply } = prepared
  yield* createRecord(session, work.release, options.historyMax)
  const perform = Effect.gen(function* () {
    const changed = Effect.andThen(
      updateAll(session, originals, objects, apply),
      waited(session, objects, options),
    )
    // The base is written again as it was, which is no change but its labels.
    yield* Effect.tapError(changed, () => tryUpdateRecord(session, current))
    yield* tryUpdateRecord(session, withInfo(current, { status: "superseded" }))
    work.release = withInfo(work.release, { status: "deployed", description: "Upgrade complete" })
  })
  yield* untilCancelled(perform, cancelled, (error) => failUpgrade(session, work, error, options))
  yield* updateRecord(session, work.release)
  return work.release
})
