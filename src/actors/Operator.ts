// What one operator consists of, over a cluster and a machine: the live services and what the actors share. The process
// (main.ts) and the simulated world of the tests run this same composition.
import { Effect, Layer } from "effect"
import * as EventsLive from "../services/Events/EventsLive.ts"
import { HelmLive, type HelmOptions } from "../services/Helm/HelmLive.ts"
import * as HistoryLive from "../services/History/HistoryLive.ts"
import { podIsAlive } from "../services/Kubernetes/PodLiveness.ts"
import type { PulumiOptions } from "../services/Pulumi/Options.ts"
import { PulumiLive } from "../services/Pulumi/PulumiLive.ts"
import { StateStoreLive } from "../services/StateStore/StateStoreLive.ts"
import { InstallPermits } from "./instance/install/InstallPermits.ts"
import { type InstanceSettings, Settings } from "./instance/Settings.ts"
import { HostNetwork } from "./instance/target/HostNetwork.ts"
import { Protection } from "./instance/target/Protection.ts"
import { Quotas } from "./instance/target/Quotas.ts"
import { TargetPermits } from "./instance/target/TargetPermits.ts"
import { OwnPod } from "./instance/target/writer.ts"
import { ViewsLive } from "./instance/ViewsLive.ts"

export interface OperatorOptions {
  readonly settings: InstanceSettings
  readonly stateDir: string
  readonly helm: HelmOptions
  readonly pulumi: Omit<PulumiOptions, "isPodAlive">
}

/** What the actors share, over whatever `Kubernetes` and `Settings` there are. */
export const actorsLayer = (identity: OperatorOptions["pulumi"]["identity"]) =>
  Layer.mergeAll(
    EventsLive.layer({ reportingInstance: identity.podName }),
    HistoryLive.layer,
    InstallPermits.layer.pipe(Layer.provideMerge(Layer.succeed(OwnPod, identity))),
    TargetPermits.layer,
    HostNetwork.layer,
    ViewsLive.layer.pipe(Layer.provideMerge(Layer.mergeAll(Protection.layer, Quotas.layer))),
  )

/** The live `Pulumi`, with the host cluster's word for whether a pod lives. */
const pulumiLayer = (options: OperatorOptions["pulumi"]) =>
  Layer.unwrap(
    Effect.gen(function* () {
      const { operatorNamespace } = yield* Settings
      return PulumiLive.layer({ ...options, isPodAlive: yield* podIsAlive(operatorNamespace) })
    }),
  )

/** Everything that `runInstances` needs; itself it needs `Kubernetes`, files, disk, child processes and processes. */
export const operatorLayer = ({ settings, stateDir, helm, pulumi }: OperatorOptions) =>
  Layer.mergeAll(HelmLive.layer(helm), pulumiLayer(pulumi), actorsLayer(pulumi.identity)).pipe(
    Layer.provideMerge(StateStoreLive.layer({ stateDir })),
    Layer.provideMerge(Layer.succeed(Settings, settings)),
  )
