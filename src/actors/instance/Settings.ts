// What the flags decided, as the instance actors need it.
import { Context, type Duration, type Option } from "effect"
import type { Amounts } from "../../schema/Quota.ts"

export interface InstanceSettings {
  /** Node path under which every default storage root lies. */
  readonly storageRootBase: string
  /** One install or repair is cancelled after this long, counted from its slot. */
  readonly installTimeout: Duration.Duration
  readonly repairInterval: Duration.Duration
  readonly targetPoll: Duration.Duration
  readonly maxConcurrentInstalls: number
  /** So many vClusters start at once. */
  readonly maxConcurrentTargets: number
  /** The namespaces whose instances are served; empty: all. */
  readonly watchNamespaces: ReadonlyArray<string>
  /** No policy keeps instances' pods from being privileged. */
  readonly allowPrivilegedInstances: boolean
  /** A policy keeps their definition while there are instances, and those that are annotated so. */
  readonly protectInstances: boolean
  /** Network policies keep instances' workloads from each other, the operator, the API server and metadata services. */
  readonly isolateInstanceNetwork: boolean
  /** Ranges of the cluster's pods in CIDR notation; empty: as the nodes say. */
  readonly podRanges: ReadonlyArray<string>
  /** What one instance may take beside its own vCluster; empty: as much as there is. */
  readonly instanceQuota: Amounts
  /** vClusters that are installed from now on are scheduled before what runs in instances. */
  readonly controlPlanePriority: boolean
  /** Where cleanup Jobs run. */
  readonly cleanupNamespace: string
  /** The namespace that instances' network policies admit to the vCluster API. */
  readonly operatorNamespace: string
  /** The image of the cleanup Job: the operator's own. */
  readonly operatorImage: string
  /** The pinned default tenant host image with its digest; absent in a build without one. */
  readonly defaultTenantHostImage: Option.Option<string>
  readonly images: {
    readonly vcluster: Option.Option<string>
    readonly kubernetes: Option.Option<string>
    readonly registry: Option.Option<string>
  }
}

export class Settings extends Context.Service<Settings, InstanceSettings>()("platform-operator/Settings") {}
