// What is done about the Helm releases inside the target. The real helm does it in Install.test.ts and in the
// end-to-end tests; here a script stands in for it and writes down how it was called.
import { existsSync, readFileSync } from "node:fs"
import { gzipSync } from "node:zlib"
import { assert, it, layer } from "@effect/vitest"
import { Effect, FileSystem, Option } from "effect"
import type { KubeManifest } from "../../../src/services/Kubernetes/Kubernetes.ts"
import { type Done, repairOf, restoreReleases } from "../../../src/services/Pulumi/InnerReleases.ts"
import { machine } from "../../support/machine.ts"
import { makeTarget, refused, stored } from "./fakeTarget.ts"
import { optionsIn, temporary } from "./harness.ts"

const history = (...statuses: ReadonlyArray<string>) =>
  statuses.map((status, index) => ({ revision: index + 1, status }))

it("what is done follows from the newest record", () => {
  const rows: ReadonlyArray<readonly [ReadonlyArray<string>, boolean, ReturnType<typeof repairOf>]> = [
    [["deployed"], true, { _tag: "Nothing" }],
    [["superseded", "deployed"], true, { _tag: "Nothing" }],
    [["pending-install"], false, { _tag: "Uninstall" }],
    [["pending-install", "failed"], false, { _tag: "Uninstall" }],
    [["uninstalled"], false, { _tag: "Nothing" }],
    // Helm was done and the engine was killed before it wrote that down, or the state is from before: taken over.
    [["deployed"], false, { _tag: "Nothing" }],
    [["superseded", "deployed"], false, { _tag: "Nothing" }],
    [["deployed", "pending-upgrade"], false, { _tag: "Nothing" }],
    [["superseded", "failed"], false, { _tag: "Nothing" }],
    [[], false, { _tag: "Nothing" }],
    [["deployed", "pending-upgrade"], true, { _tag: "Rollback", revision: 1 }],
    [["superseded", "deployed", "pending-upgrade"], true, { _tag: "Rollback", revision: 2 }],
    [["superseded", "deployed", "failed", "pending-rollback"], true, { _tag: "Rollback", revision: 2 }],
    [["uninstalling"], true, { _tag: "Uninstall" }],
    // Somebody's Helm was killed while it removed one that had been upgraded: what it has begun is ended.
    [["superseded", "uninstalling"], true, { _tag: "Uninstall" }],
    [["superseded", "uninstalling"], false, { _tag: "Uninstall" }],
    [["failed"], true, { _tag: "Nothing" }],
    [["failed"], false, { _tag: "Uninstall" }],
    [[], true, { _tag: "Nothing" }],
    // A rollback leaves the skipped record pending for good: an older record decides nothing.
    [["superseded", "pending-upgrade", "deployed"], true, { _tag: "Nothing" }],
  ]
  for (const [statuses, recorded, expected] of rows) {
    assert.deepStrictEqual(repairOf(history(...statuses), recorded), expected, statuses.join(", "))
  }
})

const token: KubeManifest = {
  apiVersion: "v1",
  kind: "Secret",
  metadata: { name: "token", namespace: "wasmcloud" },
  stringData: { token: "planted-token" },
}
const settings: KubeManifest = {
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name: "settings", namespace: "wasmcloud" },
  data: { level: "info" },
}

/** A record of a release as Helm keeps it; its manifest is of these objects. */
const record = (
  release: string,
  revision: number,
  status: string,
  objects: ReadonlyArray<KubeManifest> = [],
  method?: string,
) => {
  const manifest = objects.map((object) => `---\n${JSON.stringify(object)}\n`).join("")
  const payload = gzipSync(JSON.stringify({ manifest, apply_method: method }))
  return stored({
    apiVersion: "v1",
    kind: "Secret",
    metadata: {
      name: `sh.helm.release.v1.${release}.v${revision}`,
      namespace: "wasmcloud",
      labels: { owner: "helm", name: release, version: String(revision), status },
    },
    data: { release: Buffer.from(payload.toString("base64")).toString("base64") },
  })
}

