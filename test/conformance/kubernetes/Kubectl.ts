// What kubectl asks for beside objects: tables, strict fields, strategic patches, reviews, Events under their older name.
import { Effect } from "effect"
import { at, type Json, listOf, objectOf } from "../../twins/kubernetes/Json.ts"
import type { Scenario, Step } from "../Scenario.ts"
import { ask, type Raw, type Target, watched } from "./Target.ts"

const core = "/api/v1/namespaces"
const apps = "/apis/apps/v1/namespaces/asks"
const instances = "/apis/platform.di-framework.dev/v1alpha1/namespaces/asks/platforminstances"
const TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"
const strategic = "application/strategic-merge-patch+json"

/** Asks, and observes the status and what `view` makes of the body. */
const sees = (name: string, raw: Raw, view: (body: unknown) => unknown): Step<Target> => ({
  name,
  run: (target) =>
    Effect.map(target.send(raw), ({ body, status }) => target.normalise({ status, seen: view(body) })),
})

/** What the server does all the same, and warns of. */
const warned = (name: string, raw: Raw): Step<Target> => ({
  name,
  run: (target) => Effect.map(target.send(raw), ({ status, warnings }) => ({ status, warnings })),
})

const post = (path: string, body: unknown): Raw => ({ method: "POST", path, body })
const message = (body: unknown) => ({ message: at(body, "message"), reason: at(body, "reason") })
/** Without the state that it shows, in which there are times and versions. */
const patchMessage = (body: unknown) => ({
  message: String(at(body, "message")).replace(/Invalid value: "\{.*\}":/, "Invalid value: an object:"),
  details: Object.keys(objectOf(at(body, "details"))).toSorted(),
})

const isAge = (column: unknown) =>
  ["Age", "Created At", "Last Seen", "First Seen"].includes(String(at(column, "name")))

/** Columns and cells, without ages. */
const table = (body: unknown) => {
  const columns = listOf(at(body, "columnDefinitions"))
  const kept = (row: unknown) =>
    listOf(at(row, "cells"))
      .filter((_, index) => !isAge(columns[index]))
      .map((cell) => String(cell).replace(/^10\.[\d.]+$/, "address"))
  return {
    kind: at(body, "kind"),
    columns: columns.map((it) => [at(it, "name"), at(it, "format"), at(it, "priority")]),
    rows: listOf(at(body, "rows")).map((row) => [kept(row), at(row, "object", "kind")]),
  }
}

const shows = (name: string, path: string): Step<Target> =>
  sees(name, { method: "GET", path, accept: TABLE }, table)

const deployment = (name: string, containers: ReadonlyArray<object>): Json => ({
  apiVersion: "apps/v1",
  kind: "Deployment",
  metadata: { name },
  spec: {
    selector: { matchLabels: { app: name } },
    template: { metadata: { labels: { app: name } }, spec: { containers } },
  },
})

const instance = (spec: object): Json => ({
  apiVersion: "platform.di-framework.dev/v1alpha1",
  kind: "PlatformInstance",
  metadata: { name: "a" },
  spec: { version: "6.0.22", target: { type: "vcluster" }, ...spec },
})

const containers = (body: unknown) =>
  listOf(at(body, "spec", "template", "spec", "containers")).map((it) => {
    const { env, image, name, ports } = objectOf(it)
    return { name, image, env, ports }
  })

const patched = (name: string, spec: object): Step<Target> =>
  sees(
    name,
    {
      method: "PATCH",
      path: `${apps}/deployments/web`,
      contentType: strategic,
      body: { spec: { template: { spec } } },
    },
    (body) => (at(body, "kind") === "Status" ? message(body) : containers(body)),
  )

const mayI = (user: string | undefined, attributes: object): Step<Target> =>
  sees(
    `${user ?? "an administrator"} asks for ${JSON.stringify(attributes)}`,
    {
      ...(user !== undefined && { user }),
      ...post("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", {
        apiVersion: "authorization.k8s.io/v1",
        kind: "SelfSubjectAccessReview",
        spec: { resourceAttributes: attributes },
      }),
    },
    (body) => at(body, "status", "allowed"),
  )

const event = {
  apiVersion: "events.k8s.io/v1",
  kind: "Event",
  metadata: { name: "e", namespace: "asks" },
  eventTime: "2026-01-01T00:00:00.000000Z",
  reportingController: "me",
  reportingInstance: "me-1",
  action: "Do",
  type: "Normal",
  reason: "Done",
  note: "it is done",
  regarding: { apiVersion: "v1", kind: "ConfigMap", name: "m", namespace: "asks" },
}

const DISCOVERY = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json"

const pod = { containers: [{ name: "a", image: "b" }] }
const template = { metadata: { labels: { app: "x" } }, spec: pod }
const selector = { matchLabels: { app: "x" } }
const rbac = "/apis/rbac.authorization.k8s.io/v1/namespaces/asks"

