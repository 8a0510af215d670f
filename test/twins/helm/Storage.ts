// The records of a release, as Helm's storage reads and writes them: one request each.
import { Effect, Option } from "effect"
import { Secret } from "../../../src/services/Kubernetes/Kinds.ts"
import type { KubeObject } from "../../../src/services/Kubernetes/Kubernetes.ts"
import {
  foreignLabels,
  newestFirst,
  type Release,
  readRelease,
  recordName,
  recordOf,
  type Status,
} from "./Release.ts"
import { HelmError, request, type Session, unixSeconds, wrap } from "./Session.ts"

export const notFound = new HelmError({ message: "release: not found" })

const query = (session: Session, name: string, status?: Status) =>
  request(() =>
    session.api.list(Secret, {
      namespace: session.namespace,
      labelSelector: `name=${name},owner=helm${status === undefined ? "" : `,status=${status}`}`,
    }),
  ).pipe(Effect.mapError(wrap("query: failed to query with labels")))

const tryRead = Option.liftThrowable(readRelease)

/** What cannot be decoded is passed over without a word (read in pkg/storage/driver/secrets.go). */
const readable = (records: ReadonlyArray<KubeObject>) =>
  newestFirst(records.flatMap((record) => Option.toArray(tryRead(record))))

/** All revisions that can be read, the newest first. Fails when there is no record at all. */
export const history = (session: Session, name: string) =>
  query(session, name).pipe(
    Effect.filterOrFail(
      (records) => records.length > 0,
      () => notFound,
    ),
    Effect.map(readable),
  )

/** The revisions that are deployed, the newest first; there can be several, or none. */
export const deployedAll = (session: Session, name: string) =>
  Effect.map(query(session, name, "deployed"), readable)

/** One revision, by its name: with the labels alone that are not Helm's own. */
export const revision = Effect.fnUntraced(function* (session: Session, name: string, version: number) {
  const record = yield* request(() =>
    session.api.get(Secret, { namespace: session.namespace, name: recordName(name, version) }),
  ).pipe(Effect.mapError(wrap(`get: failed to get "${recordName(name, version)}"`)))
  if (record === undefined) return yield* notFound
  const release = yield* Effect.try({
    try: () => readRelease(record),
    catch: () => new HelmError({ message: `get: failed to decode data "${record.metadata.name}"` }),
  })
  return { ...release, labels: foreignLabels(release) }
})

/** Deletes a record, after reading it. */
export const deleteRevision = Effect.fnUntraced(function* (session: Session, release: Release) {
  yield* revision(session, release.name, release.version)
  const ref = { namespace: session.namespace, name: recordName(release.name, release.version) }
  const there = yield* request(() => session.api.delete(Secret, ref))
  if (!there) {
    return yield* new HelmError({ message: `secrets "${ref.name}" not found`, code: 404, reason: "NotFound" })
  }
})

/** Makes room for one more: the oldest go, but never the newest deployed one. */
const prune = Effect.fnUntraced(function* (session: Session, name: string, most: number) {
  const all = readable(yield* query(session, name))
  if (all.length <= most) return
  const [deployed] = yield* deployedAll(session, name)
  const spare = all
    .toReversed()
    .filter(({ version }) => version !== deployed?.version)
    .slice(0, all.length - most)
  for (const release of spare) yield* deleteRevision(session, release)
})

/** POST. A record of that revision is another run's: that is all the lock there is. */
export const createRecord = Effect.fnUntraced(function* (session: Session, release: Release, most = 0) {
  if (most > 0) yield* prune(session, release.name, most - 1)
  const record = recordOf(release, { createdAt: yield* unixSeconds })
  yield* request(() => session.api.create(Secret, record)).pipe(
    Effect.mapError((error) =>
      error.reason === "AlreadyExists"
        ? new HelmError({ message: "release: already exists" })
        : wrap("create: failed to create")(error),
    ),
  )
})

/** PUT without a version: it wins over whatever is there, and rebuilds the labels. */
export const updateRecord = Effect.fnUntraced(function* (session: Session, release: Release) {
  const record = recordOf(release, { modifiedAt: yield* unixSeconds })
  yield* request(() => session.api.update(Secret, record)).pipe(
    Effect.mapError(wrap("update: failed to update")),
  )
})

/** The same, where Helm goes on when it fails. */
export const tryUpdateRecord = (session: Session, release: Release) =>
  updateRecord(session, release).pipe(
    Effect.catch((error) =>
      Effect.sync(() =>
        session.log("WARN", "failed to update release", {
          name: release.name,
          revision: String(release.version),
          error: error.message,
        }),
      ),
    ),
  )
