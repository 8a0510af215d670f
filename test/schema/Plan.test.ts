import { assert, describe, it } from "@effect/vitest"
import { Option, Schema } from "effect"
import { MAX_HISTORY_BYTES } from "../../src/schema/History.ts"
import {
  countsText,
  differing,
  driftSummary,
  foundIn,
  noPlans,
  objectsOf,
  type PlannedStep,
  PlansText,
  planOf,
  planSummary,
  plansOf,
  unreadablePlan,
  withPlan,
} from "../../src/schema/Plan.ts"
import { utf8Bytes } from "../../src/schema/Text.ts"

const of = {
  uid: "life",
  version: "6.0.23",
  generation: 4,
  madeAt: "2026-11-03T10:00:00Z",
  after: "2026-11-03T09:00:00Z",
}
const basis = { package: "sha256:0", config: "c", state: "s" }
const found = (steps: ReadonlyArray<PlannedStep>) => ({ basis, steps, drifted: [] })
const step = (deed: PlannedStep["deed"], type: string, name: string, namespace?: string): PlannedStep => ({
  deed,
  type: `kubernetes:${type}`,
  name,
  ...(namespace === undefined ? {} : { namespace }),
})
const tenant = "platform.di-framework.dev/v1alpha1:Tenant"

const dataOf = (steps: ReadonlyArray<PlannedStep>, takenOut: ReadonlyArray<string> = []) =>
  planOf(of, found(steps), takenOut).data

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

  it("is a tenant with its namespaces, but for one that somebody has taken out of the spec: he wants it gone", () => {
    const steps = [
      step("delete", tenant, "acme"),
      step("delete", "core/v1:Namespace", "di-tenant-acme"),
      step("delete", "core/v1:Namespace", "di-runtime-acme"),
    ]
    assert.lengthOf(dataOf(steps, ["beta"]), 3)
    // One that the spec never had, as the platform's own.
    assert.lengthOf(dataOf(steps, []), 3)
    assert.deepStrictEqual(dataOf(steps, ["acme"]), [])
    // What is replaced comes back without its data, whatever the spec says.
    assert.lengthOf(dataOf([step("replace", tenant, "acme")], ["acme"]), 1)
  })
})

describe("a name", () => {
  it("is told whole, or with its beginning and its end", () => {
    const claim = "core/v1:PersistentVolumeClaim"
    const names = [
      step("delete", claim, "data-di-registry-component-storage-controller-manager-ha-0", "di-tenant-acme"),
      step("delete", claim, `${"part-of-it-".repeat(20)}data-0`, "n".repeat(63)),
      step("delete", "core/v1:Namespace", "a".repeat(63)),
    ]
    const [whole = "", long = "", one = ""] = dataOf(names)
    assert.strictEqual(
      whole,
      "PersistentVolumeClaim di-tenant-acme/data-di-registry-component-storage-controller-manager-ha-0",
    )
    assert.match(long, /^PersistentVolumeClaim n{30,}.*….*-data-0$/)
    assert.isAtMost(Buffer.byteLength(long), 160)
    assert.strictEqual(one, `Namespace ${"a".repeat(63)}`)
  })
})

