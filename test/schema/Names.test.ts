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

/** Namespaces and names are pieces of one long random text: cheap enough for 100,000 of them. */
const randomKeys = (count: number): ReadonlyArray<InstanceKey> => {
  const next = random(20261103)
  const text = (alphabet: string) =>
    Array.from({ length: 20_000 }, () => alphabet.charAt(next(alphabet.length))).join("")
  const piece = (from: string) => {
    const start = next(from.length - 63)
    return from.slice(start, start + 1 + next(63)).replace(/^[-.]+|[-.]+$/g, "") || "a"
  }
  const alphabet = "abcdefghijklmnopqrstuvwxyz0123456789-"
  const namespaces = text(alphabet)
  const names = text(`${alphabet}.`).replaceAll(/[-.]*\.[-.]*/g, ".")
  return Array.from({ length: count }, () => ({ namespace: piece(namespaces), name: piece(names) }))
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
    const owners = new Map<string, string>()
    for (const key of randomKeys(100_000)) {
      const owner = `${key.namespace}/${key.name}`
      const name = hostNamespace(key)
      if (name.length > MAX_HOST_NAMESPACE || !dnsLabel.test(name)) assert.fail(`${owner} became ${name}`)
      const other = owners.get(name)
      if (other !== undefined && other !== owner) assert.fail(`${owner} and ${other} share ${name}`)
      owners.set(name, owner)
    }
    assert.isAbove(owners.size, 95_000)
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
