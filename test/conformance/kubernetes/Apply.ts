// Server-side apply: who owns which field, conflicts, what goes when its owner no longer names it.
import type { Scenario } from "../Scenario.ts"
import { ask, type Raw, type Target } from "./Target.ts"

const apply = (path: string, query: string, body: unknown): Raw => ({
  method: "PATCH",
  path: `${path}?${query}`,
  contentType: "application/apply-patch+yaml",
  body,
})

const map = "/api/v1/namespaces/apply/configmaps/one"
const config = (data: unknown, metadata: object = {}) => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name: "one", ...metadata },
  data,
})

const workload = "/apis/apps/v1/namespaces/apply/deployments/d"
const deployment = (spec: object, metadata: object = {}) => ({
  apiVersion: "apps/v1",
  kind: "Deployment",
  metadata: { name: "d", ...metadata },
  spec,
})
const template = (containers: ReadonlyArray<object>) => ({
  selector: { matchLabels: { a: "b" } },
  template: { metadata: { labels: { a: "b" } }, spec: { containers } },
})

const numbered = "/api/v1/namespaces/apply/services/numbered"
const http = (port: number) => ({
  apiVersion: "v1",
  kind: "Service",
  metadata: { name: "numbered" },
  spec: { ports: [{ name: "http", port, targetPort: 8080 }] },
})

const owner = (uid: string) => ({ apiVersion: "v1", kind: "Pod", name: "p", uid })

