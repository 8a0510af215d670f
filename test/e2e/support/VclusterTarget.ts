// A vCluster on the real cluster, as the conformance scenario asks it: the host by the administrator's kubeconfig, the
// inside by the one in `vc-vcluster`, through a port-forward to the pod, which needs no Service.
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { Effect, Schema } from "effect"
import { parse } from "yaml"
import { vclusterValues } from "../../../src/actors/instance/target/VclusterValues.ts"
import { httpsRest } from "../../conformance/controllers/Https.ts"
import type { Answer, Rest } from "../../conformance/controllers/Rest.ts"
import type { VclusterTarget } from "../../conformance/vcluster/scenario.ts"
import { type Running, run, startChild } from "./Child.ts"
import { programs } from "./Cluster.ts"
import { kubectlPath } from "./Kubectl.ts"
import { watch } from "./Watch.ts"

const chart = join(import.meta.dirname, "..", "..", "..", "charts", "vcluster")
const images = {
  image: "ghcr.io/loft-sh/vcluster-oss:0.36.1",
  kubernetesImage: "ghcr.io/loft-sh/kubernetes:v1.35.4",
}

const Kubeconfig = Schema.Struct({
  clusters: Schema.Array(Schema.Struct({ cluster: Schema.Struct({ server: Schema.String }) })),
  users: Schema.Array(
    Schema.Struct({
      user: Schema.Struct({ "client-certificate-data": Schema.String, "client-key-data": Schema.String }),
    }),
  ),
})
const decode = Schema.decodeUnknownSync(Kubeconfig)

/** REST by a kubeconfig's client certificate, at the server it names or at another address. */
const restOf = (kubeconfig: string, server?: string): Rest => {
  const { clusters, users } = decode(parse(kubeconfig))
  const user = users[0]?.user
  const bytes = (text: string | undefined) => Buffer.from(text ?? "", "base64")
  const [cert, key] = [bytes(user?.["client-certificate-data"]), bytes(user?.["client-key-data"])]
  return httpsRest(server ?? clusters[0]?.cluster.server ?? "", { cert, key })
}

interface Door {
  /** Of the pod it leads to, and of the Secret's credentials. */
  readonly key: string
  readonly rest: Rest
  readonly forward: Running
}

const Secret = Schema.Struct({
  metadata: Schema.Struct({ resourceVersion: Schema.String }),
  data: Schema.Struct({ config: Schema.String }),
})
const Pod = Schema.Struct({ metadata: Schema.Struct({ uid: Schema.String }) })
const decodeSecret = Schema.decodeUnknownSync(Secret)
const decodePod = Schema.decodeUnknownSync(Pod)

const openDoor = (namespace: string, key: string, kubeconfig: string): Promise<Door> =>
  new Promise((resolve) => {
    const forward = startChild(kubectlPath, [
      "port-forward",
      "--namespace",
      namespace,
      "pod/vcluster-0",
      ":8443",
    ])
    forward.lines((line) => {
      const port = /^Forwarding from 127\.0\.0\.1:(\d+)/.exec(line)?.[1]
      if (port !== undefined) resolve({ key, forward, rest: restOf(kubeconfig, `https://127.0.0.1:${port}`) })
    })
  })

const Named = Schema.Struct({ metadata: Schema.Struct({ name: Schema.String }) })
const unreachable: Answer = { status: 0, body: "not reached" }

export const vclusterOnCluster = Effect.fnUntraced(function* (namespace: string) {
  const host = restOf(readFileSync(process.env.KUBECONFIG ?? "", "utf8"))
  let door: Door | undefined
  const closeDoor = Effect.promise(async () => {
    const open = door
    door = undefined
    await open?.forward.end()
  })
  yield* Effect.addFinalizer(() => closeDoor)
  const secrets = watch(Named, `/api/v1/namespaces/${namespace}/secrets`)
  yield* Effect.addFinalizer(() => Effect.promise(() => secrets.end()))

  const inside: Rest = {
    request: Effect.fnUntraced(function* (method, path, body) {
      const space = `/api/v1/namespaces/${namespace}`
      const [secret, pod] = yield* Effect.all([
        host.request("GET", `${space}/secrets/vc-vcluster`),
        host.request("GET", `${space}/pods/vcluster-0`),
      ])
      if (secret.status !== 200 || pod.status !== 200) return unreachable
      const { metadata, data } = decodeSecret(secret.body)
      const key = `${decodePod(pod.body).metadata.uid} ${metadata.resourceVersion}`
      if (door?.key !== key) {
        yield* closeDoor
        const kubeconfig = Buffer.from(data.config, "base64").toString("utf8")
        door = yield* Effect.promise(() => openDoor(namespace, key, kubeconfig))
      }
      const answer = yield* door.rest.request(method, path, body)
      if (answer.status === 0) yield* closeDoor
      return answer
    }),
  }

  const values = JSON.stringify(vclusterValues({ hostNamespace: namespace, ...images }))
  const helm = ["install", "vcluster", chart, "--namespace", namespace, "--create-namespace", "--values", "-"]
  const target: VclusterTarget = {
    namespace,
    host,
    inside,
    install: Effect.promise(() => run(join(programs, "helm"), helm, { input: values })),
    secrets: Effect.sync(() =>
      secrets.seen.filter(({ type }) => type === "ADDED").map(({ object }) => object.metadata.name),
    ),
  }
  return target
})
