import { Option } from "effect"
import { assert, describe, it } from "vitest"
import {
  concernsPriority,
  PRIORITY,
  PRIORITY_CLASS,
} from "../../../../src/actors/instance/target/controlPlanePriority.ts"
import type { KubeObject } from "../../../../src/services/Kubernetes/Kubernetes.ts"
import type { StoreChange } from "../../../../src/services/Kubernetes/Store.ts"
import { priorityClass } from "../../support/priorityClasses.ts"

const upserted = (object: KubeObject, previous?: KubeObject): StoreChange => ({
  _tag: "Upserted",
  object,
  previous: Option.fromUndefinedOr(previous),
})
const deleted = (object: KubeObject): StoreChange => ({ _tag: "Deleted", object })

const own = priorityClass(PRIORITY_CLASS, PRIORITY)
const high = priorityClass("everything", PRIORITY, true)
const low = priorityClass("everything", PRIORITY - 1, true)
const noDefault = priorityClass("everything", PRIORITY)

describe("the priority of control planes", () => {
  it.each([
    ["a high default class that is made", upserted(high)],
    ["a high class that becomes the default", upserted(high, noDefault)],
    ["a high class that is the default no more", upserted(noDefault, high)],
    ["a high default class that is removed", deleted(high)],
    ["their class when it is removed", deleted(own)],
    ["their class when it is of another value", upserted(priorityClass(PRIORITY_CLASS, 7))],
    ["their class when it is the default", upserted(priorityClass(PRIORITY_CLASS, PRIORITY, true), own)],
    [
      "their class when it displaces others",
      upserted(priorityClass(PRIORITY_CLASS, PRIORITY, false, "PreemptLowerPriority")),
    ],
  ])("is looked at again for %s", (_, change) => {
    assert.isTrue(concernsPriority(change))
  })

  it.each([
    ["their class as the operator has made it", upserted(own)],
    ["a low default class", upserted(low)],
    ["a high class that is no default", upserted(noDefault)],
    ["a high default class that is labelled", upserted(high, high)],
  ])("is let be for %s", (_, change) => {
    assert.isFalse(concernsPriority(change))
  })
})