export const applies: Scenario<Target> = {
  name: "apply",
  steps: [
    ask("a namespace", { method: "POST", path: "/api/v1/namespaces", body: { metadata: { name: "apply" } } }),
    ask("an apply makes an object", apply(map, "fieldManager=m", config({ k: "v", l: "w" }))),
    ask("the same again changes nothing", apply(map, "fieldManager=m", config({ k: "v", l: "w" }))),
    ask("of another manager it is a conflict", apply(map, "fieldManager=n", config({ k: "mine" }))),
    ask("with several causes", apply(map, "fieldManager=n", config({ k: "mine", l: "mine" }))),
    ask("unless it says the same", apply(map, "fieldManager=n", config({ k: "v" }))),
    ask("what one of two owners drops stays", apply(map, "fieldManager=m", config({ l: "w" }))),
    ask("what its only owner drops goes", apply(map, "fieldManager=n", config({ x: "y" }))),
    ask("force takes over", apply(map, "fieldManager=n&force=true", config({ x: "y", l: "z" }))),
    ask("a merge patch takes over, too", {
      method: "PATCH",
      path: `${map}?fieldManager=hand`,
      contentType: "application/merge-patch+json",
      body: { data: { l: "hand", h: "hand" } },
    }),
    ask("which is a conflict from then on", apply(map, "fieldManager=n", config({ x: "y", l: "z" }))),
    ask("a dry run of a forced one", apply(map, "fieldManager=n&force=true&dryRun=All", config({ l: "z" }))),
    ask("has changed nothing", { method: "GET", path: map }),
    ask("another UID than the object's", apply(map, "fieldManager=n&force=true", config({}, { uid: "abc" }))),
    ask(
      "a UID where there is no object",
      apply("/api/v1/namespaces/apply/configmaps/two", "fieldManager=n", {
        ...config({}),
        metadata: { name: "two", uid: "abc" },
      }),
    ),
    ask("a stale version", apply(map, "fieldManager=n", config({}, { resourceVersion: "1" }))),
    ask("no manager", apply(map, "force=true", config({}))),
    ask("another name", apply(map, "fieldManager=n", config({}, { name: "two" }))),
    ask("another kind", apply(workload, "fieldManager=n", config({}))),
    ask("managed fields", apply(map, "fieldManager=n", config({}, { managedFields: [{ manager: "x" }] }))),
    ask("in no namespace", apply("/api/v1/namespaces/nope/configmaps/one", "fieldManager=n", config({}))),
    ask(
      "finalizers are a set, owners a map",
      apply(map, "fieldManager=m", config({}, { finalizers: ["x/a"], ownerReferences: [owner("u1")] })),
    ),
    ask(
      "to which others add",
      apply(
        map,
        "fieldManager=n",
        config({}, { finalizers: ["x/b"], ownerReferences: [owner("u2")], labels: { n: "n" } }),
      ),
    ),
    ask("and which they leave", apply(map, "fieldManager=n", config({}))),
    ask(
      "a Deployment",
      apply(
        workload,
        "fieldManager=m",
        deployment(
          template([
            {
              name: "c",
              image: "i:1",
              env: [
                { name: "A", value: "1" },
                { name: "B", value: "2" },
              ],
              ports: [{ containerPort: 80 }],
            },
            { name: "x", image: "x:1" },
          ]),
        ),
      ),
    ),
    ask(
      "containers and their variables by name",
      apply(
        workload,
        "fieldManager=m",
        deployment(
          template([
            { name: "n", image: "n:1" },
            {
              name: "c",
              image: "i:2",
              env: [
                { name: "C", value: "3" },
                { name: "A", value: "1" },
              ],
            },
          ]),
        ),
      ),
    ),
    ask(
      "another manager's container",
      apply(
        workload,
        "fieldManager=k",
        deployment({
          replicas: 3,
          template: {
            spec: { containers: [{ name: "side", image: "s:1", resources: { limits: { cpu: "1" } } }] },
          },
        }),
      ),
    ),
    ask(
      "a conflict within one",
      apply(
        workload,
        "fieldManager=k",
        deployment({ template: { spec: { containers: [{ name: "c", image: "i:3" }] } } }),
      ),
    ),
    ask(
      "a container goes with its only owner",
      apply(workload, "fieldManager=k", deployment({ replicas: 3 })),
    ),
    ask(
      "a status by apply",
      apply(`${workload}/status`, "fieldManager=s", {
        apiVersion: "apps/v1",
        kind: "Deployment",
        metadata: { name: "d" },
        status: {
          conditions: [
            {
              type: "X",
              status: "True",
              reason: "R",
              lastUpdateTime: "2026-01-01T00:00:00Z",
              lastTransitionTime: "2026-01-01T00:00:00Z",
            },
          ],
          replicas: 2,
        },
      }),
    ),
    ask(
      "a Service's ports by port and protocol",
      apply("/api/v1/namespaces/apply/services/s", "fieldManager=m", {
        apiVersion: "v1",
        kind: "Service",
        metadata: { name: "s" },
        spec: { ports: [{ port: 80, name: "a" }], selector: { a: "b" } },
      }),
    ),
    ask(
      "a selector as a whole",
      apply("/api/v1/namespaces/apply/services/s", "fieldManager=k", {
        apiVersion: "v1",
        kind: "Service",
        metadata: { name: "s" },
        spec: { ports: [{ port: 81, name: "b" }], selector: { c: "d" } },
      }),
    ),
    ask("a Service with a port that has a name", apply(numbered, "fieldManager=m", http(80))),
    ask("another number for it", {
      method: "PATCH",
      path: `${numbered}?fieldManager=hand`,
      contentType: "application/merge-patch+json",
      body: { spec: http(81).spec },
    }),
    ask(
      "beside which the first one cannot come back",
      apply(numbered, "fieldManager=m&force=true", http(80)),
    ),
    ask("but by a merge patch", {
      method: "PATCH",
      path: `${numbered}?fieldManager=n`,
      contentType: "application/merge-patch+json",
      body: { spec: http(80).spec },
    }),
    ask("and then by an apply", apply(numbered, "fieldManager=m&force=true", http(80))),
    ask("the same name twice", {
      method: "PATCH",
      path: `${numbered}?fieldManager=hand`,
      contentType: "application/merge-patch+json",
      body: { spec: { ports: [...http(80).spec.ports, ...http(81).spec.ports] } },
    }),
  ],
}
