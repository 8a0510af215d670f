// Which packages and plugins somebody may need: every instance there is, retained ones among them. The rest go, once an hour.
import { Effect, Predicate, Schedule } from "effect"
import type { KubeObject } from "../../../services/Kubernetes/Kubernetes.ts"
import { Pulumi } from "../../../services/Pulumi/Pulumi.ts"
import { StateStore } from "../../../services/StateStore/StateStore.ts"
import { Views } from "../Views.ts"

const text = (value: unknown): ReadonlyArray<string> => (typeof value === "string" ? [value] : [])

/** The versions that an instance names, whatever else this operator can or cannot read of it. */
const versionsOf = ({ spec, status }: KubeObject): ReadonlyArray<string> => [
  ...(Predicate.isObject(spec) ? text(Reflect.get(spec, "version")) : []),
  ...(Predicate.isObject(status) ? text(Reflect.get(status, "installedVersion")) : []),
]

export const tidyOnce = Effect.fn("Instances.tidyPackages")(function* () {
  const views = yield* Views
  const store = yield* StateStore
  const pulumi = yield* Pulumi
  const proved = yield* store.installedVersions
  const named = (yield* views.instances).flatMap(versionsOf)
  yield* pulumi.prune(new Set([...proved, ...named]))
})

/** Never ends; the first time an hour after the start, when everybody has asked for what it needs. */
export const tidyPackages = tidyOnce().pipe(
  Effect.catch((error) =>
    Effect.logWarning("packages and plugins are not tidied up").pipe(
      Effect.annotateLogs({ message: error.message }),
    ),
  ),
  Effect.delay("1 hour"),
  Effect.repeat(Schedule.forever),
)
