// What users and the world do to an operator, each to its end: the crash tests play them with the operator killed at any of
// its calls.
import { DateTime, Duration, Effect, Predicate, Schema } from "effect"
import releaseJson from "../../release.json" with { type: "json" }
import {
  ANNOTATION_APPROVE,
  ANNOTATION_APPROVED,
  ANNOTATION_DRIFT,
  ANNOTATION_PLAN,
  ANNOTATION_RESTORE,
  ANNOTATION_SLEEP,
  ANNOTATION_UPGRADE_VCLUSTER,
  ANNOTATION_WINDOW,
  LABEL_HOST_NAMESPACE,
  VCLUSTER_POLICY_NAME,
} from "../../src/schema/Names.ts"
import { approvalOf } from "../../src/schema/Plan.ts"
import { formatTime } from "../../src/schema/Time.ts"
import { recordFor } from "../../src/services/Backup/StateCopy.ts"
import * as Kinds from "../../src/services/Kubernetes/Kinds.ts"
import type { KubeObject, ObjectRef, ResourceKind } from "../../src/services/Kubernetes/Kubernetes.ts"
import { InstanceRecord } from "../../src/services/StateStore/StateStore.ts"
import type { Workload } from "../twins/crash/Crash.ts"
import { deaths } from "../twins/crash/Point.ts"
import { until } from "../twins/simulation/Simulation.ts"
import type { Data } from "../twins/vcluster/Process.ts"
import { operatorUser, paths } from "../twins/world/Image.ts"
import { key, type World } from "../twins/world/World.ts"
import { deletionWorkloads } from "./deletionWorkloads.ts"
import { planned, plansOf } from "./plans.ts"

const patience = "30 minutes"

const ready = (world: World) => until(() => world.isReady(), patience, "the instance is Ready")
const gone = (world: World) => until(() => world.instance() === undefined, patience, "the instance is gone")
const act = (what: () => unknown) => Effect.sync(() => void what())

/** An instance, until it is Ready. */
const installed = (spec: Readonly<Record<string, unknown>> = {}) =>
  Effect.fnUntraced(function* (world: World) {
    yield* act(() => world.apply(spec))
    yield* ready(world)
  })

const install: Workload = { name: "an install", run: installed() }

const upgrade: Workload = {
  name: "an upgrade",
  prepare: installed({ version: "6.0.21" }),
  run: Effect.fnUntraced(function* (world) {
    yield* act(() => world.edit({ spec: { version: "6.0.22" } }))
    yield* until(
      () => world.isReady() && world.status()?.installedVersion === "6.0.22",
      patience,
      "the new version is installed",
    )
  }),
}

/** Hours and minutes of the first day of the simulated world: later than an instance is Ready there. */
const opensAt = "00:05"

const windowed: Workload = {
  name: "an upgrade that waits for its maintenance window",
  prepare: Effect.fnUntraced(function* (world) {
    yield* installed({ version: "6.0.21" })(world)
    yield* act(() =>
      world.edit({ metadata: { annotations: { [ANNOTATION_WINDOW]: `${opensAt}-00:30 UTC` } } }),
    )
  }),
  run: Effect.fnUntraced(function* (world) {
    const isInstalled = () => world.isReady() && world.status()?.installedVersion === "6.0.22"
    yield* act(() => world.edit({ spec: { version: "6.0.22" } }))
    // Whoever is away for long finds it open.
    const waits = () => messageOf(world).startsWith("version 6.0.22 waits for the maintenance window")
    yield* until(() => waits() || isInstalled(), patience, "it waits for its window")
    yield* until(() => world.status()?.phase === "Installing" || isInstalled(), patience, "it has begun")
    const began = formatTime(yield* DateTime.now).slice("2026-01-01T".length)
    if (began < opensAt) raise(`it has begun at ${began}, and the window opens at ${opensAt}`)
    yield* until(isInstalled, patience, "the new version is installed")
  }),
}

export const findInside = (world: World, kind: ResourceKind, name: string) =>
  world
    .inner()
    ?.as("kubernetes-admin")
    .list(kind)
    .find(({ metadata }) => metadata.name === name)

/** An object of the program, and one of a Helm release that the program made. */
export const drifted: ReadonlyArray<readonly [ResourceKind, string]> = [
  [Kinds.ConfigMap, "di-platform-version"],
  [Kinds.Deployment, "wasmcloud-hosts"],
]

