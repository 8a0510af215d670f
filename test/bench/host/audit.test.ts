import { appendFileSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterEach, beforeEach, describe, expect, it } from "vitest"
import { type AuditReader, auditReader, isEvent, isWatch, isWrite } from "./audit.ts"
import { latencies } from "./measures.ts"

let folder: string
let file: string
let reader: AuditReader
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "audit-"))
  file = join(folder, "audit.log")
  writeFileSync(file, "")
  reader = auditReader(file)
})
afterEach(() => rmSync(folder, { recursive: true }))

// As kube-apiserver 1.35 writes it, without what is not read.
const line = (
  user: string,
  verb: string,
  name: string,
  came: string,
  answered: string,
  resource = "platforminstances",
) =>
  `${JSON.stringify({
    kind: "Event",
    level: "Metadata",
    stage: "ResponseComplete",
    requestURI: `/apis/platform.di-framework.dev/v1alpha1/namespaces/instances/${resource}/${name}`,
    verb,
    user: { username: user, groups: ["system:masters"] },
    objectRef: { resource, namespace: "instances", name, subresource: "status" },
    responseStatus: { metadata: {}, code: 200 },
    requestReceivedTimestamp: `2026-12-01T12:00:${came}Z`,
    stageTimestamp: `2026-12-01T12:00:${answered}Z`,
  })}\n`

describe("an audit log", () => {
  it("is read from where the reader stands, whole lines only", () => {
    const whole = line("ours", "patch", "one", "01.000250", "01.004000")
    appendFileSync(file, whole.slice(0, 40))
    expect(reader.read()).toEqual([])
    appendFileSync(file, whole.slice(40))
    const [asked, ...more] = reader.read()
    expect(more).toEqual([])
    expect(asked).toMatchObject({
      user: "ours",
      verb: "patch",
      resource: "platforminstances/status",
      name: "one",
    })
    expect(asked?.answered).toBeCloseTo((asked?.came ?? 0) + 3.75, 3)
    expect(reader.read()).toEqual([])
    appendFileSync(file, whole)
    reader.skip()
    expect(reader.read()).toEqual([])
  })

  it("tells writes, Events and watches apart", () => {
    appendFileSync(file, line("ours", "get", "one", "01.000000", "01.000001"))
    appendFileSync(file, line("ours", "create", "one", "01.000000", "01.000001"))
    appendFileSync(file, line("ours", "watch", "one", "01.000000", "01.000001"))
    const read = reader.read()
    expect(read.map(isWrite)).toEqual([false, true, false])
    expect(read.map(isWatch)).toEqual([false, false, true])
    expect(read.map((asked) => isEvent({ ...asked, resource: "events" }))).toEqual([true, true, true])
  })

  it("gives the time from the answer to an edit to the operator's first request about that instance", () => {
    appendFileSync(file, line("bench", "patch", "one", "01.000000", "01.002000"))
    appendFileSync(file, line("ours", "patch", "two", "01.003000", "01.004000"))
    appendFileSync(file, line("ours", "patch", "one", "01.007500", "01.008000"))
    appendFileSync(file, line("ours", "patch", "one", "01.100000", "01.101000"))
    // One that is never acted on has no time; that it is missing is seen by whoever waits for it.
    appendFileSync(file, line("bench", "patch", "three", "01.000000", "01.002000"))
    const [first, ...more] = latencies(reader.read(), "ours")
    expect(more).toEqual([])
    expect(first).toBeCloseTo(5.5, 3)
  })
})
