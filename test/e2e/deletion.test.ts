// Deletions on real directories: what goes, what stays, what is told on the way, and what becomes of one whose operator is
// killed again and again.
import { existsSync } from "node:fs"
import { dirname } from "node:path"
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { full, operatorNamespace, storageRootBase } from "./support/Cluster.ts"
import {
  conditionOf,
  deleteInstance,
  findHostNamespace,
  getInstance,
  type Key,
  manifest,
  untilReady,
} from "./support/Instance.ts"
import { apply, createNamespace, exists, getJson, kubectl, names, refusalOf } from "./support/Kubectl.ts"
import { leavesNothing } from "./support/Leaks.ts"
import { isAlive, isThere, putCanary, putLink, putLinksOut, removeFolder } from "./support/NodeFolders.ts"
import {
  type Incarnation,
  instanceState,
  killOperator,
  leaseHolder,
  logOf,
  replaceOperatorPod,
} from "./support/Operator.ts"
import { holdOperator } from "./support/OperatorLock.ts"
import { connectsFrom, plainPod, untilRunning } from "./support/PlainPod.ts"
import { until, untilTrue } from "./support/Until.ts"
import { type Watch, watch } from "./support/Watch.ts"

// It kills the operator, and lets its namespace admit no hostPath for a while.
holdOperator("exclusive")
leavesNothing("deletion")
afterAll(() => {
  removeFolder(dirname(outside))
  removeFolder(dirname(beside))
  removeFolder(dirname(moved))
})

const namespace = "deletion"
const instance = (name: string): Key => ({ namespace, name })
const storageRoot = ({ name }: Key) => `${storageRootBase}/${namespace}/${name}`
const outside = "/var/lib/kubesolo/deletion-canary/file"
const moved = "/var/lib/kubesolo/deletion-moved/deletion-linked"
const beside = `${storageRootBase}/${namespace}/neighbour/file`

const startDeleting = (key: Key, cascade: "background" | "foreground" | "orphan"): Promise<string> =>
  kubectl(["delete", "pi", key.name, "--namespace", key.namespace, "--wait=false", `--cascade=${cascade}`])
const isGone = async (key: Key): Promise<boolean> =>
  !(await exists("pi", key.name, "--namespace", key.namespace))
const untilGone = (key: Key): Promise<void> => untilTrue(`${key.name} is gone`, () => isGone(key))
/** Waits until the instance says so, and gives the words. */
const untilSaid = (key: Key, words: RegExp): Promise<string> =>
  until(`${key.name} says ${words}`, async () => {
    const ready = conditionOf(await getInstance(key), "Ready")
    return ready !== undefined && words.test(ready.message) ? `${ready.reason}: ${ready.message}` : undefined
  })

/** Somebody's finalizer in a host namespace; what it gives back takes it away. */
const hold = async (host: string) => {
  const held = { namespace: host, name: "held", finalizers: ["example.com/hold"] }
  await apply({ apiVersion: "v1", kind: "ConfigMap", metadata: held })
  const patch = '{"metadata":{"finalizers":null}}'
  return () => kubectl(["patch", "configmap", "held", "--namespace", host, "--type=merge", "--patch", patch])
}
const isGoing = async (host: string): Promise<boolean> =>
  (await kubectl(["get", "namespace", host, "--output=jsonpath={.status.phase}"])) === "Terminating"

const cleanupPods = [
  "--namespace",
  operatorNamespace,
  "--selector=app.kubernetes.io/name=platform-operator-storage-cleanup",
]
const enforce = (level: string): Promise<string> =>
  kubectl([
    "label",
    "namespace",
    operatorNamespace,
    `pod-security.kubernetes.io/enforce=${level}`,
    "--overwrite",
  ])

const [one, two, killed] = [instance("one"), instance("two"), instance("killed")]