/** Somebody removes them. */
export const takeDrifted = (world: World): void => {
  for (const [kind, name] of drifted) {
    const object = findInside(world, kind, name)
    if (object === undefined) throw new Error(`${name} is not there to be removed`)
    world.inner()?.as("kubernetes-admin").delete(kind, object.metadata)
  }
}

const repair: Workload = {
  name: "a repair",
  // Longer than the aftermath that follows the end.
  world: { settings: { repairInterval: Duration.minutes(5) } },
  prepare: installed(),
  run: Effect.fnUntraced(function* (world) {
    yield* act(() => takeDrifted(world))
    yield* until(
      () => world.status()?.lastRepair !== undefined && world.isReady(),
      patience,
      "the repair has ended",
    )
    yield* until(
      () => drifted.every(([kind, name]) => findInside(world, kind, name) !== undefined),
      patience,
      "what was removed is back",
    )
  }),
}

const installFails = (world: World): boolean =>
  world.status()?.conditions?.some(({ type, status }) => type === "Installed" && status === "False") === true

const retry: Workload = {
  name: "a failed install that is mended",
  run: Effect.fnUntraced(function* (world) {
    // This version's program throws.
    yield* act(() => world.apply({ version: "6.0.90" }))
    yield* until(
      // Not the target, which fails for a moment when helm was killed in it.
      () => installFails(world) || world.isReady(),
      patience,
      "the install has failed",
    )
    yield* act(() => world.edit({ spec: { version: "6.0.22" } }))
    yield* ready(world)
  }),
}

const resync: Workload = {
  name: "a resync",
  prepare: installed(),
  run: Effect.fnUntraced(function* (world) {
    const lost = { namespace: world.hostNamespace(), name: "vc-vcluster" }
    const before = world.admin.get(Kinds.Secret, lost)?.metadata.uid
    yield* act(() => world.admin.delete(Kinds.Secret, lost))
    const isBack = () => {
      const now = world.admin.get(Kinds.Secret, lost)?.metadata.uid
      return now !== undefined && now !== before
    }
    yield* until(() => isBack() && world.isReady(), patience, "the platform is installed again")
  }),
  tolerates: [
    `object host PlatformInstance \\S+: - "reason": "Resync", \\+ "reason": "FirstInstall",`,
    `file \\S+/instance\\.json: - (.*)"reason":"Resync"(.*) \\+ \\1"reason":"FirstInstall"\\2`,
  ].map((difference) => [
    "power",
    new RegExp(`^${difference}$`),
    "a vCluster that is up again before the operator has written the Secret that was lost: there is nothing to resync",
  ]),
}

const raise = (message: string): never => {
  throw new Error(message)
}

const inHost = (world: World, name: string) => ({ namespace: world.hostNamespace(), name })

/** Removes something of the target, and waits until there is another in its place and all is well. */
const loses = (
  what: string,
  kind: ResourceKind,
  ref: (world: World) => ObjectRef,
  options: Pick<Workload, "tolerates"> & {
    readonly first?: (world: World) => void
    readonly isWell?: (world: World) => boolean
  } = {},
): Workload => ({
  ...(options.tolerates === undefined ? {} : { tolerates: options.tolerates }),
  name: `a target that loses ${what}`,
  prepare: installed(),
  run: Effect.fnUntraced(function* (world) {
    const uid = () => world.admin.get(kind, ref(world))?.metadata.uid
    const before = uid()
    if (before === undefined) raise(`there is no ${what}`)
    yield* act(() => {
      options.first?.(world)
      world.admin.delete(kind, ref(world))
    })
    const isWell = () => world.isReady() && (options.isWell?.(world) ?? true)
    yield* until(() => uid() !== undefined && uid() !== before && isWell(), patience, `${what} is back`)
  }),
})

