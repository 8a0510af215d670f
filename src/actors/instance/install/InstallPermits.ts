// How many Pulumi operations run at once, over all instances, and who is next. A permit is taken last, when package
// and target are settled; whoever finds the state locked gives it back at once.
import { Clock, Context, Effect, Layer, Option, Schema } from "effect"
import { Pod } from "../../../services/Kubernetes/Kinds.ts"
import { Kubernetes } from "../../../services/Kubernetes/Kubernetes.ts"
import { observe } from "../../../services/Metrics/Metrics.ts"
import { type FairPermits, makeFairPermits } from "../../kit/FairPermits.ts"
import { Settings } from "../Settings.ts"
import { OwnPod } from "../target/writer.ts"

const decodePod = Schema.decodeUnknownOption(
  Schema.Struct({
    containerStatuses: Schema.optionalKey(
      Schema.Array(
        Schema.Struct({
          lastState: Schema.optionalKey(
            Schema.Struct({
              terminated: Schema.optionalKey(Schema.Struct({ reason: Schema.optionalKey(Schema.String) })),
            }),
          ),
        }),
      ),
    ),
  }),
)

/** By what the kubelet says of this container's end before this start; where nobody says it, it was not. */
const wasKilledForMemory = Effect.gen(function* () {
  const kubernetes = yield* Kubernetes
  const { podName, podUID } = yield* OwnPod
  const { operatorNamespace } = yield* Settings
  const found = yield* Effect.option(kubernetes.get(Pod, { namespace: operatorNamespace, name: podName }))
  const own = Option.filter(Option.flatten(found), ({ metadata }) => metadata.uid === podUID)
  const status = Option.flatMap(own, (pod) => decodePod(pod.status))
  return Option.exists(status, ({ containerStatuses = [] }) =>
    containerStatuses.some(({ lastState }) => lastState?.terminated?.reason === "OOMKilled"),
  )
})

/** The same permits; how long each is waited for is measured. */
const timed = (permits: FairPermits): FairPermits => ({
  ...permits,
  withPermit: (claim, onWait, effect) =>
    Effect.flatMap(Clock.currentTimeMillis, (asked) => {
      const granted = Effect.flatMap(Clock.currentTimeMillis, (now) =>
        observe("platform_operator_queue_wait_seconds", {}, Math.max(0, now - asked) / 1000),
      )
      return permits.withPermit(claim, onWait, Effect.andThen(granted, effect))
    }),
})

export class InstallPermits extends Context.Service<InstallPermits, FairPermits>()(
  "platform-operator/InstallPermits",
) {
  static readonly layer = Layer.effect(
    InstallPermits,
    Effect.gen(function* () {
      const { maxConcurrentInstalls } = yield* Settings
      if (!(yield* wasKilledForMemory)) return timed(makeFairPermits(maxConcurrentInstalls))
      yield* Effect.logWarning(
        "this container was ended before for lack of memory: operations begin one at a time, and one more with each that ends",
      )
      return timed(makeFairPermits(maxConcurrentInstalls, 1))
    }),
  )
}