describe("a deletion", () => {
  beforeAll(async () => {
    await createNamespace(namespace)
    await Promise.all([one, killed].map((key) => apply(manifest(key))))
    await Promise.all([one, killed].map(untilReady))
    putCanary(outside)
    putCanary(beside)
  })

  it("names the object that holds the host namespace, and waits for it", async () => {
    const host = (await findHostNamespace(one)) ?? assert.fail("it has a host namespace")
    const release = await hold(host)
    putLinksOut(`${storageRoot(one)}/di-tenants/acme`, outside)
    await startDeleting(one, "orphan")
    const said = await untilSaid(one, /configmaps\/held/)
    console.log(said)
    assert.include(
      said,
      `waiting for host namespace ${host} to be gone: it is held by configmaps/held (finalizer example.com/hold)`,
    )
    assert.isTrue(isThere(storageRoot(one)))
    await release()
  })

  it("removes the one directory: links out of it and canaries beside it are what they were", async () => {
    await untilGone(one)
    assert.isFalse(isThere(storageRoot(one)))
    assert.isTrue(isAlive(outside))
    assert.isTrue(isAlive(beside))
    assert.isUndefined(await findHostNamespace(one))
  })

  it("whose Job is refused says so in the words of the refusal; the way out leaves the directory", async () => {
    await enforce("baseline")
    try {
      await apply(manifest(two))
      await until("its host namespace", () => findHostNamespace(two))
      putCanary(`${storageRoot(two)}/file`)
      await startDeleting(two, "background")
      const said = await untilSaid(two, /violates PodSecurity/)
      console.log(said)
      assert.match(
        said,
        /^StorageCleanupFailed: remove storage root \/var\/lib\/kubesolo\/instances\/deletion\/two: .*hostPath/,
      )
      assert.strictEqual((await getInstance(two)).status?.phase, "Deleting")
      await kubectl([
        "annotate",
        "pi",
        "two",
        "--namespace",
        namespace,
        "platform.di-framework.dev/skip-storage-cleanup=true",
      ])
      await untilGone(two)
    } finally {
      await enforce("privileged")
    }
    assert.isEmpty(await names("jobs", ...cleanupPods))
    assert.isEmpty(await names("pods", ...cleanupPods))
    assert.isTrue(isAlive(`${storageRoot(two)}/file`))
    removeFolder(storageRoot(two))
  })

  it("follows no link at the namespace's folder, and ends when the folder is back in its place", async () => {
    const linked: Key = { namespace: "deletion-linked", name: "one" }
    const folder = `${storageRootBase}/${linked.namespace}`
    putCanary(`${moved}/one/file`)
    putLink(folder, "../deletion-moved/deletion-linked")
    await createNamespace(linked.namespace)
    await apply(manifest(linked))
    await until("its host namespace", () => findHostNamespace(linked))
    await startDeleting(linked, "background")
    const said = await untilSaid(linked, /leads to/)
    console.log(said)
    // The node shows where the folder lies on its own disk.
    assert.match(
      said,
      /^StorageCleanupFailed: remove storage root \/var\/lib\/kubesolo\/instances\/deletion-linked\/one: .*removed nothing: \/var\/lib\/kubesolo\/instances\/deletion-linked leads to \S*\/kubesolo\/deletion-moved\/deletion-linked on the node/,
    )
    assert.isTrue(isAlive(`${moved}/one/file`))
    removeFolder(folder)
    await untilGone(linked)
    assert.isTrue(isAlive(`${moved}/one/file`))
    await kubectl(["delete", "namespace", linked.namespace])
  })

  it("leaves its cleanup no network", async () => {
    const labelled = {
      namespace: operatorNamespace,
      name: "cleanup-like",
      labels: { "app.kubernetes.io/name": "platform-operator-storage-cleanup" },
    }
    const other = { namespace: operatorNamespace, name: "unlike" }
    try {
      await Promise.all([plainPod(labelled), plainPod(other)])
      await Promise.all([untilRunning(labelled), untilRunning(other)])
      // A policy reaches the node's rules a moment after the pod.
      await untilTrue(
        "the cleanup has no network",
        async () => !(await connectsFrom(labelled, "10.96.0.1", 443)),
      )
      assert.isTrue(await connectsFrom(other, "10.96.0.1", 443))
    } finally {
      await kubectl([
        "delete",
        "pod",
        labelled.name,
        other.name,
        "--namespace",
        operatorNamespace,
        "--ignore-not-found",
        "--grace-period=0",
        "--force",
      ])
    }
  })
})

/** Changes that a deletion makes, as the server tells of them: the moments at which the operator may be killed. */
const changesOf = async (key: Key): Promise<ReadonlyArray<Watch<unknown>>> => {
  const host = (await findHostNamespace(key)) ?? assert.fail("it has a host namespace")
  return [
    `/apis/platform.di-framework.dev/v1alpha1/namespaces/${namespace}/platforminstances?fieldSelector=metadata.name=${key.name}`,
    `/api/v1/namespaces?fieldSelector=metadata.name=${host}`,
    `/api/v1/namespaces/${host}/secrets`,
    `/apis/batch/v1/namespaces/${operatorNamespace}/jobs`,
  ].map((path) => watch(Schema.Unknown, path))
}

/** Without what the server writes. */
const Definition = Schema.Struct({
  apiVersion: Schema.String,
  kind: Schema.String,
  metadata: Schema.Struct({
    name: Schema.String,
    labels: Schema.Record(Schema.String, Schema.String),
    annotations: Schema.Record(Schema.String, Schema.String),
  }),
  spec: Schema.Unknown,
})

