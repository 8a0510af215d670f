// A program that plays deaths of workloads in a process that can be copied (../support/fork.ts): one thread, and nothing in its
// memory but what it plays. stdin: a line of JSON an order (`Order`), the next one when this one is done. stdout: a line of JSON a
// point, as soon as it is known (`Line`), and an empty one at the end of an order. What it has compiled for one order serves the
// next.
import { readSync, writeSync } from "node:fs"
import type { Told } from "../twins/crash/Copies.ts"
import { compare, playEach } from "../twins/crash/Crash.ts"
import { parsePoint } from "../twins/crash/Point.ts"
import { isTime, type Line, type Order } from "./playing.ts"
import { workloads } from "./workloads.ts"

interface Judged {
  readonly differences: ReadonlyArray<string>
  readonly digest?: string
}

const lineOf = (point: string, answer: Told<Judged>): Line => {
  if (answer.is === "thrown") return { point, answer }
  const { differences, digest } = answer.found
  return { point, answer: { is: "found", found: differences }, ...(digest === undefined ? {} : { digest }) }
}

const say = (text: string): void => {
  const bytes = Buffer.from(`${text}\n`)
  for (let sent = 0; sent < bytes.length; ) sent += writeSync(1, bytes, sent)
}

/** Waits for it; undefined when there is none to come. */
const nextOrder = (): Order | undefined => {
  const parts: Array<Buffer> = []
  for (;;) {
    const part = Buffer.alloc(1 << 16)
    const length = readSync(0, part)
    if (length === 0) return undefined
    parts.push(part.subarray(0, length))
    if (part[length - 1] === 0x0a) return JSON.parse(Buffer.concat(parts).toString("utf8"))
  }
}

/** How many are played from their beginning first: what another workload has had compiled is most of what this one runs. */
const usuallyWarm = { first: 8, later: 2 }
let isFirst = true

const follow = ({ workload, seed, points, end, digested, warm }: Order): void => {
  const undisturbed = {
    end: { objects: new Map(end.objects), made: new Map(end.made), files: new Map(end.files) },
  }
  playEach(
    workloads[workload],
    seed,
    points.map(parsePoint),
    (played, point): Judged => ({
      differences: compare(undisturbed, played, point),
      ...(played.digest === undefined ? {} : { digest: played.digest }),
    }),
    {
      digested,
      isTime,
      warm: warm ?? (isFirst ? usuallyWarm.first : usuallyWarm.later),
      tell: (point, answer) => say(JSON.stringify(lineOf(point, answer))),
    },
  )
}

for (let order = nextOrder(); order !== undefined; order = nextOrder()) {
  follow(order)
  isFirst = false
  say("")
}
