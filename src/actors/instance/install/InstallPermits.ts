// How many Pulumi operations run at once, over all instances. A permit is taken last, when package, target and
// lock are settled, and nothing is waited for while holding one.
import { Context, Effect, Layer, Semaphore } from "effect"
import { Settings } from "../Settings.ts"

export class InstallPermits extends Context.Service<InstallPermits, Semaphore.Semaphore>()(
  "platform-operator/InstallPermits",
) {
  static readonly layer = Layer.effect(
    InstallPermits,
    Effect.flatMap(Settings, (settings) => Semaphore.make(settings.maxConcurrentInstalls)),
  )
}
