// The cases of F38 on real directories: a folder of this machine stands for the node's root.
import {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readlinkSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { assert } from "vitest"
import { allowed, type Case, isOutside, requested } from "./cases.ts"

/** Everything below a real folder: links by what they say. */
const snapshot = (folder: string): ReadonlyArray<string> =>
  readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name)
    if (entry.isSymbolicLink()) return [`${path} -> ${readlinkSync(path)}`]
    return entry.isDirectory() ? [path, ...snapshot(path)] : [path]
  })

/** Makes the folder; false where a link or a file is in the way. */
const existsInFolders = (folder: string): boolean => {
  try {
    mkdirSync(folder, { recursive: true })
    return lstatSync(folder).isDirectory()
  } catch {
    return false
  }
}

/**
 * The folder that the kubelet mounts: it is made where it is not there, and links on the way are followed. None at the
 * end of a link to nothing: the pod waits for it.
 */
export const realFolder = (world: string, path: string): string | undefined => {
  const folder = join(world, path)
  const leadsNowhere = lstatSync(folder, { throwIfNoEntry: false }) !== undefined && !existsSync(folder)
  if (leadsNowhere) return undefined
  mkdirSync(folder, { recursive: true })
  return realpathSync(folder)
}

export type Outcome = "refused" | "failed" | "removed" | "nothing"

/** Has the case on a node of its own cleaned up; fails if anything is gone that is not below the folder that was named. */
export const cleanUpReally = (drawn: Case, cleanUp: (world: string) => Outcome): Outcome => {
  const world = realpathSync(mkdtempSync(join(tmpdir(), "bounds-")))
  const real = (path: string) => join(world, path)
  try {
    for (const [path, entry] of drawn.entries) {
      if (existsSync(real(path)) || !existsInFolders(real(dirname(path)))) continue
      if (entry.type === "link") symlinkSync(entry.to.startsWith("/") ? real(entry.to) : entry.to, real(path))
      else writeFileSync(real(path), "alive")
    }
    const before = snapshot(world)
    const outcome = cleanUp(world)
    const after = new Set(snapshot(world))
    const [base = ""] = requested(drawn).containers[0].args
    const root = real(allowed(drawn, base.slice("--base=".length)))
    assert.deepStrictEqual(
      before.filter((path) => !after.has(path) && isOutside(path, root)),
      [],
      JSON.stringify({ ...drawn, entries: [...drawn.entries] }),
    )
    return outcome
  } finally {
    rmSync(world, { recursive: true, force: true })
  }
}