describe("an operator that is killed at random moments of a deletion", () => {
  /** In all of the deletions together. */
  const wanted = full ? 30 : 3
  /** In one deletion. The kubelet waits twice as long after each further death in a pod, so that not all are in one. */
  const most = full ? 5 : 3

  /** One deletion, with the operator killed at random moments of it. Gives how often it was. */
  const deleteAndKill = async (): Promise<number> => {
    putLinksOut(`${storageRoot(killed)}/di-tenants/acme`, outside)
    const host = (await findHostNamespace(killed)) ?? assert.fail("it has a host namespace")
    const state = await instanceState(namespace, killed.name)
    const watches = await changesOf(killed)
    const moments: Array<string> = []
    let last: Incarnation | undefined
    const count = () => watches.reduce((sum, { seen }) => sum + seen.length, 0)
    await untilTrue("the watch has begun", () => (watches[0]?.seen.length ?? 0) > 0)
    const kill = async (moment: string): Promise<void> => {
      moments.push(moment)
      last = await killOperator()
    }
    const killAfterChanges = async (atMost: number): Promise<void> => {
      const from = count()
      const changes = Math.floor(Math.random() * (atMost + 1))
      await untilTrue("so many changes, or the end", async () => {
        return count() - from >= changes || (await isGone(killed))
      })
      if (!(await isGone(killed))) await kill(`${changes} changes later`)
    }
    // Held in the middle, it is not over before the operator has been killed often enough.
    const release = await hold(host)
    await startDeleting(killed, "foreground")
    await killAfterChanges(6)
    await untilTrue("the host namespace is going", () => isGoing(host))
    await kill("when the host namespace was going")
    if (moments.length + 1 < most) {
      await replaceOperatorPod()
      await kill("when it had just begun")
    }
    await release()
    while (moments.length < most && !(await isGone(killed))) await killAfterChanges(4)
    console.log(`killed ${moments.length} times: ${moments.join(", ")}`)
    await untilGone(killed)
    await Promise.all(watches.map(({ end }) => end()))
    // The lease is that of the container before it, in the same pod: nobody has to wait for its end.
    const successor = last ?? assert.fail("the operator was killed")
    const log = await until("it leads", async () => {
      const text = await logOf(successor)
      return text.includes('"message":"leading"') ? text : undefined
    })
    assert.notInclude(log, "another operator leads")
    assert.include(await leaseHolder(), successor.pod)
    assert.isFalse(isThere(storageRoot(killed)))
    assert.isFalse(await exists("namespace", host))
    assert.isFalse(await exists("secret", "killed-kubeconfig", "--namespace", namespace))
    assert.isEmpty(await names("jobs", ...cleanupPods))
    assert.isFalse(existsSync(state.root))
    assert.isTrue(isAlive(outside))
    assert.isTrue(isAlive(beside))
    return moments.length
  }

  it(`comes to the same end, ${wanted} times`, async () => {
    let kills = await deleteAndKill()
    while (kills < wanted) {
      await replaceOperatorPod()
      await apply(manifest(killed))
      await untilReady(killed)
      kills += await deleteAndKill()
    }
  }, 3_600_000)
})

if (full) {
  describe("the removal of the definition", () => {
    it("deletes the instances to their end, and the operator works on when it is back", async () => {
      await createNamespace(namespace)
      await apply(manifest(one))
      const host = await until("its host namespace", () => findHostNamespace(one))
      const definition = "platforminstances.platform.di-framework.dev"
      const { metadata, ...rest } = await getJson(Definition, ["crd", definition])
      // The operator puts the binding back while there are instances; what it denies is some moments behind.
      await untilTrue("the definition is being removed", async () => {
        const binding = "validatingadmissionpolicybinding/platform-operator-protect-instances"
        await kubectl(["delete", binding, "--ignore-not-found"])
        return /not refused/.test(await refusalOf("delete", "crd", definition, "--wait=false"))
      })
      await kubectl(["wait", "--for=delete", `crd/${definition}`, "--timeout=300s"])
      assert.isFalse(await exists("namespace", host))
      assert.isFalse(isThere(storageRoot(one)))
      await kubectl(["create", "-f", "-"], { input: JSON.stringify({ ...rest, metadata }) })
      await kubectl(["wait", "--for=condition=Established", `crd/${definition}`, "--timeout=60s"])
      // It is served a moment later than it is established, and looked up by kubectl another moment later.
      await untilTrue("it is served again", () =>
        apply(manifest(one)).then(
          () => true,
          () => false,
        ),
      )
      await until("its host namespace", () => findHostNamespace(one))
      await deleteInstance(one)
    })
  })
}
