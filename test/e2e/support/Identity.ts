// Who the parts of an instance are: the same again when nothing was started, made or replaced.
import { assert } from "@effect/vitest"
import { Schema } from "effect"
import { inside } from "./Inside.ts"
import { findHostNamespace, type Key, revisions } from "./Instance.ts"
import { getJson, uidOf } from "./Kubectl.ts"
import { containersOf, podsOf } from "./Pods.ts"
import { until } from "./Until.ts"

const Claims = Schema.Struct({
  items: Schema.Array(
    Schema.Struct({
      metadata: Schema.Struct({ uid: Schema.String }),
      spec: Schema.Struct({ volumeName: Schema.String }),
    }),
  ),
})
/** What would be another one if anything had been made again or started again. */
const identityOf = async (key: Key) => {
  const host = await until("the host namespace", () => findHostNamespace(key))
  const pods = await podsOf("--namespace", host)
  const { items: claims } = await getJson(Claims, ["persistentvolumeclaims", "--namespace", host])
  return {
    host: await uidOf("namespace", host),
    releases: await revisions("vcluster", host),
    // Those of the host namespace are the vCluster's own and all that run inside.
    pods: pods
      .map((pod) => {
        const restarts = containersOf(pod).map(({ restartCount }) => restartCount)
        return `${pod.metadata.name} ${pod.metadata.uid} ${restarts}`
      })
      .sort(),
    volumes: claims.map(({ metadata, spec }) => `${metadata.uid} ${spec.volumeName}`),
    ...(await inside(key, async (context) => ({
      inside: await uidOf(...context, "namespace", "kube-system"),
      platform: await uidOf(...context, "deployment", "wasmcloud-hosts", "--namespace", "wasmcloud"),
      innerReleases: await revisions("wasmcloud", "wasmcloud", ...context),
    }))),
  }
}
export type Identity = Awaited<ReturnType<typeof identityOf>>

const isSettled = async (key: Key): Promise<boolean> => {
  const host = await findHostNamespace(key)
  if (host === undefined) return false
  return (await podsOf("--namespace", host)).every((pod) => {
    const containers = containersOf(pod)
    const runs = containers.length > 0 && containers.every(({ ready }) => ready)
    return pod.metadata.deletionTimestamp === undefined && (runs || pod.status.phase === "Succeeded")
  })
}

/**
 * Who the parts are once nothing of them comes or goes any more: what an install has just changed may still be starting
 * or ending when the instance is Ready. Asked again where a way into the vCluster breaks off.
 */
export const settledIdentity = (key: Key): Promise<Identity> =>
  until("what it consists of, at rest", async () => {
    if (!(await isSettled(key))) return undefined
    const found = await identityOf(key)
    return (await isSettled(key)) ? found : undefined
  })

/** What was made or started a second time has another UID, and never this one again. */
export const assertStill = (key: Key, before: Identity): Promise<boolean> =>
  until("it consists of what it did", async () => {
    assert.deepStrictEqual(await identityOf(key), before)
    return true
  })
