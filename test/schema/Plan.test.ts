import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import {
  countsText,
  isGrave,
  type PlannedStep,
  PlanText,
  planOf,
  planSummary,
  unreadablePlan,
} from "../../src/schema/Plan.ts"

const of = { uid: "life", version: "6.0.23", generation: 4, madeAt: "2026-11-03T10:00:00Z" }
const step = (deed: PlannedStep["deed"], type: string, name: string, namespace?: string): PlannedStep => ({
  deed,
  type: `kubernetes:${type}`,
  name,
  ...(namespace === undefined ? {} : { namespace }),
})
const tenant = "platform.di-framework.dev/v1alpha1:Tenant"

const dataOf = (steps: ReadonlyArray<PlannedStep>, tenants: ReadonlyArray<string> = []) =>
  planOf(of, steps, tenants).data

describe("what holds data", () => {
  it.each([
    ["core/v1:PersistentVolumeClaim", "PersistentVolumeClaim wasmcloud/x"],
    ["core/v1:PersistentVolume", "PersistentVolume wasmcloud/x"],
    ["core/v1:Namespace", "Namespace wasmcloud/x"],
    ["apiextensions.k8s.io/v1:CustomResourceDefinition", "CustomResourceDefinition wasmcloud/x"],
    ["helm.sh/v3:Release", "Release wasmcloud/x"],
  ])("is a %s that is deleted or replaced, and no other deed", (type, name) => {
    for (const deed of ["delete", "replace"] as const)
      assert.deepStrictEqual(dataOf([step(deed, type, "x", "wasmcloud")]), [name])
    for (const deed of ["create", "update"] as const)
      assert.deepStrictEqual(dataOf([step(deed, type, "x", "wasmcloud")]), [])
  })

  it("is nothing that can be made anew", () => {
    for (const type of ["core/v1:ConfigMap", "apps/v1:Deployment", "core/v1:Service"])
      assert.deepStrictEqual(dataOf([step("delete", type, "x")]), [])
  })

  it("is a tenant while the spec has it, with its namespaces; who takes it out wants it gone", () => {
    const steps = [
      step("delete", tenant, "acme"),
      step("delete", "core/v1:Namespace", "di-tenant-acme"),
      step("delete", "core/v1:Namespace", "di-runtime-acme"),
    ]
    assert.lengthOf(dataOf(steps, ["acme"]), 3)
    assert.deepStrictEqual(dataOf(steps, ["beta"]), [])
    // What is replaced comes back without its data, whatever the spec says.
    assert.lengthOf(dataOf([step("replace", tenant, "acme")], []), 1)
  })
})

describe("a plan", () => {
  const plan = planOf(
    of,
    [
      step("create", "core/v1:Secret", "a"),
      step("create", "core/v1:ConfigMap", "b"),
      step("create", "core/v1:ConfigMap", "c"),
      step("replace", "core/v1:Service", "gateway", "wasmcloud"),
      step("delete", "core/v1:Namespace", "old"),
    ],
    [],
  )

  it("counts by kind, and names what is replaced and deleted", () => {
    assert.deepStrictEqual(plan.create, { Secret: 1, ConfigMap: 2 })
    assert.deepStrictEqual([plan.replaced, plan.deleted], [["Service wasmcloud/gateway"], ["Namespace old"]])
    assert.strictEqual(
      planSummary(plan, 1000),
      "version 6.0.23, generation 4: create 3 (ConfigMap 2, Secret 1), replace 1 (Service 1), delete 1 (Namespace 1); goes with its data: Namespace old; replaced: Service wasmcloud/gateway",
    )
    assert.isTrue(isGrave(plan))
  })

  it("of nothing says so", () => {
    assert.strictEqual(countsText(planOf(of, [], [])), "nothing would change")
    assert.isFalse(isGrave(planOf(of, [], [])))
  })

  it("that cannot be read is grave, and says why, without what has the shape of a secret", () => {
    const none = unreadablePlan(of, "password=hunter2-and-more was refused")
    assert.isTrue(isGrave(none))
    assert.notInclude(JSON.stringify(none), "hunter2")
    assert.match(planSummary(none, 1000), /^the plan of version 6\.0\.23, generation 4 cannot be read: /)
  })

  it("is bounded, and says how many names it has left out", () => {
    const steps = Array.from({ length: 1200 }, (_, at) => step("delete", "core/v1:Secret", `s${at}`))
    const many = planOf(of, steps, [])
    assert.deepStrictEqual([many.deleted.length, many.more], [1000, 200])
    assert.isAtMost(planSummary(many, 400).length, 400)
  })

  it("comes back as it was written", () => {
    const text = Schema.encodeSync(PlanText)(plan)
    assert.deepStrictEqual(Schema.decodeSync(PlanText)(text), plan)
  })
})