/** Edits something of the target, and waits until what it was is put back and all is well. */
const edited = (
  what: string,
  kind: ResourceKind,
  ref: (world: World) => ObjectRef,
  part: (object: KubeObject) => unknown,
  patch: Readonly<Record<string, unknown>>,
): Workload => ({
  name: `a target with an edited ${what}`,
  prepare: installed(),
  run: Effect.fnUntraced(function* (world) {
    const is = () => JSON.stringify(part(world.admin.get(kind, ref(world)) ?? raise(`there is no ${what}`)))
    const was = is()
    yield* act(() => world.admin.patch(kind, ref(world), { type: "merge", patch }))
    if (is() === was) raise(`the ${what} is not edited`)
    yield* until(() => is() === was && world.isReady(), patience, `the ${what} is as it was`)
  }),
})

const lastInstall = (world: World) =>
  world.status()?.conditions?.find(({ type }) => type === "Installed")?.reason

/** What the target needs, and loses by somebody's hand. */
export const targetTroubles: ReadonlyArray<Workload> = [
  resync,
  loses("its Service", Kinds.Service, (world) => inHost(world, "vcluster"), {
    // Nothing but the protection keeps an administrator from it, and an administrator can remove that first.
    first: (world) =>
      world.admin.delete(Kinds.ValidatingAdmissionPolicyBinding, { name: VCLUSTER_POLICY_NAME }),
    isWell: (world) => lastInstall(world) === "Resync",
    tolerates: [
      [
        "power",
        /^object vcluster in \S+ Secret wasmcloud\/sh\.helm\.release\.v1\.wasmcloud\.(v1: - "status": "superseded", \+ "status": "deployed",|v2: is missing)$/,
        "a vCluster that is off while the host collects what it has synced deletes nothing inside: no release is to be repaired",
      ],
    ],
  }),
  loses("its StatefulSet", Kinds.StatefulSet, (world) => inHost(world, "vcluster")),
  loses("its pod", Kinds.Pod, (world) => inHost(world, "vcluster-0")),
  loses("its configuration", Kinds.Secret, (world) => inHost(world, "vc-config-vcluster")),
  loses("its NetworkPolicy", Kinds.NetworkPolicy, (world) =>
    inHost(world, "platform-operator-control-plane"),
  ),
  loses("its protection", Kinds.ValidatingAdmissionPolicy, () => ({ name: VCLUSTER_POLICY_NAME })),
  loses("its published kubeconfig", Kinds.Secret, () => ({ ...key, name: `${key.name}-kubeconfig` })),
  edited(
    "Role",
    Kinds.Role,
    (world) => inHost(world, "vc-vcluster"),
    ({ rules }) => rules,
    { rules: [] },
  ),
  edited(
    "StatefulSet",
    Kinds.StatefulSet,
    (world) => inHost(world, "vcluster"),
    ({ spec }) => (Predicate.isObject(spec) && "replicas" in spec ? spec.replicas : undefined),
    { spec: { replicas: 0 } },
  ),
  edited(
    "host namespace",
    Kinds.Namespace,
    (world) => ({ name: world.hostNamespace() }),
    ({ metadata }) => metadata.labels?.[LABEL_HOST_NAMESPACE],
    { metadata: { labels: { [LABEL_HOST_NAMESPACE]: null } } },
  ),
]

const messageOf = (world: World) =>
  world.status()?.conditions?.find(({ type }) => type === "Ready")?.message ?? ""
const workloadsOf = (world: World) =>
  world.admin
    .list(Kinds.Pod, { namespace: world.hostNamespace(), labelSelector: "vcluster.loft.sh/managed-by" })
    .filter(({ status }) => Object(status).phase === "Running").length

const sleep: Workload = {
  name: "an instance that is put to sleep and woken",
  prepare: Effect.fnUntraced(function* (world) {
    yield* installed()(world)
    yield* Effect.sleep("1 minute")
  }),
  run: Effect.fnUntraced(function* (world) {
    const before = workloadsOf(world)
    if (before === 0) raise("nothing runs inside that could be put to sleep")
    const annotate = (value: string | null) =>
      act(() => world.edit({ metadata: { annotations: { [ANNOTATION_SLEEP]: value } } }))
    yield* annotate("true")
    yield* until(() => messageOf(world).startsWith("asleep since "), patience, "it is asleep")
    const left = world.admin.list(Kinds.Pod, { namespace: world.hostNamespace() })
    if (left.length > 0) raise(`${left.map(({ metadata }) => metadata.name).join(", ")}: not asleep`)
    yield* annotate(null)
    yield* ready(world)
    yield* until(() => workloadsOf(world) === before, patience, "what ran inside runs again")
  }),
}

