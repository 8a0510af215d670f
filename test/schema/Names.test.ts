import { assert, describe, it } from "@effect/vitest"
import { Arbitrary, Schema } from "effect"
import type { InstanceKey } from "../../src/schema/InstanceKey.ts"
import {
  cleanupJobName,
  hostNamespace,
  instanceHash,
  kubeconfigSecretName,
  MAX_HOST_NAMESPACE,
} from "../../src/schema/Names.ts"

const dnsLabel = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/u

const namespaces = Schema.String.check(Schema.isPattern(/^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/u))
const names = Schema.String.check(
  Schema.isPattern(/^[a-z0-9]([-a-z0-9]{0,20}[a-z0-9])?(\.[a-z0-9]([-a-z0-9]{0,18}[a-z0-9])?){0,1}$/u),
)
const keys = Arbitrary.schema(Schema.Struct({ namespace: namespaces, name: names }))

/** A small generator (mulberry32) so that a run can be repeated. */
const random = (seed: number) => (below: number) => {
  seed = (seed + 0x6d2b79f5) | 0
  let t = Math.imul(seed ^ (seed >>> 15), 1 | seed)
  t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
  return ((t ^ (t >>> 14)) >>> 0) % below
}

const randomKey = (next: (below: number) => number): InstanceKey => {
  const letters = "abcdefghijklmnopqrstuvwxyz0123456789"
  const word = (max: number, inner: string) => {
    const length = 1 + next(max)
    return Array.from({ length }, (_, i) => {
      const from = i === 0 || i === length - 1 ? letters : inner
      return from.charAt(next(from.length))
    }).join("")
  }
  return {
    namespace: word(63, `${letters}-`),
    name: word(63, `${letters}-`).replace(/([a-z0-9])-([a-z0-9])/, "$1.$2"),
  }
}

describe("hostNamespace", () => {
  it("reads as namespace and name, then the hash", () => {
    assert.strictEqual(hostNamespace({ namespace: "team-a", name: "one" }), "pi-team-a-one-ix2zk5punatl")
  })

  it("writes dots as hyphens and still tells the two apart", () => {
    const dotted = hostNamespace({ namespace: "a", name: "b.c" })
    const hyphened = hostNamespace({ namespace: "a", name: "b-c" })
    assert.match(dotted, /^pi-a-b-c-/)
    assert.match(hyphened, /^pi-a-b-c-/)
    assert.notStrictEqual(dotted, hyphened)
  })

  it("tells namespace and name apart wherever the hyphen stands", () => {
    assert.notStrictEqual(
      hostNamespace({ namespace: "a-b", name: "c" }),
      hostNamespace({ namespace: "a", name: "b-c" }),
    )
  })

  it("keeps the hash whole in the longest name", () => {
    const key = { namespace: "n".repeat(63), name: "m".repeat(63) }
    assert.strictEqual(hostNamespace(key).length, MAX_HOST_NAMESPACE)
    assert.isTrue(hostNamespace(key).endsWith(`-${instanceHash(key)}`))
  })

  it("leaves no double hyphen where the name is cut at one", () => {
    const key = { namespace: "n".repeat(32), name: "one" }
    assert.strictEqual(hostNamespace(key), `pi-${"n".repeat(32)}-${instanceHash(key)}`)
  })

  it.prop(
    "is a DNS label of at most 49 characters that ends in the hash",
    { key: keys },
    ({ key }) => {
      const name = hostNamespace(key)
      assert.match(name, dnsLabel)
      assert.isAtMost(name.length, MAX_HOST_NAMESPACE)
      assert.isTrue(name.endsWith(`-${instanceHash(key)}`))
    },
    { arbitrary: { runs: 500, seed: 1 } },
  )

  it("gives 100,000 instances 100,000 namespaces, all valid", () => {
    const next = random(20261103)
    const owners = new Map<string, string>()
    for (let i = 0; i < 100_000; i++) {
      const key = randomKey(next)
      const owner = `${key.namespace}/${key.name}`
      const name = hostNamespace(key)
      if (name.length > MAX_HOST_NAMESPACE || !dnsLabel.test(name)) assert.fail(`${owner} became ${name}`)
      const other = owners.get(name)
      if (other !== undefined && other !== owner) assert.fail(`${owner} and ${other} share ${name}`)
      owners.set(name, owner)
    }
  })
})

describe("cleanupJobName", () => {
  const key = { namespace: "team-a", name: "one" }

  it.prop(
    "is a DNS label of at most 63 characters",
    { key: keys, uid: Schema.String },
    ({ key, uid }) => {
      const name = cleanupJobName(key, uid)
      assert.match(name, dnsLabel)
      assert.isAtMost(name.length, 63)
    },
    { arbitrary: { runs: 200, seed: 2 } },
  )

  it("is another one for another life of the same instance", () => {
    assert.notStrictEqual(cleanupJobName(key, "1"), cleanupJobName(key, "2"))
    assert.isTrue(cleanupJobName(key, "1").startsWith(`pi-storage-cleanup-${instanceHash(key)}-`))
  })
})

describe("kubeconfigSecretName", () => {
  it("is the instance's name and what it holds", () => {
    assert.strictEqual(kubeconfigSecretName({ namespace: "team-a", name: "one" }), "one-kubeconfig")
  })
})
