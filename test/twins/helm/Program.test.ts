// The twin of helm by itself: killed before any of its requests, it is brought back as contracts 7.5 has it.
import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { vclusterValues } from "../../../src/actors/instance/target/VclusterValues.ts"
import { releaseObjects, storedRelease } from "../../../src/services/Helm/ReleaseRecord.ts"
import { type HelmTwin, makeHelmTwin } from "../../conformance/helmTwin.ts"
import { at, listOf } from "../kubernetes/Json.ts"
import { simulate } from "../simulation/Simulation.ts"
import { seeds } from "../simulation/seeds.ts"

const namespace = "host"
const core = `/api/v1/namespaces/${namespace}`
const input = JSON.stringify(vclusterValues({ hostNamespace: namespace }))
const flags = ["--namespace", namespace, "--history-max", "5", "--server-side=true", "--force-conflicts"]

const install = (world: HelmTwin) =>
  world.helm(["upgrade", "--install", "vcluster", world.chart, "--values", "-", ...flags], { input })
const rollback = (world: HelmTwin, revision: number) =>
  world.helm(["rollback", "vcluster", String(revision), ...flags])
const uninstall = (world: HelmTwin) =>
  world.helm(["uninstall", "vcluster", "--namespace", namespace, "--ignore-not-found"])

const label = (record: unknown, name: string) => String(at(record, "metadata", "labels", name))

/** The statuses by revision, the newest last. */
const statuses = (world: HelmTwin) =>
  Effect.map(world.call("GET", `${core}/secrets?labelSelector=owner%3Dhelm`), ({ body }) =>
    listOf(at(body, "items"))
      .map((record) => ({ revision: Number(label(record, "version")), status: label(record, "status") }))
      .toSorted((a, b) => a.revision - b.revision),
  )

const paths = [
  ...[
    "serviceaccounts/vc-vcluster",
    "serviceaccounts/vc-workload-vcluster",
    "secrets/vc-config-vcluster",
  ].map((path) => `${core}/${path}`),
  ...["services/vcluster", "services/vcluster-headless"].map((path) => `${core}/${path}`),
  ...["roles/vc-vcluster", "rolebindings/vc-vcluster"].map(
    (path) => `/apis/rbac.authorization.k8s.io/v1/namespaces/${namespace}/${path}`,
  ),
  `/apis/apps/v1/namespaces/${namespace}/statefulsets/vcluster`,
]

/** How many of the release's objects there are. */
const present = (world: HelmTwin) =>
  Effect.map(
    Effect.forEach(paths, (path) => world.call("GET", path)),
    (answers) => answers.filter(({ status }) => status === 200).length,
  )

const withWorld = <A>(seed: number, test: (world: HelmTwin) => Effect.Effect<A>) =>
  simulate(
    Effect.gen(function* () {
      const world = yield* makeHelmTwin
      yield* world.call("POST", "/api/v1/namespaces", {
        apiVersion: "v1",
        kind: "Namespace",
        metadata: { name: namespace },
      })
      return yield* test(world)
    }),
    { seed },
  )

const deployed = Effect.fnUntraced(function* (world: HelmTwin) {
  assert.strictEqual((yield* statuses(world)).at(-1)?.status, "deployed")
  assert.strictEqual(yield* present(world), paths.length)
})

/** For a machine that is busy: these take a second each. */
const patience = 120_000

/** Runs `operation` killed before its first request, its second… until it is through; `check` looks each time. */
const killedEverywhere = (
  seed: number,
  prepare: (world: HelmTwin) => Effect.Effect<unknown>,
  operation: (world: HelmTwin) => Effect.Effect<{ readonly exitCode: number | null }>,
  check: (world: HelmTwin) => Effect.Effect<void>,
): number => {
  for (let n = 1; ; n += 1) {
    const ended = withWorld(
      seed,
      Effect.fnUntraced(function* (world) {
        yield* prepare(world)
        world.killBefore(n)
        const { exitCode } = yield* operation(world)
        yield* check(world)
        return exitCode
      }),
    )
    if (ended !== null) {
      assert.strictEqual(ended, 0)
      return n - 1
    }
  }
}

