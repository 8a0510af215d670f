// The Helm releases that the program has made inside the target, where the engine does not look. A record that a
// dead writer left pending blocks every later `up` for good ("cannot re-use a name", "another operation is in
// progress": contracts, seen), and objects that were deleted or edited stay so. The only other writer is known to
// be dead when this runs.
import { Data, Effect, Option } from "effect"
import {
  type Revision,
  recordName,
  recordSelector,
  releaseRevisions,
  storedRelease,
} from "../Helm/ReleaseRecord.ts"
import { Secret } from "../Kubernetes/Kinds.ts"
import type { KubeError, KubernetesClient } from "../Kubernetes/Kubernetes.ts"
import { runChild } from "../Process/Child.ts"
import { baseEnvironment } from "./Environment.ts"
import { tail } from "./Messages.ts"
import type { PulumiOptions } from "./Options.ts"
import { redaction } from "./Redact.ts"
import { type Drift, findDrift, type Refused, replaceRefused, secretValues } from "./ReleaseDrift.ts"
import type { InnerRelease } from "./StateFile.ts"
import type { Workspace } from "./Workspace.ts"

export class InnerReleaseError extends Data.TaggedError("InnerReleaseError")<{ readonly message: string }> {}

/** The records of a release, in any order. */
export type History = ReadonlyArray<{ readonly revision: number; readonly status: string }>

export type Repair =
  | { readonly _tag: "Nothing" }
  | { readonly _tag: "Uninstall" }
  | { readonly _tag: "Rollback"; readonly revision: number }

/**
 * What is to be done about a release by its records: the newest revision decides about one that the state has as made.
 * One that it has not, and that never was in use, is in the way: the engine will make it anew, and Helm refuses a name
 * that is there, for good. One that was in use is never uninstalled for that. It may hold what was put into it for weeks,
 * when the state comes from a backup of the moment in which it was made; it is taken over (`ReleasesInTheWay.ts`).
 */
export const repairOf = (history: History, recorded: boolean): Repair => {
  const newest = [...history].sort((a, b) => b.revision - a.revision)[0]
  const deployed = history.filter(({ status }) => status === "deployed" || status === "superseded")
  // Half of it is gone, and an uninstall that was begun is only ever ended: it is none to go back to, or to take over.
  if (newest?.status === "uninstalling") return { _tag: "Uninstall" }
  if (!recorded) {
    const isThere = newest !== undefined && newest.status !== "uninstalled"
    return { _tag: isThere && deployed.length === 0 ? "Uninstall" : "Nothing" }
  }
  const last = Math.max(...deployed.map(({ revision }) => revision))
  switch (newest?.status) {
    case "pending-install":
    case "pending-upgrade":
    case "pending-rollback":
      return deployed.length > 0 ? { _tag: "Rollback", revision: last } : { _tag: "Uninstall" }
    case "failed":
      // The engine upgrades a failed release that it knows.
      return deployed.length > 0 ? { _tag: "Rollback", revision: last } : { _tag: "Nothing" }
    default:
      return { _tag: "Nothing" }
  }
}

/** What there is to reach the target with. */
export interface Tools {
  readonly client: KubernetesClient
  readonly workspace: Workspace
  readonly options: PulumiOptions
}

const helm = Effect.fnUntraced(function* (
  { workspace, options }: Tools,
  release: InnerRelease,
  args: ReadonlyArray<string>,
  redact: (text: string) => string,
) {
  const { exitCode, stderr } = yield* runChild({
    command: options.helmPath,
    args: [...args, "--namespace", release.namespace, "--kubeconfig", workspace.kubeconfig],
    env: { ...baseEnvironment(process.env, workspace.helmHome), HELM_DRIVER: "secret" },
    // A signal ends it at once and leaves its record pending. What it does here is done in a moment.
    grace: "10 seconds",
    ask: () => Effect.void,
  }).pipe(Effect.mapError((error) => new InnerReleaseError({ message: error.message })))
  if (!Option.contains(exitCode, 0)) {
    const words = tail(redact(stderr))
    return yield* new InnerReleaseError({ message: `helm ${args[0]} of release ${release.name}: ${words}` })
  }
})

const historyOf = (client: KubernetesClient, release: InnerRelease) =>
  client
    .list(Secret, {
      namespace: release.namespace,
      labelSelector: recordSelector(release),
      metadataOnly: true,
    })
    .pipe(Effect.map(releaseRevisions))

/** What takes the secrets of these revisions out of Helm's words about them; of one that cannot be read, their shapes. */
const redactionOf = Effect.fnUntraced(function* (
  client: KubernetesClient,
  release: InnerRelease,
  revisions: ReadonlyArray<number>,
) {
  const stored = yield* Effect.forEach(revisions, (revision) =>
    client.get(Secret, { namespace: release.namespace, name: recordName(release, revision) }).pipe(
      Effect.flatMap(Effect.fromOption),
      Effect.flatMap(storedRelease),
      Effect.map(({ documents }) => documents),
      Effect.orElseSucceed((): ReadonlyArray<unknown> => []),
    ),
  )
  return redaction(secretValues(stored.flat()))
})

