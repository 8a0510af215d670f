// Waits until an instance is as a backup or a restore needs it.
import { Effect } from "effect"
import { formatKey, type InstanceKey } from "../schema/InstanceKey.ts"
import { dayTwoOf } from "./dayTwo.ts"
import { conditionOf, getInstance, type Instance } from "./Instance.ts"
import { cannot, type Kubectl, type PiError, type Where } from "./Kubectl.ts"
import { AGAIN } from "./root.ts"

/** Longer than a control plane may take to come up, images and all. */
const patience = "30 minutes"

export const untilIs = Effect.fnUntraced(function* (
  { own, key }: { readonly own: Where; readonly key: InstanceKey },
  what: string,
  is: (instance: Instance, now: number) => boolean,
) {
  const look: Effect.Effect<void, PiError, Kubectl> = Effect.gen(function* () {
    while (true) {
      const { instance } = yield* getInstance(own, key.name)
      if (is(instance, Date.now())) return
      yield* Effect.sleep("2 seconds")
    }
  })
  yield* Effect.timeoutOrElse(look, {
    duration: patience,
    orElse: () =>
      Effect.fail(
        cannot(
          `${formatKey(key)} is not ${what} after ${patience}: kubectl pi status ${key.name} -n ${key.namespace} says why. Once that is mended, ${AGAIN}`,
        ),
      ),
  })
})

export const isUp = (instance: Instance): boolean => conditionOf(instance, "TargetReady")?.status === "True"
export const isAsleep = (instance: Instance, now: number): boolean =>
  dayTwoOf(instance, now).asleepSince !== undefined
