// Every decoder at a border takes what is right, names what is wrong, and neither throws, hangs nor grows. `CASES` inputs in
// all, from `SEED` on: `make fuzz` sends a million.
import { Worker } from "node:worker_threads"
import { gzipSync } from "node:zlib"
import { assert, describe, it } from "vitest"
import { borders, encoded } from "./borders.ts"
import { assertBounded, type Count } from "./fuzz.ts"

const cases = Number(process.env.CASES ?? 10_000)
const seed = Number(process.env.SEED ?? 1)
const each = Math.max(Math.ceil(cases / borders.length), 1)
/** Milliseconds without one more answer: against what never ends. */
const patience = 120_000

const fuzzed = (name: string): Promise<Count> =>
  new Promise((resolve, reject) => {
    const sent = new Int32Array(new SharedArrayBuffer(4))
    const worker = new Worker(new URL("./worker.ts", import.meta.url), {
      workerData: { name, cases: each, seed, sent },
      resourceLimits: { maxOldGenerationSizeMb: 512 },
    })
    let seen = -1
    const watch = setInterval(() => {
      const now = Atomics.load(sent, 0)
      if (now === seen) {
        reject(new Error(`${name}: no answer to input ${now} (SEED=${seed + now} CASES=1)`))
        void worker.terminate()
      }
      seen = now
    }, patience)
    worker.on("message", resolve)
    worker.on("error", reject)
    worker.on("exit", (code) => {
      clearInterval(watch)
      reject(new Error(`${name}: ended with ${code} at input ${Atomics.load(sent, 0)} of seed ${seed}`))
    })
  })

describe.each(borders)("$name", (border) => {
  it("is taken as it should be", () => {
    for (const sample of border.samples) {
      const answer = border.form === "value" ? border.decode(sample) : border.decode(encoded(border, sample))
      assert.property(answer, "taken", JSON.stringify(answer))
    }
  })

  it("is answered, whatever it is", async () => {
    const { taken, refused } = await fuzzed(border.name)
    console.log(`${border.name}: ${each} inputs, ${taken} taken, ${refused} refused`)
    if (each < 100) return
    assert.isAbove(taken, 0)
    assert.isAbove(refused, 0)
  }, 3_600_000)

  it("may be deep, or a bomb", () => {
    const lists = `${"[".repeat(20_000)}${"]".repeat(20_000)}`
    const objects = `${'{"spec":'.repeat(20_000)}1${"}".repeat(20_000)}`
    // Not JSON, and as YAML one fault after the other.
    const faults = border.form === "value" ? [] : [`{"a":[${'"'.repeat(100_000)}`, "]".repeat(100_000)]
    for (const text of [lists, objects, ...faults]) {
      const answer =
        border.form === "value"
          ? border.decode(JSON.parse(text))
          : border.decode(border.form === "packed" ? gzipSync(text) : Buffer.from(text))
      assertBounded(border, text.length, answer)
    }
    if (border.form !== "packed") return
    // A sample, were it not for 200 MiB of blanks in it.
    const [head = ""] = JSON.stringify(border.samples[0]).split(/\}$/)
    const bomb = gzipSync(
      Buffer.concat([Buffer.from(head), Buffer.alloc(200 * 1024 * 1024, 0x20), Buffer.from("}")]),
    )
    assert.property(border.decode(bomb), "refused")
  })
})
