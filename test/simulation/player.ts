// A program that plays deaths of one workload in a process that can be copied (../support/fork.ts): one thread, and nothing in its
// memory but what it plays. stdin: an `Order`. stdout: a line of JSON a point, as soon as it is known (`Line`).
import { readFileSync, writeSync } from "node:fs"
import type { Told } from "../twins/crash/Copies.ts"
import { compare, playEach } from "../twins/crash/Crash.ts"
import { parsePoint } from "../twins/crash/Point.ts"
import { isTime, type Line, type Order } from "./playing.ts"
import { workloads } from "./workloads.ts"

const { workload, seed, points, end, digested, warm }: Order = JSON.parse(readFileSync(0, "utf8"))

const undisturbed = {
  end: { objects: new Map(end.objects), made: new Map(end.made), files: new Map(end.files) },
}

interface Judged {
  readonly differences: ReadonlyArray<string>
  readonly digest?: string
}

const lineOf = (point: string, answer: Told<Judged>): Line => {
  if (answer.is === "thrown") return { point, answer }
  const { differences, digest } = answer.found
  return { point, answer: { is: "found", found: differences }, ...(digest === undefined ? {} : { digest }) }
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
    ...(warm === undefined ? {} : { warm }),
    tell: (point, answer) => {
      const bytes = Buffer.from(`${JSON.stringify(lineOf(point, answer))}\n`)
      for (let sent = 0; sent < bytes.length; ) sent += writeSync(1, bytes, sent)
    },
  },
)
