// Every reason of the reference as a state to begin from: found stored, in a status that somebody (another release, a
// restore, a hand) has written, and reached, by what brings an instance there.
import { Effect, Fiber, Option, type Scope } from "effect"
import {
  type Condition,
  type ConditionType,
  conditionTypes,
  configFailureReasons,
  findCondition,
  installFailureReasons,
  reasons,
  targetFailureReasons,
} from "../../src/schema/Conditions.ts"
import { ANNOTATION_INSTANCE, LABEL_HOST_NAMESPACE } from "../../src/schema/Names.ts"
import * as Kinds from "../../src/services/Kubernetes/Kinds.ts"
import { readRelease, recordName, recordOf, withInfo } from "../twins/helm/Release.ts"
import { type Simulation, until } from "../twins/simulation/Simulation.ts"
import type { World, WorldOptions } from "../twins/world/World.ts"
import { type CheckedWorld, patience } from "./checked.ts"
import { restoreRecords, storageRoot } from "./deletions.ts"

export interface Reason {
  readonly type: ConditionType
  readonly status: "True" | "False"
  readonly reason: string
}

/** As the schema has them: a reason that is added there is a state here. */
export const allReasons: ReadonlyArray<Reason> = conditionTypes.flatMap((type) =>
  (["True", "False"] as const).flatMap((status) =>
    reasons[type][status].map((reason) => ({ type, status, reason })),
  ),
)

export const formatReason = ({ type, status, reason }: Reason) => `${type}=${status} ${reason}`

const failures: ReadonlyArray<string> = [...targetFailureReasons, ...installFailureReasons]

const phaseOf = ({ status, reason }: Reason): string => {
  if (status === "True") return "Ready"
  return failures.includes(reason) ? "Failed" : "Provisioning"
}

/** The status that holds this reason, and under Ready what belongs to it. */
export const storedStatus = (state: Reason): Readonly<Record<string, unknown>> => {
  const { type, status, reason } = state
  const condition = (of: string, as: string, why: string): Condition => ({
    type: of,
    status: as === "True" ? "True" : "False",
    reason: why,
    message: `stored ${why}`,
    lastTransitionTime: "2025-12-01T00:00:00Z",
    observedGeneration: 1,
  })
  const ready = failures.includes(reason) ? reason : status === "True" ? "Ready" : "TargetPending"
  return {
    phase: phaseOf(state),
    observedGeneration: 1,
    conditions: [
      condition(type, status, reason),
      ...(type === "Ready" ? [] : [condition("Ready", status, ready)]),
      // What stops an install is said by both.
      ...(type === "ConfigApplied" && configFailureReasons.some((each) => each === reason)
        ? [condition("Installed", "False", reason)]
        : []),
    ],
  }
}

export const has = (
  world: World,
  { type, status, reason }: Pick<Reason, "type" | "reason"> & Partial<Reason>,
): boolean => {
  const found = findCondition(world.status()?.conditions, type)
  return found?.reason === reason && (status === undefined || found.status === status)
}

type Play<A = void> = Effect.Effect<A, never, Simulation | Scope.Scope>

/** A way to a reason in a world with an operator. */
export interface Road {
  readonly reason: Reason
  readonly world?: WorldOptions
  /** Before the operator is there. */
  readonly first?: (world: CheckedWorld) => void
  /** Brings the instance there, and gives what takes the cause away, where a spec alone does not. */
  readonly reach: (world: CheckedWorld) => Play<() => void>
  /** What a user changes in the spec to make it good. Default: one tenant. */
  readonly good?: Readonly<Record<string, unknown>>
  /** It is being deleted: whatever is applied, it goes. */
  readonly going?: boolean
  /** No spec makes it good, for what is wrong is fixed at creation: it is deleted and made again. */
  readonly immutable?: boolean
  /** What stays although it is gone. */
  readonly leaves?: ReadonlyArray<string>
}

const nothing = () => {}
const act = <A>(what: () => A) => Effect.sync(what)

const ready = (world: World) => until(() => world.isReady(), patience, "the instance is Ready")

