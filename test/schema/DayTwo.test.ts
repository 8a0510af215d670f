import { assert, describe, it } from "@effect/vitest"
import { Option } from "effect"
import { type DayTwoMemo, followDayTwo, memoOf, memoText, plannedMark } from "../../src/schema/DayTwo.ts"
import {
  ANNOTATION_APPROVE,
  ANNOTATION_APPROVED,
  ANNOTATION_DAY_TWO,
  ANNOTATION_DRIFT,
  ANNOTATION_PAUSED,
  ANNOTATION_PLAN,
  ANNOTATION_SLEEP,
} from "../../src/schema/Names.ts"

const uid = "life"
const noon = "2026-11-03T12:00:00Z"
const later = "2026-11-03T13:00:00Z"
const bare = { uid, namespace: "team-a", name: "one" }
const paused = (value: string) => ({ ...bare, annotations: { [ANNOTATION_PAUSED]: value } })
const none = Option.none<DayTwoMemo>()
const begun = followDayTwo(paused("true"), none, noon)

describe("a pause", () => {
  it("begins when it is first seen, and is told once", () => {
    assert.deepStrictEqual(begun.news, [{ _tag: "Paused" }])
    const again = followDayTwo(paused("true"), Option.some(begun.memo), later)
    assert.deepStrictEqual(again.news, [])
    assert.deepStrictEqual(again.pausedSince, Option.some(noon))
    assert.deepStrictEqual(again.memo, begun.memo)
  })

  it("ends when its annotation says false or is gone", () => {
    for (const annotated of [bare, paused("false")]) {
      const ended = followDayTwo(annotated, Option.some(begun.memo), later)
      assert.deepStrictEqual(ended.news, [{ _tag: "Resumed", since: noon }])
      assert.isTrue(Option.isNone(ended.pausedSince))
    }
  })

  it("goes on over a wrong value, which is told once each, also by the next process", () => {
    const wrong = followDayTwo(paused("ture"), Option.some(begun.memo), later)
    assert.deepStrictEqual(wrong.pausedSince, Option.some(noon))
    assert.deepStrictEqual(
      wrong.news.map(({ _tag }) => _tag),
      ["Invalid"],
    )
    const text = memoText(wrong.memo) ?? assert.fail()
    const annotations = { ...paused("ture").annotations, [ANNOTATION_DAY_TWO]: text }
    const next = followDayTwo({ ...bare, annotations }, memoOf({ uid, annotations }), later)
    assert.deepStrictEqual([next.news, next.pausedSince], [[], Option.some(noon)])
    const other = followDayTwo(paused("flase"), Option.some(wrong.memo), later)
    assert.deepStrictEqual(
      other.news.map(({ _tag }) => _tag),
      ["Invalid"],
    )
  })

  it("does not begin by a wrong value", () => {
    assert.isTrue(Option.isNone(followDayTwo(paused("ture"), none, noon).pausedSince))
  })
})

