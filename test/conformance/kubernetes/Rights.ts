// Who may do what: RBAC, and the admission policy of the operator.
import { policyManifests } from "../../../src/actors/instance/target/AdmissionPolicies.ts"
import { LABEL_HOST_NAMESPACE } from "../../../src/schema/Names.ts"
import { at } from "../../twins/kubernetes/Json.ts"
import type { Scenario } from "../Scenario.ts"
import { ask, type Raw, type Target, until } from "./Target.ts"

const core = "/api/v1/namespaces"
const rbac = "/apis/rbac.authorization.k8s.io/v1"
const admission = "/apis/admissionregistration.k8s.io/v1"
const services = `${core}/rights/services`
const group = "rbac.authorization.k8s.io"

const bob = (method: Raw["method"], path: string, body?: unknown, contentType?: string): Raw => ({
  user: "bob",
  method,
  path,
  ...(body !== undefined && { body }),
  ...(contentType !== undefined && { contentType }),
})

const role = (kind: string, name: string, rules: ReadonlyArray<object>) => ({
  metadata: { name },
  kind,
  rules,
  apiVersion: `${group}/v1`,
})
const binding = (kind: string, name: string, to: string, subject: object) => ({
  metadata: { name },
  kind,
  apiVersion: `${group}/v1`,
  roleRef: { apiGroup: group, kind: to, name },
  subjects: [subject],
})
const user = { kind: "User", name: "bob" }

const [policy, policyBinding] = policyManifests("system:serviceaccount:operator:operator")

const service = (name: string): Raw => ({
  method: "POST",
  path: services,
  body: { metadata: { name }, spec: { ports: [{ port: 80 }] } },
})

export const rights: Scenario<Target> = {
  name: "rights",
  steps: [
    ask("a namespace", {
      method: "POST",
      path: core,
      body: { metadata: { name: "rights", labels: { [LABEL_HOST_NAMESPACE]: "true" } } },
    }),
    ask("nobody may get", bob("GET", `${core}/rights/configmaps/a`)),
    ask("list", bob("GET", `${core}/rights/configmaps`)),
    ask("watch", bob("GET", "/api/v1/configmaps?watch=1")),
    ask("make", bob("POST", `${core}/rights/configmaps`, { metadata: { name: "a" } })),
    ask(
      "write a status",
      bob(
        "PATCH",
        "/apis/apps/v1/namespaces/rights/statefulsets/x/status",
        {},
        "application/merge-patch+json",
      ),
    ),
    ask("delete a collection", bob("DELETE", `${core}/rights/configmaps`)),
    ask("get a namespace", bob("GET", `${core}/rights`)),
    ask("see metrics", bob("GET", "/metrics")),
    ask("but see the version's page", bob("GET", "/readyz")),
    ask("a Role", {
      method: "POST",
      path: `${rbac}/namespaces/rights/roles?fieldManager=m`,
      body: role("Role", "r", [
        { apiGroups: [""], resources: ["configmaps"], verbs: ["get", "list", "create"] },
        { apiGroups: [""], resources: ["secrets"], resourceNames: ["one"], verbs: ["get"] },
        { apiGroups: [group], resources: ["roles", "rolebindings"], verbs: ["create"] },
      ]),
    }),
    ask("and its binding", {
      method: "POST",
      path: `${rbac}/namespaces/rights/rolebindings?fieldManager=m`,
      body: binding("RoleBinding", "r", "Role", user),
    }),
    until("let it read there", bob("GET", `${core}/rights/configmaps`), 200),
    ask("not elsewhere", bob("GET", `${core}/default/configmaps`)),
    ask("nor everywhere", bob("GET", "/api/v1/configmaps")),
    ask("nor delete", bob("DELETE", `${core}/rights/configmaps/a`)),
    ask("a name that is allowed", bob("GET", `${core}/rights/secrets/one`)),
    ask("one that is not", bob("GET", `${core}/rights/secrets/two`)),
    ask(
      "nobody grants what he has not",
      bob(
        "POST",
        `${rbac}/namespaces/rights/roles`,
        role("Role", "grant", [
          { apiGroups: [""], resources: ["configmaps", "pods"], verbs: ["get", "delete"] },
        ]),
      ),
    ),
    ask(
      "but what he has",
      bob(
        "POST",
        `${rbac}/namespaces/rights/roles?fieldManager=m`,
        role("Role", "has", [{ apiGroups: [""], resources: ["configmaps"], verbs: ["get"] }]),
      ),
    ),
    ask(
      "nor binds it",
      bob(
        "POST",
        `${rbac}/namespaces/rights/rolebindings`,
        binding("RoleBinding", "cluster-admin", "ClusterRole", user),
      ),
    ),
    ask("a role reference stays", {
      method: "PATCH",
      path: `${rbac}/namespaces/rights/rolebindings/r`,
      contentType: "application/merge-patch+json",
      body: { roleRef: { name: "m" } },
    }),
    ask("the operator's policy", {
      method: "PATCH",
      path: `${admission}/validatingadmissionpolicies/${policy.metadata.name}?fieldManager=m&force=true`,
      contentType: "application/apply-patch+yaml",
      body: policy,
    }),
    ask("and its binding", {
      method: "PATCH",
      path: `${admission}/validatingadmissionpolicybindings/${policyBinding.metadata.name}?fieldManager=m&force=true`,
      contentType: "application/apply-patch+yaml",
      body: policyBinding,
    }),
    ask("a policy needs a rule", {
      method: "POST",
      path: `${admission}/validatingadmissionpolicies`,
      body: {
        ...policy,
        metadata: { name: "none" },
        spec: { matchConstraints: at(policy, "spec", "matchConstraints") },
      },
    }),
    ask("the Service", service("vcluster")),
    ask("one before it", service("aa")),
    ask("one after it", service("zz")),
    until("it cannot be deleted", { method: "DELETE", path: `${services}/vcluster?dryRun=All` }, 422),
    ask("as is told", { method: "DELETE", path: `${services}/vcluster` }),
    ask("after what it is asked for", {
      method: "DELETE",
      path: `${services}/vcluster`,
      body: { preconditions: { uid: "abc" } },
    }),
    ask("nor with all others", { method: "DELETE", path: services }),
    ask("which stops there", {
      method: "GET",
      path: services,
      accept: "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io",
    }),
    ask("others can", { method: "DELETE", path: `${services}/zz` }),
    ask("the operator", {
      method: "POST",
      path: `${rbac}/clusterroles?fieldManager=m`,
      body: role("ClusterRole", "operator", [{ apiGroups: [""], resources: ["services"], verbs: ["*"] }]),
    }),
    ask("has rights", {
      method: "POST",
      path: `${rbac}/clusterrolebindings?fieldManager=m`,
      body: binding("ClusterRoleBinding", "operator", "ClusterRole", {
        kind: "ServiceAccount",
        name: "operator",
        namespace: "operator",
      }),
    }),
    until(
      "and may delete it",
      {
        user: "system:serviceaccount:operator:operator",
        method: "DELETE",
        path: `${services}/vcluster?dryRun=All`,
      },
      200,
    ),
    ask("in a namespace that goes", { method: "DELETE", path: `${core}/rights` }),
    until("everybody may", { method: "DELETE", path: `${services}/vcluster` }, 200),
  ],
}
