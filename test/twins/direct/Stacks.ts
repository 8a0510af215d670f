// The states of stacks. Each lives as long as a file in its backend's folder: what is removed from the disk is gone.
import type { Files } from "../files/Files.ts"
import type { Deployment } from "../pulumi/Snapshot.ts"

export interface StackState {
  deployment: Deployment
  /** An operation has begun and not ended: whoever was at it has died. */
  running: boolean
}

/** By the entry of the file: it is another one on another disk, and when it was made anew. */
const states = new WeakMap<object, StackState>()

const markOf = (backend: string) => `${backend}/stack`

/** The stack of a backend's folder; undefined when there is none. */
export const findStack = (files: Files, backend: string): StackState | undefined => {
  const entry = files.lstat(markOf(backend))
  return entry === undefined ? undefined : states.get(entry)
}

export const makeStack = (files: Files, backend: string): StackState => {
  const mark = markOf(backend)
  files.writeText(mark, "its state is in memory\n", 0o600)
  files.sync(mark)
  files.sync(backend)
  const state: StackState = { deployment: { resources: [], pending: [] }, running: false }
  const entry = files.lstat(mark)
  if (entry !== undefined) states.set(entry, state)
  return state
}
