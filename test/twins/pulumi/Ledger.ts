// The engine's journal of one run: what is still as before, what was made, what is under way. Written to the backend
// before and after each step that changes something, and once at the end.
import { Clock, DateTime, Effect, Semaphore } from "effect"
import { type Backend, stackName, writeStateText } from "./Backend.ts"
import type { CliError } from "./Errors.ts"
import type { Keeper } from "./Passphrase.ts"
import { checkpointText, type Deployment, type PendingOperation, type ResourceState } from "./Snapshot.ts"

export interface Ledger {
  readonly base: ReadonlyArray<ResourceState>
  /** The resource of this reference (`<urn>::<id>`), made in this run or before. */
  readonly find: (reference: string) => ResourceState | undefined
  readonly begin: (operation: PendingOperation) => Effect.Effect<void, CliError>
  /** Ends what was begun. `old` gives way to `made`; without a `made` it is gone. */
  readonly end: (
    operation: PendingOperation | undefined,
    old: ResourceState | undefined,
    made: ResourceState | undefined,
  ) => Effect.Effect<void, CliError>
  /** The same without writing it: nothing that matters has changed. */
  readonly note: (old: ResourceState | undefined, made: ResourceState | undefined) => void
  readonly deployment: () => Deployment
  /** Writes it down, and gives the text. */
  readonly save: Effect.Effect<string, CliError>
}

/** Writes the state to the backend, and gives its text. */
export const checkpointWriter = (backend: Backend, keeper: Keeper) =>
  Effect.fnUntraced(function* (deployment: Deployment) {
    const time = DateTime.formatIso(DateTime.makeUnsafe(yield* Clock.currentTimeMillis))
    const text = checkpointText(stackName(backend), deployment, keeper, time)
    yield* writeStateText(backend, text)
    return text
  })

export const makeLedger = Effect.fnUntraced(function* (
  before: Deployment,
  write: (deployment: Deployment) => Effect.Effect<string, CliError>,
) {
  const oneAtATime = (yield* Semaphore.make(1)).withPermits(1)
  const rest = new Set(before.resources)
  const made: Array<ResourceState> = []
  const pending = new Set(before.pending)

  const deployment = (): Deployment => ({ resources: [...made, ...rest], pending: [...pending] })
  const save = oneAtATime(Effect.suspend(() => write(deployment())))
  const note = (old: ResourceState | undefined, next: ResourceState | undefined) => {
    if (old !== undefined) {
      rest.delete(old)
      const index = made.indexOf(old)
      if (index >= 0) made.splice(index, 1)
    }
    if (next !== undefined) made.push(next)
  }
  return {
    base: before.resources,
    find: (reference) =>
      [...made, ...rest].find(({ urn, id }) => reference.startsWith(urn) && `${urn}::${id}` === reference),
    begin: (operation) => {
      pending.add(operation)
      return Effect.asVoid(save)
    },
    end: (operation, old, next) => {
      if (operation !== undefined) pending.delete(operation)
      note(old, next)
      return Effect.asVoid(save)
    },
    note,
    deployment,
    save,
  } satisfies Ledger
})
