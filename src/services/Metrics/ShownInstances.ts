// The instances that have series, by namespace and name: whoever measures something of an instance beside its actor
// measures it for these alone, so that nothing comes back of one that is gone.
import { Context } from "effect"
import type { InstanceKey } from "../../schema/InstanceKey.ts"

/** By `formatKey`. */
export const ShownInstances = Context.Reference<Map<string, InstanceKey>>(
  "platform-operator/ShownInstances",
  {
    defaultValue: () => new Map(),
  },
)
