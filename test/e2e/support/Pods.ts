// Pods, and how their containers are.
import { Schema } from "effect"
import { getJson } from "./Kubectl.ts"

const optional = Schema.optionalKey
const ContainerState = Schema.Struct({ terminated: optional(Schema.Unknown) })
const Container = Schema.Struct({
  ready: Schema.Boolean,
  restartCount: Schema.Finite,
  /** Once it was started. */
  containerID: optional(Schema.String),
  state: ContainerState,
  lastState: ContainerState,
})
const Pod = Schema.Struct({
  metadata: Schema.Struct({
    name: Schema.String,
    uid: Schema.String,
    deletionTimestamp: optional(Schema.String),
  }),
  status: Schema.Struct({ phase: Schema.String, containerStatuses: optional(Schema.Array(Container)) }),
})
export type Pod = typeof Pod.Type

/** Those that kubectl finds with these arguments; `--namespace` is one of them. */
export const podsOf = async (...args: ReadonlyArray<string>): Promise<ReadonlyArray<Pod>> =>
  (await getJson(Schema.Struct({ items: Schema.Array(Pod) }), ["pods", ...args])).items

/** None while the kubelet has said nothing of them. */
export const containersOf = ({ status }: Pod) => status.containerStatuses ?? []
