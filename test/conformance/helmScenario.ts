// What helm does, command by command, from the first install of our own chart on: what it says, what is left of its
// records and of the objects, also when it is killed. Run against the real program with a real API server, and against
// the twins of both.
import { Effect } from "effect"
import { vclusterValues } from "../../src/actors/instance/target/VclusterValues.ts"
import { at, listOf, objectOf, textOf } from "../twins/kubernetes/Json.ts"
import { makeNamer, type Scenario, type Step } from "./Scenario.ts"

/** A request, as a disturbance names it: method and the end of its path, without the query. */
export interface Meets {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE"
  readonly path: RegExp
}

/** What happens to a run of helm at a request of it, before the server has seen the request. */
export interface Disturbance {
  readonly at: Meets
  /**
   * The request stays without an answer, and this signal is sent. `answered`: SIGTERM is sent, and when helm has seen it
   * the request goes on. `cut`: its connection breaks.
   */
  readonly what: "SIGTERM" | "SIGKILL" | "answered" | "cut"
}

export interface Ended {
  /** Null when a signal ended it. */
  readonly exitCode: number | null
  readonly stdout: string
  readonly stderr: string
}

export interface HelmWorld {
  /** A request of the administrator. */
  readonly call: (
    method: Meets["method"],
    path: string,
    body?: unknown,
    contentType?: string,
  ) => Effect.Effect<{ readonly status: number; readonly body: unknown }>
  readonly helm: (
    args: ReadonlyArray<string>,
    options?: {
      readonly input?: string
      readonly disturbance?: Disturbance
      /** Another user than the administrator. */
      readonly as?: string
    },
  ) => Effect.Effect<Ended>
  /** Where charts/vcluster is. */
  readonly chart: string
}

const namespace = "conformance"
const core = `/api/v1/namespaces/${namespace}`
const apps = `/apis/apps/v1/namespaces/${namespace}`
const rbac = `/apis/rbac.authorization.k8s.io/v1/namespaces/${namespace}`

const items = (body: unknown) => listOf(at(body, "items")).map(objectOf)

const list = (world: HelmWorld, path: string) =>
  Effect.map(world.call("GET", path), ({ body }) => items(body))

const nameOf = (object: unknown) => textOf(at(object, "metadata", "name")) ?? ""

/** `v1 deployed`, of every record in the namespace, the labels that say when left out. */
const records = (world: HelmWorld) =>
  Effect.map(list(world, `${core}/secrets?labelSelector=owner%3Dhelm`), (found) =>
    found
      .map((record) => ({
        name: nameOf(record),
        type: record.type,
        labels: Object.fromEntries(
          Object.entries(objectOf(at(record, "metadata", "labels"))).map(([label, value]) => [
            label,
            /^(created|modified)At$/.test(label) ? "(when)" : value,
          ]),
        ),
      }))
      .toSorted((a, b) => a.name.localeCompare(b.name, "en", { numeric: true })),
  )

const collections = {
  ServiceAccount: `${core}/serviceaccounts`,
  Secret: `${core}/secrets`,
  Service: `${core}/services`,
  Role: `${rbac}/roles`,
  RoleBinding: `${rbac}/rolebindings`,
  StatefulSet: `${apps}/statefulsets`,
  ClusterRole: "/apis/rbac.authorization.k8s.io/v1/clusterroles",
}

/** The objects that belong to a release, by kind and name; the same number is the same object. */
const objects = (world: HelmWorld, uids: ReturnType<typeof makeNamer>) =>
  Effect.forEach(Object.entries(collections), ([kind, path]) =>
    Effect.map(list(world, `${path}?labelSelector=heritage`), (found) =>
      found
        .map((object) => ({
          object: `${kind}/${nameOf(object)}`,
          uid: textOf(at(object, "metadata", "uid")),
          managers: [
            ...new Set(
              listOf(at(object, "metadata", "managedFields")).map(
                (entry) => `${textOf(at(entry, "manager"))} ${textOf(at(entry, "operation"))}`,
              ),
            ),
          ].toSorted(),
        }))
        .toSorted((a, b) => (a.object < b.object ? -1 : 1)),
    ),
  ).pipe(
    Effect.map((found) => found.flat().map(({ object, uid, managers }) => [object, uids(uid), ...managers])),
  )

const firstLine = (text: string) => text.split("\n")[0]

const values = (extra: object = {}) =>
  JSON.stringify({ ...vclusterValues({ hostNamespace: namespace }), ...extra })

/** As HelmLive has them. */
const common = ["--namespace", namespace]
const apply = ["--history-max", "5", "--server-side=true", "--force-conflicts", "--timeout", "300s"]