describe("a plan", () => {
  const plan = planOf(
    of,
    found([
      step("create", "core/v1:Secret", "a"),
      step("create", "core/v1:ConfigMap", "b"),
      step("create", "core/v1:ConfigMap", "c"),
      step("replace", "core/v1:Service", "gateway", "wasmcloud"),
      step("delete", "core/v1:Namespace", "old"),
    ]),
    [],
  )

  it("counts by kind, and names what is replaced and deleted", () => {
    assert.deepStrictEqual(plan.create, { Secret: 1, ConfigMap: 2 })
    assert.deepStrictEqual([plan.replaced, plan.deleted], [["Service wasmcloud/gateway"], ["Namespace old"]])
    assert.strictEqual(
      planSummary(plan, 1000),
      "version 6.0.23, generation 4: create 3 (ConfigMap 2, Secret 1), replace 1 (Service 1), delete 1 (Namespace 1); goes with its data: Namespace old; replaced: Service wasmcloud/gateway",
    )
  })

  it("of nothing says so", () => {
    assert.strictEqual(countsText(planOf(of, found([]), [])), "nothing would change")
  })

  it("that cannot be read says why, without what has the shape of a secret", () => {
    const none = unreadablePlan(of, "password=hunter2-and-more was refused")
    assert.notInclude(JSON.stringify(none), "hunter2")
    assert.match(planSummary(none, 1000), /^the plan of version 6\.0\.23, generation 4 cannot be read: /)
  })

  it("is another one with each thing that it is of and was made from, but for time and state", () => {
    const { id } = planOf(of, found([step("create", "core/v1:Secret", "a")]), [])
    const others = [
      planOf({ ...of, uid: "other" }, found([step("create", "core/v1:Secret", "a")]), []),
      planOf({ ...of, generation: 5 }, found([step("create", "core/v1:Secret", "a")]), []),
      planOf({ ...of, version: "6.0.24" }, found([step("create", "core/v1:Secret", "a")]), []),
      planOf(of, found([step("update", "core/v1:Secret", "a")]), []),
      planOf(
        of,
        { ...found([step("create", "core/v1:Secret", "a")]), basis: { ...basis, package: "x" } },
        [],
      ),
      planOf(of, { ...found([step("create", "core/v1:Secret", "a")]), basis: { ...basis, config: "x" } }, []),
      unreadablePlan(of, "it throws"),
    ]
    assert.lengthOf(new Set([id, ...others.map((plan) => plan.id)]), 1 + others.length)
    const later = planOf(
      { ...of, madeAt: "2026-11-04T10:00:00Z", after: "2026-11-04T09:00:00Z" },
      {
        basis: { ...basis, state: "x" },
        steps: [step("create", "core/v1:Secret", "a")],
        drifted: ["Secret b"],
      },
      [],
    )
    assert.strictEqual(later.id, id)
    assert.match(id, /^[0-9a-f]{12}$/)
  })

  it("is bounded, and says how many names it has left out", () => {
    const long = "x".repeat(300)
    const steps = (["delete", "replace"] as const).flatMap((deed) =>
      Array.from({ length: 1200 }, (_, at) => step(deed, "core/v1:Namespace", `${long}${at}`)),
    )
    const many = planOf(of, { ...found(steps), drifted: steps.map(({ name }) => name) }, [])
    assert.deepStrictEqual([many.deleted.length, many.replaced.length, many.more], [300, 300, 3900])
    assert.isAtMost(planSummary(many, 400).length, 400)
    // Two of them and the longest history fit in one ConfigMap.
    const both = withPlan(withPlan(noPlans("life"), "spec", many), "version", many)
    assert.isBelow(utf8Bytes(Schema.encodeSync(PlansText)(both)) + MAX_HISTORY_BYTES, 1_000_000)
    const kinds = Array.from({ length: 1000 }, (_, at) => step("create", `x/v1:Kind${at}`, "a"))
    assert.isAtMost(Object.keys(planOf(of, found(kinds), []).create).length, 201)
  })
})

describe("plans that are kept", () => {
  const harmless = planOf(of, found([]), [])
  const grave = planOf(of, found([step("delete", "core/v1:Namespace", "old")]), [])
  const other = planOf({ ...of, version: "6.0.24" }, found([]), [])

  it("leave each other alone", () => {
    const both = withPlan(withPlan(noPlans("life"), "spec", grave), "version", other)
    assert.deepStrictEqual([both.spec, both.version, both.grave], [grave, other, ["6.0.23"]])
  })

  it("remember which version takes data, until its plan takes none; a failure says nothing of it", () => {
    const first = withPlan(noPlans("life"), "version", grave)
    const failed = withPlan(first, "version", unreadablePlan(of, "it throws"))
    assert.deepStrictEqual(failed.grave, ["6.0.23"])
    assert.deepStrictEqual(withPlan(failed, "spec", harmless).grave, [])
  })

  it("come back as they were written; another life has none, and of what is no such file nobody knows", () => {
    const plans = withPlan(noPlans("life"), "spec", grave)
    const text = Option.some(Schema.encodeSync(PlansText)(plans))
    assert.deepStrictEqual(plansOf(text, "life"), Option.some(plans))
    assert.deepStrictEqual(plansOf(text, "next"), Option.some(noPlans("next")))
    assert.deepStrictEqual(plansOf(Option.none(), "life"), Option.some(noPlans("life")))
    for (const broken of ["", "{", '{"format":2}'])
      assert.isTrue(Option.isNone(plansOf(Option.some(broken), "life")), broken)
  })
})

