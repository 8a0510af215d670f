// The operator is killed, without a word of farewell, while it is at work on an instance: the instance becomes Ready all
// the same, and nothing is there twice.
import { assert, describe, it } from "@effect/vitest"
import { full } from "./support/Cluster.ts"
import { inside } from "./support/Inside.ts"
import {
  conditionOf,
  findHostNamespace,
  type Key,
  manifest,
  revisions,
  untilReady,
} from "./support/Instance.ts"
import { apply, createNamespace, kubectl, names } from "./support/Kubectl.ts"
import { leavesNothing } from "./support/Leaks.ts"
import { killOperator, logOf, operatorLog, refusals, removeOperatorPod } from "./support/Operator.ts"
import { holdOperator } from "./support/OperatorLock.ts"
import { until, untilTrue } from "./support/Until.ts"
import { assertWhole, duringUp } from "./support/Whole.ts"

holdOperator("exclusive")
leavesNothing("crash-")

/** Runs with an instance of its own, and deletes it. */
const withInstance = async (namespace: string, use: (key: Key) => Promise<void>): Promise<void> => {
  const key = { namespace, name: "one" }
  await createNamespace(namespace)
  await apply(manifest(key))
  try {
    await use(key)
  } finally {
    await kubectl(["delete", "pi", key.name, "--namespace", namespace, "--timeout=300s"])
    // The kubelet waits longer after each death of a container; a new pod begins without that.
    if (full) await removeOperatorPod()
  }
}

/** Helm is at work, or has just been. */
const duringTarget = async (key: Key): Promise<void> => {
  const host = await until("the host namespace", () => findHostNamespace(key))
  await untilTrue("a release record", async () => (await revisions("vcluster", host)).length > 0)
}

const assertNothingTwice = async (key: Key): Promise<void> => {
  await assertWhole(key)
  const host = (await findHostNamespace(key)) ?? ""
  assert.deepStrictEqual(await names("statefulsets", "--namespace", host), ["vcluster"])

  await inside(key, async (context) => {
    const inner = await revisions("wasmcloud", "wasmcloud", ...context)
    assert.lengthOf(
      inner.filter((revision) => revision.endsWith(" deployed")),
      1,
      inner.join(", "),
    )
    const namespaces = await names(...context, "namespaces")
    assert.sameMembers(
      namespaces.filter((name) => name.startsWith("di-")),
      ["di-tenant-acme", "di-runtime-acme", "di-tenant-globex", "di-runtime-globex"],
    )
    assert.lengthOf(await names(...context, "deployments", "--namespace", "wasmcloud"), 2)
    assert.sameMembers([...(await names(...context, "tenants"))], ["acme", "globex"])
  })
}

const cases = [
  { title: "killed while the target comes up", during: duringTarget, end: killOperator },
  { title: "killed in an up", during: duringUp, end: killOperator },
  { title: "its pod lost in an up", during: duringUp, end: removeOperatorPod },
]

describe("an operator that ends without notice", () => {
  for (const [index, { title, during, end }] of cases.entries()) {
    it.each(Array.from({ length: full ? 2 : 1 }, (_, round) => round))(`${title} (round %i)`, (round) =>
      withInstance(`crash-${index}-${round}`, async (key) => {
        const { namespace } = key
        await during(key)
        const next = await end()
        const ready = await untilReady(key)
        // The one before had not finished: this one had to install.
        assert.match(await logOf(next), new RegExp(`"instance":"${namespace}/one".*"step":"up"`))
        assert.strictEqual(conditionOf(ready, "Installed")?.status, "True")
        assert.strictEqual(ready.status?.installedVersion, "6.0.22")
        await assertNothingTwice(key)
        assert.deepStrictEqual(refusals(await operatorLog()), [])
      }),
    )
  }
})
