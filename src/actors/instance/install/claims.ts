// What two instances cannot both have on one node: a gateway's NodePort, and custom storage roots that are equal or
// nested; and the NodePorts that nobody can have. Looked at before an install asks for its permit. Who has it installed keeps it; of two that both wait for
// their first install the older one gets it.
import { Effect, Option, Schema } from "effect"
import { formatKey, type InstanceKey } from "../../../schema/InstanceKey.ts"
import { hostNamespace } from "../../../schema/Names.ts"
import { type NodeShare, noShare, rootInTheWay } from "../../../schema/NodeShare.ts"
import {
  decodePlatformInstance,
  instanceKey,
  type PlatformInstance,
} from "../../../schema/PlatformInstance.ts"
import { customStorageRoot } from "../../../schema/PlatformSpec.ts"
import { Service } from "../../../services/Kubernetes/Kinds.ts"
import { Kubernetes } from "../../../services/Kubernetes/Kubernetes.ts"
import { type InstanceRecord, StateStore, shareOf } from "../../../services/StateStore/StateStore.ts"
import { Views } from "../Views.ts"

export interface Claimant {
  readonly key: InstanceKey
  /** RFC 3339. */
  readonly createdAt: string
  /** By its spec. */
  readonly wants: NodeShare
  /** By its record: what an install has given it. */
  readonly has: NodeShare
}

export interface Conflict {
  readonly step: string
  readonly message: string
}

const isOlder = (one: Claimant, other: Claimant): boolean =>
  one.createdAt === other.createdAt
    ? formatKey(one.key) < formatKey(other.key)
    : one.createdAt < other.createdAt

export const portConflict = (port: number, holder: string): Conflict => ({
  step: "check gateway port",
  message: `NodePort ${port} is taken by ${holder}; give one of them another spec.platform.gateway.httpNodePort`,
})

/** What it has it keeps, whatever its spec says. */
const hasRoot = ({ has }: Claimant): boolean => has.root !== undefined || has.defaultRoot !== undefined

/** The first other instance that has, or is to get, what this one wants and has not got. */
export const findConflict = (self: Claimant, others: ReadonlyArray<Claimant>): Conflict | undefined => {
  const { port, root } = self.wants
  const holder = (takes: (share: NodeShare) => boolean) =>
    others.find((other) => takes(other.has) || (takes(other.wants) && isOlder(other, self)))
  const ofPort =
    port === undefined || self.has.port === port ? undefined : holder((share) => share.port === port)
  if (port !== undefined && ofPort !== undefined) {
    return portConflict(port, `instance ${formatKey(ofPort.key)}`)
  }
  if (root === undefined || hasRoot(self)) return undefined
  const ofRoot = holder((share) => rootInTheWay(root, share) !== undefined)
  if (ofRoot === undefined) return undefined
  const theirs = ofRoot.has.root ?? ofRoot.has.defaultRoot ?? ofRoot.wants.root ?? root
  return {
    step: "check storage root",
    message: `spec.platform.storageRoot ${root} overlaps ${theirs} of instance ${formatKey(ofRoot.key)}; storageRoot is immutable: recreate one of them with another storageRoot, or with none`,
  }
}

const portOf = ({ spec }: PlatformInstance): number | undefined =>
  spec.platform?.gateway?.httpNodePort || undefined

const claimantOf = (instance: PlatformInstance, record: InstanceRecord | undefined): Claimant => ({
  key: instanceKey(instance),
  createdAt: instance.metadata.creationTimestamp,
  wants: { port: portOf(instance), root: customStorageRoot(instance.spec) },
  has: record === undefined ? noShare : shareOf(record),
})