describe("drift", () => {
  const map = step("create", "core/v1:ConfigMap", "x", "wasmcloud")
  const service = step("replace", "core/v1:Service", "y", "wasmcloud")
  const hosts = "Deployment wasmcloud/hosts (missing)"
  const drift = (steps: ReadonlyArray<PlannedStep>, drifted: ReadonlyArray<string>, madeAt = of.madeAt) =>
    planOf({ ...of, madeAt }, { basis, steps, drifted }, [])
  const differs = drift([map, service], [hosts])

  it("is so many objects of the program and of charts, however many of them have names", () => {
    assert.strictEqual(objectsOf(differs), 3)
    assert.strictEqual(objectsOf(drift([], [])), 0)
    const many = Array.from({ length: 400 }, (_, number) => number)
    const deleted = many.map((number) => step("delete", "core/v1:ConfigMap", `m${number}`))
    const restored = many.map((number) => `Deployment d${number} (missing)`)
    assert.strictEqual(objectsOf(drift([...deleted, map], restored)), 801)
    assert.strictEqual(objectsOf(drift(deleted, [hosts])), 401)
    assert.deepStrictEqual([differing(1), differing(2)], ["1 object differs", "2 objects differ"])
  })

  it("is said with what a repair would do, in so many characters", () => {
    assert.strictEqual(
      driftSummary(differs, 1000),
      `3 objects differ inside the instance; a repair would: create 1 (ConfigMap 1), replace 1 (Service 1); replaced: Service wasmcloud/y; put back: ${hosts}`,
    )
    assert.strictEqual(
      driftSummary(drift([], [hosts]), 1000),
      `1 object differs inside the instance; a repair would: put back: ${hosts}`,
    )
    assert.isAtMost(driftSummary(differs, 60).length, 60)
    const hidden = {
      ...found([map]),
      uncompared: Array.from({ length: 302 }, (_, at) => `Job j${at} (spec)`),
    }
    const partly = planOf(of, hidden, [])
    assert.deepStrictEqual(
      [objectsOf(partly), partly.uncompared?.length, partly.uncompared?.at(-1)],
      [1, 301, "2 others"],
    )
    assert.include(
      driftSummary(partly, 1000),
      "create 1 (ConfigMap 1); cannot be compared: Job j0 (spec), Job j1",
    )
  })

  it("is the same whenever it was found, and another one with an object of a chart more", () => {
    assert.strictEqual(foundIn(differs), foundIn(drift([map, service], [hosts], "2026-11-04T10:00:00Z")))
    const all = [differs, drift([map], [hosts]), drift([map, service], []), drift([], [])]
    assert.strictEqual(new Set(all.map(foundIn)).size, all.length)
  })

  it("takes no plan's place, and says nothing of what an upgrade takes", () => {
    const plan = planOf(of, found([step("delete", "core/v1:PersistentVolumeClaim", "x")]), [])
    const plans = withPlan(noPlans("life"), "spec", plan)
    const beside = withPlan(plans, "drift", differs)
    assert.deepStrictEqual(beside, { ...plans, drift: differs })
    assert.deepStrictEqual(withPlan(plans, "drift", plan).grave, plans.grave)
    // One that could not be made leaves it as it was.
    assert.strictEqual(withPlan(beside, "drift", unreadablePlan(of, "it throws")), beside)
  })
})
