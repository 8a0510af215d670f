// What outlives the operator's process: one folder an instance in the state directory. Every write is a new
// file, fsynced and renamed over the old one; folders are 0700, files 0600.
//
//   <state-dir>/instances/<namespace>/<name>/instance.json    the record
//                                           /operation.json   what is running now
//                                           /history.json     what has been done
//                                           /plan.json        what operations would do
//                                           /project/         the Pulumi project
//                                           /backend/         its file backend
//                                           /kept/<cluster>/  backends of clusters it was installed into before
//   <state-dir>/packages/, plugins/                           shared, keyed by version
import { Context, Data, type Effect, Option, Schema } from "effect"
import { installReasons } from "../../schema/Conditions.ts"
import type { InstanceKey } from "../../schema/InstanceKey.ts"
import { type NodeShare, noShare } from "../../schema/NodeShare.ts"

/**
 * Of record and marker. Raised when an older operator must not touch them: it refuses what is newer. A field that an older one
 * may drop raises nothing.
 */
export const STATE_FORMAT = 1

/** What a successful operation proved, and what a status that was lost must be rebuilt from. */
export const InstanceRecord = Schema.Struct({
  format: Schema.Literal(STATE_FORMAT),
  /** The PlatformInstance this was last written for. Another UID with the same key is a successor. */
  uid: Schema.String,
  storageRoot: Schema.optionalKey(
    Schema.Struct({
      path: Schema.String,
      /** The base it was derived from; absent for a custom storage root, which is never removed. */
      base: Schema.optionalKey(Schema.String),
    }),
  ),
  /** Absent: the platform's own default. */
  tenantHostImage: Schema.optionalKey(Schema.String),
  /** The last successful install or repair: what a status lost in a restore is rebuilt from. */
  installed: Schema.optionalKey(
    Schema.Struct({
      version: Schema.String,
      generation: Schema.Finite,
      /** Why it ran: a reason of the `Installed` condition. */
      reason: Schema.Literals(installReasons),
      /** RFC 3339: a repair is due one interval after it. */
      finishedAt: Schema.String,
      /** The share of the repair interval by which the next repair comes early. */
      repairEarly: Schema.optionalKey(Schema.Finite),
      /** The gateway's NodePort, where it has one of its own. */
      httpNodePort: Schema.optionalKey(Schema.Finite),
      /** RFC 3339: when the last periodic repair ended. */
      lastRepair: Schema.optionalKey(Schema.String),
      tenants: Schema.Finite,
      users: Schema.Finite,
      issuer: Schema.optionalKey(Schema.String),
      endpoints: Schema.Struct({
        http: Schema.optionalKey(Schema.String),
        kubernetes: Schema.optionalKey(Schema.String),
      }),
    }),
  ),
  serviceUID: Schema.optionalKey(Schema.String),
  /** UID of the target's kube-system namespace: which cluster the Pulumi state belongs to. */
  kubeSystemUID: Schema.optionalKey(Schema.String),
  /** The `server` of the target's kubeconfig. */
  server: Schema.optionalKey(Schema.String),
  /** Set while a resync runs: written before the control plane is restarted, gone with the install that ends it. */
  resync: Schema.optionalKey(
    Schema.Struct({
      /** UID of the Service the control plane is restarted for. */
      serviceUID: Schema.String,
      /** UID of the pod that has to go; another one in its place has the restart behind it. */
      podUID: Schema.optionalKey(Schema.String),
      /** Which version of the kubeconfig was published then: once it is another, the restart has borne fruit. */
      source: Schema.optionalKey(Schema.String),
      /** RFC 3339. */
      startedAt: Schema.String,
    }),
  ),
  /** The id of the backup that this came out of, until its data is back: nothing is installed, and no state exchanged, meanwhile. */
  restoring: Schema.optionalKey(Schema.String),
  /** The UID of the PlatformInstance whose deletion has begun. */
  deleting: Schema.optionalKey(Schema.String),
  /** Record and state are older than what the instance has shown: nothing is applied without a refresh, until one succeeds. */
  behind: Schema.optionalKey(Schema.Literal(true)),
  /** The engine has begun what has not succeeded since: it failed, or was cut off. */
  unfinished: Schema.optionalKey(Schema.Literal(true)),
  /**
   * The spec that was last begun to be applied: what is repaired while a newer one waits for its plan or for approval. Read
   * by `agreedIn` alone: a spec that another version of the operator has written is no reason not to read the record.
   */
  agreed: Schema.optionalKey(
    Schema.Struct({ uid: Schema.String, generation: Schema.Finite, spec: Schema.Unknown }),
  ),
  /** An install that begins with no state, on purpose; gone with the one that succeeds. */
  anew: Schema.optionalKey(
    Schema.Struct({
      /** The target became another cluster, or somebody has asked for a fresh start. */
      because: Schema.Literals(["cluster", "asked"]),
      /** RFC 3339. */
      since: Schema.String,
    }),
  ),
})
export type InstanceRecord = typeof InstanceRecord.Type

