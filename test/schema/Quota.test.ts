import { Option } from "effect"
import { assert, describe, it } from "vitest"
import { formatAmount, parseQuota, quantity, quotaResources } from "../../src/schema/Quota.ts"

describe("the form of a quota", () => {
  it.each([
    ["a resource nobody knows", "gpus=1"],
    ["a limit of processors", "limits.cpu=4"],
    ["an amount without a resource", "50"],
    ["a resource without an amount", "pods"],
    ["an empty amount", "pods="],
    ["a resource twice", "pods=1,pods=2"],
    ["an empty part", "pods=1,"],
    ["blanks", "pods = 1"],
    ["two amounts", "pods=1=2"],
    ["bytes of pods", "pods=1Gi"],
    ["half a pod", "pods=0.5"],
    ["no pod at all", "pods=0"],
    ["thousandths of a byte", "requests.memory=8m"],
    ["less than nothing", "pods=-1"],
    ["more than can be counted", "requests.memory=999999999999999Ti"],
  ])("is not %s", (_, text) => {
    assert.isTrue(Option.isNone(parseQuota(text)), text)
  })

  it("takes every resource that it names", () => {
    const amount = (name: string) => (/memory|storage/.test(name) ? "1Gi" : "1")
    const text = quotaResources.map((name) => `${name}=${amount(name)}`).join(",")
    assert.deepStrictEqual([...Option.getOrThrow(parseQuota(text)).keys()], [...quotaResources])
  })

  it("takes bytes without a unit", () => {
    assert.deepStrictEqual(
      Option.getOrThrow(parseQuota("requests.memory=8589934592")).get("requests.memory"),
      2 ** 33,
    )
  })

  // As kube-apiserver 1.35 writes them back.
  it.each([
    ["pods", 50, "50"],
    ["pods", 1000, "1k"],
    ["pods", 1500, "1500"],
    ["services.loadbalancers", 0, "0"],
    ["requests.cpu", 1700, "1700m"],
    ["requests.cpu", 4000, "4"],
    ["requests.cpu", 2_000_000, "2k"],
    ["requests.memory", 8 * 2 ** 30 + 256 * 2 ** 20, "8448Mi"],
    ["requests.memory", 2 ** 40, "1Ti"],
  ] as const)("is written as the API server writes it: %s %s", (resource, value, text) => {
    assert.strictEqual(formatAmount(resource, value), text)
  })

  it.each([
    ["200m", 0.2],
    ["1", 1],
    ["1.5", 1.5],
    ["256Mi", 256 * 2 ** 20],
    ["1k", 1000],
    ["5G", 5e9],
  ])("knows the quantity %s", (text, value) => {
    assert.strictEqual(Option.getOrThrow(quantity(text)), value)
  })
  it.each(["", "Mi", "1e3", "-1", "1 Gi"])("knows no quantity %j", (text) => {
    assert.isTrue(Option.isNone(quantity(text)))
  })
})
