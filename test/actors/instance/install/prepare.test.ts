// What a failure of the engine becomes: a message that fits a condition and an Event as it is.
import { assert, describe, it } from "@effect/vitest"
import { fromPulumi } from "../../../../src/actors/instance/install/prepare.ts"
import { MAX_MESSAGE } from "../../../../src/schema/Conditions.ts"
import { truncateAtWord, utf8Bytes } from "../../../../src/schema/Text.ts"
import { failureMessage } from "../../../../src/services/Pulumi/Messages.ts"
import { PulumiError } from "../../../../src/services/Pulumi/Pulumi.ts"

const version = "6.0.22"
const failed = (words: string) => {
  const message = failureMessage({ step: "up", version, words, redact: (text) => text })
  return fromPulumi(new PulumiError({ step: "up", version, message, reason: "Failed" })).message
}

describe("F24 what a condition says of a failure", () => {
  it("names step and version, and says the first sentence and the words as they are when they are short", () => {
    assert.strictEqual(
      failed("error: ENOSPC: no space left on device"),
      "up (version 6.0.22): The disk is full; make room in the operator's state claim or its temporary folders. error: ENOSPC: no space left on device",
    )
  })

  for (const [what, words] of [
    ["", "something never heard of. It went on. ".repeat(80)],
    [" of several bytes a character", "etwas Ungehörtes ".repeat(160)],
  ] as const) {
    it(`keeps the first sentence and the end of many words${what}, where the last one says what it was`, () => {
      const message = failed(`${words}and this is why`)
      assert.match(
        message,
        /^up \(version 6\.0\.22\): The step "up" of platform 6\.0\.22 failed for a reason .* what it said follows\. …/,
      )
      assert.match(message, /and this is why$/)
      assert.isAtMost(utf8Bytes(message), MAX_MESSAGE)
      // As conditions and Events cut it.
      assert.strictEqual(truncateAtWord(message, MAX_MESSAGE, utf8Bytes), message)
      assert.lengthOf(message.match(/…/g) ?? [], 1)
    })
  }
})
