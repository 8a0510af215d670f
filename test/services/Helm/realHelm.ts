// The operator's Helm with the real helm, the vCluster chart and a real API server.
import { execFileSync } from "node:child_process"
import path from "node:path"
import { Layer, Option, Redacted } from "effect"
import { HelmLive } from "../../../src/services/Helm/HelmLive.ts"
import { loadText } from "../../../src/services/Kubernetes/Credentials.ts"
import { layerFrom } from "../../../src/services/Kubernetes/KubernetesLive.ts"
import { machine } from "../../support/machine.ts"

/**
 * `root`: the folder that `startApiServer` was given; `kubeconfig`: what it gave. `on`: the machine that helm runs on; `chart`:
 * another one than the operator's.
 */
export const realHelm = (
  root: string,
  kubeconfig: string,
  on: typeof machine = machine,
  chart = path.resolve("charts/vcluster"),
) =>
  HelmLive.layer({
    helm: execFileSync("tools/programs/prebuilt-helm.sh", { encoding: "utf8" }).trim(),
    chart: { path: chart, digest: Option.none() },
    kubeconfig: `${root}/api-server/kubeconfig`,
  }).pipe(Layer.provideMerge(layerFrom(loadText(Redacted.make(kubeconfig)))), Layer.provide(on))
