// Every instance of a state directory, one after the other; one that cannot be done keeps none of the others from it.
import { Effect, Result } from "effect"
import { Disk } from "../Disk/Disk.ts"
import { type Derive, derive } from "./PassphraseKey.ts"
import { type Rotated, type RotationError, rotateInstance } from "./Rotation.ts"

export interface RotatedAll {
  readonly instances: ReadonlyMap<string, Rotated>
  /** By instance: it opens with neither passphrase, and nothing of it was changed. */
  readonly refused: ReadonlyMap<string, RotationError>
}

/** Only while no operator runs on this directory. */
export const rotateAll = Effect.fn("Rotation.rotateAll")(function* (
  stateDir: string,
  passphrases: { readonly from: string; readonly to: string },
  deriveKey: Derive = derive,
) {
  const disk = yield* Disk
  const folders = Effect.fnUntraced(function* (folder: string) {
    const entries = yield* disk.readdir(folder)
    return entries.flatMap(({ name, kind }) => (kind === "directory" ? [name] : [])).sort()
  })
  const instances = new Map<string, Rotated>()
  const refused = new Map<string, RotationError>()
  for (const namespace of yield* folders(`${stateDir}/instances`)) {
    for (const name of yield* folders(`${stateDir}/instances/${namespace}`)) {
      const done = yield* rotateInstance(
        `${stateDir}/instances/${namespace}/${name}`,
        passphrases,
        deriveKey,
      ).pipe(
        Effect.map(Result.succeed),
        Effect.catchTag("RotationError", (error) => Effect.succeed(Result.fail(error))),
      )
      if (Result.isSuccess(done)) instances.set(`${namespace}/${name}`, done.success)
      else refused.set(`${namespace}/${name}`, done.failure)
    }
  }
  const all: RotatedAll = { instances, refused }
  return all
})