/** The id of the backup whose data is not back yet. */
export const restoringIn = (record: Option.Option<InstanceRecord>): Option.Option<string> =>
  Option.flatMap(record, ({ restoring }) => Option.fromUndefinedOr(restoring))

/** What an install has given it of the node. One that waits for its data has given that up: somebody else may have it by now. */
export const shareOf = ({ installed, storageRoot, restoring }: InstanceRecord): NodeShare =>
  restoring === undefined
    ? {
        port: installed?.httpNodePort,
        root: storageRoot?.base === undefined ? storageRoot?.path : undefined,
        defaultRoot: storageRoot?.base === undefined ? undefined : storageRoot.path,
      }
    : noShare

/** Who runs an operation: enough to prove it dead (design: pod names and small pids come back). */
export const OperationMarker = Schema.Struct({
  format: Schema.Literal(STATE_FORMAT),
  kind: Schema.String,
  version: Schema.String,
  generation: Schema.Finite,
  startedAt: Schema.String,
  holder: Schema.Struct({
    podUID: Schema.String,
    podName: Schema.String,
    /** Random, one a start of the operator. */
    incarnation: Schema.String,
    /** The runner's process; absent until it was spawned. */
    pid: Schema.optionalKey(Schema.Finite),
    /** Field 22 of /proc/<pid>/stat, in clock ticks since boot. */
    startTime: Schema.optionalKey(Schema.String),
  }),
})
export type OperationMarker = typeof OperationMarker.Type

export class StateStoreError extends Data.TaggedError("StateStoreError")<{
  readonly path: string
  readonly message: string
}> {}

export interface InstancePaths {
  readonly root: string
  readonly project: string
  readonly backend: string
}

/** By the UIDs of their kube-system namespaces. */
export interface Clusters {
  readonly from: string
  readonly to: string
}

export class StateStore extends Context.Service<
  StateStore,
  {
    readonly paths: (key: InstanceKey) => InstancePaths
    readonly packagesDir: string
    readonly pluginsDir: string
    readonly readRecord: (key: InstanceKey) => Effect.Effect<Option.Option<InstanceRecord>, StateStoreError>
    readonly writeRecord: (key: InstanceKey, record: InstanceRecord) => Effect.Effect<void, StateStoreError>
    readonly readOperation: (
      key: InstanceKey,
    ) => Effect.Effect<Option.Option<OperationMarker>, StateStoreError>
    readonly writeOperation: (
      key: InstanceKey,
      marker: OperationMarker,
    ) => Effect.Effect<void, StateStoreError>
    /** The text as it was written; `None` when there is none. */
    readonly readHistory: (key: InstanceKey) => Effect.Effect<Option.Option<string>, StateStoreError>
    readonly writeHistory: (key: InstanceKey, text: string) => Effect.Effect<void, StateStoreError>
    /** The newest plans, in the same way. */
    readonly readPlan: (key: InstanceKey) => Effect.Effect<Option.Option<string>, StateStoreError>
    readonly writePlan: (key: InstanceKey, text: string) => Effect.Effect<void, StateStoreError>
    readonly removeOperation: (key: InstanceKey) => Effect.Effect<void, StateStoreError>
    /** Makes the project and backend folders. */
    readonly prepare: (key: InstanceKey) => Effect.Effect<InstancePaths, StateStoreError>
    /** Puts the state of one cluster aside, and that of another back in its place, if one was kept. */
    readonly exchangeState: (key: InstanceKey, clusters: Clusters) => Effect.Effect<void, StateStoreError>
    /** Whether there is a state after such an exchange. */
    readonly keepsState: (key: InstanceKey, clusters: Clusters) => Effect.Effect<boolean, StateStoreError>
    /** Removes project, backends and operation marker, and keeps the record; succeeds when there is nothing. */
    readonly dropState: (key: InstanceKey) => Effect.Effect<void, StateStoreError>
    /** Removes everything of the instance; succeeds when there is nothing. */
    readonly drop: (key: InstanceKey) => Effect.Effect<void, StateStoreError>
    /** Of every instance that has one, retained ones among them. One that cannot be read is left out. */
    readonly records: Effect.Effect<
      ReadonlyArray<{ readonly key: InstanceKey; readonly record: InstanceRecord }>,
      StateStoreError
    >
    /** The versions that the records prove as installed; fails when one cannot be read, for it may need any. */
    readonly installedVersions: Effect.Effect<ReadonlySet<string>, StateStoreError>
    /** Whether there is project or backend state (a record alone does not count). */
    readonly hasState: (key: InstanceKey) => Effect.Effect<boolean, StateStoreError>
  }
>()("platform-operator/StateStore") {}
