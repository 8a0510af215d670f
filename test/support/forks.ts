// A program that copies itself in each way that its test is about (fork.test.ts), and says what came of it, as JSON.
import { mkdtempSync, readdirSync, readlinkSync, rmSync, writeFileSync, writeSync } from "node:fs"
import { tmpdir } from "node:os"
import path from "node:path"
import { canFork, fork } from "./fork.ts"

/** What a copy says that does this. */
const inCopy = (run: () => string): string | undefined => {
  const forked = fork()
  if (forked.is === "original") return forked.said
  try {
    return forked.end(run())
  } catch (error) {
    return forked.end(`thrown: ${error}`)
  }
}

/** Garbage, and what stays, enough for collections of both. */
const heavy = (): number => {
  const kept: Array<{ readonly text: string }> = []
  for (let index = 0; index < 200_000; index += 1) {
    const made = { text: `text ${index}` }
    if (index % 10 === 0) kept.push(made)
  }
  return kept.length
}

const changing = () => {
  const known = { count: 1, all: new Map([["a", heavy()]]) }
  const copies = [1, 2, 3].map(() =>
    inCopy(() => {
      known.count += 1
      return `${known.count} ${known.all.get("a")} ${heavy()}`
    }),
  )
  return { copies, count: known.count }
}

const dying = () =>
  inCopy(() => {
    process.kill(Number(readlinkSync("/proc/self")), "SIGKILL")
    return "it lives"
  })

/** What a copy of a copy leaves behind whose original has been killed. */
const orphaned = (): ReadonlyArray<string> => {
  const marks = mkdtempSync(path.join(tmpdir(), "fork-"))
  try {
    // Whoever waits for the outer one waits for the inner one, too: both hold what it would be heard by.
    inCopy(() => {
      const outer = Number(readlinkSync("/proc/self"))
      return String(
        inCopy(() => {
          process.kill(outer, "SIGKILL")
          Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1000)
          writeFileSync(path.join(marks, "lives"), "")
          return "it lives"
        }),
      )
    })
    return readdirSync(marks)
  } finally {
    rmSync(marks, { recursive: true })
  }
}

const said = canFork
  ? {
      changing: changing(),
      long: inCopy(() => "ä".repeat(500_000))?.length,
      nested: inCopy(() => `a copy of ${inCopy(() => "a copy")}`),
      dead: dying() ?? "nothing",
      orphaned: orphaned(),
    }
  : "it cannot be copied"
writeSync(1, JSON.stringify(said))