describe("sleep", () => {
  const sleeping = (value: string, pause?: string) => ({
    ...bare,
    annotations: {
      [ANNOTATION_SLEEP]: value,
      ...(pause === undefined ? {} : { [ANNOTATION_PAUSED]: pause }),
    },
  })
  const asked = followDayTwo(sleeping("true"), none, noon)
  const asleep: DayTwoMemo = { uid, sleep: { askedAt: noon, pods: 3, memory: 7, since: later } }
  const tags = ({ news }: ReturnType<typeof followDayTwo>) => news.map(({ _tag }) => _tag)

  it("is asked for when it is first seen, and keeps what is known of it", () => {
    assert.deepStrictEqual([asked.sleep, tags(asked)], [Option.some({ askedAt: noon }), ["FallingAsleep"]])
    const again = followDayTwo(sleeping("true"), Option.some(asleep), later)
    assert.deepStrictEqual([again.memo.sleep, tags(again)], [asleep.sleep, []])
  })

  it("ends when its annotation says false or is gone, and not by a wrong value", () => {
    for (const annotated of [bare, sleeping("false")]) {
      const woken = followDayTwo(annotated, Option.some(asleep), later)
      assert.deepStrictEqual(woken.news, [{ _tag: "Waking", since: later, untold: [] }])
      assert.deepStrictEqual([woken.sleep, woken.memo.sleep], [Option.none(), undefined])
    }
    const wrong = followDayTwo(
      sleeping("yes"),
      Option.some({ ...asleep, kept: { [ANNOTATION_SLEEP]: "true" } }),
      later,
    )
    assert.deepStrictEqual([wrong.memo.sleep, tags(wrong)], [asleep.sleep, ["Invalid"]])
    assert.isTrue(Option.isNone(followDayTwo(sleeping("yes"), none, noon).sleep))
  })

  it("names at its end what nothing makes anew, unless that was told when all of it was asleep", () => {
    const { since, ...noted } = { askedAt: noon, pods: 3, memory: 7, bare: ["default/lonely"], since: later }
    const news = (sleep: DayTwoMemo["sleep"]) =>
      followDayTwo(bare, Option.some({ uid, ...(sleep === undefined ? {} : { sleep }) }), later).news
    assert.deepStrictEqual(news(noted), [{ _tag: "Waking", since: undefined, untold: ["default/lonely"] }])
    assert.deepStrictEqual(news({ ...noted, since }), [{ _tag: "Waking", since, untold: [] }])
    assert.deepStrictEqual(news({ ...noted, sinceBefore: since }), [
      { _tag: "Waking", since, untold: ["default/lonely"] },
    ])
  })

  it("neither begins nor ends in a pause", () => {
    const paused = followDayTwo(sleeping("true", "true"), none, noon)
    assert.isTrue(Option.isNone(paused.sleep))
    const after = followDayTwo(sleeping("true"), Option.some(paused.memo), later)
    assert.deepStrictEqual(after.sleep, Option.some({ askedAt: later }))
    const held = followDayTwo(
      { ...bare, annotations: { [ANNOTATION_PAUSED]: "true" } },
      Option.some(asleep),
      later,
    )
    assert.deepStrictEqual([held.memo.sleep, tags(held)], [asleep.sleep, ["Paused"]])
  })
})

