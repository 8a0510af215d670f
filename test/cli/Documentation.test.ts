// What `kubectl pi status` says about where to read on.
import { assert, describe, it } from "@effect/vitest"
import { reasonUrl } from "../../src/cli/Documentation.ts"
import { statusText } from "../../src/cli/status.ts"
import { painter } from "../../src/cli/Words.ts"

const failed = (reason: string) =>
  statusText(
    {
      metadata: { namespace: "team-a", name: "one", uid: "u" },
      status: { conditions: [{ type: "Ready", status: "False", reason, message: "words" }] },
    },
    0,
    painter(false),
  )

describe("what to do about a reason", () => {
  it("is said where the release documents it", () => {
    assert.match(failed("TargetError"), /^ {2}What to do: https:\/\/\S+\/docs\/reasons\.md#targeterror$/m)
  })

  it("is not made up for one of another release", () => {
    assert.notInclude(failed("Hibernating"), "What to do")
    assert.isUndefined(reasonUrl("Hibernating"))
  })
})
