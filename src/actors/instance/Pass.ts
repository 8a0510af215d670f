// What every pass over an instance works with.
import type { Scope } from "effect"
import type { DeletionView } from "../../schema/DeletionView.ts"
import type { PlatformInstance } from "../../schema/PlatformInstance.ts"
import type { Events } from "../../services/Events/Events.ts"
import type { Helm } from "../../services/Helm/Helm.ts"
import type { History } from "../../services/History/History.ts"
import type { KubeObject, Kubernetes } from "../../services/Kubernetes/Kubernetes.ts"
import type { Pulumi } from "../../services/Pulumi/Pulumi.ts"
import type { StateStore } from "../../services/StateStore/StateStore.ts"
import type { ActorContext } from "../kit/Supervisor.ts"
import type { Timers } from "../kit/Timers.ts"
import type { Standing } from "./approval.ts"
import type { InstallPermits } from "./install/InstallPermits.ts"
import type { Memory } from "./Memory.ts"
import type { Operation, OperationError, OperationResult } from "./Operation.ts"
import type { Settings } from "./Settings.ts"
import type { HostNetwork } from "./target/HostNetwork.ts"
import type { Prober } from "./target/Prober.ts"
import type { Protection } from "./target/Protection.ts"
import type { Quotas } from "./target/Quotas.ts"
import type { TargetPermits } from "./target/TargetPermits.ts"
import type { OwnPod } from "./target/writer.ts"
import type { InstanceTrace } from "./trace/InstanceTrace.ts"
import type { Views } from "./Views.ts"

export type InstanceContext = ActorContext<Operation, OperationResult, OperationError>

/** Everything an instance actor stands on. */
export type InstanceServices =
  | Kubernetes
  | Helm
  | Pulumi
  | StateStore
  | Events
  | History
  | Settings
  | Views
  | Protection
  | HostNetwork
  | Quotas
  | InstallPermits
  | TargetPermits
  | OwnPod

/** What a pass over any instance has. */
export interface AnyPass {
  readonly context: InstanceContext
  readonly timers: Timers
  readonly prober: Prober
  readonly trace: InstanceTrace
  /** The actor's own scope: what is forked into it ends with the actor. */
  readonly scope: Scope.Scope
  readonly memory: Memory
  /** As the server gave it, for Events and preconditions. */
  readonly object: KubeObject
}

/** Over an instance that is not being deleted. */
export interface Pass extends AnyPass {
  /** With the spec that counts: that which was last agreed on while a newer one waits. */
  readonly instance: PlatformInstance
  /** As the server has it. */
  readonly wanted: PlatformInstance
  readonly standing: Standing
}

/** Over one that is: as much of it as can be read even when its spec cannot. */
export interface DeletionPass extends AnyPass {
  readonly subject: DeletionView
}