describe("plan and approval", () => {
  const asked = (annotations: Readonly<Record<string, string>>, before = none) =>
    followDayTwo({ ...bare, annotations }, before, noon)

  it("are what their annotations say, and nothing where those are wrong", () => {
    const right = asked({
      [ANNOTATION_PLAN]: "6.0.23",
      [ANNOTATION_APPROVE]: "required",
      [ANNOTATION_APPROVED]: "7",
    })
    assert.deepStrictEqual(
      [right.plan, right.approve, right.approved],
      [Option.some("6.0.23"), true, Option.none()],
    )
    assert.deepStrictEqual(asked({ [ANNOTATION_PLAN]: "spec" }).plan, Option.some("spec"))
    for (const value of ["", "v6.0.23", "^6.0.0", "latest", "6.0"]) {
      const wrong = asked({ [ANNOTATION_PLAN]: value })
      assert.deepStrictEqual([wrong.plan, wrong.news.length], [Option.none(), 1], value)
    }
    for (const value of ["", "0", "-1", "1.5", "yes", "1e3", "7-", "7-0123", "7-0123456789AB"])
      assert.lengthOf(asked({ [ANNOTATION_APPROVED]: value }).news, 1, value)
  })

  it("is told of where it is of another plan than the one that waits, once each", () => {
    const plan = "0123456789ab"
    const of = (value: string, before: Option.Option<DayTwoMemo>) =>
      asked({ [ANNOTATION_APPROVED]: value }, before)
    const waits = Option.some<DayTwoMemo>({ uid, awaits: 7, published: { generation: 7, plan } })
    const wrong = of("7-ba9876543210", waits)
    assert.match(
      JSON.stringify(wrong.news),
      /"7-ba9876543210\\" approves nothing that waits: generation 7 waits with 7-0123456789ab\./,
    )
    assert.lengthOf(of("6", waits).news, 1)
    assert.lengthOf(of("7-ba9876543210", Option.some(wrong.memo)).news, 0)
    for (const right of ["7", `7-${plan}`]) assert.lengthOf(of(right, waits).news, 0, right)
  })

  it("is of the plan that it names, or of the one of its generation that was told before it", () => {
    const plan = "0123456789ab"
    const told = Option.some<DayTwoMemo>({ uid, published: { generation: 7, plan } })
    const of = (value: string, before = none) => asked({ [ANNOTATION_APPROVED]: value }, before)
    assert.deepStrictEqual(of("7-ba9876543210").approved, Option.some("ba9876543210"))
    assert.deepStrictEqual(of("7", told).approved, Option.some(plan))
    for (const other of ["6", "8", "77"]) assert.isTrue(Option.isNone(of(other, told).approved), other)
    // What was there before is of none, and stays so when one comes.
    const early = of("7").memo
    assert.deepStrictEqual(early.approved, { value: "7" })
    const later: DayTwoMemo = { ...early, published: { generation: 7, plan } }
    assert.isTrue(Option.isNone(of("7", Option.some(later)).approved))
    // Taken away and given again it is.
    const taken = asked({}, Option.some(later)).memo
    assert.isUndefined(taken.approved)
    assert.deepStrictEqual(of("7", Option.some(taken)).approved, Option.some(plan))
    // Nor does it move on to the next plan.
    const approved = of("7", told).memo
    const next: DayTwoMemo = { ...approved, published: { generation: 7, plan: "ba9876543210" } }
    assert.deepStrictEqual(of("7", Option.some(next)).approved, Option.some(plan))
  })

  it("is required until the annotation goes, whatever stands in it meanwhile", () => {
    const first = asked({ [ANNOTATION_APPROVE]: "required" })
    const wrong = asked({ [ANNOTATION_APPROVE]: "no" }, Option.some(first.memo))
    assert.isTrue(wrong.approve)
    assert.isFalse(asked({}, Option.some(wrong.memo)).approve)
    assert.isFalse(asked({ [ANNOTATION_APPROVE]: "no" }).approve)
  })

  it("has been made for as long as it is asked for", () => {
    const planned = plannedMark("6.0.23", 1)
    const memo = Option.some({ uid, planned })
    assert.strictEqual(asked({ [ANNOTATION_PLAN]: "6.0.23" }, memo).memo.planned, planned)
    assert.isUndefined(asked({}, memo).memo.planned)
  })
})

describe("drift", () => {
  const asked = (value: string | undefined, before = none) =>
    followDayTwo(
      { ...bare, annotations: value === undefined ? {} : { [ANNOTATION_DRIFT]: value } },
      before,
      noon,
    )
  const drift = { found: "0123456789ab", objects: 2, since: noon }

  it("is detected until the annotation goes, whatever stands in it meanwhile", () => {
    const first = asked("detect")
    assert.isTrue(first.detects)
    const wrong = asked("repair", Option.some(first.memo))
    assert.deepStrictEqual([wrong.detects, wrong.news.length], [true, 1])
    assert.isFalse(asked(undefined, Option.some(wrong.memo)).detects)
    assert.deepStrictEqual([asked("no").detects, asked("no").news.length], [false, 1])
  })

  it("that was told is remembered for as long as it is detected", () => {
    const told = Option.some({ ...asked("detect").memo, drift })
    assert.deepStrictEqual(asked("detect", told).memo.drift, drift)
    assert.isUndefined(asked(undefined, told).memo.drift)
  })
})

describe("what is remembered", () => {
  it("is nothing where there is nothing to remember", () => {
    assert.isUndefined(memoText(followDayTwo(bare, none, noon).memo))
    assert.isUndefined(memoText(followDayTwo(bare, Option.some(begun.memo), later).memo))
  })

  it("belongs to one life, and is nothing where it cannot be read", () => {
    const of = (text: string | undefined, life = uid) =>
      memoOf({ uid: life, annotations: text === undefined ? {} : { [ANNOTATION_DAY_TWO]: text } })
    assert.deepStrictEqual(of(memoText(begun.memo)), Option.some(begun.memo))
    for (const each of [of(memoText(begun.memo), "another"), of("{"), of('{"uid":1}'), of(undefined)])
      assert.isTrue(Option.isNone(each))
  })
})
