// Services: an address for each that wants one, and the endpoint slices of those with a selector.
import { Pod, Service } from "../../../src/services/Kubernetes/Kinds.ts"
import type { KubeObject } from "../../../src/services/Kubernetes/Kubernetes.ts"
import { type Cluster, watchOwn } from "./Cluster.ts"
import { keyOf, refOf } from "./Controller.ts"
import { EndpointSlice, Node } from "./Kinds.ts"
import { controllerReference } from "./Pods.ts"
import { isOver, isReady, isTerminating, podOf, selectorText, serviceOf } from "./Shapes.ts"

const LABEL = "kubernetes.io/service-name"

export const runServices = (cluster: Cluster) => {
  const { client } = cluster

  const hasNode = (pod: KubeObject) =>
    client.get(Node, { name: podOf(pod).spec.nodeName ?? "" }) !== undefined

  const endpointsOf = (service: KubeObject, selector: Readonly<Record<string, string>>) => {
    const always = serviceOf(service).spec.publishNotReadyAddresses === true
    return client
      .list(Pod, { namespace: service.metadata.namespace ?? "", labelSelector: selectorText(selector) })
      .filter((pod) => !isOver(pod) && podOf(pod).status?.podIP !== undefined && (always || hasNode(pod)))
      .map((pod) => {
        const ready = (always || isReady(pod)) && (always || !isTerminating(pod))
        return {
          addresses: [podOf(pod).status?.podIP],
          conditions: { ready, serving: always || isReady(pod), terminating: isTerminating(pod) },
          nodeName: podOf(pod).spec.nodeName,
          targetRef: {
            kind: "Pod",
            name: pod.metadata.name,
            namespace: pod.metadata.namespace,
            uid: pod.metadata.uid,
          },
        }
      })
  }

  const queue = cluster.controller([20, 200], (key) => {
    const ref = refOf(key)
    const service = client.get(Service, ref)
    const { selector } = service === undefined ? {} : serviceOf(service).spec
    if (service === undefined || selector === undefined || isTerminating(service)) return
    const existing = client
      .list(EndpointSlice, { namespace: ref.namespace, labelSelector: `${LABEL}=${ref.name}` })
      .find(({ metadata }) => metadata.ownerReferences?.some(({ uid }) => uid === service.metadata.uid))
    const endpoints = endpointsOf(service, selector)
    const ports = (serviceOf(service).spec.ports ?? []).map((port) => ({
      name: port.name ?? "",
      port: typeof port.targetPort === "number" ? port.targetPort : port.port,
      protocol: port.protocol ?? "TCP",
    }))
    if (existing !== undefined) {
      if (JSON.stringify([existing.endpoints, existing.ports]) !== JSON.stringify([endpoints, ports]))
        client.update(EndpointSlice, { ...existing, endpoints, ports })
      return
    }
    client.create(EndpointSlice, {
      apiVersion: "discovery.k8s.io/v1",
      kind: "EndpointSlice",
      metadata: {
        generateName: `${ref.name}-`,
        namespace: ref.namespace,
        labels: {
          [LABEL]: ref.name,
          "endpointslice.kubernetes.io/managed-by": "endpointslice-controller.k8s.io",
        },
        ownerReferences: [controllerReference(Service, service)],
      },
      addressType: "IPv4",
      endpoints,
      ports,
    })
  })
  watchOwn(cluster, Service, queue)
  cluster.watch(Pod, ({ metadata }) => {
    for (const service of client.list(Service, { namespace: metadata.namespace ?? "" })) {
      const selector = serviceOf(service).spec.selector
      const selected =
        selector !== undefined &&
        Object.entries(selector).every(([label, value]) => metadata.labels?.[label] === value)
      if (selected) queue.add(keyOf(service.metadata))
    }
  })
}