const approval: Workload = {
  name: "an upgrade that is looked at and approved",
  prepare: Effect.fnUntraced(function* (world) {
    yield* installed({ version: "6.0.21" })(world)
    yield* act(() => world.edit({ metadata: { annotations: { [ANNOTATION_APPROVE]: "required" } } }))
  }),
  run: Effect.fnUntraced(function* (world) {
    yield* act(() => world.edit({ metadata: { annotations: { [ANNOTATION_PLAN]: "6.0.22" } } }))
    yield* planned(world, "6.0.22", 1)
    yield* act(() => world.edit({ spec: { version: "6.0.22" } }))
    const approved = approvalOf(yield* planned(world, "6.0.22", 2))
    yield* Effect.sleep("5 minutes")
    if (world.status()?.installedVersion !== "6.0.21") raise("it has not waited")
    yield* act(() => world.edit({ metadata: { annotations: { [ANNOTATION_APPROVED]: approved } } }))
    yield* until(
      () => world.isReady() && world.status()?.installedVersion === "6.0.22",
      patience,
      "the new version is installed",
    )
  }),
}

const isTold = (world: World, reason: string) =>
  world.admin.list(Kinds.Event, { namespace: key.namespace }).some((event) => Object(event).reason === reason)

const drift: Workload = {
  name: "drift that is looked at, and put back when that is asked for",
  // Longer than the aftermath that follows the end.
  world: { settings: { repairInterval: Duration.minutes(5) } },
  prepare: installed(),
  run: Effect.fnUntraced(function* (world) {
    const annotate = (value: string | null) =>
      act(() => world.edit({ metadata: { annotations: { [ANNOTATION_DRIFT]: value } } }))
    yield* annotate("detect")
    yield* act(() => takeDrifted(world))
    yield* until(() => plansOf(world)?.drift !== undefined, patience, "it was looked at")
    yield* until(() => isTold(world, "DriftFound"), patience, "it is told")
    yield* Effect.sleep("6 minutes")
    if (world.status()?.lastRepair !== undefined) raise("it was repaired")
    if (drifted.some(([kind, name]) => findInside(world, kind, name) !== undefined)) raise("it was put back")
    yield* annotate(null)
    yield* until(
      () => world.status()?.lastRepair !== undefined && world.isReady(),
      patience,
      "the repair has ended",
    )
    yield* until(
      () => drifted.every(([kind, name]) => findInside(world, kind, name) !== undefined),
      patience,
      "what was removed is back",
    )
  }),
}

const embeddedChart = releaseJson.vcluster.chartVersion
const chartOf = (world: World) =>
  world.admin.get(Kinds.StatefulSet, inHost(world, "vcluster"))?.metadata.labels?.chart

/** While its vCluster runs. */
const clusterInside = (world: World) => findInside(world, Kinds.Namespace, "kube-system")?.metadata.uid

/** To the chart of the operator that takes the place of an earlier one. */
const vcluster: Workload = {
  name: "a vCluster upgrade",
  before: { chartVersion: "0.36.1" },
  prepare: Effect.fnUntraced(function* (world) {
    yield* installed()(world)
    yield* Effect.sleep("1 minute")
  }),
  run: Effect.fnUntraced(function* (world) {
    if (chartOf(world) !== "vcluster-0.36.1") raise(`it has ${chartOf(world)}`)
    const inside = clusterInside(world)
    yield* act(() => world.edit({ metadata: { annotations: { [ANNOTATION_UPGRADE_VCLUSTER]: "true" } } }))
    yield* until(
      () => isTold(world, "VclusterUpgraded") && world.isReady(),
      patience,
      "it has the operator's chart",
    )
    if (chartOf(world) !== `vcluster-${embeddedChart}`) raise(`it has ${chartOf(world)}`)
    yield* until(() => clusterInside(world) === inside, patience, "it is the same cluster")
    yield* until(() => workloadsOf(world) > 0, patience, "what ran inside runs")
  }),
}

