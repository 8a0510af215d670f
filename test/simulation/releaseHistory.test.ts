// Field report F54 with the whole operator: a release whose objects somebody edits 200 times, each time put back.
import { assert, it, vi } from "@effect/vitest"
import { Duration, Effect, Option } from "effect"
import { releaseState } from "../../src/services/Helm/ReleaseRecord.ts"
import * as Kinds from "../../src/services/Kubernetes/Kinds.ts"
import type { Files } from "../twins/files/Files.ts"
import { simulate, until } from "../twins/simulation/Simulation.ts"
import { makeWorld, type World } from "../twins/world/World.ts"

// Nothing here waits in real time: how long it takes says what else the machine is doing.
vi.setConfig({ testTimeout: 600_000 })

const kept = 5
const times = 200
const owner = "owner=helm,name=vcluster"
/** So far apart, none is one more of a row. */
const apart = Duration.minutes(2)

/** Nothing else happens meanwhile. */
const settings = { repairInterval: Duration.days(30), targetPoll: Duration.minutes(1) }

const filesBelow = (files: Files, folder: string): ReadonlyArray<string> =>
  files.list(folder).flatMap((name) => {
    const path = `${folder}/${name}`
    return files.isFolder(path) ? [path, ...filesBelow(files, path)] : [path]
  })

const records = (world: World) =>
  world.admin.list(Kinds.Secret, { namespace: world.hostNamespace(), labelSelector: owner })

/** Names of all that there is, revisions of the release by their age. */
const everything = (world: World, files: Files | undefined) => {
  const newest = Math.max(...records(world).map(({ metadata }) => Number(metadata.labels?.version)))
  const objects = [...world.end().objects.keys()].map((name) =>
    name.replace(
      /(sh\.helm\.release\.v1\.vcluster\.v)(\d+)/,
      (_, start, revision) => `${start}-${newest - revision}`,
    ),
  )
  return {
    objects: objects.toSorted(),
    events: world.admin.list(Kinds.Event).length,
    state: [...world.end().files.keys()].toSorted(),
    temporary: files === undefined ? [] : filesBelow(files, "/tmp"),
  }
}

it("F54: a release that was put back 200 times has 5 revisions, and nothing has grown", () =>
  simulate(
    Effect.gen(function* () {
      const world = yield* makeWorld({ traced: false, settings })
      const operator = yield* world.startOperator()
      world.apply()
      yield* until(() => world.isReady(), "10 minutes", "the instance is Ready")
      const role = { namespace: world.hostNamespace(), name: "vc-vcluster" }
      const rules = () => JSON.stringify(world.admin.get(Kinds.Role, role)?.rules)
      const was = rules()
      let most = 0
      world.host.subscribe(({ object }) => {
        if (object.metadata.labels?.owner === "helm") most = Math.max(most, records(world).length)
      })
      let full: ReturnType<typeof everything> | undefined
      for (let time = 1; time <= times; time += 1) {
        world.admin.patch(Kinds.Role, role, {
          type: "merge",
          patch: { rules: [{ verbs: [`time-${time}`] }] },
        })
        yield* until(() => rules() === was && world.isReady(), "2 minutes", `it is put back, time ${time}`)
        yield* Effect.sleep(apart)
        if (time === 2 * kept) full = everything(world, operator.container()?.files.files)
      }
      assert.strictEqual(most, kept)
      const newest = {
        revision: times + 1,
        status: "deployed" as const,
        lastDeployed: Option.some(times + 1),
        lastSuperseded: Option.some(times),
        oldest: times + 2 - kept,
      }
      assert.deepStrictEqual(releaseState(records(world)), Option.some(newest))
      // It goes back to the newest revision each time, and so knows which one that is.
      const rolledBack = world.simulation.trace.lines.flatMap((line) => {
        const [, revision] = / started: \S+helm rollback vcluster (\d+) /.exec(line) ?? []
        return revision === undefined ? [] : [Number(revision)]
      })
      assert.deepStrictEqual(
        rolledBack,
        Array.from({ length: times }, (_, index) => index + 1),
      )
      assert.deepStrictEqual(everything(world, operator.container()?.files.files), full)
    }),
    { seed: 1 },
  ))
