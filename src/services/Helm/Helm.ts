// Helm as a child process, and the state of a release as its record Secrets tell it. This service knows
// releases, not instances.
import { Context, Data, type Effect, type Option } from "effect"
import type { KubeError, KubeManifest } from "../Kubernetes/Kubernetes.ts"

export interface ReleaseRef {
  readonly namespace: string
  readonly name: string
}

export type ReleaseStatus =
  | "unknown"
  | "deployed"
  | "uninstalled"
  | "superseded"
  | "failed"
  | "uninstalling"
  | "pending-install"
  | "pending-upgrade"
  | "pending-rollback"

/** Read from the labels of the release Secrets alone. "Newest" is the highest revision, whatever its status. */
export interface ReleaseState {
  readonly revision: number
  readonly status: ReleaseStatus
  /** The newest revision whose status is `deployed`. */
  readonly lastDeployed: Option.Option<number>
  /** The newest revision that was deployed before another one was. */
  readonly lastSuperseded: Option.Option<number>
  /** The lowest revision that is kept: Helm removes older ones, also where every newer one has failed. */
  readonly oldest: number
}

/** A revision as its record has it. */
export interface StoredRevision {
  /** As they were applied; they may hold secrets. */
  readonly objects: ReadonlyArray<KubeManifest>
  /** The version of its chart. */
  readonly chartVersion: Option.Option<string>
}

export class HelmError extends Data.TaggedError("HelmError")<{
  readonly operation: "read" | "install" | "upgrade" | "rollback" | "uninstall" | "chart"
  /** The first cause in Helm's own words, secrets redacted. */
  readonly message: string
  readonly exitCode: Option.Option<number>
}> {}

export class Helm extends Context.Service<
  Helm,
  {
    /** `None` when there is no record at all. Reads metadata only; runs no process. */
    readonly state: (release: ReleaseRef) => Effect.Effect<Option.Option<ReleaseState>, HelmError>
    /** Reads one Secret. Fails with a `HelmError` when its record is gone or holds no release. */
    readonly stored: (
      release: ReleaseRef,
      revision: number,
    ) => Effect.Effect<StoredRevision, HelmError | KubeError>
    /** Installs the operator's vCluster chart with these values. Interruption ends the child gracefully (one SIGTERM). */
    readonly install: (
      release: ReleaseRef,
      values: Readonly<Record<string, unknown>>,
    ) => Effect.Effect<void, HelmError>
    /** The same over a release that is there: it gets that chart and these values, whatever it had. */
    readonly upgrade: (
      release: ReleaseRef,
      values: Readonly<Record<string, unknown>>,
    ) => Effect.Effect<void, HelmError>
    /** Applies the newest deployed revision's own chart and values again; never today's embedded chart. */
    readonly reapply: (release: ReleaseRef) => Effect.Effect<void, HelmError>
    readonly rollback: (release: ReleaseRef, revision: number) => Effect.Effect<void, HelmError>
    /**
     * Succeeds when there is nothing to uninstall. Records that neither Helm nor the operator can read are removed with it;
     * what they had installed is not.
     */
    readonly uninstall: (release: ReleaseRef) => Effect.Effect<void, HelmError>
    /** The version of the chart that `install` and `upgrade` take. */
    readonly chartVersion: string
  }
>()("platform-operator/Helm") {}