const release = (name: string) => ({ name, namespace: "wasmcloud", recorded: true })

/** A helm that writes down its calls; a rollback puts everything back, or fails with `words`. */
const scene = Effect.fnUntraced(function* (words = "") {
  const fs = yield* FileSystem.FileSystem
  const root = yield* temporary
  const helmPath = `${root}/helm`
  const refuse = `echo "${words}" >&2; exit 1`
  const rollback = words === "" ? `touch ${root}/rolled-back` : refuse
  const uninstall = words === "" ? ":" : refuse
  yield* fs.writeFileString(
    helmPath,
    `#!/bin/sh\necho "$@" >> ${root}/calls\ncase "$1" in rollback) ${rollback} ;; uninstall) ${uninstall} ;; esac\n`,
    { mode: 0o700 },
  )
  const told: Array<Done> = []
  const restore = (
    client: ReturnType<typeof makeTarget>,
    names: ReadonlyArray<string>,
    pass: Parameters<typeof restoreReleases>[2],
  ) =>
    restoreReleases(
      names.map(release),
      {
        client,
        workspace: { kubeconfig: "/memory/kubeconfig", home: root, helmHome: root, pulumiHome: root },
        options: optionsIn(root, { helmPath }),
      },
      pass,
      (done) => Effect.sync(() => told.push(done)),
    )
  return {
    restore,
    told,
    rolledBack: () => existsSync(`${root}/rolled-back`),
    calls: () =>
      existsSync(`${root}/calls`) ? readFileSync(`${root}/calls`, "utf8").trim().split("\n") : [],
  }
})

const before = { when: "before engine", recover: false } as const
const after = { when: "after engine", recover: false } as const
const end = "--namespace wasmcloud --kubeconfig /memory/kubeconfig"

