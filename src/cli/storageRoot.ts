// A pod over an instance's storage root, for as long as it is used: what a backup and a restore have of the node. It is made by whoever runs
// the command, and needs no right of the operator's.
import { Effect, Redacted, Schema } from "effect"
import { formatKey } from "../schema/InstanceKey.ts"
import { ANNOTATION_STORAGE_ROOT } from "../schema/Names.ts"
import { newId } from "./BackupFile.ts"
import { cannot, getJson, Kubectl, type PiError, type Where } from "./Kubectl.ts"
import type { Call } from "./Operator.ts"
import { cleanupNamespaceOf, storagePod } from "./StorageObjects.ts"

const Nodes = Schema.Struct({ items: Schema.Array(Schema.Unknown) })
const Namespace = Schema.Struct({
  metadata: Schema.Struct({
    annotations: Schema.optionalKey(Schema.Record(Schema.String, Schema.String)),
  }),
})

/** A pod may run on any node, and only one of them has the data. */
export const requireOneNode = Effect.fnUntraced(function* ({ place }: Call) {
  const { namespace: _, ...everywhere } = place
  const { items } = yield* getJson(Nodes, everywhere, ["nodes"])
  if (items.length === 1) return
  return yield* cannot(
    `the cluster has ${items.length} nodes, and which of them has the storage root is not known: copy it by a tool for volumes, and give the command without the storage root`,
  )
})

/** As the operator has written it on the host namespace: what the instance's pods may mount. */
export const markedRoot = Effect.fnUntraced(function* (inHost: Where) {
  const { namespace: name = "", ...everywhere } = inHost
  const { metadata } = yield* getJson(Namespace, everywhere, ["namespace", name])
  const root = metadata.annotations?.[ANNOTATION_STORAGE_ROOT] ?? ""
  return root === ""
    ? yield* cannot(
        `host namespace ${name} does not say where the storage root is (annotation ${ANNOTATION_STORAGE_ROOT}): the operator writes it at its next look`,
      )
    : root
})

interface Storage {
  readonly call: Call
  readonly root: string
  readonly readOnly: boolean
}

const podFor = ({ call: { place, operator, key }, root, readOnly }: Storage) => {
  const namespace = cleanupNamespaceOf(operator, place.namespace ?? "")
  const name = `pi-storage-${newId()}`
  const manifest = storagePod({ name, namespace, key, operator, root, readOnly })
  const where: Where = { ...place, namespace }
  const make = Effect.fnUntraced(function* (...flags: ReadonlyArray<string>) {
    const kubectl = yield* Kubectl
    return yield* kubectl
      .feed(where, ["create", ...flags, "--filename=-"], Redacted.make(JSON.stringify(manifest)))
      .pipe(
        Effect.mapError(({ message }) =>
          cannot(
            `the pod that reaches the storage root ${root} of ${formatKey(key)} cannot be made in namespace ${namespace}: ${message}`,
          ),
        ),
      )
  })
  return { where, name, make }
}

/** Whether the cluster lets its pod in, before anything is changed for it: nothing is made. */
export const requireAdmitted = (storage: Storage) => podFor(storage).make("--dry-run=server")

/** `use` gets the pod's place and name. */
export const withStorage = <A, E, R>(
  storage: Storage,
  use: (where: Where, pod: string) => Effect.Effect<A, E, R>,
): Effect.Effect<A, E | PiError, R | Kubectl> =>
  Effect.gen(function* () {
    const kubectl = yield* Kubectl
    const { where, name, make } = podFor(storage)
    const remove = kubectl.run(where, ["delete", "pod", name, "--ignore-not-found", "--wait=false"])
    return yield* Effect.acquireUseRelease(
      make(),
      () =>
        kubectl
          .run(where, ["wait", `pod/${name}`, "--for=condition=Ready", "--timeout=300s"])
          .pipe(Effect.andThen(use(where, name))),
      () => Effect.ignore(remove),
    )
  })
