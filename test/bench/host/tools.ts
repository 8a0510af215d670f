// What the tools of an operator would do, done beside it, for either operator alike: a release's objects are made as Helm
// makes them, a control plane becomes ready, an engine takes its time, an instance's API answers. A process of its own.
//
//   node tools.ts --kubeconfig=FILE [--helm=MS] [--start=MS] [--up=MS]
//
//   POST /install?namespace=NS   makes a release's objects and its record; some time later its control plane is ready
//   POST /up?instance=NS/NAME    takes its time; fails while /fail is on
//   POST /fail?on=true|false
//
// Prints its address, and from then on nothing.
import { readdirSync, readFileSync } from "node:fs"
import { createServer } from "node:http"
import { createServer as createTlsServer } from "node:https"
import type { AddressInfo } from "node:net"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { parseArgs } from "node:util"
import { Effect, Redacted } from "effect"
import { vclusterValues } from "../../../src/actors/instance/target/VclusterValues.ts"
import * as Kinds from "../../../src/services/Kubernetes/Kinds.ts"
import type { KubeManifest, KubernetesClient } from "../../../src/services/Kubernetes/Kubernetes.ts"
import { connect } from "../../../src/services/Kubernetes/KubernetesLive.ts"
import { makeCredentials } from "../../../tools/playground/Certificate.ts"
import { readChart, renderManifest } from "../../twins/helm/Chart.ts"
import { knownCharts } from "../../twins/helm/charts/index.ts"
import { resources } from "../../twins/helm/Objects.ts"
import { chartRecord, type Release, recordOf } from "../../twins/helm/Release.ts"

const { values: flags } = parseArgs({
  options: {
    kubeconfig: { type: "string" },
    helm: { type: "string", default: "50" },
    start: { type: "string", default: "100" },
    up: { type: "string", default: "200" },
  },
})

const chartFolder = join(import.meta.dirname, "../../../charts/vcluster")
const filesOf = (folder: string, below = ""): ReadonlyArray<readonly [string, string]> =>
  readdirSync(join(folder, below), { withFileTypes: true }).flatMap((entry) => {
    const file = join(below, entry.name)
    return entry.isDirectory()
      ? filesOf(folder, file)
      : [[file, readFileSync(join(folder, file), "utf8")] as const]
  })
const chart = readChart(chartFolder, new Map(filesOf(chartFolder)), knownCharts)
const name = "vcluster"

const releaseIn = (namespace: string): Release => {
  const config = vclusterValues({ hostNamespace: namespace })
  const now = new Date().toISOString()
  return {
    name,
    namespace,
    version: 1,
    info: { first_deployed: now, last_deployed: now, description: "Install complete", status: "deployed" },
    chart: chartRecord(chart),
    config,
    manifest: renderManifest(chart, { name, namespace }, config),
    apply_method: "ssa",
    labels: {},
  }
}

const recordManifest = (release: Release): KubeManifest => {
  const { name: recorded = "", labels = {} } = recordOf(release, {}).metadata
  return {
    ...recordOf(release, {}),
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name: recorded, namespace: release.namespace, labels },
  }
}

/** One API for all instances: who asks says which it is. */
const serveTargets = (credentials: ReturnType<typeof makeCredentials>): Promise<number> => {
  const account = {
    apiVersion: "v1",
    kind: "ServiceAccount",
    metadata: { name: "default", namespace: "default" },
  }
  const system = (namespace: string) => ({
    apiVersion: "v1",
    kind: "Namespace",
    metadata: { name: "kube-system", uid: `kube-system-of-${namespace}`, resourceVersion: "1" },
  })
  const server = createTlsServer(
    { cert: credentials.certificate, key: credentials.key },
    (request, response) => {
      const namespace = (request.headers.authorization ?? "").replace("Bearer ", "")
      const answer = (status: number, body: unknown) => {
        response.writeHead(status, { "content-type": "application/json" })
        response.end(JSON.stringify(body))
      }
      const { pathname } = new URL(request.url ?? "/", "https://target")
      if (pathname === "/readyz") return response.end("ok")
      if (pathname === "/api/v1/namespaces/default/serviceaccounts/default") {
        return answer(200, {
          ...account,
          metadata: { ...account.metadata, uid: namespace, resourceVersion: "1" },
        })
      }
      if (pathname === "/api/v1/namespaces/kube-system") return answer(200, system(namespace))
      if (pathname === "/api/v1/namespaces") {
        return answer(200, { apiVersion: "v1", kind: "NamespaceList", metadata: {}, items: [] })
      }
      return answer(403, {
        apiVersion: "v1",
        kind: "Status",
        status: "Failure",
        reason: "Forbidden",
        code: 403,
      })
    },
  )
  server.keepAliveTimeout = 120_000
  return new Promise((resolve) => {
    server.listen(0, "127.0.0.1", () => resolve((server.address() as AddressInfo).port))
  })
}

