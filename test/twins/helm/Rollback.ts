// `helm rollback`: request by request.
import { Effect } from "effect"
import { type Apply, updateAll } from "./Objects.ts"
import { build, isReachable, isServerSide, methodOf, type Options, ownedBy, waited } from "./Operation.ts"
import { foreignLabels, type Release, withInfo } from "./Release.ts"
import { HelmError, type Session, timestamp, wrap } from "./Session.ts"
import {
  createRecord,
  deployedAll,
  history,
  notFound,
  revision,
  tryUpdateRecord,
  updateRecord,
} from "./Storage.ts"

const prepareRollback = Effect.fnUntraced(function* (
  session: Session,
  name: string,
  version: number,
  options: Options,
) {
  const revisions = yield* history(session, name)
  const current = revisions[0]
  if (current === undefined) return yield* notFound
  const wanted = version === 0 ? current.version - 1 : version
  // It asks for the history once more.
  const again = yield* history(session, name)
  if (!again.some((each) => each.version === wanted)) {
    return yield* new HelmError({ message: `release has no ${wanted} version` })
  }
  const previous = yield* revision(session, name, wanted)
  const serverSide = isServerSide(session, options, previous.apply_method)
  const release: Release = {
    ...previous,
    ...methodOf(session, serverSide),
    version: current.version + 1,
    namespace: current.namespace,
    info: {
      first_deployed: current.info.first_deployed,
      last_deployed: yield* timestamp,
      ...(session.major === 3 ? { deleted: "" } : {}),
      description: `Rollback to ${wanted}`,
      status: "pending-rollback",
      ...(session.major === 3 ? {} : { rollback_revision: wanted }),
    },
    labels: foreignLabels(previous),
  }
  return { current, release, apply: { serverSide, force: options.forceConflicts } satisfies Apply }
})

const failRollback = Effect.fnUntraced(function* (
  session: Session,
  current: Release,
  release: Release,
  error: HelmError,
) {
  const description = `Rollback "${release.name}" failed: ${error.message}`
  session.log("WARN", description, {})
  yield* tryUpdateRecord(session, withInfo(current, { status: "superseded" }))
  yield* tryUpdateRecord(session, withInfo(release, { status: "failed", description }))
})

/** Applies the manifest of a revision again, as a revision of its own. It looks at no pending status, and heeds no signal. */
export const rollback = Effect.fnUntraced(function* (
  session: Session,
  name: string,
  version: number,
  options: Options,
) {
  yield* isReachable(session)
  const { current, release, apply } = yield* prepareRollback(session, name, version, options)
  yield* createRecord(session, release, options.historyMax)
  const originals = yield* build(current, "unable to build kubernetes objects from current release manifest")
  const targets = ownedBy(
    release,
    yield* build(release, "unable to build kubernetes objects from new release manifest"),
  )
  yield* updateAll(session, originals, targets, apply).pipe(
    Effect.tapError((error) => failRollback(session, current, release, error)),
  )
  yield* waited(session, targets, options).pipe(
    Effect.catch((error) =>
      Effect.gen(function* () {
        const description = `Release "${name}" failed: ${error.message}`
        yield* tryUpdateRecord(session, current)
        yield* tryUpdateRecord(session, withInfo(release, { status: "failed", description }))
        return yield* wrap(`release ${name} failed`)(error)
      }),
    ),
  )
  for (const each of yield* deployedAll(session, name)) {
    yield* tryUpdateRecord(session, withInfo(each, { status: "superseded" }))
  }
  yield* updateRecord(session, withInfo(release, { status: "deployed" }))
})