/** What a revision of a release has made; `None`: its record is gone. Fails with what is wrong with the record. */
const storedOf = Effect.fnUntraced(function* (
  client: KubernetesClient,
  release: InnerRelease,
  revision: number,
) {
  const name = recordName(release, revision)
  const record = yield* client.get(Secret, { namespace: release.namespace, name })
  if (Option.isNone(record)) return Option.none()
  return yield* storedRelease(record.value).pipe(
    Effect.asSome,
    Effect.mapError(
      (problem) =>
        new InnerReleaseError({
          message: `The record of Helm release ${release.name} inside the instance cannot be read: ${problem}`,
        }),
    ),
  )
})

/** The edits over which the server refuses an apply of a revision's objects, and what else of these it refuses. */
const refusedEdits = Effect.fnUntraced(function* (
  client: KubernetesClient,
  release: InnerRelease,
  revision: number,
) {
  const stored = yield* storedOf(client, release, revision)
  if (Option.isNone(stored)) return { edits: [], refused: [] }
  const { found, refused } = yield* findDrift(client, stored.value.documents, release.namespace)
  return { edits: found.filter(({ replacement }) => replacement !== undefined), refused }
})

/**
 * Takes out of the way of an upgrade the edits over which the server refuses it; gives those objects. Helm works out an upgrade
 * from the revision that is deployed, or from the newest one where none is; what is there because a later one has put it there,
 * and failed, is no edit. It fails at nothing: Helm meets the same.
 */
const makeWay = Effect.fn("InnerReleases.makeWay")(
  function* (release: InnerRelease, history: ReadonlyArray<Revision>, { client }: Tools) {
    const [newest] = history
    const from = history.find(({ status }) => status === "deployed") ?? newest
    if (newest === undefined || from === undefined) return []
    const { edits } = yield* refusedEdits(client, release, from.revision)
    if (edits.length === 0 || newest === from) return yield* replaceRefused(client, edits)
    const later = yield* refusedEdits(client, release, newest.revision)
    const refused = new Set([...later.edits, ...later.refused].map(({ object }) => object))
    return yield* replaceRefused(
      client,
      edits.filter(({ object }) => refused.has(object)),
    )
  },
  (made, release) =>
    Effect.catch(made, ({ message }) =>
      Effect.logWarning("objects of a Helm release inside the instance cannot be looked at before it").pipe(
        Effect.annotateLogs({ release: release.name, error: message }),
        Effect.as([]),
      ),
    ),
)

/** Sets a record right that is in the engine's way; gives a sentence about it. */
const unblock = Effect.fn("InnerReleases.unblock")(function* (
  release: InnerRelease,
  repair: Exclude<Repair, { readonly _tag: "Nothing" }>,
  newest: number,
  tools: Tools,
) {
  const rollback = repair._tag === "Rollback"
  if (rollback) {
    const edits = yield* Effect.option(refusedEdits(tools.client, release, repair.revision))
    if (Option.isSome(edits)) yield* replaceRefused(tools.client, edits.value.edits)
  }
  yield* helm(
    tools,
    release,
    rollback
      ? ["rollback", release.name, String(repair.revision)]
      : ["uninstall", release.name, "--ignore-not-found", "--wait"],
    yield* redactionOf(tools.client, release, rollback ? [newest, repair.revision] : [newest]),
  )
  const what = rollback ? `rolled back to revision ${repair.revision}` : "uninstalled"
  return `Helm release ${release.name} inside the instance was left half-way and has been ${what}.`
})

const named = ({ object, how }: Drift): string => `${object} (${how})`
const namedRefused = ({ object, fields }: Refused): string => `${object} (${fields.join(", ")})`

/**
 * What was done about a release: a sentence about a record set right, or the objects put back; or those that were left as they
 * are, because the server refuses what the release says of the fields named with them: `Job ns/name (spec.template)`.
 */
export type Done =
  | { readonly notice: string }
  | { readonly restored: ReadonlyArray<string> }
  | { readonly kept: ReadonlyArray<string> }

/** What is found of the objects of releases, by name, and why: `Secret wasmcloud/hosts (missing)`. */
export interface ReleasesDrift {
  /** What an install would put back. */
  readonly drifted: ReadonlyArray<string>
  /** What it could not, or of which nobody can say whether it has to. */
  readonly uncompared: ReadonlyArray<string>
}

