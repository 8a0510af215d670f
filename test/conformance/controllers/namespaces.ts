// Namespaces: what a new one is given, and how one ends that is not empty.
import { Effect } from "effect"
import type { Scenario } from "../Scenario.ts"
import { conditionsOf, get, list, type Rest, told, until, untilGone, untilListed, untilSeen } from "./Rest.ts"

const path = "/api/v1/namespaces"
const manifest = (name: string) => ({ apiVersion: "v1", kind: "Namespace", metadata: { name } })
const configMap = (name: string, finalizers?: ReadonlyArray<string>) => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name, ...(finalizers === undefined ? {} : { finalizers }) },
})
const pod = {
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name: "pod" },
  spec: {
    nodeName: "nowhere",
    terminationGracePeriodSeconds: 20,
    containers: [{ name: "c", image: "none:1" }],
  },
}

const job = {
  apiVersion: "batch/v1",
  kind: "Job",
  metadata: { name: "job" },
  spec: { template: { spec: { restartPolicy: "Never", containers: [{ name: "c", image: "none:1" }] } } },
}

export const namespaces: Scenario<Rest> = {
  name: "namespaces",
  steps: [
    {
      name: "a new namespace gets a service account and the cluster's CA",
      run: (rest) =>
        Effect.gen(function* () {
          yield* rest.request("POST", path, manifest("one"))
          const account = yield* untilSeen(rest, `${path}/one/serviceaccounts/default`)
          const ca = yield* untilSeen(rest, `${path}/one/configmaps/kube-root-ca.crt`)
          return [account.metadata.name, ca.metadata.name, ca.metadata.ownerReferences ?? "no owner"]
        }),
    },
    {
      name: "what is deleted of these comes back",
      run: (rest) =>
        Effect.gen(function* () {
          const account = yield* get(rest, `${path}/one/serviceaccounts/default`)
          yield* rest.request("DELETE", `${path}/one/serviceaccounts/default`)
          yield* rest.request("DELETE", `${path}/one/configmaps/kube-root-ca.crt`)
          const again = yield* untilSeen(rest, `${path}/one/serviceaccounts/default`)
          yield* untilSeen(rest, `${path}/one/configmaps/kube-root-ca.crt`)
          return again.metadata.uid === account?.metadata.uid ? "the same" : "another"
        }),
    },
    {
      name: "a namespace that holds something with a finalizer says what remains",
      run: (rest) =>
        Effect.gen(function* () {
          yield* rest.request("POST", `${path}/one/configmaps`, configMap("held", ["example.com/held"]))
          yield* rest.request("POST", `${path}/one/configmaps`, configMap("plain"))
          yield* rest.request("DELETE", `${path}/one`)
          const terminating = yield* untilSeen(
            rest,
            `${path}/one`,
            ({ status }) => status?.conditions !== undefined,
          )
          const left = yield* untilListed(rest, `${path}/one/configmaps`, (maps) => maps.length === 1)
          return [
            terminating.status?.phase,
            terminating.spec,
            conditionsOf(terminating),
            left.map(({ metadata }) => metadata.name),
          ]
        }),
    },
    {
      name: "nothing new is made in it",
      run: (rest) => Effect.map(rest.request("POST", `${path}/one/configmaps`, configMap("late")), told),
    },
    {
      name: "without the finalizer it goes",
      run: (rest) =>
        Effect.gen(function* () {
          yield* rest.request("PATCH", `${path}/one/configmaps/held`, { metadata: { finalizers: null } })
          return yield* untilGone(rest, `${path}/one`)
        }),
    },
    {
      name: "pods go first, and while they remain the conditions say nothing of it",
      run: (rest) =>
        Effect.gen(function* () {
          yield* rest.request("POST", path, manifest("two"))
          yield* untilSeen(rest, `${path}/two/serviceaccounts/default`)
          yield* rest.request("POST", `${path}/two/pods`, pod)
          yield* rest.request("POST", `${path}/two/configmaps`, configMap("plain"))
          yield* rest.request("DELETE", `${path}/two`)
          const terminating = yield* untilSeen(
            rest,
            `${path}/two`,
            ({ status }) => status?.conditions !== undefined,
          )
          const running = yield* untilSeen(
            rest,
            `${path}/two/pods/pod`,
            ({ metadata }) => metadata.deletionTimestamp !== undefined,
          )
          const maps = yield* list(rest, `${path}/two/configmaps`)
          return [conditionsOf(terminating), running.metadata.name, maps.map(({ metadata }) => metadata.name)]
        }),
    },
    {
      name: "the rest goes after the last pod",
      run: (rest) =>
        Effect.gen(function* () {
          yield* rest.request("DELETE", `${path}/two/pods/pod?gracePeriodSeconds=0`)
          return yield* untilGone(rest, `${path}/two`)
        }),
    },
    {
      name: "a namespace that comes back is another one",
      run: (rest) =>
        Effect.gen(function* () {
          yield* rest.request("POST", path, manifest("three"))
          const before = yield* untilSeen(rest, `${path}/three`)
          yield* rest.request("DELETE", `${path}/three`)
          yield* untilGone(rest, `${path}/three`)
          yield* rest.request("POST", path, manifest("three"))
          const after = yield* until("it is Active", get(rest, `${path}/three`))
          return [after.metadata.uid === before.metadata.uid ? "the same" : "another", after.status]
        }),
    },
    {
      name: "a Job whose pod has not ended does not keep its namespace",
      run: (rest) =>
        Effect.gen(function* () {
          yield* rest.request("POST", path, manifest("four"))
          yield* untilSeen(rest, `${path}/four/serviceaccounts/default`)
          yield* rest.request("POST", "/apis/batch/v1/namespaces/four/jobs", job)
          yield* untilListed(rest, `${path}/four/pods`, (pods) => pods.length === 1)
          yield* rest.request("DELETE", `${path}/four`)
          return yield* untilGone(rest, `${path}/four`)
        }),
    },
  ],
}