/** A new object by its collection, and its row. */
const row = (collection: string, body: object): ReadonlyArray<Step<Target>> => [
  sees(`a new one in ${collection}`, post(collection, { metadata: { name: "x" }, ...body }), (made) =>
    at(made, "kind"),
  ),
  shows(`its row in ${collection}`, `${collection}/x`),
]

const rows: ReadonlyArray<Step<Target>> = [
  ...row(`${core}/asks/pods`, { spec: pod }),
  ...row(`${core}/asks/services`, { spec: { selector: { app: "x" }, ports: [{ port: 80 }] } }),
  ...row(`${apps}/statefulsets`, { spec: { serviceName: "x", selector, template } }),
  ...row(`${apps}/replicasets`, { spec: { selector, template } }),
  ...row(`${apps}/daemonsets`, { spec: { selector, template } }),
  ...row("/apis/batch/v1/namespaces/asks/jobs", {
    spec: { template: { spec: { ...pod, restartPolicy: "Never" } } },
  }),
  ...row("/apis/networking.k8s.io/v1/namespaces/asks/networkpolicies", { spec: { podSelector: selector } }),
  ...row("/apis/coordination.k8s.io/v1/namespaces/asks/leases", { spec: { holderIdentity: "me" } }),
  ...row(`${rbac}/roles`, { rules: [] }),
  ...row(`${rbac}/rolebindings`, {
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name: "x" },
    subjects: [
      { kind: "ServiceAccount", name: "s", namespace: "asks" },
      { apiGroup: "rbac.authorization.k8s.io", kind: "User", name: "u" },
      { apiGroup: "rbac.authorization.k8s.io", kind: "Group", name: "g" },
    ],
  }),
  ...row("/apis/storage.k8s.io/v1/storageclasses", { provisioner: "p" }),
]

