// What this process has had written to the disk: each fsync of its own, with what was to be seen at that moment.
import fs from "node:fs"
import { open } from "node:fs/promises"
import { syncBuiltinESMExports } from "node:module"

/** Puts back what it has replaced when it is disposed of. */
export interface Watched {
  /** What `look` saw, an entry for each fsync that has succeeded. */
  readonly seen: Array<unknown>
  readonly [Symbol.asyncDispose]: () => Promise<void>
}

/** The file or folder that a descriptor is open on. */
const pathOf = (fd: number): string => fs.readlinkSync(`/proc/self/fd/${fd}`)

/**
 * Follows `FileHandle.sync` and `fsyncSync` of node from now on. `look` is called before one, and what it saw is noted when
 * it has ended; what it throws, the fsync fails with.
 */
export const watchSyncs = async (look: (path: string) => unknown): Promise<Watched> => {
  const seen: Array<unknown> = []
  const handle = await open("/dev/null")
  const prototype: typeof handle = Object.getPrototypeOf(handle)
  await handle.close()
  const { sync } = prototype
  const { fsyncSync } = fs
  prototype.sync = async function () {
    const found = look(pathOf(this.fd))
    await sync.call(this)
    seen.push(found)
  }
  fs.fsyncSync = (fd) => {
    const found = look(pathOf(fd))
    fsyncSync(fd)
    seen.push(found)
  }
  syncBuiltinESMExports()
  return {
    seen,
    [Symbol.asyncDispose]: async () => {
      prototype.sync = sync
      fs.fsyncSync = fsyncSync
      syncBuiltinESMExports()
    },
  }
}
