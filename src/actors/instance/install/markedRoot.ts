// The storage root that the host namespace is marked with: what an admission policy lets the instance's pods mount.
import { Effect, Option, Result } from "effect"
import { instanceKey, type PlatformInstance } from "../../../schema/PlatformInstance.ts"
import { defaultStorageRoot } from "../../../schema/StorageRoot.ts"
import type { InstanceRecord } from "../../../services/StateStore/StateStore.ts"
import { Settings } from "../Settings.ts"
import { chooseStorageRoot } from "./choices.ts"
import { rootConflictOf } from "./claims.ts"
import { everInstalled } from "./stateEvidence.ts"

/** Where its data lies, or would lie. One that is refused, or cannot be looked into, gives nobody a part of the node. */
export const markedRoot = Effect.fnUntraced(function* (
  instance: PlatformInstance,
  record: Option.Option<InstanceRecord>,
) {
  const { storageRootBase: base } = yield* Settings
  const key = instanceKey(instance)
  const installed = everInstalled(instance, record)
  const chosen = chooseStorageRoot({ key, spec: instance.spec, base, record, everInstalled: installed })
  // Of one that was restored its record says what is installed, and not where: another one may have that by now.
  const keeps = installed && !Option.exists(record, ({ storageRoot }) => storageRoot === undefined)
  const isOthers = keeps
    ? false
    : yield* rootConflictOf(instance, record).pipe(
        Effect.map((conflict) => conflict !== undefined),
        Effect.orElseSucceed(() => true),
      )
  return Result.isSuccess(chosen) && !isOthers ? chosen.success.path : defaultStorageRoot(base, key)
})
