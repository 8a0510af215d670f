// Creating, reading, changing: versions, conflicts, patches, what the server fills in and what it refuses.
import type { Scenario } from "../Scenario.ts"
import { ask, said, type Target } from "./Target.ts"

const core = "/api/v1/namespaces"
const maps = `${core}/objects/configmaps`
const merge = "application/merge-patch+json"
const jsonPatch = "application/json-patch+json"

const pod = { containers: [{ name: "c", image: "i" }] }

export const objects: Scenario<Target> = {
  name: "objects",
  steps: [
    ask("a namespace is made", { method: "POST", path: core, body: { metadata: { name: "objects" } } }, "ns"),
    ask("nothing is made in a namespace that is not there", {
      method: "POST",
      path: `${core}/nope/configmaps`,
      body: { metadata: { name: "a" } },
    }),
    ask(
      "a ConfigMap is made",
      {
        method: "POST",
        path: `${maps}?fieldManager=m`,
        body: { metadata: { name: "one", labels: { x: "y" } }, data: { k: "v" } },
      },
      "one",
    ),
    ask("and is there already", { method: "POST", path: maps, body: { metadata: { name: "one" } } }),
    ask("a name is needed", { method: "POST", path: maps, body: { metadata: {} } }),
    ask("a name has rules", { method: "POST", path: maps, body: { metadata: { name: "Bad_Name" } } }),
    ask("a namespace's name has others", { method: "POST", path: core, body: { metadata: { name: "a.b" } } }),
    ask("so has a Service's", {
      method: "POST",
      path: `${core}/objects/services`,
      body: { metadata: { name: "1a" }, spec: { ports: [{ port: 80 }] } },
    }),
    ask("a label has rules", {
      method: "POST",
      path: maps,
      body: { metadata: { name: "l", labels: { a: "b c" } } },
    }),
    ask("an owner needs a UID", {
      method: "POST",
      path: maps,
      body: { metadata: { name: "l", ownerReferences: [{ apiVersion: "v1", kind: "Pod", name: "p" }] } },
    }),
    ask("a version is not to be said at creation", {
      method: "POST",
      path: maps,
      body: { metadata: { name: "l", resourceVersion: "5" } },
    }),
    ask("body and path name one namespace", {
      method: "POST",
      path: maps,
      body: { metadata: { name: "l", namespace: "other" } },
    }),
    ask("a dry run makes nothing", {
      method: "POST",
      path: `${maps}?dryRun=All&fieldManager=m`,
      body: { metadata: { name: "dry" }, data: { a: "b" } },
    }),
    ask("as is seen", { method: "GET", path: `${maps}/dry` }),
    ask("a kind that is not served", { method: "GET", path: `${core}/objects/nonesuch/x` }),
    ask("a group that is not served", { method: "GET", path: "/apis/none.example/v1/things" }),
    ask("it is read", { method: "GET", path: `${maps}/one` }),
    ask("its metadata alone", {
      method: "GET",
      path: `${maps}/one`,
      accept: "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io",
    }),
    ask("a stale PUT is a conflict", {
      method: "PUT",
      path: `${maps}/one`,
      body: { metadata: { name: "one", resourceVersion: "1" }, data: { k: "w" } },
    }),
    ask("a PUT of another UID is one", {
      method: "PUT",
      path: `${maps}/one`,
      body: { metadata: { name: "one", uid: "abc" }, data: { k: "w" } },
    }),
    ask("a PUT under another name", {
      method: "PUT",
      path: `${maps}/one`,
      body: { metadata: { name: "two" }, data: { k: "w" } },
    }),
    ask("a PUT of nothing", { method: "PUT", path: `${maps}/two`, body: { metadata: { name: "two" } } }),
    ask("a PUT with the version", (memory) => ({
      method: "PUT",
      path: `${maps}/one?fieldManager=m`,
      body: {
        metadata: { name: "one", resourceVersion: said(memory, "one", "resourceVersion") },
        data: { k: "w", l: "w" },
      },
    })),
    ask("a PUT without one", {
      method: "PUT",
      path: `${maps}/one?fieldManager=n`,
      body: { metadata: { name: "one" }, data: { k: "x", l: "w" } },
    }),
    ask("a PUT that changes nothing keeps the version", {
      method: "PUT",
      path: `${maps}/one?fieldManager=n`,
      body: { metadata: { name: "one" }, data: { k: "x", l: "w" } },
    }),
    ask("a merge patch", {
      method: "PATCH",
      path: `${maps}/one?fieldManager=n`,
      contentType: merge,
      body: { metadata: { annotations: { a: "b" } }, data: { k: null, m: "n" } },
    }),
    ask("a stale one", {
      method: "PATCH",
      path: `${maps}/one`,
      contentType: merge,
      body: { metadata: { resourceVersion: "1" }, data: { k: "x" } },
    }),
    ask("one to another UID", {
      method: "PATCH",
      path: `${maps}/one`,
      contentType: merge,
      body: { metadata: { uid: "abc" } },
    }),
    ask("one to nothing", { method: "PATCH", path: `${maps}/none`, contentType: merge, body: { data: {} } }),
    ask("a JSON patch", {
      method: "PATCH",
      path: `${maps}/one?fieldManager=m`,
      contentType: jsonPatch,
      body: [
        { op: "test", path: "/data/l", value: "w" },
        { op: "add", path: "/metadata/annotations/o~1p", value: "q" },
        { op: "remove", path: "/metadata/annotations/a" },
        { op: "replace", path: "/data/l", value: "z" },
      ],
    }),
    ask("a test that fails tells nothing", {
      method: "PATCH",
      path: `${maps}/one`,
      contentType: jsonPatch,
      body: [{ op: "test", path: "/data/l", value: "nope" }],
    }),
    ask("a path that is not there neither", {
      method: "PATCH",
      path: `${maps}/one`,
      contentType: jsonPatch,
      body: [{ op: "remove", path: "/data/nope" }],
    }),
    ask("a JSON patch of the version", {
      method: "PATCH",
      path: `${maps}/one`,
      contentType: jsonPatch,
      body: [{ op: "replace", path: "/metadata/resourceVersion", value: "1" }],
    }),
    ask("a patch in no known form", {
      method: "PATCH",
      path: `${maps}/one`,
      contentType: "text/plain",
      body: {},
    }),
    ask("a method that is not there", { method: "PUT", path: maps, body: {} }),
    ask("a Secret's texts become data", {
      method: "POST",
      path: `${core}/objects/secrets?fieldManager=m`,
      body: { metadata: { name: "s" }, stringData: { a: "b" } },
    }),
    ask("its type stays", {
      method: "PATCH",
      path: `${core}/objects/secrets/s`,
      contentType: merge,
      body: { type: "other" },
    }),
    ask("a Service", {
      method: "POST",
      path: `${core}/objects/services?fieldManager=m`,
      body: { metadata: { name: "s" }, spec: { ports: [{ port: 80 }], selector: { a: "b" } } },
    }),
    ask("keeps its address", {
      method: "PUT",
      path: `${core}/objects/services/s?fieldManager=m`,
      body: { metadata: { name: "s" }, spec: { ports: [{ port: 81, name: "x" }], selector: { a: "c" } } },
    }),
    ask("a headless Service", {
      method: "POST",
      path: `${core}/objects/services?fieldManager=m`,
      body: {
        metadata: { name: "h" },
        spec: { clusterIP: "None", ports: [{ port: 80, name: "x" }], selector: { a: "b" } },
      },
    }),
    ask("a ServiceAccount", {
      method: "POST",
      path: `${core}/objects/serviceaccounts?fieldManager=m`,
      body: { metadata: { name: "s" } },
    }),
    ask("a claim", {
      method: "POST",
      path: `${core}/objects/persistentvolumeclaims?fieldManager=m`,
      body: {
        metadata: { name: "c" },
        spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } },
      },
    }),
    ask("a NetworkPolicy", {
      method: "POST",
      path: "/apis/networking.k8s.io/v1/namespaces/objects/networkpolicies?fieldManager=m",
      body: {
        metadata: { name: "n" },
        spec: {
          podSelector: {},
          ingress: [{ from: [{ namespaceSelector: {} }], ports: [{ port: 80 }] }],
          egress: [{}],
        },
      },
    }),
    ask("a StatefulSet", {
      method: "POST",
      path: "/apis/apps/v1/namespaces/objects/statefulsets?fieldManager=m",
      body: {
        metadata: { name: "s", labels: { a: "b" } },
        spec: {
          serviceName: "x",
          selector: { matchLabels: { a: "b" } },
          template: {
            metadata: { labels: { a: "b" } },
            spec: {
              containers: [
                {
                  name: "c",
                  image: "i:1",
                  ports: [{ containerPort: 80 }],
                  env: [
                    { name: "A", value: "b" },
                    { name: "B", valueFrom: { fieldRef: { fieldPath: "metadata.name" } } },
                  ],
                  volumeMounts: [{ name: "d", mountPath: "/d" }],
                  readinessProbe: { httpGet: { path: "/x", port: 80 } },
                  resources: { limits: { cpu: "500m" } },
                },
              ],
              volumes: [
                { name: "v", secret: { secretName: "x" } },
                { name: "w", emptyDir: {} },
              ],
              serviceAccountName: "sa",
            },
          },
          volumeClaimTemplates: [
            {
              metadata: { name: "d" },
              spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } },
            },
          ],
        },
        status: { replicas: 9 },
      },
    }),
    ask("whose spec is mostly fixed", {
      method: "PATCH",
      path: "/apis/apps/v1/namespaces/objects/statefulsets/s",
      contentType: merge,
      body: { spec: { serviceName: "y" } },
    }),
    ask("whose status is written apart", {
      method: "PATCH",
      path: "/apis/apps/v1/namespaces/objects/statefulsets/s/status?fieldManager=k",
      contentType: merge,
      body: { metadata: { labels: { q: "r" } }, spec: { replicas: 4 }, status: { replicas: 3 } },
    }),
    ask("and not with the rest", {
      method: "PATCH",
      path: "/apis/apps/v1/namespaces/objects/statefulsets/s?fieldManager=k",
      contentType: merge,
      body: { spec: { replicas: 4 }, status: { replicas: 7 } },
    }),
    ask("a Job", {
      method: "POST",
      path: "/apis/batch/v1/namespaces/objects/jobs?fieldManager=m",
      body: { metadata: { name: "j" }, spec: { template: { spec: { ...pod, restartPolicy: "Never" } } } },
    }),
    ask("a Pod", {
      method: "POST",
      path: `${core}/objects/pods?fieldManager=m`,
      body: { metadata: { name: "p" }, spec: { ...pod, nodeName: "n" } },
    }),
    ask("a Pod needs a container", {
      method: "POST",
      path: `${core}/objects/pods`,
      body: { metadata: { name: "q" }, spec: {} },
    }),
    ask("an Event", {
      method: "POST",
      path: "/apis/events.k8s.io/v1/namespaces/objects/events?fieldManager=m",
      body: {
        metadata: { name: "e" },
        eventTime: "2026-01-01T00:00:00.000000Z",
        reportingController: "x/y",
        reportingInstance: "i",
        action: "a",
        reason: "R",
        type: "Normal",
        note: "hi",
        regarding: { kind: "Pod", namespace: "objects", name: "p" },
      },
    }),
    ask("a Lease", {
      method: "POST",
      path: "/apis/coordination.k8s.io/v1/namespaces/objects/leases?fieldManager=m",
      body: { metadata: { name: "l" }, spec: { holderIdentity: "x" } },
    }),
    ask("who am I", {
      user: "bob",
      method: "POST",
      path: "/apis/authentication.k8s.io/v1/selfsubjectreviews",
      body: { apiVersion: "authentication.k8s.io/v1", kind: "SelfSubjectReview" },
    }),
    ask("is it well", { method: "GET", path: "/readyz" }),
    ask("a page that is not there", { method: "GET", path: "/nope" }),
  ],
}
