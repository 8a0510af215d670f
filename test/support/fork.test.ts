// Copies of a process.
import { mkdtempSync, readdirSync, readlinkSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import path from "node:path"
import { assert, describe, it } from "@effect/vitest"
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

describe("a copy of this process", () => {
  it("can be made on Linux", () => {
    assert.strictEqual(canFork, process.platform === "linux")
  })

  it("has all that is known here, and changes none of it", () => {
    const known = { count: 1, all: new Map([["a", heavy()]]) }
    const copies = [1, 2, 3].map(() =>
      inCopy(() => {
        known.count += 1
        return `${known.count} ${known.all.get("a")} ${heavy()}`
      }),
    )
    assert.deepStrictEqual(copies, Array(3).fill("2 20000 20000"))
    assert.strictEqual(known.count, 1)
  })

  it("says as much as it wants to", () => {
    assert.strictEqual(inCopy(() => "ä".repeat(500_000))?.length, 500_000)
  })

  it("can be copied in its turn", () => {
    assert.strictEqual(
      inCopy(() => `a copy of ${inCopy(() => "a copy")}`),
      "a copy of a copy",
    )
  })

  it("that dies has said nothing", () => {
    assert.isUndefined(
      inCopy(() => {
        process.kill(Number(readlinkSync("/proc/self")), "SIGKILL")
        return "it lives"
      }),
    )
  })

  it("does not outlive what it is a copy of", () => {
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
      assert.deepStrictEqual(readdirSync(marks), [])
    } finally {
      rmSync(marks, { recursive: true })
    }
  })
})
