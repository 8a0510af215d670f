// What is made of the events of a preview: what is not understood is no plan.
import { assert, describe, it } from "@effect/vitest"
import type { EngineEvent, OpType } from "@pulumi/pulumi/automation/index.js"
import { makePlanned } from "../../../src/services/Pulumi/runner/Planned.ts"

const urn = (type: string, name: string) => `urn:pulumi:instance::platform-instance::${type}::${name}`

const event = (op: OpType, type: string, name: string, own: Readonly<Record<string, unknown>> = {}) => {
  const state = {
    type,
    urn: urn(type, name),
    custom: type.startsWith("kubernetes:") || type.startsWith("pulumi:providers:"),
    id: "",
    parent: "",
    inputs: own,
    outputs: {},
    provider: "",
  }
  const of: EngineEvent = {
    sequence: 1,
    timestamp: 0,
    resourcePreEvent: {
      metadata: { op, type, urn: state.urn, old: state, new: state, provider: "" },
    },
  }
  return of
}
const summary = (resourceChanges: Partial<Record<OpType, number>>): EngineEvent => ({
  sequence: 1,
  timestamp: 0,
  summaryEvent: { maybeCorrupt: false, durationSeconds: 1, resourceChanges, policyPacks: {} },
})

const stepsOf = (...events: ReadonlyArray<EngineEvent>) => {
  const planned = makePlanned()
  for (const each of events) planned.onEvent(each)
  return planned.steps().map(({ deed, name, namespace }) => [deed, name, namespace])
}

const map = "kubernetes:core/v1:ConfigMap"

describe("the events of a preview", () => {
  it("come to what is done to objects; what stays, providers and components are left out", () => {
    const metadata = { metadata: { name: "settings", namespace: "wasmcloud" } }
    assert.deepStrictEqual(
      stepsOf(
        event("same", "pulumi:pulumi:Stack", "platform-instance-instance"),
        event("refresh", map, "old", metadata),
        event("update", "pulumi:providers:kubernetes", "k8s"),
        event("create", "test:index:Component", "part"),
        event("update", map, "old", metadata),
        event("create", "kubernetes:helm.sh/v3:Release", "r", { name: "wasmcloud", namespace: "wasmcloud" }),
        event("delete", map, "gone"),
        summary({ same: 1, update: 2, create: 2, delete: 1 }),
      ),
      [
        ["update", "settings", "wasmcloud"],
        ["create", "wasmcloud", "wasmcloud"],
        ["delete", "gone", undefined],
      ],
    )
  })

  it("of a replacement are one, however many parts it has", () => {
    assert.deepStrictEqual(
      stepsOf(
        event("delete-replaced", map, "a"),
        event("replace", map, "a"),
        event("create-replacement", map, "a"),
        summary({ replace: 1 }),
      ),
      [["replace", "a", undefined]],
    )
  })

  it.each([
    ["without a summary", [event("create", map, "a")], /without a summary/],
    ["that are fewer than it counts", [summary({ delete: 1 })], /counts 1 to delete, and has told of 0/],
    [
      "that are more than it counts",
      [event("delete", map, "a"), summary({})],
      /counts 0 to delete, and has told of 1/,
    ],
    [
      "of an operation that nobody knows",
      // @ts-expect-error: the engine may be newer.
      [event("vanish", map, "a"), summary({})],
      /not known here: vanish/,
    ],
  ] as const)("%s are no plan", (_, events, problem) => {
    assert.throws(() => stepsOf(...events), problem)
  })
})
