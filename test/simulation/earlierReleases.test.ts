// Every release's records, annotations and statuses are kept (test/fixtures/releases): what each of them has left, this
// one goes on with.
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, it, vi } from "@effect/vitest"
import { Effect, Schema } from "effect"
import * as Kinds from "../../src/services/Kubernetes/Kinds.ts"
import { simulate, until } from "../twins/simulation/Simulation.ts"
import { key, makeWorld, type World } from "../twins/world/World.ts"
import { identityOf } from "./identity.ts"
import { concrete, markerFile, recordFile, writtenAtRest, writtenInOperation } from "./releaseFixture.ts"

// Nothing here waits in real time.
vi.setConfig({ testTimeout: 600_000 })

const repository = join(import.meta.dirname, "../..")
const folder = join(repository, "test/fixtures/releases")
const current: string = JSON.parse(readFileSync(join(repository, "release.json"), "utf8")).operatorVersion

const Metadata = Schema.Struct({ labels: Schema.Json, annotations: Schema.Json, finalizers: Schema.Json })
type Metadata = typeof Metadata.Type
type Kind = typeof Kinds.PlatformInstance

const Fixture = Schema.fromJsonString(
  Schema.Struct({
    atRest: Schema.Struct({
      record: Schema.Json,
      instance: Schema.Struct({ ...Metadata.fields, status: Schema.Json }),
      hostNamespace: Metadata,
      kubeconfig: Metadata,
    }),
    inOperation: Schema.Json,
  }),
)
const releases = readdirSync(folder).map((file) => file.replace(/\.json$/, ""))
const read = (version: string) =>
  Schema.decodeSync(Fixture)(readFileSync(join(folder, `${version}.json`), "utf8"))

const ready = (world: World) => until(() => world.isReady(), "20 minutes", "the instance is Ready")

/** An installed world whose operator has gone. */
const installed = Effect.gen(function* () {
  const world = yield* makeWorld({ traced: false })
  const operator = yield* world.startOperator()
  world.apply()
  yield* ready(world)
  // What runs inside is synced to the host in its own time.
  yield* Effect.sleep("2 minutes")
  yield* operator.stop
  return world
})

/** A world whose operator was killed while the engine was at work, its marker left. */
const interrupted = Effect.gen(function* () {
  const world = yield* makeWorld({ traced: false })
  const operator = yield* world.startOperator()
  world.apply()
  yield* until(
    () => world.files.exists(markerFile) && world.files.readText(markerFile).includes('"pid"'),
    "20 minutes",
    "an operation runs",
  )
  yield* operator.kill("container")
  return world
})

const written = Effect.map(installed, writtenAtRest)
const begun = Effect.map(interrupted, writtenInOperation)

const imposeMetadata = (
  world: World,
  kind: Kind,
  ref: { namespace?: string; name: string },
  then: Metadata,
) => {
  const object = world.admin.get(kind, ref) ?? assert.fail(`${kind.kind} ${ref.name} is there`)
  const annotations = concrete(world, then.annotations, object.metadata.annotations)
  return world.admin.update(kind, {
    ...object,
    metadata: { ...object.metadata, ...then, annotations },
  } as never)
}

/** Puts what that release has left in the place of what this one has. */
const impose = (world: World, version: string) => {
  const { record, instance, hostNamespace, kubeconfig } = read(version).atRest
  const own = { namespace: key.namespace, name: `${key.name}-kubeconfig` }
  imposeMetadata(world, Kinds.Namespace, { name: world.hostNamespace() }, hostNamespace)
  imposeMetadata(world, Kinds.Secret, own, kubeconfig)
  const left = imposeMetadata(world, Kinds.PlatformInstance, key, instance)
  const status = concrete(world, instance.status, left.status)
  world.admin.updateStatus(Kinds.PlatformInstance, { ...left, status } as never)
  const now = JSON.parse(world.files.readText(recordFile))
  world.files.writeText(recordFile, JSON.stringify(concrete(world, record, now)))
}

describe("what an earlier release has left", () => {
  it("is what the fixture of this one says", () => {
    const found = { atRest: simulate(written, { seed: 1 }), inOperation: simulate(begun, { seed: 1 }) }
    const file = join(folder, `${current}.json`)
    if (process.env.RECORD !== undefined) writeFileSync(file, `${JSON.stringify(found, undefined, 2)}\n`)
    assert.isTrue(existsSync(file), "RECORD=1 writes it, once a release")
    assert.deepStrictEqual(found, JSON.parse(readFileSync(file, "utf8")))
  })

  it.each(releases)("is taken over from %s: nothing is written, started or made again", (version) => {
    simulate(
      Effect.gen(function* () {
        const world = yield* installed
        const made = identityOf(world)
        impose(world, version)
        const record = world.files.readText(recordFile)
        const { metadata } = world.instance() ?? assert.fail("the instance is there")
        yield* world.startOperator()
        yield* Effect.sleep("5 minutes")
        assert.deepStrictEqual(identityOf(world), made)
        assert.strictEqual(world.files.readText(recordFile), record)
        assert.strictEqual(world.instance()?.metadata.resourceVersion, metadata.resourceVersion)
        yield* until(() => world.status()?.lastRepair !== undefined, "40 minutes", "a repair has run")
        assert.deepStrictEqual(identityOf(world), made)
        assert.isTrue(world.isReady())
      }),
      { seed: 2 },
    )
  })

  it.each(releases)(
    "is an operation of %s that was cut off: it is ended, and nothing made twice",
    (version) => {
      simulate(
        Effect.gen(function* () {
          const world = yield* interrupted
          const now = JSON.parse(world.files.readText(markerFile))
          world.files.writeText(markerFile, JSON.stringify(concrete(world, read(version).inOperation, now)))
          const made = world.inner()?.as("kubernetes-admin").list(Kinds.Namespace) ?? []
          // Its container is started again by itself.
          yield* ready(world)
          assert.isFalse(world.files.exists(markerFile))
          const uids = world
            .inner()
            ?.as("kubernetes-admin")
            .list(Kinds.Namespace)
            .map(({ metadata }) => metadata.uid)
          assert.includeMembers(
            [...(uids ?? [])],
            made.map(({ metadata }) => metadata.uid),
          )
        }),
        { seed: 2 },
      )
    },
  )
})
