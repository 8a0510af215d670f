// Helm releases that are in use inside the target and of which the state knows nothing, because it is older than the
// installation: a backup of the state claim, for one. The engine would make such a release anew, and Helm refuses its name
// for good. Uninstalling it would take along what it holds. So the state is given an entry that says no more than which
// release it is; the refresh that follows reads the rest from Helm's record, as an import does (read in the provider's
// source: an entry without outputs is read by its id), and the up makes of it what the program wants, as an upgrade.
import { gzipSync } from "node:zlib"
import { Effect, FileSystem, Option, Schema } from "effect"
import { Disk } from "../Disk/Disk.ts"
import { recordName, recordSelector, releaseRevisions } from "../Helm/ReleaseRecord.ts"
import { Secret } from "../Kubernetes/Kinds.ts"
import type { KubernetesClient } from "../Kubernetes/Kubernetes.ts"
import type { InstancePaths } from "../StateStore/StateStore.ts"
import { releaseType, stateFile } from "./Layout.ts"
import { readStateText, StateFileError } from "./StateFile.ts"

/** A Helm release that the engine could not make, as its events tell of it. */
export interface UnmadeRelease {
  readonly urn: string
  readonly namespace: string
  readonly name: string
  /** URN of what it belongs to. */
  readonly parent?: string | undefined
  /** `<urn>::<id>` of the provider that it is made with. */
  readonly provider?: string | undefined
}

/** What the records in the target say of a release. */
export interface ReleaseUse {
  /** The newest revision that was in use; absent: none ever was, or it is being uninstalled, and nothing is lost with it. */
  readonly inUse: number | undefined
  /** A record of it was written by an engine's provider, and by nobody else's Helm. */
  readonly byEngine: boolean
}

const Managed = Schema.Struct({
  metadata: Schema.Struct({
    managedFields: Schema.optionalKey(
      Schema.Array(Schema.Struct({ manager: Schema.optionalKey(Schema.String) })),
    ),
  }),
})
const decodeManaged = Schema.decodeUnknownOption(Schema.fromJsonString(Managed))

/** The field manager of the records that Helm inside of Pulumi's Kubernetes provider writes (seen: 4.25.0). */
const provider = "pulumi-kubernetes"

const isWrittenByProvider = Effect.fnUntraced(function* (
  client: KubernetesClient,
  release: UnmadeRelease,
  revision: number,
) {
  const text = yield* client
    .raw(`/api/v1/namespaces/${release.namespace}/secrets/${recordName(release, revision)}`)
    .pipe(
      // Gone meanwhile. Any other answer says nothing of who has written it, and is not to be guessed.
      Effect.catchIf(
        ({ code }) => code === 404,
        () => Effect.succeed(""),
      ),
    )
  return Option.exists(decodeManaged(text), ({ metadata }) =>
    (metadata.managedFields ?? []).some(({ manager }) => manager?.startsWith(provider) === true),
  )
})

/** Looks at the records of a release. Fails with the error of the API. */
export const useOf = Effect.fn("Adoption.useOf")(function* (
  client: KubernetesClient,
  release: UnmadeRelease,
) {
  const revisions = releaseRevisions(
    yield* client.list(Secret, {
      namespace: release.namespace,
      labelSelector: recordSelector(release),
      metadataOnly: true,
    }),
  )
  // One that somebody has begun to uninstall lacks what was removed first: it is none to take over.
  const isGoing = revisions[0]?.status === "uninstalling"
  const inUse = isGoing
    ? undefined
    : revisions.find(({ status }) => status === "deployed" || status === "superseded")?.revision
  let byEngine = false
  for (const { revision } of revisions) {
    byEngine ||= yield* isWrittenByProvider(client, release, revision)
  }
  return { inUse, byEngine } satisfies ReleaseUse
})

const Open = Schema.Record(Schema.String, Schema.Unknown)
const decodeOpen = Schema.decodeUnknownEffect(Open)
const decodeText = Schema.decodeUnknownEffect(Schema.fromJsonString(Open))
const decodeResources = Schema.decodeUnknownEffect(
  Schema.optional(
    Schema.NullOr(Schema.Array(Schema.StructWithRest(Schema.Struct({ urn: Schema.String }), [Open]))),
  ),
)

/**
 * Writes an entry for each of these releases into the state, durably. The caller knows that nobody is at work in the
 * backend. Fails, and has changed nothing, when the state cannot be read, has an entry for one of them already, or lacks
 * what one of them hangs on.
 */
export const adoptReleases = Effect.fn("Adoption.adopt")(
  function* (paths: InstancePaths, releases: ReadonlyArray<UnmadeRelease>) {
    const fs = yield* FileSystem.FileSystem
    const disk = yield* Disk
    const text = yield* readStateText(paths).pipe(Effect.flatMap(Effect.fromOption))
    const state = yield* decodeText(text)
    const checkpoint = yield* decodeOpen(state.checkpoint)
    const latest = yield* decodeOpen(checkpoint.latest)
    const resources = (yield* decodeResources(latest.resources)) ?? []
    const has = (urn: string | undefined) => resources.some((one) => one.urn === urn)
    const isThere = (reference: string | undefined) =>
      resources.some(({ urn, id }) => `${urn}::${String(id)}` === reference)
    for (const { urn, parent, provider: reference, namespace, name } of releases) {
      if (!has(urn) && has(parent) && isThere(reference)) continue
      return yield* new StateFileError({
        message: `the state does not know what Helm release ${namespace}/${name} hangs on`,
      })
    }
    const entries = releases.map(({ urn, namespace, name, parent, provider: reference }) => ({
      urn,
      custom: true,
      id: `${namespace}/${name}`,
      type: releaseType,
      parent,
      provider: reference,
    }))
    const whole = {
      ...state,
      checkpoint: { ...checkpoint, latest: { ...latest, resources: [...resources, ...entries] } },
    }
    const isPacked = yield* fs.exists(`${stateFile(paths)}.json.gz`)
    const file = `${stateFile(paths)}${isPacked ? ".json.gz" : ".json"}`
    const content = JSON.stringify(whole)
    // A name that the backend's mending removes.
    const temporary = `${file}.0.tmp`
    yield* fs.remove(temporary, { force: true })
    yield* disk.writeNew(temporary, isPacked ? gzipSync(content) : Buffer.from(content), 0o600)
    yield* disk.rename(temporary, file)
    yield* disk.syncFolder(file.slice(0, file.lastIndexOf("/")))
  },
  (effect) =>
    Effect.mapError(effect, (error) =>
      error._tag === "StateFileError" ? error : new StateFileError({ message: error.message }),
    ),
)
