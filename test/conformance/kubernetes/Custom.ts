// Our custom resource: pruning, defaults, validation with its rules in CEL, the status apart, generations.
import type { Scenario } from "../Scenario.ts"
import { ask, said, type Target, until } from "./Target.ts"

const group = "platform.di-framework.dev/v1alpha1"
const all = `/apis/${group}/namespaces/custom/platforminstances`
const merge = "application/merge-patch+json"
const target = { type: "vcluster" }
const image = `a@sha256:${"0".repeat(64)}`

const instance = (spec: unknown, metadata: object = { name: "b" }) => ({
  apiVersion: group,
  kind: "PlatformInstance",
  metadata,
  spec,
})
const refused = (name: string, spec: unknown, metadata?: object) =>
  ask(name, { method: "POST", path: all, body: instance(spec, metadata) })
const platform = (settings: object) => ({ version: "6.0.1", target, platform: settings })
const change = (name: string, body: object, subresource = "", as?: string) =>
  ask(name, { method: "PATCH", path: `${all}/a${subresource}?fieldManager=m`, contentType: merge, body }, as)
const apply = (name: string, spec: object) =>
  ask(name, {
    method: "PATCH",
    path: `${all}/a?fieldManager=k&force=true`,
    contentType: "application/apply-patch+yaml",
    body: instance(spec, { name: "a" }),
  })

export const custom = (definition: unknown): Scenario<Target> => ({
  name: "custom resource",
  steps: [
    ask("a namespace", {
      method: "POST",
      path: "/api/v1/namespaces",
      body: { metadata: { name: "custom" } },
    }),
    until(
      "the definition",
      {
        method: "POST",
        path: "/apis/apiextensions.k8s.io/v1/customresourcedefinitions?fieldManager=m",
        body: definition,
      },
      409,
    ),
    until("is served", { method: "GET", path: all }, 200),
    ask(
      "unknown fields go, defaults come",
      {
        method: "POST",
        path: `${all}?fieldManager=m`,
        body: {
          ...instance({ version: "6.0.17", target, bogus: 1, platform: { gateway: {} } }, { name: "a" }),
          status: { phase: "Ready" },
        },
      },
      "a",
    ),
    ask("a list", { method: "GET", path: all }),
    refused("a wrong type", { version: 5, target }),
    refused("a wrong pattern", { version: "latest", target }),
    refused("a missing field", { version: "6.0.1" }),
    refused("no spec", undefined),
    refused("a wrong choice", { version: "6.0.1", target: { type: "x" } }),
    // The server lists them in no particular order.
    until(
      "several faults",
      { method: "POST", path: all, body: instance({ version: "latest", target: { type: "x" } }) },
      422,
    ),
    refused("too large a number", platform({ gateway: { httpNodePort: 99999 } })),
    refused("a key twice", platform({ tenants: [{ name: "a" }, { name: "a" }] })),
    refused("too long a text", platform({ tenants: [{ name: "a".repeat(41) }] })),
    refused(
      "too many",
      platform({ tenants: Array.from({ length: 33 }, (_, index) => ({ name: `t${index}` })) }),
    ),
    refused("an empty text", platform({ tenantAuth: { image, clientId: "" } })),
    refused("a rule across fields", platform({ tenantAuth: { image, issuer: "http://x" } })),
    refused(
      "a rule across lists",
      platform({ users: [{ name: "u", memberships: [{ tenant: "t", role: "viewer" }] }] }),
    ),
    refused("a rule for the name", { version: "6.0.1", target }, { name: "a".repeat(64) }),
    change("a fixed choice", { spec: { target: { type: "x" } } }),
    change("a rule for a change", { spec: { platform: { storageRoot: "/x" } } }),
    change("a change", { spec: { version: "6.0.18" } }, "", "changed"),
    change("status is not written here", { status: { phase: "Ready" } }),
    change(
      "but here, and nothing else",
      {
        metadata: { labels: { a: "b" } },
        spec: { version: "1.1.1" },
        status: {
          phase: "Ready",
          conditions: [
            {
              type: "Ready",
              status: "True",
              reason: "X",
              message: "",
              lastTransitionTime: "2026-01-01T00:00:00Z",
            },
          ],
        },
      },
      "/status",
    ),
    change("a wrong status", { status: { phase: "Nope" } }, "/status"),
    change("a stale one", { metadata: { resourceVersion: "1" }, status: { phase: "Failed" } }, "/status"),
    change("metadata is no generation", { metadata: { labels: { a: "b" }, finalizers: ["x.dev/y"] } }),
    change("nothing is no version", { metadata: { labels: { a: "b" } } }),
    change("a wrong label", { metadata: { labels: { a: "b c" } } }),
    ask("a PUT needs a version", {
      method: "PUT",
      path: `${all}/a`,
      body: instance({ version: "6.0.17", target }, { name: "a" }),
    }),
    ask("a stale PUT", (memory) => ({
      method: "PUT",
      path: `${all}/a`,
      body: instance(
        { version: "6.0.17", target },
        { name: "a", resourceVersion: said(memory, "a", "resourceVersion") },
      ),
    })),
    apply("an apply adds", { version: "6.0.19", platform: { tenants: [{ name: "x" }] } }),
    apply("and takes back", { version: "6.0.19" }),
    apply("and knows its fields", { nope: "x" }),
    ask("a PATCH in another form", {
      method: "PATCH",
      path: `${all}/a`,
      contentType: "application/strategic-merge-patch+json",
      body: {},
    }),
    ask("a deletion waits for the finalizer", { method: "DELETE", path: `${all}/a` }),
    ask("a test of the finalizer", {
      method: "PATCH",
      path: `${all}/a?fieldManager=m`,
      contentType: "application/json-patch+json",
      body: [
        { op: "test", path: "/metadata/finalizers/0", value: "x.dev/y" },
        { op: "remove", path: "/metadata/finalizers/0" },
      ],
    }),
    ask("and it is gone", { method: "GET", path: `${all}/a` }),
  ],
})
