// F13: many instances whose operations were cut off with their operator are all settled, a few at a time.
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { makeFairPermits } from "../../../src/actors/kit/FairPermits.ts"
import { makeWorld, type World } from "../../twins/pulumi/testWorld.ts"
import { simulate } from "../../twins/simulation/Simulation.ts"

const copy = ({ files }: World, from: string, to: string): void => {
  files.mkdirs(to)
  for (const name of files.list(from)) {
    const [source, target] = [`${from}/${name}`, `${to}/${name}`]
    const entry = files.lstat(source)
    if (entry?.kind === "directory") copy({ files } as World, source, target)
    else if (entry?.kind === "file") files.writeFile(target, files.readFile(source), 0o600)
  }
}

const dead = JSON.stringify({
  format: 1,
  kind: "RepairDue",
  version: "6.0.22",
  generation: 1,
  startedAt: "2026-01-01T00:00:00.000Z",
  holder: { podUID: "gone", podName: "operator-0", incarnation: "before", pid: 4242, startTime: "1" },
})

it(
  "F13 50 operations of a dead process settle, five at once at most, and every place is free in the end",
  { timeout: 600_000 },
  () =>
    simulate(
      Effect.gen(function* () {
        const world = yield* makeWorld()
        yield* world.run()
        const names = Array.from({ length: 50 }, (_, index) => `n${index}`)
        const folder = (name: string) => world.instance.replace(/one$/, name)
        for (const name of names) {
          copy(world, world.instance, folder(name))
          world.files.writeText(`${folder(name)}/operation.json`, dead, 0o600)
        }
        const permits = makeFairPermits(5)
        let [now, most] = [0, 0]
        const repair = (name: string) =>
          permits.withPermit(
            { key: name, urgent: false, failing: false },
            Effect.void,
            Effect.acquireUseRelease(
              Effect.sync(() => {
                now += 1
                most = Math.max(most, now)
              }),
              () => world.run({ key: { namespace: "team-a", name }, refresh: true }),
              () =>
                Effect.sync(() => {
                  now -= 1
                }),
            ),
          )
        const results = yield* Effect.forEach(names, repair, { concurrency: "unbounded" })
        for (const { changes } of results) assert.deepStrictEqual(Object.keys(changes), ["same"])
        assert.strictEqual(most, 5)
        assert.deepStrictEqual(permits.state(), { holding: 0, waiting: 0 })
        for (const name of names) assert.isFalse(world.files.exists(`${folder(name)}/operation.json`), name)
      }),
      { seed: 1 },
    ),
)
