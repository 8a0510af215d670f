// The real side: etcd, kube-apiserver and kube-controller-manager on loopback, without a node. They end with the scope.
import { spawn } from "node:child_process"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import path from "node:path"
import { Effect, Schedule, Schema } from "effect"
import { programPath, startApiServer } from "../../services/Pulumi/apiServer.ts"
import { httpsRest } from "./Https.ts"

const Kubeconfig = Schema.fromJsonString(
  Schema.Struct({
    clusters: Schema.Array(Schema.Struct({ cluster: Schema.Struct({ server: Schema.String }) })),
    users: Schema.Array(Schema.Struct({ user: Schema.Struct({ token: Schema.String }) })),
  }),
)

const temporaryFolder = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(path.join(tmpdir(), "control-plane-"))),
  (folder) => Effect.sync(() => rmSync(folder, { recursive: true })),
)

const startControllerManager = (folder: string) =>
  Effect.acquireRelease(
    Effect.sync(() =>
      spawn(
        programPath("kube-controller-manager") ?? "kube-controller-manager",
        [
          `--kubeconfig=${folder}/kubeconfig`,
          `--service-account-private-key-file=${folder}/sa.key`,
          `--root-ca-file=${folder}/certs/apiserver.crt`,
          `--cert-dir=${folder}/manager-certs`,
          "--leader-elect=false",
          "--secure-port=0",
        ],
        { stdio: "ignore" },
      ),
    ),
    (child) =>
      Effect.callback<void>((resume) => {
        child.once("exit", () => resume(Effect.void))
        child.kill("SIGKILL")
      }),
  )

/** Ready when its controllers are: the default namespace has its service account. */
export const startControlPlane = Effect.gen(function* () {
  const root = yield* temporaryFolder
  const { kubeconfig } = yield* startApiServer(root)
  const { clusters, users } = yield* Schema.decodeEffect(Kubeconfig)(kubeconfig)
  const rest = httpsRest(clusters[0]?.cluster.server ?? "", { token: users[0]?.user.token ?? "" })
  yield* startControllerManager(path.join(root, "api-server"))
  yield* rest.request("GET", "/api/v1/namespaces/default/serviceaccounts/default").pipe(
    Effect.flatMap(({ status }) => (status === 200 ? Effect.void : Effect.fail("not yet"))),
    Effect.retry({ schedule: Schedule.spaced("200 millis"), times: 300 }),
  )
  return rest
})