/** As soon as it has been written once: what passes by itself may be gone again a moment later. */
const seen = Effect.fnUntraced(function* (world: World, reason: Reason) {
  let is = has(world, reason)
  const stop = world.host.subscribe(() => {
    is ||= has(world, reason)
  })
  yield* until(() => is, patience, formatReason(reason))
  stop()
})

const not = (type: ConditionType, reason: string): Reason => ({ type, status: "False", reason })

/** On the way of every first install. */
const passing = (reason: Reason): Road => ({
  reason,
  reach: Effect.fnUntraced(function* (world) {
    world.apply()
    yield* seen(world, reason)
    return nothing
  }),
})

/** Something happens to a Ready instance. */
const after = (
  reason: Reason,
  happens: (world: CheckedWorld) => (() => void) | undefined,
  rest: Partial<Road> = {},
): Road => ({
  reason,
  reach: Effect.fnUntraced(function* (world) {
    world.apply()
    yield* ready(world)
    world.node.files.put(`${storageRoot}/di-tenants/acme/blob`, { type: "file" })
    const sight = yield* Effect.forkChild(seen(world, reason), { startImmediately: true })
    const mend = happens(world)
    yield* Fiber.join(sight)
    return mend ?? nothing
  }),
  ...rest,
})

/** An instance with this spec fails. */
const bad = (reason: Reason, spec: Readonly<Record<string, unknown>>, rest: Partial<Road> = {}): Road => ({
  reason,
  reach: Effect.fnUntraced(function* (world) {
    world.apply(spec)
    yield* seen(world, reason)
    return nothing
  }),
  ...rest,
})

const inHost = (world: World, name: string) => ({ namespace: world.hostNamespace(), name })
const tenants = [{ name: "acme" }]
const image = (name: string, digit: string) => `ghcr.io/di-framework/${name}@sha256:${digit.repeat(64)}`
const tenantAuth = {
  image: image("tenant-auth", "a"),
  issuer: "https://id.example",
  clientId: "console",
  clientSecretRef: { name: "not-there", key: "clientSecret" },
}

/** A newer revision of the release that has failed, over the one that is deployed. */
const failRevision = (world: CheckedWorld) => {
  const record = world.admin.get(Kinds.Secret, inHost(world, recordName("vcluster", 1)))
  if (record === undefined) throw new Error("there is no release record")
  const failed = withInfo({ ...readRelease(record), version: 2 }, { status: "failed" })
  world.admin.create(Kinds.Secret, recordOf(failed, {}))
}

/** The API server says that it has no admission policies, until that is mended. */
const withoutPolicies = (world: CheckedWorld): (() => void) => {
  const { handle, watch } = world.host
  const lacks = (path: string) => path.startsWith("/apis/admissionregistration.k8s.io/")
  const missing = { status: 404, body: "404 page not found\n" }
  Object.assign(world.host, {
    handle: (request: Parameters<typeof handle>[0]) => (lacks(request.path) ? missing : handle(request)),
    watch: (...args: Parameters<typeof watch>) => (lacks(args[0].path) ? missing : watch(...args)),
  })
  return () => void Object.assign(world.host, { handle, watch })
}

const holdPod = (world: CheckedWorld) => {
  const { cleanupNamespace } = world.settings
  const hold = (finalizers: ReadonlyArray<string> | null) => {
    for (const { metadata } of world.admin.list(Kinds.Pod, { namespace: cleanupNamespace }))
      world.admin.patch(
        Kinds.Pod,
        { namespace: cleanupNamespace, name: metadata.name },
        { type: "merge", patch: { metadata: { finalizers } } },
      )
  }
  world.node.images.cutOff()
  world.node.images.remove(world.settings.operatorImage)
  const stop = world.host.subscribe(({ type, kind, object }) => {
    const isOurs = kind.kind === "Pod" && object.metadata.namespace === cleanupNamespace
    if (!isOurs || type !== "ADDED") return
    stop()
    hold(["example.com/hold"])
    world.edit({
      metadata: { annotations: { "platform.di-framework.dev/skip-storage-cleanup": "true" } },
    })
  })
  world.remove()
  return () => hold(null)
}