export const helmScenario = (): Scenario<HelmWorld> => {
  const uids = makeNamer("object")

  /** A run of helm, and what there is after it. */
  const run = (
    name: string,
    args: ReadonlyArray<string> | ((world: HelmWorld) => ReadonlyArray<string>),
    options: Parameters<HelmWorld["helm"]>[1] = {},
  ): Step<HelmWorld> => ({
    name,
    run: Effect.fnUntraced(function* (world) {
      const ended = yield* world.helm(typeof args === "function" ? args(world) : args, options)
      return {
        exitCode: ended.exitCode,
        // What a broken connection is called has the server's port in it.
        stderr: options.disturbance?.what === "cut" ? ended.stderr !== "" : firstLine(ended.stderr),
        records: yield* records(world),
        // A run that was cancelled goes on for a moment beside what records it: how far is chance.
        ...(options.disturbance?.what === "answered" ? {} : { objects: yield* objects(world, uids) }),
      }
    }),
  })

  const install = (name: string, input = values(), disturbance?: Disturbance) =>
    run(
      name,
      (world) => ["upgrade", "--install", "vcluster", world.chart, ...common, "--values", "-", ...apply],
      {
        input,
        ...(disturbance === undefined ? {} : { disturbance }),
      },
    )
  const rollback = (name: string, revision: string, disturbance?: Disturbance) =>
    run(name, ["rollback", "vcluster", revision, ...common, ...apply], {
      ...(disturbance === undefined ? {} : { disturbance }),
    })
  const uninstall = (name: string, disturbance?: Disturbance) =>
    run(name, ["uninstall", "vcluster", ...common, "--ignore-not-found", "--timeout", "300s"], {
      ...(disturbance === undefined ? {} : { disturbance }),
    })

  const request = (name: string, ...args: Parameters<HelmWorld["call"]>): Step<HelmWorld> => ({
    name,
    run: (world) => Effect.map(world.call(...args), ({ status }) => status),
  })
  const read = (name: string, path: string, pick: (body: unknown) => unknown): Step<HelmWorld> => ({
    name,
    run: (world) => Effect.map(world.call("GET", path), ({ status, body }) => [status, pick(body)]),
  })
  const merge = "application/merge-patch+json"
  const signalAt = (what: Disturbance["what"], method: Meets["method"], path: RegExp): Disturbance => ({
    what,
    at: { method, path },
  })
  const statefulSet = /statefulsets\/vcluster$/
  const record = (revision: number) =>
    new RegExp(`secrets/sh\\.helm\\.release\\.v1\\.vcluster\\.v${revision}$`)

  return {
    name: "helm with charts/vcluster",
    steps: [
      install("install where there is no namespace"),
      request("create the namespace", "POST", "/api/v1/namespaces", {
        apiVersion: "v1",
        kind: "Namespace",
        metadata: { name: namespace },
      }),
      uninstall("uninstall what is not there"),
      run("uninstall what is not there, without leave", ["uninstall", "vcluster", ...common]),
      run("roll back what is not there", ["rollback", "vcluster", "1", ...common, ...apply]),
      run("status of what is not there", ["status", "vcluster", ...common]),
      run("a command that there is not", ["bogus"]),
      run("a flag that there is not", ["upgrade", "--bogus"]),
      install("values that the schema does not know", values({ nonsense: 1 })),
      install("a value of another type", values({ telemetry: { enabled: "no" } })),
      install("values that are no table", "[1]"),

      // Killed in the first install, at each kind of write.
      install("SIGKILL before the first record", values(), signalAt("SIGKILL", "POST", /secrets$/)),
      install("SIGTERM at the first record", values(), signalAt("answered", "POST", /secrets$/)),
      uninstall("take that away"),
      install("SIGTERM while the history is read", values(), signalAt("SIGTERM", "GET", /secrets$/)),
      install(
        "SIGKILL amid the objects of the first install",
        values(),
        signalAt("SIGKILL", "PATCH", statefulSet),
      ),
      install("install over pending-install"),
      rollback("roll pending-install back to itself", "1"),
      uninstall("uninstall what was rolled back"),
      install(
        "SIGTERM amid the objects of the first install",
        values(),
        signalAt("SIGTERM", "PATCH", statefulSet),
      ),
      install("install over a failed first install"),
      uninstall("uninstall it"),
      install("SIGKILL before the record says deployed", values(), signalAt("SIGKILL", "PUT", record(1))),
      uninstall("uninstall pending-install"),
      install(
        "a connection that breaks amid the first install",
        values(),
        signalAt("cut", "PATCH", statefulSet),
      ),
      uninstall("uninstall the failed one"),

      // The life of a release.
      install("install"),
      read("the stateful set that was made", `${apps}/statefulsets/vcluster`, (body) => [
        at(body, "metadata", "labels"),
        at(body, "metadata", "annotations"),
        at(body, "spec", "template", "metadata", "annotations"),
        at(body, "spec", "serviceName"),
      ]),
      read("its configuration", `${core}/secrets/vc-config-vcluster`, (body) => at(body, "data")),
      install("upgrade that changes nothing"),
      run("install a name that is in use", (world) => ["install", "vcluster", world.chart, ...common]),
      run("upgrade without values keeps those before", (world) => [
        ...["upgrade", "vcluster", world.chart, ...common, ...apply],
      ]),
      read("its configuration is the same", `${core}/secrets/vc-config-vcluster`, (body) => at(body, "data")),
      install(
        "values that are not ASCII",
        values({ exportKubeConfig: { context: "Größe 中文 😀 “x” \t\n'" } }),
      ),
      read("are there byte by byte", `${core}/secrets/vc-config-vcluster`, (body) => at(body, "data")),
      install("upgrade that drops objects", values({ rbac: { role: { enabled: false } } })),
      install(
        "upgrade that adds objects",
        values({ sync: { toHost: {}, fromHost: { nodes: { enabled: true } } } }),
      ),
      rollback("roll back to one that was pruned", "1"),
      rollback("roll back to what is no number", "x"),
      run("a rollback without a revision", ["rollback", "vcluster", ...common, ...apply]),

      // Objects that others have touched.
      request("delete a service account by hand", "DELETE", `${core}/serviceaccounts/vc-workload-vcluster`),
      request(
        "edit the headless service by hand",
        "PATCH",
        `${core}/services/vcluster-headless?fieldManager=hand`,
        { metadata: { labels: { mine: "yes", chart: "mine" } } },
        merge,
      ),
      run("upgrade without force over what others own", (world) => [
        ...["upgrade", "vcluster", world.chart, ...common, "--server-side=true", "--history-max", "5"],
      ]),
      rollback("roll back to the deployed revision puts it back", "7"),
      read("the service is as the manifest says", `${core}/services/vcluster-headless`, (body) =>
        at(body, "metadata", "labels"),
      ),

      // Killed in an upgrade.
      install("SIGKILL before an upgrade's record", values(), signalAt("SIGKILL", "POST", /secrets$/)),
      install("SIGKILL amid an upgrade", values(), signalAt("SIGKILL", "PATCH", statefulSet)),
      install("upgrade over pending-upgrade"),
      rollback("SIGKILL amid the rollback of it", "9", signalAt("SIGKILL", "PATCH", statefulSet)),
      install("upgrade over pending-rollback"),
      rollback("SIGTERM amid the rollback of it", "9", signalAt("SIGTERM", "PATCH", statefulSet)),
      rollback("rollback of it", "9"),
      install("SIGTERM amid an upgrade", values(), signalAt("SIGTERM", "PATCH", statefulSet)),
      rollback("rollback of a failed upgrade", "13"),
      install("SIGKILL between the two records", values(), signalAt("SIGKILL", "PUT", record(15))),
      rollback("rollback of an upgrade killed at its end", "15"),
      install(
        "SIGKILL before the last record of an upgrade",
        values(),
        signalAt("SIGKILL", "PUT", record(18)),
      ),
      rollback("rollback to a superseded one", "17"),
      install("a connection that breaks amid an upgrade", values(), signalAt("cut", "PATCH", statefulSet)),
      rollback("a connection that breaks amid a rollback", "19", signalAt("cut", "PATCH", statefulSet)),
      rollback("rollback after that", "19"),
      rollback("SIGKILL before the last record of a rollback", "22", signalAt("SIGKILL", "PUT", record(23))),
      rollback("rollback once more", "22"),

      // The end, killed too.
      request(
        "take the release's mark from a service account",
        "PATCH",
        `${core}/serviceaccounts/vc-workload-vcluster?fieldManager=hand`,
        { metadata: { annotations: { "meta.helm.sh/release-name": "other" } } },
        merge,
      ),
      uninstall("SIGKILL before the first deletion", signalAt("SIGKILL", "GET", statefulSet)),
      install("upgrade over uninstalling"),
      uninstall("SIGTERM amid the deletions", signalAt("SIGTERM", "DELETE", statefulSet)),
      uninstall("a connection that breaks amid the deletions", signalAt("cut", "DELETE", statefulSet)),
      uninstall("SIGKILL amid the purge", signalAt("SIGKILL", "DELETE", record(24))),
      uninstall("uninstall"),
      install("install beside an object of somebody else"),
      request("delete that", "DELETE", `${core}/serviceaccounts/vc-workload-vcluster`),
      install("install again"),
      install(
        "values with what ends a line in YAML, but not in JSON",
        values({ exportKubeConfig: { context: "a \u0085 d", server: "e\u0085 \u0085f" } }),
      ),
      read("are folded", `${core}/secrets/vc-config-vcluster`, (body) => at(body, "data")),
      install("values with what YAML forbids", values({ exportKubeConfig: { context: "a\u009bb" } })),
      run("uninstall and wait", ["uninstall", "vcluster", ...common, "--wait", "--timeout", "60s"]),

      // Of one who may do nothing.
      run(
        "uninstall by one who may not read records",
        ["uninstall", "vcluster", ...common, "--ignore-not-found"],
        { as: "nobody" },
      ),
      run("rollback by one who may not read records", ["rollback", "vcluster", "1", ...common], {
        as: "nobody",
      }),

      request("keep the namespace from ending", "POST", `${core}/configmaps`, {
        apiVersion: "v1",
        kind: "ConfigMap",
        metadata: { name: "keep", finalizers: ["example.com/keep"] },
      }),
      request("end the namespace", "DELETE", `/api/v1/namespaces/${namespace}`),
      install("install into a namespace that ends"),
    ],
  }
}