/** After the definition of PlatformInstances is served. */
export const kubectl: Scenario<Target> = {
  name: "kubectl",
  steps: [
    ask("a namespace", post(core, { metadata: { name: "asks" } })),

    sees(
      "a field that is not there",
      post(`${instances}?fieldValidation=Strict`, instance({ platfrom: {} })),
      message,
    ),
    sees(
      "two of them, one in a list",
      post(
        `${instances}?fieldValidation=Strict`,
        instance({ platform: { tenants: [{ name: "a", nmae: "b" }] }, versoin: "1" }),
      ),
      message,
    ),
    sees(
      "the same is left out",
      post(`${instances}?fieldValidation=Ignore`, instance({ versoin: "1" })),
      (body) => at(body, "spec"),
    ),
    ...["", "?fieldValidation=Warn", "?fieldValidation=Ignore", "?dryRun=All"].flatMap((query) => [
      warned(`a field that is not there${query}`, {
        method: "PATCH",
        path: `${instances}/a${query}`,
        contentType: "application/merge-patch+json",
        body: { spec: { versoin: "1", platform: { gatway: {} } } },
      }),
      warned(`in a patch as JSON${query}`, {
        method: "PATCH",
        path: `${instances}/a${query}`,
        contentType: "application/json-patch+json",
        body: [{ op: "add", path: "/spec/versoin", value: "1" }],
      }),
      warned(
        `in a map${query}`,
        post(`${core}/asks/configmaps${query}`, { metadata: { name: `w${query.length}` }, dta: {} }),
      ),
    ]),
    sees(
      "in a patch",
      {
        method: "PATCH",
        path: `${instances}/a?fieldValidation=Strict`,
        contentType: "application/merge-patch+json",
        body: { spec: { versoin: "1" } },
      },
      patchMessage,
    ),
    sees(
      "of a built-in kind",
      post(`${apps}/deployments?fieldValidation=Strict`, deployment("bad", [{ name: "a", imgae: "b" }])),
      message,
    ),
    sees(
      "of a built-in kind, in an apply",
      {
        method: "PATCH",
        path: `${apps}/deployments/bad?fieldManager=m&fieldValidation=Strict`,
        contentType: "application/apply-patch+yaml",
        body: deployment("bad", [{ name: "a", imgae: "b" }]),
      },
      message,
    ),

    sees(
      "two containers",
      post(
        `${apps}/deployments`,
        deployment("web", [
          { name: "a", image: "1", env: [{ name: "x", value: "1" }], ports: [{ containerPort: 80 }] },
          { name: "b", image: "1" },
        ]),
      ),
      containers,
    ),
    sees(
      "a field that is not there, in a patch of them",
      {
        method: "PATCH",
        path: `${apps}/deployments/web?fieldValidation=Strict`,
        contentType: strategic,
        body: { spec: { template: { spec: { containers: [{ name: "a", imgae: "b" }] } } } },
      },
      message,
    ),
    patched("one is changed", { containers: [{ name: "a", image: "2", env: [{ name: "y", value: "2" }] }] }),
    patched("one is added", { containers: [{ name: "c", image: "3" }] }),
    patched("one goes", { containers: [{ name: "b", $patch: "delete" }] }),
    patched("they change places", { "$setElementOrder/containers": [{ name: "c" }, { name: "a" }] }),
    patched("all are others", { containers: [{ $patch: "replace" }, { name: "d", image: "4" }] }),
    patched("one without a name", { containers: [{ image: "5" }] }),

    shows("instances", instances),
    shows("one instance", `${instances}/a`),
    shows("deployments", `${apps}/deployments`),
    ask("a map", post(`${core}/asks/configmaps`, { metadata: { name: "m" }, data: { a: "1", b: "2" } })),
    shows("maps", `${core}/asks/configmaps`),
    ask("a secret", post(`${core}/asks/secrets`, { metadata: { name: "s" }, data: { a: "MQ==" } })),
    shows("secrets", `${core}/asks/secrets`),
    ask("an account", post(`${core}/asks/serviceaccounts`, { metadata: { name: "s" } })),
    shows("accounts", `${core}/asks/serviceaccounts`),
    shows("a namespace's row", `${core}/asks`),
    ask("a claim", {
      ...post(`${core}/asks/persistentvolumeclaims`, {
        metadata: { name: "c" },
        spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } },
      }),
    }),
    shows("claims", `${core}/asks/persistentvolumeclaims`),
    ...rows,
    sees("what the definition is known as", { method: "GET", path: "/apis", accept: DISCOVERY }, (body) =>
      listOf(at(body, "items")).find((it) => at(it, "metadata", "name") === "platform.di-framework.dev"),
    ),
    shows("definitions", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"),

    ask("an event", post("/apis/events.k8s.io/v1/namespaces/asks/events", event)),
    shows("its row", "/apis/events.k8s.io/v1/namespaces/asks/events/e"),
    shows("its row in the older API", `${core}/asks/events/e`),
    ask("is in the older API, too", { method: "GET", path: `${core}/asks/events/e` }),
    sees(
      "and found by what it is about",
      { method: "GET", path: `${core}/asks/events?fieldSelector=involvedObject.name=m` },
      (body) => listOf(at(body, "items")).map((it) => at(it, "message")),
    ),
    ...[
      [`${core}/asks/events`, "involvedObject.apiVersion=v1,involvedObject.kind=ConfigMap"],
      [`${core}/asks/events`, "involvedObject.fieldPath="],
      [`${core}/asks/events`, "involvedObject.resourceVersion!=1,reportingComponent!=nobody"],
      [`${core}/asks/events`, "source="],
      [`${core}/asks/events`, "source!="],
      [`${core}/asks/events`, "regarding.name=m"],
      ["/apis/events.k8s.io/v1/namespaces/asks/events", "regarding.name=m,regarding.apiVersion!=v2"],
      ["/apis/events.k8s.io/v1/namespaces/asks/events", "reportingController="],
      ["/apis/events.k8s.io/v1/namespaces/asks/events", "source=x"],
      [instances, "spec.version=6"],
      [`${core}/asks/configmaps`, "data=1"],
      [`${core}/asks/pods`, "spec.image=a"],
      [`${core}/asks/pods`, "spec.hostNetwork=false,status.podIPs="],
      [`${core}/asks/services`, "spec.type=ClusterIP"],
      ["/apis/batch/v1/namespaces/asks/jobs", "status.failed=1"],
      ["/apis/batch/v1/namespaces/asks/jobs", "status.successful=0"],
      [`${core}/asks/configmaps`, "nothing"],
      [`${core}/asks/configmaps`, "metadata.name=a=b"],
      [`${core}/asks/configmaps`, "metadata.name=a\\b"],
      [`${core}/asks/configmaps`, "metadata.name=a\\,b,"],
    ].map(([path, selector = ""]) =>
      sees(
        `${path} by ${selector}`,
        { method: "GET", path: `${path}?fieldSelector=${encodeURIComponent(selector)}` },
        (body) => at(body, "message") ?? listOf(at(body, "items")).map((it) => at(it, "metadata", "name")),
      ),
    ),

    mayI("bob", { verb: "get", resource: "pods", namespace: "asks" }),
    mayI(undefined, { verb: "get", resource: "pods", namespace: "asks" }),

    watched("a list that comes as a watch", {
      method: "GET",
      path: `${core}/asks/configmaps?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true&fieldSelector=metadata.name=m`,
    }),
    ask("a deletion that is not meant", {
      method: "DELETE",
      path: `${core}/asks/configmaps/m`,
      body: { kind: "DeleteOptions", apiVersion: "v1", dryRun: ["All"] },
    }),
    sees("it is there", { method: "GET", path: `${core}/asks/configmaps/m` }, () => undefined),
  ],
}