/** A way to each reason that is no good. */
export const roads: ReadonlyArray<Road> = [
  passing(not("TargetReady", "Creating")),
  passing(not("TargetReady", "ControlPlanePending")),
  passing(not("TargetReady", "KubeconfigPending")),
  after(not("TargetReady", "KubeconfigMissing"), (world) => {
    world.admin.delete(Kinds.Secret, inHost(world, "vc-vcluster"))
    return undefined
  }),
  after(not("TargetReady", "Resyncing"), (world) => {
    world.admin.delete(Kinds.Secret, inHost(world, "vc-vcluster"))
    return undefined
  }),
  after(not("TargetReady", "Repairing"), (world) => {
    world.admin.delete(Kinds.Role, inHost(world, "vc-vcluster"))
    return undefined
  }),
  after(not("TargetReady", "RolledBack"), (world) => {
    failRevision(world)
    return undefined
  }),
  after(not("TargetReady", "TargetUnreachable"), (world) =>
    world.network.blackHole(`vcluster.${world.hostNamespace()}.svc`, 443),
  ),
  {
    reason: not("TargetReady", "TargetError"),
    first: (world) =>
      void world.invariants.byHand(() =>
        world.admin.create(Kinds.Namespace, {
          apiVersion: "v1",
          kind: "Namespace",
          metadata: {
            name: world.hostNamespace(),
            labels: { [LABEL_HOST_NAMESPACE]: "true" },
            annotations: { [ANNOTATION_INSTANCE]: "team-z/other" },
          },
        }),
      ),
    reach: Effect.fnUntraced(function* (world) {
      world.apply()
      yield* seen(world, not("TargetReady", "TargetError"))
      return () => void world.admin.delete(Kinds.Namespace, { name: world.hostNamespace() })
    }),
  },
  after(
    not("TargetReady", "TargetDeleteFailed"),
    (world) => {
      const stop = restoreRecords(world)
      world.remove()
      return stop
    },
    { going: true },
  ),
  bad(not("Installed", "InstallFailed"), { version: "6.0.90" }, { good: { version: "6.0.22" } }),
  bad(
    not("Installed", "TenantAuthSecretUnavailable"),
    { platform: { tenants, tenantAuth } },
    {
      good: { platform: { tenants, tenantAuth: null } },
    },
  ),
  bad(
    not("ConfigApplied", "TenantAuthSecretUnavailable"),
    { platform: { tenants, tenantAuth } },
    {
      good: { platform: { tenants, tenantAuth: null } },
    },
  ),
  bad(not("Installed", "TenantHostImageUnsupported"), { version: "6.0.19" }, { good: { version: "6.0.22" } }),
  bad(
    not("ConfigApplied", "TenantHostImageUnsupported"),
    {},
    {
      world: { settings: { defaultTenantHostImage: Option.some(image("wash", "1")) } },
      good: { platform: { tenantHostImage: image("wash", "2") } },
    },
  ),
  bad(not("Installed", "InvalidStorageRoot"), { platform: { storageRoot: "/" } }, { immutable: true }),
  after(
    not("Installed", "UninstallFailed"),
    (world) => {
      world.state.free(0)
      world.remove()
      return () => world.state.free(undefined)
    },
    { going: true },
  ),
  after(
    not("Installed", "StorageCleanupFailed"),
    (world) => {
      const mend = world.node.files.refuse(`${storageRoot}/di-tenants/acme/blob`, "EPERM")
      world.remove()
      return mend
    },
    { going: true },
  ),
  passing(not("Ready", "TargetPending")),
  passing(not("Ready", "Installing")),
  after(not("Ready", "WaitingForStorageCleanup"), holdPod, { going: true, leaves: ["the storage root"] }),
  {
    reason: not("OwnerServiceProtected", "AdmissionPolicyUnavailable"),
    // It is the server's HTTP answers that are others.
    world: { direct: false },
    reach: Effect.fnUntraced(function* (world) {
      const mend = withoutPolicies(world)
      yield* act(() => world.apply())
      yield* seen(world, not("OwnerServiceProtected", "AdmissionPolicyUnavailable"))
      return mend
    }),
  },
]

/** Named in the reference under a condition, and reached under another by the same road. */
export const reachedBy = (reason: Reason): Road | undefined =>
  roads.find(({ reason: of }) => of.type === reason.type && of.reason === reason.reason) ??
  roads.find(({ reason: of }) => of.reason === reason.reason)
