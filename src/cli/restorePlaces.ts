// What of the node a backup asks for, and somebody else has by now: the operator would find it after the vCluster is up, so it is
// looked at before anything is changed.
import { Effect, Schema } from "effect"
import { formatKey } from "../schema/InstanceKey.ts"
import { hostNamespace } from "../schema/Names.ts"
import { type NodeShare, rootInTheWay } from "../schema/NodeShare.ts"
import { type KeptInstance, placesOf } from "./BackupObjects.ts"
import { RESOURCE } from "./Instance.ts"
import { cannot, getJson, type Kubectl, type PiError } from "./Kubectl.ts"
import { type Call, findClaims } from "./Operator.ts"
import type { Target } from "./restoreStorage.ts"
import { step } from "./root.ts"

interface Held extends NodeShare {
  /** In words. */
  readonly by: string
}

const Instances = Schema.Struct({
  items: Schema.Array(
    Schema.Struct({
      metadata: Schema.Struct({ namespace: Schema.String, name: Schema.String }),
      spec: Schema.optionalKey(Schema.Unknown),
    }),
  ),
})
const Services = Schema.Struct({
  items: Schema.Array(
    Schema.Struct({
      metadata: Schema.Struct({ namespace: Schema.String, name: Schema.String }),
      spec: Schema.optionalKey(
        Schema.Struct({
          ports: Schema.optionalKey(
            Schema.Array(Schema.Struct({ nodePort: Schema.optionalKey(Schema.Finite) })),
          ),
        }),
      ),
    }),
  ),
})

/** Who may not look is no reason not to restore: the operator looks, too, before it installs. */
const ifAllowed = <A, R>(what: string, look: Effect.Effect<ReadonlyArray<A>, PiError, R>) =>
  Effect.catchIf(
    look,
    ({ message }) => message.includes("(Forbidden)"),
    ({ message }) =>
      Effect.as(
        step(
          `whether ${what} has what the backup asks for of the node is not known here (${message.split("\n")[0]}): the operator looks before it installs`,
        ),
        [],
      ),
  )

/** What instances have, by the operator's records; and what others ask for, that it has not given them yet. */
const heldByInstances = Effect.fnUntraced(function* (call: Call) {
  const { key } = call
  const had = (yield* findClaims(call)).map(
    ({ instance, has }): Held => ({ by: `instance ${instance}`, ...has }),
  )
  const asked = ifAllowed(
    "an instance that is not installed yet",
    Effect.map(getJson(Instances, call.place, [RESOURCE, "--all-namespaces"]), ({ items }) =>
      items
        .filter(({ metadata }) => formatKey(metadata) !== formatKey(key))
        .map(({ metadata, spec }): Held => ({ by: `instance ${formatKey(metadata)}`, ...placesOf(spec) })),
    ),
  )
  return [...had, ...(yield* asked)]
})

const heldByServices = ({ place, key }: Call) =>
  ifAllowed(
    "a Service",
    Effect.map(getJson(Services, place, ["services", "--all-namespaces"]), ({ items }) =>
      items
        .filter(({ metadata }) => metadata.namespace !== hostNamespace(key))
        .flatMap(({ metadata, spec }) =>
          (spec?.ports ?? []).map(
            ({ nodePort }): Held => ({ by: `Service ${formatKey(metadata)}`, port: nodePort }),
          ),
        ),
    ),
  )

const copyInstead = "or restore a copy, under another name, which begins without it"

const rootTaken = (root: string, held: ReadonlyArray<Held>): string | undefined => {
  for (const { by, ...share } of held) {
    const theirs = rootInTheWay(root, share)
    if (theirs !== undefined)
      return `spec.platform.storageRoot ${root} of the backup overlaps ${theirs} of ${by}: delete that one, ${copyInstead}`
  }
  return undefined
}

const portTaken = (port: number, held: ReadonlyArray<Held>): string | undefined => {
  const holder = held.find((each) => each.port === port)
  return holder === undefined
    ? undefined
    : `spec.platform.gateway.httpNodePort ${port} of the backup is taken by ${holder.by}: give that one another, ${copyInstead}`
}

/** A copy asks for nothing of the node. */
export const checkPlaces = Effect.fnUntraced(function* (
  { isClone, call }: Target,
  { spec }: KeptInstance,
): Effect.fn.Return<void, PiError, Kubectl> {
  const { root, port } = placesOf(spec)
  if (isClone || (root === undefined && port === undefined)) return
  const held = yield* heldByInstances(call)
  const services = port === undefined ? [] : yield* heldByServices(call)
  const taken =
    (root === undefined ? undefined : rootTaken(root, held)) ??
    (port === undefined ? undefined : portTaken(port, [...held, ...services]))
  if (taken !== undefined) return yield* cannot(taken)
})