/** What of these releases an install would put back; nothing is done about it. */
export const driftOfReleases = Effect.fn("InnerReleases.drift")(function* (
  releases: ReadonlyArray<InnerRelease>,
  client: KubernetesClient,
) {
  const drifted: Array<string> = []
  const uncompared: Array<string> = []
  for (const release of releases) {
    const newest = (yield* historyOf(client, release))[0]
    if (newest?.status !== "deployed") {
      drifted.push(`Release ${release.namespace}/${release.name} (${newest?.status ?? "missing"})`)
      continue
    }
    const stored = yield* storedOf(client, release, newest.revision)
    if (Option.isNone(stored)) continue
    const drift = yield* findDrift(client, stored.value.documents, release.namespace)
    drifted.push(...drift.found.map(named))
    uncompared.push(
      ...drift.refused.map(namedRefused),
      ...drift.uncompared.map(({ object, reason }) => `${object} (${reason})`),
    )
  }
  return { drifted, uncompared } satisfies ReleasesDrift
})

/** Applies the deployed manifest again where an object of it is missing or edited; gives what that has put back. */
const reapply = Effect.fn("InnerReleases.reapply")(function* (
  release: InnerRelease,
  revision: number,
  tools: Tools,
  tellKept: (kept: ReadonlyArray<string>) => Effect.Effect<void>,
) {
  const { client } = tools
  const stored = yield* storedOf(client, release, revision)
  if (Option.isNone(stored)) return []
  const { documents, serverSide } = stored.value
  const { found: drifts, refused } = yield* findDrift(client, documents, release.namespace)
  if (refused.length > 0) yield* tellKept(refused.map(namedRefused))
  if (drifts.length === 0) return []
  yield* replaceRefused(client, drifts)
  yield* helm(
    tools,
    release,
    ["rollback", release.name, String(revision), ...(serverSide ? ["--force-conflicts"] : [])],
    redaction(secretValues(documents)),
  )
  // Whoever edits an object again and again is not overcome by this, and nothing is claimed of it.
  const { found: left } = yield* findDrift(client, documents, release.namespace)
  const remaining = new Set(left.map(({ object }) => object))
  if (left.length > 0) {
    yield* Effect.logWarning("objects of a Helm release inside the instance are edited again").pipe(
      Effect.annotateLogs({ release: release.name, objects: left.map(named) }),
    )
  }
  return drifts.filter(({ object }) => !remaining.has(object))
})

/**
 * Looks at each of these releases: sets right what stands in the engine's way, and applies the manifest of a
 * deployed one again where an object of it is missing or edited. `tell` hears of each thing done.
 *
 * `pass`: before the engine an apply that does not succeed is left for the pass after it, because it may need what
 * only the engine puts back (a definition, a webhook's Service). `recover`: whether the operation before was cut off;
 * otherwise the engine itself upgrades a failed release.
 */
export const restoreReleases = Effect.fn("InnerReleases.restore")(function* (
  releases: ReadonlyArray<InnerRelease>,
  tools: Tools,
  pass: { readonly when: "before engine" | "after engine"; readonly recover: boolean },
  tell: (done: Done) => Effect.Effect<void>,
) {
  const waits = (error: InnerReleaseError | KubeError) =>
    pass.when === "before engine" && !(error._tag === "KubeError" && error.code === 0)
  for (const release of releases) {
    const history = yield* historyOf(tools.client, release)
    const newest = history[0]
    const repair = repairOf(history, release.recorded)
    if (newest !== undefined && repair._tag !== "Nothing" && (pass.recover || newest.status !== "failed")) {
      yield* tell({ notice: yield* unblock(release, repair, newest.revision, tools) })
    } else if (newest?.status === "deployed" && release.recorded) {
      // Once an operation.
      const tellKept = (kept: ReadonlyArray<string>) =>
        pass.when === "after engine" ? tell({ kept }) : Effect.void
      const restored = yield* reapply(release, newest.revision, tools, tellKept).pipe(
        Effect.catchIf(waits, (error) =>
          Effect.logWarning("Helm release inside the instance cannot be applied again yet").pipe(
            Effect.annotateLogs({ release: release.name, error: error.message }),
            Effect.as([]),
          ),
        ),
      )
      if (restored.length > 0) yield* tell({ restored: restored.map(named) })
    } else if (newest?.status === "failed" && release.recorded) {
      const replaced = yield* makeWay(release, history, tools)
      if (replaced.length > 0) yield* tell({ restored: replaced.map(named) })
    }
  }
})

/**
 * Before an engine that may upgrade these releases, where nothing else is looked for: puts back what was edited in a way over
 * which the server refuses an upgrade. It fails at nothing: the engine meets the same target. `tell` hears of what was put back.
 */
export const makeWayForUpgrades = Effect.fn("InnerReleases.makeWayForUpgrades")(function* (
  releases: ReadonlyArray<InnerRelease>,
  tools: Tools,
  tell: (done: Done) => Effect.Effect<void>,
) {
  for (const release of releases) {
    if (!release.recorded) continue
    const history = yield* Effect.orElseSucceed(historyOf(tools.client, release), () => [])
    const replaced = yield* makeWay(release, history, tools)
    if (replaced.length > 0) yield* tell({ restored: replaced.map(named) })
  }
})
