// Deleting: preconditions, finalizers, propagation, pods' grace, collections, namespaces.
import type { Scenario } from "../Scenario.ts"
import { ask, said, type Target } from "./Target.ts"

const core = "/api/v1/namespaces"
const maps = `${core}/deletion/configmaps`
const jobs = "/apis/batch/v1/namespaces/deletion/jobs"
const merge = "application/merge-patch+json"
const pod = { containers: [{ name: "c", image: "i" }] }

const job = (name: string) => ({
  metadata: { name },
  spec: { template: { spec: { ...pod, restartPolicy: "Never" } } },
})

export const deletion: Scenario<Target> = {
  name: "deletion",
  steps: [
    ask("a namespace", { method: "POST", path: core, body: { metadata: { name: "deletion" } } }, "ns"),
    ask("an object", { method: "POST", path: maps, body: { metadata: { name: "a" } } }, "a"),
    ask("of another UID", { method: "DELETE", path: `${maps}/a`, body: { preconditions: { uid: "abc" } } }),
    ask("of another version", {
      method: "DELETE",
      path: `${maps}/a`,
      body: { preconditions: { resourceVersion: "1" } },
    }),
    ask("a dry run", { method: "DELETE", path: `${maps}/a?dryRun=All` }),
    ask("with its UID", (memory) => ({
      method: "DELETE",
      path: `${maps}/a`,
      body: { preconditions: { uid: said(memory, "a", "uid") } },
    })),
    ask("gone is gone", { method: "DELETE", path: `${maps}/a` }),
    ask("one with a finalizer", {
      method: "POST",
      path: `${maps}?fieldManager=m`,
      body: { metadata: { name: "f", finalizers: ["x/y"] } },
    }),
    ask("is marked", { method: "DELETE", path: `${maps}/f`, body: { propagationPolicy: "Foreground" } }),
    ask("once", { method: "DELETE", path: `${maps}/f`, body: { propagationPolicy: "Foreground" } }),
    ask("gets no new finalizers", {
      method: "PATCH",
      path: `${maps}/f`,
      contentType: merge,
      body: { metadata: { finalizers: ["x/y", "foregroundDeletion", "z/z"] } },
    }),
    ask("cannot be unmarked", {
      method: "PATCH",
      path: `${maps}/f?fieldManager=m`,
      contentType: merge,
      body: { metadata: { deletionTimestamp: null, labels: { a: "b" } } },
    }),
    ask("may be deleted otherwise", {
      method: "DELETE",
      path: `${maps}/f`,
      body: { propagationPolicy: "Background" },
    }),
    ask("goes with its last finalizer", {
      method: "PATCH",
      path: `${maps}/f?fieldManager=m`,
      contentType: merge,
      body: { metadata: { finalizers: null } },
    }),
    ask("and is gone", { method: "GET", path: `${maps}/f` }),
    ask("a Job", { method: "POST", path: jobs, body: job("j") }),
    ask("orphans its pods when nothing is said", { method: "DELETE", path: `${jobs}/j` }),
    ask("and not when it is", {
      method: "DELETE",
      path: `${jobs}/j`,
      body: { propagationPolicy: "Background" },
    }),
    ask("another", { method: "POST", path: jobs, body: job("k") }),
    ask("in the background", {
      method: "DELETE",
      path: `${jobs}/k`,
      body: { propagationPolicy: "Background" },
    }),
    ask("a pod on no node", {
      method: "POST",
      path: `${core}/deletion/pods`,
      body: { metadata: { name: "p" }, spec: pod },
    }),
    ask("goes at once", { method: "DELETE", path: `${core}/deletion/pods/p` }),
    ask("a pod on a node", {
      method: "POST",
      path: `${core}/deletion/pods`,
      body: { metadata: { name: "q" }, spec: { ...pod, nodeName: "n" } },
    }),
    ask("gets its grace", { method: "DELETE", path: `${core}/deletion/pods/q` }),
    ask("once", { method: "DELETE", path: `${core}/deletion/pods/q` }),
    ask("and goes when the kubelet says so", {
      method: "DELETE",
      path: `${core}/deletion/pods/q`,
      body: { gracePeriodSeconds: 0 },
    }),
    ask("a Service", {
      method: "POST",
      path: `${core}/deletion/services?fieldManager=m`,
      body: { metadata: { name: "s" }, spec: { ports: [{ port: 80 }] } },
    }),
    ask("is answered as it was", { method: "DELETE", path: `${core}/deletion/services/s` }),
    ask("one of a collection", {
      method: "POST",
      path: maps,
      body: { metadata: { name: "c1", labels: { a: "b" } } },
    }),
    ask("another", { method: "POST", path: maps, body: { metadata: { name: "c2", labels: { a: "c" } } } }),
    ask("a third", { method: "POST", path: maps, body: { metadata: { name: "c3" } } }),
    ask("a selection", { method: "DELETE", path: `${maps}?labelSelector=a%3Db` }),
    ask("all of it", { method: "DELETE", path: `${maps}?labelSelector=a` }),
    ask("the rest", { method: "GET", path: maps }),
    ask("a namespace that must stay", { method: "DELETE", path: `${core}/default` }),
    ask("a namespace with another UID", {
      method: "DELETE",
      path: `${core}/deletion`,
      body: { preconditions: { uid: "x" } },
    }),
    ask("a namespace", { method: "DELETE", path: `${core}/deletion` }),
    ask("takes nothing new", { method: "POST", path: maps, body: { metadata: { name: "late" } } }),
    ask("nor by apply", {
      method: "PATCH",
      path: `${maps}/late?fieldManager=m`,
      contentType: "application/apply-patch+yaml",
      body: { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "late" } },
    }),
    ask("but changes", {
      method: "PATCH",
      path: `${maps}/c3?fieldManager=m`,
      contentType: merge,
      body: { data: { a: "b" } },
    }),
    ask("is marked once", { method: "DELETE", path: `${core}/deletion` }),
    ask("keeps its finalizer in a PUT", {
      method: "PUT",
      path: `${core}/deletion?fieldManager=m`,
      body: { metadata: { name: "deletion", labels: { g: "h" } }, spec: { finalizers: [] } },
    }),
    ask("goes when it is finalized", {
      method: "PUT",
      path: `${core}/deletion/finalize?fieldManager=m`,
      body: { metadata: { name: "deletion" }, spec: { finalizers: [] } },
    }),
    ask("and is gone", { method: "GET", path: `${core}/deletion` }),
  ],
}
