import { Schema } from "effect"
import { describe, expect, it } from "vitest"
import { PRIORITY_CLASS } from "../../../src/actors/instance/target/controlPlanePriority.ts"
import {
  INSTANCE_POLICY_NAME,
  POD_POLICY_NAME,
  SERVICE_POLICY_NAME,
  VCLUSTER_POLICY_NAME,
} from "../../../src/schema/Names.ts"
import { operatorRules } from "../../twins/world/Installation.ts"
import { find, type Rendered, render } from "../helm.ts"

const Rules = Schema.Struct({
  rules: Schema.Array(
    Schema.Struct({
      apiGroups: Schema.Array(Schema.String),
      resources: Schema.Array(Schema.String),
      verbs: Schema.Array(Schema.String),
      resourceNames: Schema.optionalKey(Schema.Array(Schema.String)),
    }),
  ),
})

/** Each right a role gives: `group/resource verb`, with ` name` for each name it is limited to. */
const rights = (role: Rendered): ReadonlyArray<string> =>
  Schema.decodeUnknownSync(Rules)(role).rules.flatMap(({ apiGroups, resources, verbs, resourceNames }) =>
    apiGroups.flatMap((group) =>
      resources.flatMap((resource) =>
        verbs.flatMap((verb) =>
          (resourceNames ?? [""]).map((name) => `${group}/${resource} ${verb} ${name}`.trimEnd()),
        ),
      ),
    ),
  )

const operator = (values: object = {}) =>
  render("charts/platform-operator", {
    values: {
      image: { digest: `sha256:${"0".repeat(64)}` },
      passphrase: { existingSecret: "mine" },
      ...values,
    },
  })

const least = operator({ rbac: { clusterAdmin: false } })
const held = rights(find(least, "ClusterRole"))

describe("the least rules", () => {
  it("hold every right that the vCluster chart's roles grant: nobody may grant what he does not hold", () => {
    const roles = render("charts/vcluster", { release: "vcluster", namespace: "pi-team-a-one-x" }).filter(
      ({ kind }) => kind === "Role" || kind === "ClusterRole",
    )
    expect(roles.length).toBeGreaterThan(0)
    expect(roles.flatMap(rights).filter((right) => !held.includes(right))).toEqual([])
  })

  it("let Helm make and watch every kind that the vCluster chart consists of", () => {
    const plurals = render("charts/vcluster", { release: "vcluster", namespace: "pi-team-a-one-x" }).map(
      ({ apiVersion, kind }) => {
        const group = apiVersion.includes("/") ? apiVersion.split("/")[0] : ""
        return `${group}/${kind.toLowerCase()}${kind.endsWith("y") ? "ies" : "s"}`.replace("yies", "ies")
      },
    )
    const verbs = ["get", "list", "watch", "create", "update", "patch", "delete"]
    const needed = plurals.flatMap((plural) => verbs.map((verb) => `${plural} ${verb}`))
    expect(needed.filter((right) => !held.includes(right))).toEqual([])
  })

  it("hold no way to more: no wildcard, escalation, binding or impersonation", () => {
    expect(
      held.filter((right) => /\*| (escalate|bind|impersonate|deletecollection|approve|sign)\b/.test(right)),
    ).toEqual([])
  })

  it("reach the definition and the policies by name alone", () => {
    expect(held.filter((right) => right.startsWith("apiextensions.k8s.io/"))).toEqual([
      "apiextensions.k8s.io/customresourcedefinitions get platforminstances.platform.di-framework.dev",
    ])
    const policies = held.filter((right) =>
      /^admissionregistration\.k8s\.io\/.* (get|update|patch|delete)/.test(right),
    )
    const kinds = ["validatingadmissionpolicies", "validatingadmissionpolicybindings"]
    const names = [VCLUSTER_POLICY_NAME, INSTANCE_POLICY_NAME, POD_POLICY_NAME, SERVICE_POLICY_NAME]
    const wanted = kinds.flatMap((kind) =>
      ["get", "update", "patch", "delete"].flatMap((verb) =>
        names.map((name) => `admissionregistration.k8s.io/${kind} ${verb} ${name}`),
      ),
    )
    expect(policies.toSorted()).toEqual(wanted.toSorted())
    const classes = held.filter((right) => /priorityclasses (get|update|patch|delete)/.test(right))
    expect(classes.every((right) => right.endsWith(` ${PRIORITY_CLASS}`))).toBe(true)
    expect(classes).toHaveLength(4)
  })

  it("make and remove Jobs in the cleanup namespace alone", () => {
    const objects = operator({ rbac: { clusterAdmin: false }, cleanupNamespace: "cleaning" })
    expect(held.filter((right) => /^batch\/jobs (?!get|list|watch)/.test(right))).toEqual([])
    const role = find(objects, "Role", "platform-operator-cleanup")
    expect(role.metadata.namespace).toBe("cleaning")
    expect(rights(role)).toContain("batch/jobs create")
  })
})

describe("the rules that simulations run under", () => {
  const kinds = ["ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"]

  it("are what Helm makes of the chart", () => {
    const rendered = operator({ rbac: { clusterAdmin: false }, cleanupNamespace: "cleaning" })
      .filter(({ kind }) => kinds.includes(kind))
      .map(({ metadata: { labels: _, ...metadata }, ...rest }) => ({ ...rest, metadata }))
    const written = operatorRules("operator-system", "cleaning").map(({ manifest }) => manifest)
    const byName = <A extends { readonly kind: string; readonly metadata: { readonly name: string } }>(
      objects: ReadonlyArray<A>,
    ) => Object.fromEntries(objects.map((object) => [`${object.kind} ${object.metadata.name}`, object]))
    expect(Object.keys(byName(rendered))).toHaveLength(rendered.length)
    expect(written).toHaveLength(rendered.length)
    expect(byName(written)).toEqual(byName(rendered))
  })
})

describe("rbac.clusterAdmin", () => {
  const bindings = (objects: ReadonlyArray<Rendered>) =>
    objects
      .filter(({ kind }) => kind === "ClusterRoleBinding")
      .map(({ metadata, roleRef }) => [metadata.name, roleRef])
  const roleRef = (name: string) => ({ apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name })

  it("binds cluster-admin beside the operator's own role, which stays bound as it is", () => {
    expect(bindings(operator())).toEqual([
      ["platform-operator", roleRef("platform-operator")],
      ["platform-operator-cluster-admin", roleRef("cluster-admin")],
    ])
    expect(bindings(least)).toEqual([["platform-operator", roleRef("platform-operator")]])
  })
})