/** Its image cannot be had. */
const vclusterBack: Workload = {
  ...vcluster,
  name: "a vCluster upgrade that is rolled back",
  world: { settings: { installTimeout: Duration.minutes(5) } },
  run: Effect.fnUntraced(function* (world) {
    const inside = clusterInside(world)
    yield* act(() => world.node.images.remove(`ghcr.io/loft-sh/vcluster-oss:${embeddedChart}`))
    yield* act(() => world.edit({ metadata: { annotations: { [ANNOTATION_UPGRADE_VCLUSTER]: "true" } } }))
    yield* until(
      () => isTold(world, "VclusterNotUpgraded") && world.isReady() && chartOf(world) === "vcluster-0.36.1",
      patience,
      "it has the chart again that it had",
    )
    yield* until(() => clusterInside(world) === inside, patience, "it is the same cluster")
    yield* until(() => workloadsOf(world) > 0, patience, "what ran inside runs")
  }),
  tolerates: [
    ...deaths.map(
      (death) =>
        [
          death,
          /^object host Secret \S+\/sh\.helm\.release\.v1\.vcluster\.v3: - "status": "deployed", \+ "status": "superseded",$/,
          "an upgrade that helm was killed in is ended under one more revision before that is rolled back",
        ] as const,
    ),
    [
      "power",
      /^object host PlatformInstance \S+: - (.*)\\"why\\":.* \+ \1\\"why\\":\\"the vCluster was not ready again within 5 minutes: /,
      "a node that has lost its power says something else of a pod that does not come up, or nothing yet",
    ],
  ],
}

const readoption: Workload = {
  name: "a retained instance that comes back",
  prepare: installed({ deletionPolicy: "Retain" }),
  run: Effect.fnUntraced(function* (world) {
    yield* act(() => world.remove())
    yield* gone(world)
    yield* act(() => world.apply({ deletionPolicy: "Retain" }))
    yield* ready(world)
  }),
}

const stateFolder = `${paths.state}/instances/${key.namespace}/${key.name}`
const recordIn = `${stateFolder}/instance.json`

type Tree = ReadonlyMap<string, Uint8Array>
const filesBelow = (world: World, folder: string): Tree =>
  new Map(
    world.files.list(folder).flatMap((name): ReadonlyArray<readonly [string, Uint8Array]> => {
      const path = `${folder}/${name}`
      if (world.files.isFolder(path)) return [...filesBelow(world, path)]
      return world.files.isFile(path) ? [[path, world.files.readFile(path)]] : []
    }),
  )

const backupId = "00112233445566aa"

/** As `kubectl pi restore` puts it there: in one step, on the disk, and the operator's. */
const putState = (world: World, tree: Tree) => {
  const files = world.files.as(operatorUser)
  for (const [path, content] of tree) {
    files.mkdirs(path.slice(0, path.lastIndexOf("/")), 0o700)
    files.writeFile(path, content, 0o600)
  }
  const record = Schema.decodeSync(Schema.fromJsonString(InstanceRecord))(files.readText(recordIn))
  files.writeText(recordIn, JSON.stringify(recordFor(record, false, backupId)), 0o600)
  for (const path of tree.keys()) {
    for (let at = path; at.length > paths.state.length; at = at.slice(0, at.lastIndexOf("/"))) files.sync(at)
  }
  files.sync(paths.state)
}

/** The end of it, as the same command writes it when the data is back. */
const letGo = (world: World) => {
  const files = world.files.as(operatorUser)
  const { restoring: _, ...rest } = Schema.decodeSync(Schema.fromJsonString(InstanceRecord))(
    files.readText(recordIn),
  )
  files.writeText(recordIn, JSON.stringify(rest), 0o600)
  files.sync(recordIn)
}

/** What was backed up of an instance that is lost by now. */
const backups = new WeakMap<
  World,
  { readonly data: Data; readonly inside: string; readonly certificates: unknown }
>()
const certificatesOf = (world: World) =>
  Object(world.admin.get(Kinds.Secret, inHost(world, "vcluster-certs"))).data

/** What the empty vCluster has put into the host namespace: the other one would take their end for somebody's wish. */
const synced = [
  Kinds.Pod,
  Kinds.Service,
  Kinds.ConfigMap,
  Kinds.Secret,
  Kinds.PersistentVolumeClaim,
  Kinds.NetworkPolicy,
]

