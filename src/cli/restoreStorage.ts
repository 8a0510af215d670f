// The storage root of a backup, put back while nothing of the instance runs. It comes whole into a folder of its own inside of the root, and
// from there into its place: what is cut off goes on, and nothing that lies there is overwritten.
import { Effect, Stream } from "effect"
import { formatKey, type InstanceKey } from "../schema/InstanceKey.ts"
import { instanceHash } from "../schema/Names.ts"
import { defaultStorageRoot } from "../schema/StorageRoot.ts"
import type { Backup } from "./BackupReader.ts"
import { cannot, Kubectl, type Where } from "./Kubectl.ts"
import type { Place } from "./Operator.ts"
import type { Operator } from "./RotationObjects.ts"
import { AGAIN, step } from "./root.ts"
import {
  LABEL_STORAGE,
  lookCommand,
  placeCommand,
  storageRootBaseOf,
  tidyCommand,
  unpackCommand,
} from "./StorageObjects.ts"
import { markedRoot, requireAdmitted, requireOneNode, withStorage } from "./storageRoot.ts"
import { plain } from "./Words.ts"

/** What is restored, and where to. */
export interface Target extends Place {
  readonly backup: Backup
  readonly key: InstanceKey
  readonly isClone: boolean
  /** Where the storage root of the backup goes, if it has one and is to be put back. */
  readonly storageRoot: string | undefined
}

/** Where it will be: of a copy the default one of the operator that is here. */
export const storageRootFor = (
  { manifest }: Backup,
  key: InstanceKey,
  operator: Operator,
  isClone: boolean,
): string | undefined =>
  manifest.storage === undefined
    ? undefined
    : isClone
      ? defaultStorageRoot(storageRootBaseOf(operator), key)
      : manifest.storage.root

/** Whether what the backup has is a part of the root alone. */
const hasTrees = ({ backup }: Target): boolean => backup.manifest.storage?.isCustom === true

const lookIn = Effect.fnUntraced(function* (restore: Target, where: Where, pod: string) {
  const kubectl = yield* Kubectl
  const said = yield* kubectl.run(where, lookCommand(pod, restore.backup.manifest.id, hasTrees(restore)))
  const [what = "", ...more] = said.trim().split(" ")
  return { what, found: more.join(" ") }
})

const occupied = (root: string, found: string): string =>
  `the storage root ${root} on the node is not empty (${plain(found)} lies there), and nothing is put over it: move it away if nobody needs it, or leave it as it is with --without-storage`

/** Nothing is put over what lies there: that is looked at before anything is changed. */
export const checkStorage = Effect.fnUntraced(function* (restore: Target) {
  const { storageRoot: root, call } = restore
  if (root === undefined) return
  yield* requireOneNode(call)
  // The one that only looks may be admitted where the one that writes is not.
  yield* requireAdmitted({ call, root, readOnly: false })
  const { what, found } = yield* withStorage({ call, root, readOnly: true }, (where, pod) =>
    lookIn(restore, where, pod),
  )
  if (what === "there") return yield* cannot(occupied(root, found))
})

/** While nothing of the instance runs, and no other command does the same. */
export const putStorage = Effect.fnUntraced(function* (restore: Target) {
  const { storageRoot: root, call, key, inHost, backup } = restore
  if (root === undefined) return
  const kubectl = yield* Kubectl
  const { id } = backup.manifest
  const marked = yield* markedRoot(inHost)
  if (marked !== root) {
    return yield* cannot(
      `the storage root of ${formatKey(key)} is ${marked} here, and not ${root}: what is in the backup is not put there. Give the command with --without-storage, and copy it by hand`,
    )
  }
  const put = Effect.fnUntraced(function* (where: Where, pod: string) {
    // One of a command that was interrupted may be at work.
    yield* kubectl.run(where, [
      ...["delete", "pod", `--selector=${LABEL_STORAGE}=${instanceHash(key)}`],
      ...[`--field-selector=metadata.name!=${pod}`, "--ignore-not-found", "--timeout=120s"],
    ])
    const { what, found } = yield* lookIn(restore, where, pod)
    if (what === "there") return yield* cannot(`${occupied(root, found)}; then ${AGAIN}`)
    if (what !== "whole") {
      yield* Stream.runDrain(kubectl.stream(where, unpackCommand(pod, id), backup.storage))
    }
    yield* kubectl.run(where, placeCommand(pod, id, hasTrees(restore)))
  })
  yield* withStorage({ call, root, readOnly: false }, put)
  yield* step(`the storage root ${root} of ${formatKey(key)} has its files back`)
})

/** Once nobody asks any more whether it is whole. */
export const tidyStorage = Effect.fnUntraced(function* (restore: Target) {
  const { storageRoot: root, call, backup } = restore
  if (root === undefined) return
  const kubectl = yield* Kubectl
  yield* withStorage({ call, root, readOnly: false }, (where, pod) =>
    kubectl.run(where, tidyCommand(pod, backup.manifest.id)),
  )
})
