// Kubernetes Events about an object (events.k8s.io/v1). Emitting one never fails the caller: what cannot be
// written is logged.
import { Context, type Effect } from "effect"
import type { EventReason } from "../../schema/Conditions.ts"
import type { KubeObject } from "../Kubernetes/Kubernetes.ts"

export interface OperatorEvent {
  readonly type: "Normal" | "Warning"
  readonly reason: EventReason
  /** What the operator was doing: `Install`, `Repair`, `Delete`… */
  readonly action: string
  /** At most 1,024 characters, cut at a word; no secrets. */
  readonly note: string
  /**
   * `false`: new words are told at once, since each follows what a person has written, or is told but once. Default: a Warning whose words change
   * is told with growing pauses.
   */
  readonly paced?: false
}

export class Events extends Context.Service<
  Events,
  { readonly emit: (regarding: KubeObject, event: OperatorEvent) => Effect.Effect<void> }
>()("platform-operator/Events") {}