layer(machine, { excludeTestServices: true })("inner releases", (it) => {
  it.effect("left pending are set right with the instance's own kubeconfig, and none without a record", () =>
    Effect.gen(function* () {
      const { restore, told, calls } = yield* scene()
      const target = makeTarget(() => [
        record("stuck", 1, "deployed"),
        record("stuck", 2, "pending-upgrade"),
        record("fine", 1, "deployed"),
      ])
      yield* restore(target, ["stuck", "fine", "none"], { when: "before engine", recover: true })
      assert.deepStrictEqual(calls(), [`rollback stuck 1 ${end}`])
      assert.deepStrictEqual(told, [
        {
          notice:
            "Helm release stuck inside the instance was left half-way and has been rolled back to revision 1.",
        },
      ])
    }),
  )

  it.effect("left pending by a Helm that was ended in a repair are set right in the next one", () =>
    Effect.gen(function* () {
      const { restore, calls } = yield* scene()
      const target = makeTarget(() => [record("one", 1, "deployed"), record("one", 2, "pending-rollback")])
      yield* restore(target, ["one"], before)
      assert.deepStrictEqual(calls(), [`rollback one 1 ${end}`])
    }),
  )

  it.effect("that failed are the engine's to upgrade, unless the operation was cut off", () =>
    Effect.gen(function* () {
      const { restore, calls } = yield* scene()
      const target = makeTarget(() => [record("one", 1, "superseded"), record("one", 2, "failed")])
      yield* restore(target, ["one"], before)
      assert.deepStrictEqual(calls(), [])
      yield* restore(target, ["one"], { ...before, recover: true })
      assert.deepStrictEqual(calls(), [`rollback one 1 ${end}`])
    }),
  )

  it.effect("with everything in place are left alone: helm does not run, and nothing is told", () =>
    Effect.gen(function* () {
      const { restore, told, calls } = yield* scene()
      const target = makeTarget(() => [
        record("one", 1, "superseded", [token]),
        record("one", 2, "deployed", [settings]),
        stored(settings),
      ])
      yield* restore(target, ["one"], before)
      yield* restore(target, ["one"], after)
      assert.deepStrictEqual([calls(), told], [[], []])
    }),
  )

  it.effect(
    "with objects missing and edited are applied again once, and it is told which were put back",
    () =>
      Effect.gen(function* () {
        const { restore, told, calls, rolledBack } = yield* scene()
        const edited = stored({ ...settings, data: { level: "debug" } })
        const target = makeTarget(() => [
          record("one", 3, "deployed", [token, settings]),
          ...(rolledBack() ? [stored(token), stored(settings)] : [edited]),
        ])
        yield* restore(target, ["one"], before)
        yield* restore(target, ["one"], after)
        assert.deepStrictEqual(calls(), [`rollback one 3 ${end}`])
        assert.deepStrictEqual(told, [
          { restored: ["Secret wasmcloud/token (missing)", "ConfigMap wasmcloud/settings (edited)"] },
        ])
      }),
  )

  it.effect("claim nothing of an object that is edited again at once", () =>
    Effect.gen(function* () {
      const { restore, told, rolledBack } = yield* scene()
      const target = makeTarget(() => [
        record("one", 1, "deployed", [token, settings]),
        stored({ ...settings, data: { level: "debug" } }),
        ...(rolledBack() ? [stored(token)] : []),
      ])
      yield* restore(target, ["one"], before)
      assert.deepStrictEqual(told, [{ restored: ["Secret wasmcloud/token (missing)"] }])
    }),
  )

  it.effect("that were applied on the server are taken back from whoever edits them", () =>
    Effect.gen(function* () {
      const { restore, calls } = yield* scene()
      yield* restore(
        makeTarget(() => [record("one", 1, "deployed", [settings], "ssa")]),
        ["one"],
        before,
      )
      assert.deepStrictEqual(calls(), [`rollback one 1 --force-conflicts ${end}`])
    }),
  )

  it.effect(
    "that cannot be applied again wait for the engine, and fail the operation after it, without secrets",
    () =>
      Effect.gen(function* () {
        const { restore, told } = yield* scene("no such thing: planted-token")
        const target = makeTarget(() => [record("one", 1, "deployed", [token])])
        yield* restore(target, ["one"], before)
        assert.deepStrictEqual(told, [])
        const error = yield* Effect.flip(restore(target, ["one"], after))
        assert.strictEqual(error.message, "helm rollback of release one: no such thing: [redacted]")
      }),
  )

  it.effect("F52 that cannot be set right say so without a secret of any of their revisions", () =>
    Effect.gen(function* () {
      const { restore } = yield* scene("no such thing: planted-token, token: planted-elsewhere")
      const own = { when: "before engine", recover: true } as const
      const old = {
        ...token,
        stringData: {},
        data: { token: Buffer.from("planted-token").toString("base64") },
      }
      for (const [revisions, told] of [
        [[record("one", 1, "deployed", [old]), record("one", 2, "pending-upgrade", [settings])], "rollback"],
        [
          [record("one", 1, "deployed", [settings]), record("one", 2, "pending-upgrade", [token])],
          "rollback",
        ],
        [[record("one", 1, "pending-install", [token])], "uninstall"],
        // One that cannot be read says nothing of its secrets; what has the shape of one is taken out all the same.
        [[stored({ ...record("one", 1, "pending-install"), data: { release: "?" } })], ""],
      ] as const) {
        const { message } = yield* Effect.flip(
          restore(
            makeTarget(() => revisions),
            ["one"],
            own,
          ),
        )
        assert.notInclude(message, "planted-elsewhere")
        if (told === "") continue
        assert.strictEqual(
          message,
          `helm ${told} of release one: no such thing: [redacted], token: [redacted]`,
        )
      }
    }),
  )

  it.effect("of a target that does not answer stop the operation before the engine", () =>
    Effect.gen(function* () {
      const { restore, calls } = yield* scene()
      const target = makeTarget(
        () => [record("one", 1, "deployed", [settings]), stored(settings)],
        () => Option.some(refused(0, "Transport")),
      )
      assert.strictEqual((yield* Effect.flip(restore(target, ["one"], before)))._tag, "KubeError")
      assert.deepStrictEqual(calls(), [])
    }),
  )
})
