// `helm uninstall`: request by request.
import { Effect, Result } from "effect"
import { forUninstall } from "./Chart.ts"
import { deleteAll, ownedAmong, resources, waitForDelete } from "./Objects.ts"
import { isReachable } from "./Operation.ts"
import { newestFirst, type Release, withInfo } from "./Release.ts"
import { compute, HelmError, type Session, timestamp, wrap } from "./Session.ts"
import { deleteRevision, history, updateRecord } from "./Storage.ts"

export interface UninstallOptions {
  readonly wait: boolean
  readonly timeoutMillis: number
  /** Nothing to uninstall is a success, and so is a history that cannot be read (seen: Helm 4.3.1). */
  readonly ignoreNotFound: boolean
}

const purge = Effect.fnUntraced(function* (session: Session, revisions: ReadonlyArray<Release>) {
  // The oldest first.
  for (const each of newestFirst(revisions).toReversed()) yield* deleteRevision(session, each)
})

/** Deletes the objects of the newest manifest, then all records. It heeds no signal. */
export const uninstall = Effect.fnUntraced(function* (
  session: Session,
  name: string,
  options: UninstallOptions,
): Effect.fn.Return<void, HelmError> {
  yield* isReachable(session)
  const found = yield* Effect.result(history(session, name))
  if (Result.isFailure(found)) {
    return options.ignoreNotFound
      ? undefined
      : yield* wrap(`uninstall: Release not loaded: ${name}`)(found.failure)
  }
  const revisions = found.success
  const newest = revisions[0]
  // There are records, and none that can be read.
  if (newest === undefined) return yield* new HelmError({ message: "no release provided" })
  if (newest.info.status === "uninstalled") return yield* purge(session, revisions)
  const release = withInfo(newest, {
    status: "uninstalling",
    deleted: yield* timestamp,
    description: "Deletion in progress (or silently failed)",
  })
  yield* Effect.ignore(updateRecord(session, release))
  const built = yield* compute(() => resources(release.manifest, release.namespace)).pipe(
    Effect.mapError(() => new HelmError({ message: `failed to delete release: ${name}` })),
  )
  const order = forUninstall(built.map(({ manifest }) => manifest))
  const objects = order.flatMap((manifest) => built.filter((each) => each.manifest === manifest))
  // Helm 3 asks nobody whose the objects are.
  const own = session.major === 3 ? objects : yield* ownedAmong(session, objects, release)
  const errors = yield* deleteAll(session, own)
  if (errors.length > 0) return yield* new HelmError({ message: `failed to delete release: ${name}` })
  const left: Array<string> = []
  const note = (prefix: string) => (error: HelmError) =>
    Effect.sync(() => left.push(`${prefix}${error.message}`))
  if (options.wait) {
    yield* Effect.catch(waitForDelete(session, own, options.timeoutMillis), note(""))
  }
  yield* Effect.catch(purge(session, revisions), note("uninstall: Failed to purge the release: "))
  if (left.length > 0) {
    return yield* new HelmError({
      message: `uninstallation completed with ${left.length} error(s): ${left.join("; ")}`,
    })
  }
})
