import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { NodeServices } from "@effect/platform-node"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Option, Ref } from "effect"
import { TestClock } from "effect/testing"
import { CrdCheck } from "../../../src/services/Health/CrdCheck.ts"
import { Ready } from "../../../src/services/Health/Readiness.ts"
import { logWaiting, tellSandbox, warnOfPassphrase } from "../../../src/services/Health/StartLog.ts"
import { WatchHealth, type WatchStatus } from "../../../src/services/Kubernetes/WatchHealth.ts"
import type { SandboxState } from "../../../src/services/Process/Sandbox.ts"
import { type Line, recording } from "./Logs.ts"

describe("the log of a start", () => {
  it.effect("says every ten seconds what is still waited for, and nothing once the caches are complete", () =>
    recording((lines) =>
      Effect.gen(function* () {
        const ready = yield* Ref.make(false)
        let crd = Option.some("the CRD x is not installed")
        let statuses: ReadonlyArray<WatchStatus> = [
          { name: "pods", state: "BackingOff", lastListAt: undefined, lastEventAt: undefined },
          { name: "secrets", state: "Listing", lastListAt: undefined, lastEventAt: undefined },
        ]
        const waiting = yield* logWaiting.pipe(
          Effect.provide([
            Layer.succeed(Ready, ready),
            Layer.succeed(CrdCheck, { problem: Effect.sync(() => crd) }),
            Layer.succeed(WatchHealth, { statuses: Effect.sync(() => statuses) }),
          ]),
          Effect.forkChild,
        )
        yield* TestClock.adjust("9 seconds")
        assert.deepStrictEqual(lines, [])
        yield* TestClock.adjust("1 second")
        const message = "still waiting for the caches"
        assert.deepStrictEqual(lines, [
          {
            level: "WARN",
            message,
            annotations: {
              waitingFor: ["pods (BackingOff)", "secrets (Listing)"],
              problem: "the CRD x is not installed",
            },
          },
        ])
        crd = Option.none()
        statuses = statuses.map((status) =>
          status.name === "pods" ? { ...status, lastListAt: 1, state: "Watching" } : status,
        )
        yield* TestClock.adjust("10 seconds")
        assert.deepStrictEqual(lines.slice(1), [
          { level: "WARN", message, annotations: { waitingFor: ["secrets (Listing)"] } },
        ])
        yield* Ref.set(ready, true)
        yield* TestClock.adjust("1 hour")
        assert.strictEqual(lines.length, 2)
        assert.strictEqual(waiting.pollUnsafe()?._tag, "Success")
      }),
    ),
  )
})

describe("the passphrase file at the start", () => {
  const warnings = (prepare: (folder: string) => void) =>
    recording((lines) =>
      Effect.gen(function* () {
        const folder = yield* Effect.acquireRelease(
          Effect.sync(() => mkdtempSync(join(tmpdir(), "passphrase-"))),
          (made) => Effect.sync(() => rmSync(made, { recursive: true })),
        )
        prepare(folder)
        yield* warnOfPassphrase(`${folder}/passphrase`)
        return lines.map(({ level, annotations: { passphraseFile, problem } }: Line) => [
          level,
          passphraseFile === `${folder}/passphrase`,
          problem,
        ])
      }),
    ).pipe(Effect.provide(NodeServices.layer))

  it.effect("is warned of when it is missing, empty or no file, and not otherwise", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* warnings(() => {}), [["WARN", true, "NotFound"]])
      const holds = (text: string) => (folder: string) => writeFileSync(`${folder}/passphrase`, text)
      assert.deepStrictEqual(yield* warnings(holds(" \n")), [["WARN", true, "empty"]])
      assert.deepStrictEqual(yield* warnings(holds("planted")), [])
    }),
  )
})

describe("the sandbox at the start", () => {
  const told = (state: SandboxState) =>
    recording((lines) =>
      Effect.map(tellSandbox(state), () => lines.map(({ level, annotations }: Line) => [level, annotations])),
    )
  const available = (abi: number): SandboxState => ({ _tag: "Available", launcher: "/bin/box", abi })

  it.effect("is a warning where there is none, with the reason, and where it keeps less from packages", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* told(available(7)), [["INFO", { landlockAbi: 7 }]])
      assert.deepStrictEqual(yield* told(available(3)), [
        ["WARN", { landlockAbi: 3, notKeptFrom: ["signals to the operator"] }],
      ])
      assert.deepStrictEqual(yield* told({ _tag: "Unavailable", reason: "no Landlock" }), [
        ["WARN", { reason: "no Landlock" }],
      ])
    }),
  )
})
