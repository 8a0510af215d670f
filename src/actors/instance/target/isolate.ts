// Keeps the network policies of an instance's workloads as they should be, with what is made inside.
import { Effect } from "effect"
import { hostNamespace } from "../../../schema/Names.ts"
import { instanceKey, type PlatformInstance } from "../../../schema/PlatformInstance.ts"
import { NetworkPolicy } from "../../../services/Kubernetes/Kinds.ts"
import { Kubernetes } from "../../../services/Kubernetes/Kubernetes.ts"
import { Settings } from "../Settings.ts"
import { type InstanceView, Views } from "../Views.ts"
import { applyWhole } from "./applyWhole.ts"
import { HostNetwork } from "./HostNetwork.ts"
import { networkPoliciesApplied, superfluous, workloadPolicyManifests } from "./NetworkPolicies.ts"

/** What there should be: nothing where the network of instances is open. */
export const workloadPolicies = Effect.fnUntraced(function* (namespace: string, view: InstanceView) {
  const { isolateInstanceNetwork, operatorNamespace } = yield* Settings
  if (!isolateInstanceNetwork) return []
  const facts = yield* (yield* HostNetwork).facts
  const inner = view.innerNetworkPolicies
  return workloadPolicyManifests({ hostNamespace: namespace, operatorNamespace, facts, inner })
})

/** Writes those that are not so, and takes away those that should not be. */
export const isolateWorkloads = Effect.fn("Target.isolateWorkloads")(function* (instance: PlatformInstance) {
  const kubernetes = yield* Kubernetes
  const views = yield* Views
  const key = instanceKey(instance)
  const view = yield* views.read(key)
  const wanted = yield* workloadPolicies(hostNamespace(key), view)
  for (const manifest of wanted) {
    if (networkPoliciesApplied(view.networkPolicies, [manifest])) continue
    yield* views.awaitWrite(NetworkPolicy, yield* applyWhole(NetworkPolicy, manifest))
  }
  const names = superfluous(view.networkPolicies, wanted)
  for (const { metadata } of view.networkPolicies.filter(({ metadata }) => names.includes(metadata.name))) {
    const { namespace = "", name, uid } = metadata
    yield* kubernetes.delete(NetworkPolicy, { namespace, name }, { uid })
    yield* views.distrust(NetworkPolicy, { namespace, name })
  }
})
