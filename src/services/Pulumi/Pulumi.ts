// The platform package and the Pulumi engine. One call of `run` is one child process (the runner), which runs
// the program once; interrupting it cancels the engine once and returns when nothing of its session is left.
import { Context, Data, type Duration, type Effect, type Redacted } from "effect"
import type { InstanceKey } from "../../schema/InstanceKey.ts"
import type { PlannedStep } from "../../schema/Plan.ts"

/** An installed `@di-framework/platform`, shared by all instances of that version. */
export interface PlatformPackage {
  readonly version: string
  /** The folder that holds `node_modules`. */
  readonly directory: string
  /** Content digest, verified before each use. */
  readonly digest: string
  /** The tenant host builds this package approves; empty when it says nothing (`ApprovedHostBuilds`). */
  readonly approvedHostBuilds: ReadonlyArray<string>
}

export interface OperationRequest {
  readonly key: InstanceKey
  readonly generation: number
  /** Why it runs: goes into `operation.json` and the span. */
  readonly kind: string
  readonly version: string
  readonly package: PlatformPackage
  /** Refresh (clearing pending creates) before `up`. */
  readonly refresh: boolean
  /** The whole stack config, without the project's prefix; keys not in it are removed from the stack. */
  readonly config: ReadonlyMap<string, string>
  /** Encrypted stack config, over stdin. */
  readonly secretConfig: ReadonlyMap<string, Redacted.Redacted>
  readonly kubeconfig: Redacted.Redacted
  /** UID of the target's kube-system namespace. */
  readonly clusterIdentifier: string
  /**
   * `expected`: something is installed, and nothing begins without its state. `older`: the same, and the state is known
   * to be older than what is installed. `lost`: there may be none, and things in the target that it knew. Absent: the
   * record says whether one is expected.
   */
  readonly state?: "expected" | "older" | "lost"
  /** Counted from the moment the engine has its slot. */
  readonly timeout: Duration.Duration
}

export interface OperationOutputs {
  readonly endpoints: { readonly http?: string; readonly kubernetes?: string }
  readonly namespace: string
  /** What the engine did: `create`, `update`, `same`, `delete`… and how many of each. */
  readonly changes: Readonly<Record<string, number>>
}

/** What is to be looked at: as an operation would have it. */
export type PreviewRequest = Omit<OperationRequest, "kind" | "refresh" | "state" | "generation">

export interface Preview {
  /** What `up` would do after a refresh; what stays as it is is left out. */
  readonly steps: ReadonlyArray<PlannedStep>
  /** Objects of Helm releases inside the target that are missing or edited, which the engine does not see: `Secret ns/name (missing)`. */
  readonly drifted: ReadonlyArray<string>
  /** Objects of theirs that the server does not let be compared, or put back, and why: `Job ns/name (spec.template)`. */
  readonly uncompared?: ReadonlyArray<string>
}

export class PulumiError extends Data.TaggedError("PulumiError")<{
  /** `fetch package`, `write project`, `set config`, `refresh`, `up`, `read outputs`… */
  readonly step: string
  readonly version: string
  /** First sentence: what happened and what to do. Redacted, with a tail of at most 1 KiB of the program's words. */
  readonly message: string
  /** `Locked`: a holder that may be alive. `Cancelled`: by timeout or interruption. */
  readonly reason: "Failed" | "Locked" | "Cancelled"
  /** A second try would get the same answer: the registry knows no such version. */
  readonly final?: boolean
}> {}

/** Where an operation is, for logs, spans and the split of its time. */
export interface OperationProgress {
  readonly step: string
  /** Something an administrator should hear of, a sentence: a dead holder's lock was removed, for one. */
  readonly notice?: string
  /** The volume of the state directory is nearly full, a sentence. */
  readonly low?: string
  /** A part of the step was begun or done; without it, and without a notice, it is the step itself that begins. */
  readonly moved?: boolean
  /** Objects of Helm releases inside the target that were missing or edited and are set right: `Secret ns/name (missing)`. */
  readonly restored?: ReadonlyArray<string>
  /**
   * Objects of Helm releases inside the target that were left as they are, because the server refuses what the release says of
   * the fields named with them: `Job ns/name (spec.template)`.
   */
  readonly kept?: ReadonlyArray<string>
  /** Objects that the engine has made, changed or removed: `ConfigMap name (created)`. */
  readonly changed?: ReadonlyArray<string>
}

export class Pulumi extends Context.Service<
  Pulumi,
  {
    /** Installs the package once a version and shares it; needs no registry when it is there already. */
    readonly fetch: (version: string) => Effect.Effect<PlatformPackage, PulumiError>
    /** Removes the packages of all other versions, but for those in use, and the plugins that none of the rest needs. */
    readonly prune: (versions: ReadonlySet<string>) => Effect.Effect<void>
    /**
     * Proves an earlier holder dead, recovers what it left, sets the config, runs [refresh and] `up`, and reads
     * the named outputs. At most one for an instance at any time; the caller holds the slot.
     */
    readonly run: (
      request: OperationRequest,
      onProgress: (progress: OperationProgress) => Effect.Effect<void>,
    ) => Effect.Effect<OperationOutputs, PulumiError>
    /**
     * What an operation would do, made against a copy of the state and what is in the target now. Nothing of the instance
     * is written, its folder in the state directory among it. Fails when it would not be whole: an operation was cut off,
     * or is at work. The caller holds the slot, as for `run`.
     */
    readonly preview: (
      request: PreviewRequest,
      onProgress: (progress: OperationProgress) => Effect.Effect<void>,
    ) => Effect.Effect<Preview, PulumiError>
    /** SHA-256, in hex, of the engine's state as it lies there: another one after whatever changes it; empty without one. */
    readonly stateDigest: (key: InstanceKey, version: string) => Effect.Effect<string, PulumiError>
    /** Keeps a copy of the engine's state as it is, as before each operation; nothing without one. The caller holds the slot. */
    readonly exportState: (key: InstanceKey, version: string) => Effect.Effect<void, PulumiError>
  }
>()("platform-operator/Pulumi") {}