const kubeconfigOf = (namespace: string, port: number, certificate: string): string =>
  JSON.stringify({
    apiVersion: "v1",
    kind: "Config",
    clusters: [
      {
        name: "target",
        cluster: {
          server: `https://127.0.0.1:${port}`,
          "certificate-authority-data": Buffer.from(certificate).toString("base64"),
        },
      },
    ],
    users: [{ name: "admin", user: { token: namespace } }],
    contexts: [{ name: "target", context: { cluster: "target", user: "admin" } }],
    "current-context": "target",
  })

const program = Effect.gen(function* () {
  const api: KubernetesClient = yield* connect(Redacted.make(readFileSync(flags.kubeconfig ?? "", "utf8")), {
    timeout: 60_000,
  })
  const run = Effect.runPromiseWith(yield* Effect.context<never>())
  const credentials = makeCredentials(Date.now())
  const targets = yield* Effect.promise(() => serveTargets(credentials))

  /** As the kubelet and the vCluster would have it. */
  const becomeReady = async (namespace: string) => {
    await sleep(Number(flags.start))
    const ref = { namespace, name }
    const service = await run(api.get(Kinds.Service, ref))
    if (service._tag === "None") return
    const { metadata } = service.value
    await run(
      api.patch(
        Kinds.StatefulSet,
        ref,
        {
          type: "merge",
          patch: {
            status: {
              observedGeneration: 1,
              replicas: 1,
              readyReplicas: 1,
              availableReplicas: 1,
              currentReplicas: 1,
              updatedReplicas: 1,
              currentRevision: "vcluster-1",
              updateRevision: "vcluster-1",
            },
          },
        },
        { subresource: "status" },
      ),
    )
    const kubeconfig = kubeconfigOf(namespace, targets, credentials.certificate)
    await run(
      api.create(Kinds.Secret, {
        apiVersion: "v1",
        kind: "Secret",
        metadata: {
          namespace,
          name: "vc-vcluster",
          labels: { app: "vcluster" },
          ownerReferences: [{ apiVersion: "v1", kind: "Service", name, uid: metadata.uid }],
        },
        type: "Opaque",
        data: { config: Buffer.from(kubeconfig).toString("base64") },
      }),
    )
  }

  const install = async (namespace: string) => {
    const release = releaseIn(namespace)
    const create = (kind: Parameters<KubernetesClient["create"]>[0], manifest: KubeManifest) =>
      run(
        Effect.catchIf(
          api.create(kind, manifest),
          ({ reason }) => reason === "AlreadyExists",
          () => Effect.void,
        ),
      )
    // The record first, as Helm has it: what it makes is younger.
    const begun: Release = { ...release, info: { ...release.info, status: "pending-install" } }
    await create(Kinds.Secret, recordManifest(begun))
    for (const { kind, manifest } of resources(release.manifest, namespace)) await create(kind, manifest)
    await sleep(Number(flags.helm))
    const { metadata, data } = recordManifest(release)
    const patch = { metadata: { labels: metadata.labels }, data }
    await run(api.patch(Kinds.Secret, { namespace, name: metadata.name }, { type: "merge", patch }))
    becomeReady(namespace).catch((error) => console.error(`${namespace}: ${String(error)}`))
  }

  let fails = false
  const verbs: Readonly<Record<string, (query: URLSearchParams) => Promise<unknown>>> = {
    "/install": (query) => install(query.get("namespace") ?? ""),
    "/up": async () => {
      await sleep(Number(flags.up))
      if (fails) throw new Error("the engine was told to fail")
    },
    "/fail": async (query) => {
      fails = query.get("on") === "true"
    },
  }
  const server = createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? "/", "http://tools")
    const verb = verbs[pathname] ?? (() => Promise.reject(new Error(`no ${pathname}`)))
    verb(searchParams).then(
      () => response.end("ok"),
      (error) => response.writeHead(500).end(String(error)),
    )
  })
  server.keepAliveTimeout = 120_000
  server.listen(0, "127.0.0.1", () => {
    console.log(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
  })
  return yield* Effect.never
})

Effect.runPromise(Effect.scoped(program)).catch((error) => {
  console.error(error)
  process.exit(1)
})