/** Every other instance, retained ones too. One whose spec cannot be read wants nothing: it installs nothing either. */
const otherClaimants = Effect.fnUntraced(function* (self: Claimant) {
  const views = yield* Views
  const store = yield* StateStore
  const known = yield* store.records
  const records = new Map(known.map(({ key, record }) => [formatKey(key), record]))
  const found = yield* Effect.forEach(yield* views.instances, (object) =>
    Effect.option(decodePlatformInstance(object)),
  )
  const living = found.flatMap(Option.toArray).map((instance) => {
    const name = formatKey(instanceKey(instance))
    return claimantOf(instance, records.get(name))
  })
  const names = new Set(living.map(({ key }) => formatKey(key)))
  const retained = known
    .filter(({ key }) => !names.has(formatKey(key)))
    .map(({ key, record }): Claimant => ({ key, createdAt: "", wants: noShare, has: shareOf(record) }))
  return [...living, ...retained].filter(({ key }) => formatKey(key) !== formatKey(self.key))
})

const decodePorts = Schema.decodeUnknownOption(
  Schema.Struct({ ports: Schema.Array(Schema.Struct({ nodePort: Schema.optionalKey(Schema.Finite) })) }),
)

/** A Service of the cluster that has it, of anybody else. */
const takenInCluster = Effect.fnUntraced(function* (self: Claimant, port: number) {
  const kubernetes = yield* Kubernetes
  const services = yield* kubernetes
    .list(Service)
    .pipe(
      Effect.catch((error) =>
        Effect.logWarning("looking for the holder of a NodePort failed").pipe(
          Effect.annotateLogs({ request: error.request, reason: error.reason }),
          Effect.as([]),
        ),
      ),
    )
  const own = hostNamespace(self.key)
  return services.find(
    ({ metadata, spec }) =>
      metadata.namespace !== own &&
      Option.exists(decodePorts(spec), ({ ports }) => ports.some(({ nodePort }) => nodePort === port)),
  )
})

/** Whether a custom root that the instance asks for, and has not got yet, is another's, or a part of it, or around it. */
export const rootConflictOf = Effect.fnUntraced(function* (
  instance: PlatformInstance,
  record: Option.Option<InstanceRecord>,
) {
  const claimant = claimantOf(instance, Option.getOrUndefined(record))
  const self: Claimant = { ...claimant, wants: { ...claimant.wants, port: undefined } }
  if (self.wants.root === undefined || hasRoot(self)) return undefined
  return findConflict(self, yield* otherClaimants(self))
})

const notInRange = /provided port is not in the valid range[^"]*/

/**
 * A port that the host's API server gives to no Service, by a dry run: which it gives is a flag of that server, and can be
 * read nowhere. The vCluster would meet the refusal, in the middle of an install.
 */
const refusedPort = Effect.fnUntraced(function* (self: Claimant, port: number) {
  const kubernetes = yield* Kubernetes
  const asked = kubernetes.apply(
    Service,
    {
      apiVersion: "v1",
      kind: "Service",
      metadata: { namespace: hostNamespace(self.key), name: "platform-operator-port" },
      spec: { type: "NodePort", ports: [{ port, nodePort: port }] },
    },
    { dryRun: true },
  )
  const words = yield* Effect.match(asked, { onFailure: ({ message }) => message, onSuccess: () => "" })
  const why = notInRange.exec(words)?.[0].trim()
  if (why === undefined) return undefined
  const conflict: Conflict = {
    step: "check gateway port",
    message: `spec.platform.gateway.httpNodePort ${port} is refused by the host's API server: ${why}; give it one of that range, or 0 for none`,
  }
  return conflict
})

/** What stands in the way of this install, if anything does. */
export const conflictOf = Effect.fn("Install.checkClaims")(function* (
  instance: PlatformInstance,
  record: Option.Option<InstanceRecord>,
) {
  const self = claimantOf(instance, Option.getOrUndefined(record))
  const { port, root } = self.wants
  const wantsPort = port !== undefined && port !== self.has.port
  if (!wantsPort && (root === undefined || hasRoot(self))) return undefined
  const conflict = findConflict(self, yield* otherClaimants(self))
  if (conflict !== undefined || !wantsPort) return conflict
  const service = yield* takenInCluster(self, port)
  return service === undefined
    ? yield* refusedPort(self, port)
    : portConflict(port, `Service ${service.metadata.namespace}/${service.metadata.name}`)
})
