// A vCluster drops the NodePorts of a Service that is made inside it: the host chooses others, and the vCluster writes them
// into the Service inside (seen with 0.36.1). A later change of the port it passes on. So the port of a gateway that was
// just made is not the one that was asked for, which only a refresh shows to the engine, and the up after it sets right.
import { Effect, Option, Schema } from "effect"
import { hostNamespace } from "../../../schema/Names.ts"
import { instanceKey, type PlatformInstance } from "../../../schema/PlatformInstance.ts"
import { Service } from "../../../services/Kubernetes/Kinds.ts"
import { type KubeError, Kubernetes } from "../../../services/Kubernetes/Kubernetes.ts"

const decodeSpec = Schema.decodeUnknownOption(
  Schema.Struct({
    type: Schema.Literal("NodePort"),
    ports: Schema.Array(Schema.Struct({ nodePort: Schema.optionalKey(Schema.Finite) })),
  }),
)

/** The instance has published something on the node, and nothing of it on the port that the gateway is to have. */
export const hasAnotherPort = Effect.fn("Install.hasAnotherPort")(function* (
  instance: PlatformInstance,
): Effect.fn.Return<boolean, KubeError, Kubernetes> {
  const wanted = instance.spec.platform?.gateway?.httpNodePort ?? 0
  if (wanted === 0) return false
  const kubernetes = yield* Kubernetes
  const services = yield* kubernetes.list(Service, { namespace: hostNamespace(instanceKey(instance)) })
  const published = services.flatMap(({ spec }) => Option.toArray(decodeSpec(spec)))
  return (
    published.length > 0 && !published.some(({ ports }) => ports.some(({ nodePort }) => nodePort === wanted))
  )
})
