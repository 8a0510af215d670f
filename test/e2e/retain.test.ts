// An instance that is retained and picked up again, and one that is deleted and made again at once.
import { assert, beforeAll, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { storageRootBase } from "./support/Cluster.ts"
import { assertStill, type Identity, settledIdentity } from "./support/Identity.ts"
import { deleteInstance, findHostNamespace, type Key, manifest, untilReady } from "./support/Instance.ts"
import { apply, createNamespace, exists, getJson, kubectl, uidOf } from "./support/Kubectl.ts"
import { leavesNothing } from "./support/Leaks.ts"
import { isAlive, isThere, putCanary } from "./support/NodeFolders.ts"
import { holdOperator } from "./support/OperatorLock.ts"
import { until, untilTrue } from "./support/Until.ts"

holdOperator("shared")
leavesNothing("retain")

const key: Key = { namespace: "retain", name: "one" }
const data = `${storageRootBase}/retain/one/di-tenants/acme/file`

const Notes = Schema.Struct({ items: Schema.Array(Schema.Struct({ message: Schema.String })) })

describe("an instance with deletionPolicy Retain", () => {
  const retained = {
    spec: {
      version: "6.0.22",
      target: { type: "vcluster" },
      platform: { tenants: [{ name: "acme" }] },
      deletionPolicy: "Retain",
    },
  }
  let first: Identity
  let uid = ""

  beforeAll(async () => {
    await createNamespace(key.namespace)
    await apply({ ...manifest(key), ...retained })
    await untilReady(key)
    putCanary(data)
    first = await settledIdentity(key)
    uid = await uidOf("pi", key.name, "--namespace", key.namespace)
  })
  it("goes alone: all that belongs to it stays", async () => {
    await deleteInstance(key)
    await untilTrue(
      "its kubeconfig is gone",
      async () => !(await exists("secret", "one-kubeconfig", "--namespace", key.namespace)),
    )
    assert.isDefined(await findHostNamespace(key))
    assert.isTrue(isAlive(data))
  })

  it("is picked up by the next of its name: nothing is started again, nothing replaced", async () => {
    await apply({ ...manifest(key), ...retained })
    await untilReady(key)
    const successor = await uidOf("pi", key.name, "--namespace", key.namespace)
    assert.notStrictEqual(successor, uid)
    await assertStill(key, first)
    assert.isTrue(isAlive(data))
    const { items } = await until("the Event", async () => {
      const found = await getJson(Notes, [
        "events",
        "--namespace",
        key.namespace,
        `--field-selector=involvedObject.uid=${successor},reason=Adopted`,
      ])
      return found.items.length > 0 ? found : undefined
    })
    console.log(items.map(({ message }) => message).join("; "))
    assert.deepStrictEqual(
      items.map(({ message }) => message),
      [
        "picked up the retained instance of this name, with version 6.0.22 installed: its vCluster, state and storage root",
      ],
    )
  })

  it("switched to Delete, deleted and made again at once, begins with nothing", async () => {
    await kubectl([
      "patch",
      "pi",
      key.name,
      "--namespace",
      key.namespace,
      "--type=merge",
      "--patch",
      '{"spec":{"deletionPolicy":"Delete"}}',
    ])
    await deleteInstance(key)
    await apply(manifest(key))
    await untilReady(key)
    const second = await settledIdentity(key)
    for (const what of ["host", "inside"] as const) assert.notStrictEqual(second[what], first[what], what)
    assert.notDeepEqual(second.volumes, first.volumes)
    assert.isFalse(isThere(data))
  })

  it("ends with the namespace it is in", async () => {
    const host = (await findHostNamespace(key)) ?? assert.fail("it has a host namespace")
    await kubectl(["delete", "namespace", key.namespace, "--timeout=300s"])
    assert.isFalse(await exists("namespace", host))
    assert.isFalse(isThere(`${storageRootBase}/retain/one`))
  })
})
