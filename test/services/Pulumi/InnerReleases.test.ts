// What becomes of Helm releases inside the target after an operation was cut off. The real helm does it in the
// end-to-end tests; here a script stands in for it and writes down how it was called.
import { NodeServices } from "@effect/platform-node"
import { assert, it, layer } from "@effect/vitest"
import { Effect, FileSystem } from "effect"
import { repairOf, repairReleases } from "../../../src/services/Pulumi/InnerReleases.ts"
import { optionsIn, temporary } from "./harness.ts"

const history = (...statuses: ReadonlyArray<string>) =>
  statuses.map((status, index) => ({ revision: index + 1, status }))

it("what is done follows from the newest record", () => {
  const rows: ReadonlyArray<readonly [ReadonlyArray<string>, boolean, ReturnType<typeof repairOf>]> = [
    [["deployed"], true, { _tag: "Nothing" }],
    [["superseded", "deployed"], true, { _tag: "Nothing" }],
    [["pending-install"], false, { _tag: "Uninstall" }],
    [["deployed", "pending-upgrade"], true, { _tag: "Rollback", revision: 1 }],
    [["superseded", "deployed", "pending-upgrade"], true, { _tag: "Rollback", revision: 2 }],
    [["superseded", "deployed", "failed", "pending-rollback"], true, { _tag: "Rollback", revision: 2 }],
    [["uninstalling"], true, { _tag: "Uninstall" }],
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

layer(NodeServices.layer, { excludeTestServices: true })("inner releases", (it) => {
  it.effect(
    "each is set right with the instance's own kubeconfig, and none without a record is touched",
    () =>
      Effect.gen(function* () {
        const fs = yield* FileSystem.FileSystem
        const root = yield* temporary
        const helmPath = `${root}/helm`
        yield* fs.writeFileString(
          helmPath,
          `#!/bin/sh
echo "$@" >> ${root}/calls
case "$1 $2" in
  "history stuck") echo '[{"revision":1,"status":"deployed"},{"revision":2,"status":"pending-upgrade"}]' ;;
  "history fine") echo '[{"revision":1,"status":"deployed"}]' ;;
  history*) echo "Error: release: not found" >&2; exit 1 ;;
esac
`,
          { mode: 0o700 },
        )
        const release = (name: string) => ({ name, namespace: "wasmcloud", recorded: true })
        const done = yield* repairReleases(
          ["stuck", "fine", "none"].map(release),
          { kubeconfig: "/memory/kubeconfig", home: root, pulumiHome: root },
          optionsIn(root, { helmPath }),
        )
        assert.strictEqual(done.length, 1)
        const calls = (yield* fs.readFileString(`${root}/calls`)).trim().split("\n")
        assert.deepStrictEqual(
          calls.filter((call) => !call.startsWith("history")),
          ["rollback stuck 1 --namespace wasmcloud --kubeconfig /memory/kubeconfig"],
        )
      }),
  )
})
