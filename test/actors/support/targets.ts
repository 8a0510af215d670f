// What is observed of a target that lacks nothing, and a verdict in words.
import { Option } from "effect"
import type { TargetObservation, TargetVerdict } from "../../../src/actors/instance/target/TargetState.ts"
import { noUpgrade } from "../../../src/actors/instance/target/upgrade.ts"

export const deployed = {
  revision: 1,
  status: "deployed",
  lastDeployed: Option.some(1),
  lastSuperseded: Option.none(),
  oldest: 1,
} as const

/** Objects of the release that are gone. */
export const missing = (...objects: ReadonlyArray<string>) =>
  objects.map((object) => ({ object, how: "missing", vital: true }) as const)

/** A target that lacks nothing. */
export const healthy: TargetObservation = {
  now: 0,
  hostNamespace: "pi-team-a-one-hash",
  predecessor: Option.none(),
  namespace: { _tag: "Ours" },
  storageRootMarked: true,
  protectionApplied: true,
  networkPoliciesApplied: true,
  workloadsIsolated: true,
  quotaApplied: true,
  release: Option.some(deployed),
  writerGone: true,
  everServed: true,
  lostObjects: [],
  releaseProblem: Option.none(),
  serviceUID: Option.some("service"),
  recordedServiceUID: Option.some("service"),
  podUID: Option.some("pod"),
  podEnding: false,
  podPredatesService: false,
  resync: Option.none(),
  resyncDeadlineMillis: 90 * 60_000,
  controlPlane: { ready: true, message: "statefulset/vcluster is ready" },
  sleep: Option.none(),
  scale: Option.some({ uid: "set", replicas: 1, scaledDown: false, wakesWith: Option.none() }),
  controlPlanePods: ["pod vcluster-0 on node-1"],
  kubeconfigOwner: Option.some("service"),
  kubeconfigOverdue: false,
  kubeconfigPublished: true,
  publishedSource: Option.some("1"),
  server: "https://vcluster.pi-team-a-one-hash.svc:443",
  probe: { _tag: "Answers", kubeSystemUID: "cluster" },
  chartVersion: "0.37.3",
  upgrade: { ...noUpgrade, chartVersion: Option.some("0.37.3"), patienceMillis: 30 * 60_000 },
}
/** A verdict in one line: what it is, the step or not, the reason. */
export const told = (verdict: TargetVerdict): string => {
  if (verdict._tag === "Ready") return "Ready"
  const step = verdict._tag === "Act" ? ` ${verdict.step._tag}` : ""
  return `${verdict._tag}${step}: ${verdict.condition.reason}`
}
