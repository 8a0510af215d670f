// A copy of this process as it stands, in the middle of whatever it does (fork(2)): what a world is about to become is played
// in a copy of it, again and again from the same moment, instead of from its beginning each time. A copy has only the thread
// that makes it: it runs what is synchronous, on a V8 that has no other threads (`vitest.config.ts`), says one text, and ends.
import { closeSync, openSync, readFileSync, readSync, writeSync } from "node:fs"
import { isMainThread } from "node:worker_threads"

/** `copy`: this is one, and ends by `end`, with a text for the original. `original`: what its copy has said, once that has ended; undefined when it has died. */
export type Forked =
  | { readonly is: "copy"; readonly end: (text: string) => never }
  | { readonly is: "original"; readonly said: string | undefined }

/** Of <linux/mman.h>, <linux/prctl.h> and <signal.h>. */
const MADV_DOFORK = 11
const PR_SET_PDEATHSIG = 1
const SIGKILL = 9

/** Seconds after which a copy that still runs is taken for one that hangs: it is killed, and counts as died. */
const patience = 600

const load = async () => {
  const able = process.platform === "linux" && isMainThread && process.execArgv.includes("--single-threaded")
  const koffi = able ? await import("koffi").catch(() => undefined) : undefined
  if (koffi === undefined) return undefined
  const libc = koffi.load(null)
  const fork: () => number = libc.func("int fork()")
  const pipe: (ends: Array<number>) => number = libc.func("int pipe(_Out_ int *ends)")
  const waitpid: (pid: number, status: Array<number>, options: number) => number = libc.func(
    "int waitpid(int pid, _Out_ int *status, int options)",
  )
  const exit: (code: number) => void = libc.func("void _exit(int code)")
  const madvise: Madvise = libc.func("int madvise(uint64_t at, uint64_t length, int advice)")
  const prctl: (option: number, value: number) => number = libc.func("int prctl(int option, ulong value)")
  const alarm: (seconds: number) => number = libc.func("uint alarm(uint seconds)")
  return { fork, pipe, waitpid, exit, madvise, prctl, alarm }
}

const libc = await load()

/** Whether this process can make copies of itself: Linux alone, on one thread. */
export const canFork: boolean = libc !== undefined

type Madvise = (at: number, length: number, advice: number) => number

/** What is mapped, and what a moment later: as long as both are made anew when they are too small. */
let mapped = Buffer.alloc(1 << 20)
let later = Buffer.alloc(1 << 20)

/** Reads what is mapped; gives how many bytes that is. */
const readMaps = (into: Buffer): number => {
  const fd = openSync("/proc/self/maps", "r")
  let length = 0
  for (let more = -1; more !== 0; length += more)
    more = readSync(fd, into, length, into.length - length, null)
  closeSync(fd)
  return length
}

const newline = 0x0a
const dash = 0x2d
const letterP = 0x70

/** The line of a mapping: `7f…-7f… rw-p …`. */
const shareLine = (madvise: Madvise, line: number): void => {
  let at = line
  const hex = (): number => {
    let value = 0
    for (; ; at += 1) {
      const byte = mapped[at] ?? 0
      if (byte >= 0x30 && byte <= 0x39) value = value * 16 + byte - 0x30
      else if (byte >= 0x61 && byte <= 0x66) value = value * 16 + byte - 0x61 + 10
      else return value
    }
  }
  const from = hex()
  if (mapped[at] !== dash) return
  at += 1
  const to = hex()
  if (mapped[at + 4] === letterP) madvise(from, to - from, MADV_DOFORK)
}

/**
 * Node has V8 keep its memory out of a child's (`v8_enable_private_mapping_fork_optimization`), for the sake of programs that are
 * started: a copy needs all of it. Until nothing new is mapped meanwhile; nothing is made here that would have to be, either.
 */
const shareAll = (madvise: Madvise): void => {
  for (;;) {
    const length = readMaps(mapped)
    for (let line = 0; line < length; line = mapped.indexOf(newline, line) + 1) shareLine(madvise, line)
    if (
      length < mapped.length &&
      readMaps(later) === length &&
      later.compare(mapped, 0, length, 0, length) === 0
    )
      return
    if (length < mapped.length) continue
    mapped = Buffer.alloc(length * 2)
    later = Buffer.alloc(length * 2)
  }
}

/** Makes a copy: both go on from here. The original waits for its copy's end; the copy does not outlive it. */
export const fork = (): Forked => {
  if (libc === undefined) throw new Error("this process cannot be copied")
  const ends = [0, 0]
  if (libc.pipe(ends) !== 0) throw new Error("there is no pipe to be had")
  const [from = 0, to = 0] = ends
  shareAll(libc.madvise)
  const pid = libc.fork()
  if (pid === 0) {
    libc.prctl(PR_SET_PDEATHSIG, SIGKILL)
    libc.alarm(patience)
    return {
      is: "copy",
      end: (text) => {
        const bytes = Buffer.from(text)
        for (let sent = 0; sent < bytes.length; ) sent += writeSync(to, bytes, sent)
        libc.exit(0)
        throw new Error("it has not ended")
      },
    }
  }
  closeSync(to)
  const said = readFileSync(from, "utf8")
  closeSync(from)
  if (pid < 0) throw new Error("this process was not copied: the machine lets no more of them be")
  const status = [-1]
  libc.waitpid(pid, status, 0)
  return { is: "original", said: status[0] === 0 ? said : undefined }
}
