// Until when the provider waits after it has written an object (seen: provider 4.25.0), and how often it looks.
import { Option } from "effect"
import { Pod } from "../../../../src/services/Kubernetes/Kinds.ts"
import type { KubeObject } from "../../../../src/services/Kubernetes/Kubernetes.ts"
import type { ApiClient } from "../../kubernetes/ApiServer.ts"
import { at } from "../../kubernetes/Json.ts"

const condition = (object: KubeObject, type: string) => {
  const conditions = at(object, "status", "conditions")
  return Array.isArray(conditions) ? conditions.find((one) => at(one, "type") === type) : undefined
}

const isRolledOut = (deployment: KubeObject): boolean => {
  const wanted = at(deployment, "spec", "replicas") ?? 1
  return (
    at(deployment, "status", "observedGeneration") === deployment.metadata.generation &&
    at(deployment, "status", "updatedReplicas") === wanted &&
    at(deployment, "status", "availableReplicas") === wanted &&
    at(condition(deployment, "Available"), "status") === "True"
  )
}

/** A Service with a selector waits for somebody to send to. */
const hasEndpoints = (client: ApiClient, service: KubeObject): boolean => {
  const selector = at(service, "spec", "selector")
  if (typeof selector !== "object" || selector === null) return true
  const labelSelector = Object.entries(selector)
    .map(([key, value]) => `${key}=${value}`)
    .join(",")
  return client
    .list(Pod, { namespace: service.metadata.namespace ?? "default", labelSelector })
    .some((pod) => at(condition(pod, "Ready"), "status") === "True")
}

/** What the object still lacks; none when it is as it should be. */
export const lacking = (client: ApiClient, object: KubeObject): Option.Option<string> => {
  const { name, annotations } = object.metadata
  if (annotations?.["pulumi.com/skipAwait"] === "true") return Option.none()
  switch (object.kind) {
    case "Deployment":
      return isRolledOut(object)
        ? Option.none()
        : Option.some(
            `'${name}' timed out waiting to be Ready\n* Minimum number of Pods to consider the application live was not attained`,
          )
    case "Service":
      return hasEndpoints(client, object)
        ? Option.none()
        : Option.some(`'${name}' timed out waiting to be Ready\n* Service does not target any Pods`)
    case "CustomResourceDefinition":
      return at(condition(object, "Established"), "status") === "True"
        ? Option.none()
        : Option.some(`'${name}' timed out waiting to be Ready`)
    default:
      return Option.none()
  }
}
