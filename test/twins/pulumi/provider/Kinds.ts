// Which kind of the API an object is of: those of the API itself by their names, others by the definitions in the target.
import {
  ConfigMap,
  CustomResourceDefinition,
  Deployment,
  Namespace,
  Secret,
  Service,
  ValidatingAdmissionPolicy,
  ValidatingAdmissionPolicyBinding,
} from "../../../../src/services/Kubernetes/Kinds.ts"
import type { ResourceKind } from "../../../../src/services/Kubernetes/Kubernetes.ts"
import type { ApiClient } from "../../kubernetes/ApiServer.ts"
import { at } from "../../kubernetes/Json.ts"

const own: ReadonlyArray<ResourceKind> = [
  Namespace,
  ConfigMap,
  Secret,
  Service,
  Deployment,
  CustomResourceDefinition,
  ValidatingAdmissionPolicy,
  ValidatingAdmissionPolicyBinding,
]

const text = (value: unknown): string => (typeof value === "string" ? value : "")

export const kindOf = (client: ApiClient, apiVersion: string, kind: string): ResourceKind | undefined => {
  const slash = apiVersion.indexOf("/")
  const [group, version] = [apiVersion.slice(0, Math.max(slash, 0)), apiVersion.slice(slash + 1)]
  const known = own.find((one) => one.group === group && one.version === version && one.kind === kind)
  if (known !== undefined) return known
  const definition = client
    .list(CustomResourceDefinition)
    .find((one) => at(one, "spec", "group") === group && at(one, "spec", "names", "kind") === kind)
  return definition === undefined
    ? undefined
    : {
        group,
        version,
        kind,
        plural: text(at(definition, "spec", "names", "plural")),
        namespaced: at(definition, "spec", "scope") === "Namespaced",
      }
}