describe("a helm that is killed before any of its requests", () => {
  it.each(seeds(1))(
    "in the first install: uninstalled, it can be installed (seed %i)",
    (seed) => {
      const kills = killedEverywhere(
        seed,
        () => Effect.void,
        install,
        Effect.fnUntraced(function* (world) {
          const newest = (yield* statuses(world)).at(-1)?.status
          assert.include([undefined, "pending-install", "deployed"], newest)
          if (newest === "pending-install") {
            assert.strictEqual((yield* install(world)).exitCode, 1)
            yield* uninstall(world)
            assert.deepStrictEqual([yield* statuses(world), yield* present(world)], [[], 0])
          }
          yield* install(world)
          yield* deployed(world)
        }),
      )
      assert.isAbove(kills, 20)
    },
    patience,
  )

  it.each(seeds(1))(
    "in an upgrade: rolled back to what is deployed (seed %i)",
    (seed) => {
      const kills = killedEverywhere(
        seed,
        install,
        install,
        Effect.fnUntraced(function* (world) {
          const all = yield* statuses(world)
          const newest = all.at(-1)?.status
          assert.include(["deployed", "pending-upgrade"], newest)
          const last =
            all.find(({ status }) => status === "deployed" || status === "superseded")?.revision ?? 0
          if (newest === "pending-upgrade") yield* rollback(world, last)
          yield* deployed(world)
        }),
      )
      assert.isAbove(kills, 20)
    },
    patience,
  )

  it.each(seeds(1))(
    "in a rollback: rolled back again, which puts back what was deleted (seed %i)",
    (seed) => {
      killedEverywhere(
        seed,
        Effect.fnUntraced(function* (world) {
          yield* install(world)
          yield* world.call("DELETE", `${core}/services/vcluster-headless`)
        }),
        (world) => rollback(world, 1),
        Effect.fnUntraced(function* (world) {
          assert.include(["deployed", "pending-rollback"], (yield* statuses(world)).at(-1)?.status)
          yield* rollback(world, 1)
          yield* deployed(world)
        }),
      )
    },
  )

  it.each(seeds(1))(
    "in an uninstall: uninstalled again, nothing is left (seed %i)",
    (seed) => {
      killedEverywhere(
        seed,
        install,
        uninstall,
        Effect.fnUntraced(function* (world) {
          assert.include([undefined, "deployed", "uninstalling"], (yield* statuses(world)).at(-1)?.status)
          assert.strictEqual((yield* uninstall(world)).exitCode, 0)
          assert.deepStrictEqual([yield* statuses(world), yield* present(world)], [[], 0])
        }),
      )
    },
    patience,
  )
})

const decodeRecord = Schema.decodeUnknownSync(
  Schema.Struct({
    apiVersion: Schema.String,
    kind: Schema.String,
    metadata: Schema.Struct({
      name: Schema.String,
      uid: Schema.String,
      resourceVersion: Schema.String,
      labels: Schema.Record(Schema.String, Schema.String),
    }),
    data: Schema.Struct({ release: Schema.String }),
  }),
)

describe("the records of helm", () => {
  it("are read by the operator: what was applied, and how", () =>
    withWorld(
      1,
      Effect.fnUntraced(function* (world) {
        yield* install(world)
        const { body } = yield* world.call("GET", `${core}/secrets/sh.helm.release.v1.vcluster.v1`)
        const record = decodeRecord(body)
        assert.sameMembers(Object.keys(record.metadata.labels), [
          "modifiedAt",
          "name",
          "owner",
          "status",
          "version",
        ])
        const stored = yield* Effect.orDie(storedRelease(record))
        assert.isTrue(stored.serverSide)
        assert.deepStrictEqual(
          (yield* Effect.orDie(releaseObjects(record))).map(
            ({ kind, metadata }) => `${kind}/${metadata.name}`,
          ),
          [
            ...[
              "ServiceAccount/vc-vcluster",
              "ServiceAccount/vc-workload-vcluster",
              "Secret/vc-config-vcluster",
            ],
            ...[
              "Role/vc-vcluster",
              "RoleBinding/vc-vcluster",
              "Service/vcluster",
              "Service/vcluster-headless",
            ],
            "StatefulSet/vcluster",
          ],
        )
      }),
    ))

  it("keep five revisions, the deployed one always among them", () =>
    withWorld(
      1,
      Effect.fnUntraced(function* (world) {
        yield* install(world)
        for (let n = 0; n < 6; n += 1) {
          world.killBefore(30)
          yield* rollback(world, 1)
        }
        const all = yield* statuses(world)
        assert.isAtMost(all.length, 5)
        assert.include(
          all.map(({ status }) => status),
          "deployed",
        )
      }),
    ))

  it("come of the same requests for the same seed", () => {
    const run = () =>
      withWorld(
        7,
        Effect.fnUntraced(function* (world) {
          yield* install(world)
          return world.requests()
        }),
      )
    assert.deepStrictEqual(run(), run())
  })
})
