import { assert, describe, it } from "@effect/vitest"
import { annotationRows, readAnnotations } from "../../src/schema/Annotations.ts"
import {
  ANNOTATION_FRESH_START,
  ANNOTATION_PAUSED,
  ANNOTATION_PROTECT,
  ANNOTATION_RECONCILE_REQUESTED,
  ANNOTATION_SKIP_STORAGE_CLEANUP,
  ANNOTATION_STORAGE_CLEANUP_FAILURES,
  GROUP,
} from "../../src/schema/Names.ts"

const annotated = (annotations?: Readonly<Record<string, string>>) => ({
  namespace: "team-a",
  name: "one",
  annotations,
})

describe("the annotations of an instance", () => {
  it.each([
    [ANNOTATION_PAUSED, ["true", "false"], ["", "True", "yes", "1", " true"]],
    [ANNOTATION_PROTECT, ["true", "false"], ["on"]],
    [ANNOTATION_SKIP_STORAGE_CLEANUP, ["true", "false"], ["TRUE"]],
    [ANNOTATION_FRESH_START, ["2026-11-03T12:00:00Z", "2026-11-03T12:00:00+01:00"], ["yes", ""]],
    [ANNOTATION_RECONCILE_REQUESTED, ["", "now", "2026-11-03"], []],
    // What the operator alone writes is not judged.
    [ANNOTATION_STORAGE_CLEANUP_FAILURES, ["nonsense"], []],
    ["example.org/paused", ["nonsense"], []],
  ])("%s takes what it takes", (name, right, wrong) => {
    for (const value of right) assert.isEmpty(readAnnotations(annotated({ [name]: value }), {}).bad, value)
    for (const value of wrong) {
      const [bad] = readAnnotations(annotated({ [name]: value }), {}).bad
      assert.include(
        bad?.message ?? "",
        `annotation ${name}: ${JSON.stringify(value)} is not understood: it takes`,
      )
      assert.include(bad?.message ?? "", "it counts as if it were not there")
      assert.include(bad?.message ?? "", `kubectl annotate pi one --namespace team-a ${name}-`)
    }
  })

  it.each([
    ["pause", "paused"],
    ["protected", "protect"],
    ["sleeep", "sleep"],
    ["aproved", "approved"],
    ["something", undefined],
    // Of what the operator alone writes nobody has meant any.
    ["traces", undefined],
  ])("under our prefix that nobody knows is told, with what may have been meant: %s", (name, near) => {
    const { kept, bad } = readAnnotations(annotated({ [`${GROUP}/${name}`]: "true" }), {})
    assert.deepStrictEqual(kept, {})
    assert.strictEqual(
      bad[0]?.message,
      `annotation "${GROUP}/${name}" is none that this operator knows, and does nothing.${near === undefined ? "" : ` Did you mean ${GROUP}/${near}?`} Remove it with kubectl annotate pi one --namespace team-a "${GROUP}/${name}"-`,
    )
  })

  it("of which many are unknown are told in part", () => {
    const many = Object.fromEntries(Array.from({ length: 500 }, (_, at) => [`${GROUP}/x${at}`, ""]))
    assert.isAtMost(readAnnotations(annotated(many), {}).bad.length, 5)
  })

  it("that decide what is done keep what counted before a wrong value", () => {
    const before = readAnnotations(annotated({ [ANNOTATION_PAUSED]: "true" }), {}).kept
    assert.deepStrictEqual(before, { [ANNOTATION_PAUSED]: "true" })
    const { kept, bad } = readAnnotations(annotated({ [ANNOTATION_PAUSED]: "no" }), before)
    assert.deepStrictEqual(kept, before)
    assert.include(bad[0]?.message ?? "", '"true" still counts')
    assert.deepStrictEqual(readAnnotations(annotated(), before), { kept: {}, bad: [] })
  })

  it("are told without what may be a secret, and briefly", () => {
    const [bad] = readAnnotations(
      annotated({ [ANNOTATION_PAUSED]: `password=hunter22 ${"x ".repeat(9_000)}` }),
      {},
    ).bad
    assert.notInclude(bad?.message ?? "", "hunter22")
    assert.isBelow(bad?.message.length ?? 0, 600)
  })

  it("are all in one group", () => {
    for (const name of Object.keys(annotationRows)) assert.match(name, /^platform\.di-framework\.dev\//)
  })
})