const restore: Workload = {
  name: "an instance that is lost and restored",
  prepare: Effect.fnUntraced(function* (world) {
    yield* installed({ deletionPolicy: "Retain" })(world)
    yield* Effect.sleep("1 minute")
    const data = world.vclusters.data(world.hostNamespace()) ?? raise("there is no vCluster")
    backups.set(world, {
      data,
      inside: clusterInside(world) ?? raise("it does not run"),
      certificates: certificatesOf(world),
    })
    const tree = filesBelow(world, stateFolder)
    yield* act(() => world.remove())
    yield* gone(world)
    // The vCluster ends first: what is inside stays as it is backed up.
    const patch = { spec: { replicas: 0 } }
    yield* act(() =>
      world.admin.patch(Kinds.StatefulSet, inHost(world, "vcluster"), { type: "merge", patch }),
    )
    const runs = () => world.admin.get(Kinds.Pod, inHost(world, "vcluster-0")) !== undefined
    yield* until(() => !runs(), patience, "its vCluster has ended")
    const host = { name: world.hostNamespace() }
    yield* act(() => world.admin.delete(Kinds.Namespace, host))
    yield* until(
      () => world.admin.get(Kinds.Namespace, host) === undefined,
      patience,
      "its namespace is gone",
    )
    yield* act(() => world.files.remove(stateFolder))
    yield* act(() => putState(world, tree))
  }),
  run: Effect.fnUntraced(function* (world) {
    const { data, inside, certificates } = backups.get(world) ?? raise("nothing was backed up")
    const annotate = (name: string, value: string | null) =>
      act(() => world.edit({ metadata: { annotations: { [name]: value } } }))
    yield* act(() => world.apply({ deletionPolicy: "Retain" }, key, { [ANNOTATION_RESTORE]: backupId }))
    const targetReady = () =>
      world.status()?.conditions?.some(({ type, status }) => type === "TargetReady" && status === "True") ===
      true
    yield* until(targetReady, patience, "its vCluster is there")
    // Time enough for whatever would install something.
    yield* Effect.sleep("1 minute")
    if (findInside(world, ...(drifted[0] ?? raise("nothing drifts"))) !== undefined)
      raise("something is installed")
    yield* annotate(ANNOTATION_SLEEP, "true")
    yield* until(() => messageOf(world).startsWith("asleep since "), patience, "it is asleep")
    yield* act(() => {
      for (const kind of synced) {
        const found = { namespace: world.hostNamespace(), labelSelector: "vcluster.loft.sh/managed-by" }
        for (const { metadata } of world.admin.list(kind, found)) world.admin.delete(kind, metadata)
      }
      world.vclusters.restore(world.hostNamespace(), data)
      const patch = { data: certificates }
      world.admin.patch(Kinds.Secret, inHost(world, "vcluster-certs"), { type: "merge", patch })
    })
    yield* annotate(ANNOTATION_SLEEP, null)
    yield* until(() => targetReady() && clusterInside(world) === inside, patience, "its data is back")
    yield* act(() => letGo(world))
    yield* annotate(ANNOTATION_RESTORE, null)
    yield* ready(world)
    if (lastInstall(world) !== "SpecChanged") raise(`it was installed as ${lastInstall(world)}`)
    if (isTold(world, "ClusterReplaced")) raise("its state was put aside")
    yield* until(() => workloadsOf(world) > 0, patience, "what ran inside runs again")
  }),
  tolerates: deaths.map(
    (death) =>
      [
        death,
        /^made host (Secret|Service|ServiceAccount|Role|RoleBinding|StatefulSet|PersistentVolumeClaim|EndpointSlice|ControllerRevision|Endpoints|Pod) pi-\S+: (3 times instead of 2|4 times instead of 3)$/,
        "a first install that helm was killed in is removed, and made again: the vCluster that was lost has made each of them once, too",
      ] as const,
  ),
}

const two: Workload = {
  name: "two instances of one version",
  run: Effect.fnUntraced(function* (world) {
    const other = { ...key, name: "two" }
    yield* act(() => world.apply())
    yield* act(() => world.apply({}, other))
    yield* until(() => world.isReady() && world.isReady(other), patience, "both are Ready")
  }),
}

export const workloads = {
  install,
  deletion: deletionWorkloads.deletion,
  upgrade,
  repair,
  retry,
  resync,
  windowed,
  sleep,
  approval,
  drift,
  vcluster,
  vclusterBack,
  readoption,
  restore,
  two,
}
