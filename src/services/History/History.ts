// The last operations of an instance, kept and shown. Nothing here fails its caller: what cannot be written is logged.
import { Context, type Effect } from "effect"
import type { Begun, Ending } from "../../schema/History.ts"
import type { InstanceKey } from "../../schema/InstanceKey.ts"
import type { KubeObject } from "../Kubernetes/Kubernetes.ts"

export class History extends Context.Service<
  History,
  {
    /** On the disk before the operation begins. */
    readonly began: (key: InstanceKey, begun: Begun) => Effect.Effect<void>
    /** Ends what began last; on the disk when it returns. */
    readonly ended: (key: InstanceKey, ending: Ending) => Effect.Effect<void>
    /** Says of what an earlier process had begun that nobody has seen its end. Gives whether there was any. */
    readonly recover: (key: InstanceKey) => Effect.Effect<boolean>
    /**
     * Shows what is kept beside `owner`, which owns the copy: it goes with it. A foreign object of that name is left alone. Gives
     * whether it could be written.
     */
    readonly show: (owner: KubeObject) => Effect.Effect<boolean>
    /** Of an instance that is gone for good. */
    readonly forget: (key: InstanceKey) => Effect.Effect<void>
  }
>()("platform-operator/History") {}
